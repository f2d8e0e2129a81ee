"""Rows of a recorded table in the order of their steps, and what could not be used of them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests.fields import short
from embtie_widgets.sources.recorded_names import ANY, COSINE, NORM, SHARE, Wanted, rule_of
from embtie_widgets.sources.revisions import Revision, parse
from embtie_widgets.sources.tables import counted

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]
_LARGEST_STEP = 2**53
_BOUNDS = {NORM: (0.0, np.inf), SHARE: (0.0, 1.0), COSINE: (-1.0, 1.0), ANY: (-np.inf, np.inf)}
# A cosine of 1 summed in half precision may come out as 1.0005.
_SLACK = 1e-3


@dataclass
class Order:
    """Which rows are used, in the order of their steps.

    rows    (n,) row numbers of the file; the last of those that have one step
    groups  (n,) all rows of that step, in the file's order
    steps   (n,) whole numbers, rising
    names   (n,) the cells of the step column where those are names; else empty
    """

    rows: Vector
    groups: list[Vector]
    steps: Vector
    names: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)

    def first_of_file(self) -> Vector:
        """Whether a row's forerunner here is not the one that it has in the file."""
        before = np.concatenate([[-1], self.rows[:-1]])
        changed: Vector = before != self.rows - 1
        return changed


def ordered(cells: "pd.Series[Any] | None", height: int) -> Order:
    """The rows by their steps; without such a column, by their number from 1 on."""
    if cells is None:
        rows = np.arange(height)
        note = "No column gives the step; rows are numbered from 1."
        return Order(rows, [rows[i : i + 1] for i in rows], rows + 1, notes=[note])
    notes: list[str] = []
    steps, names = _steps(cells, notes)
    good = np.flatnonzero(np.isfinite(steps))
    if not len(good):
        raise EmbtieError(
            f"The column {short(cells.name)} holds no steps, such as 1000 or step1000.",
            "Choose the column that counts the optimiser's steps.",
        )
    if len(good) < height and not names:
        notes.append(f"{counted(height - len(good), 'row')} without a whole step left out.")
    found = _grouped(good, steps, notes)
    if names:
        found.names = tuple(names[row] for row in found.rows)
    found.notes = [*notes, *_gap_notes(found.steps)]
    return found


def _grouped(good: Vector, steps: Vector, notes: list[str]) -> Order:
    order = good[np.argsort(steps[good], kind="stable")]
    if (order != good).any():
        notes.append("The rows are not in the order of their steps; they were sorted.")
    values, starts = np.unique(steps[order], return_index=True)
    groups = np.split(order, starts[1:])
    again = sum(len(group) > 1 for group in groups)
    if again:
        notes.append(
            f"{counted(again, 'step stands', 'steps stand')} several times; the last row that has "
            "a value counts."
        )
    return Order(np.array([group[-1] for group in groups]), groups, values.astype(np.int64))


def _steps(cells: "pd.Series[Any]", notes: list[str]) -> tuple[Vector, tuple[str, ...]]:
    """Steps as numbers, NaN where there is none, and the names where they stand in names."""
    values, texts = numbers(cells)
    if texts and texts >= len(cells) / 2:
        return _named(list(map(str, cells)), notes)
    whole = (values >= 0) & (values <= _LARGEST_STEP) & (values == np.floor(values))
    return np.where(whole, values, np.nan), ()


def _named(names: list[str], notes: list[str]) -> tuple[Vector, tuple[str, ...]]:
    """Steps out of names such as step1000-tokens4B, of that stage that has most of them."""
    found = [parse(name) if len(name) <= 200 else Revision("") for name in names]
    tracks = Counter(revision.track for revision in found if revision.step is not None)
    if not tracks:
        return np.full(len(names), np.nan), ()
    track = max(tracks, key=lambda one: (tracks[one], -one[0]))
    if len(tracks) > 1:
        here = f"stage {track[0]}" + (f", ingredient {track[1]}" if track[1] else "")
        notes.append(f"Steps of several stages stand in the file; those of {here} are shown.")
    inside = [one.step is not None and one.track == track for one in found]
    left = [names[i] for i, is_in in enumerate(inside) if not is_in]
    if left:
        more = f" and {len(left) - 6} more" if len(left) > 6 else ""
        notes.append(f"Left out, giving no step there: {', '.join(map(short, left[:6]))}{more}.")
    steps = [one.step if is_in else None for one, is_in in zip(found, inside, strict=True)]
    return np.array([np.nan if step is None else float(step) for step in steps]), tuple(names)


def _gap_notes(steps: Vector) -> list[str]:
    """Where steps are usually so far apart, and somewhere farther."""
    apart = np.diff(steps)
    if len(apart) < 3:
        return []
    usual = int(np.median(apart))
    wide = np.flatnonzero(apart > usual)
    if not len(wide) or len(wide) > len(apart) / 4:
        return []
    worst = wide[np.argmax(apart[wide])]
    return [
        f"{counted(len(wide), 'gap')} in the steps, which are usually {usual:,} apart; the widest "
        f"is from {steps[worst]:,} to {steps[worst + 1]:,}."
    ]


def column(cells: "pd.Series[Any]", wanted: Wanted, order: Order, notes: list[str]) -> Vector:
    """(n,) the values in the order of steps; NaN where the file has none that can be used."""
    values, texts = numbers(cells)
    low, high = _BOUNDS[wanted.values]
    slack = _SLACK if wanted.values in (SHARE, COSINE) else 0.0
    with np.errstate(invalid="ignore"):
        outside = (values < low - slack) | (values > high + slack)
    endless = np.isinf(values)
    values = np.where(outside | endless, np.nan, np.clip(values, low, high))
    picked = _picked(values, order.groups)
    faults = (
        (texts, "text where a number is expected"),
        (int((outside & ~endless).sum()), f"out of bounds: {rule_of(wanted.values)}"),
        (int(endless.sum()), "infinite"),
        (int(np.isnan(values).sum()) - texts - int((outside | endless).sum()), "empty or NaN"),
    )
    said = [f"{counted(number, 'cell')} {what}" for number, what in faults if number]
    if said:
        notes.append(f"{short(cells.name)}: {'; '.join(said)}. They are gaps.")
    return picked


def _picked(values: Vector, groups: Iterable[Vector]) -> Vector:
    """The last value of each group that is one."""
    found = []
    for group in groups:
        good = group[np.isfinite(values[group])] if len(group) > 1 else group
        found.append(values[good[-1]] if len(good) else np.nan)
    return np.array(found)


def numbers(cells: "pd.Series[Any]") -> tuple[Vector, int]:
    """The cells as float64, NaN where there is no number, and how many hold text instead."""
    if cells.dtype.kind in "iuf":
        return cells.to_numpy(np.float64, na_value=np.nan), 0
    values = np.full(len(cells), np.nan)
    texts = 0
    for i, cell in enumerate(cells):
        found = _number(cell)
        if found is None:
            texts += 1
        else:
            values[i] = found
    return values, texts


def _number(cell: Any) -> float | None:
    """A number, NaN for an empty cell, None for anything else."""
    if cell is None or cell != cell or (isinstance(cell, str) and not cell.strip()):
        return float("nan")
    try:
        return float(cell)
    except OverflowError:
        return float("inf")
    except (TypeError, ValueError):
        return None


def all_equal(columns: Mapping[str, Vector], name: str, value: float) -> bool:
    """Whether a column is there and holds nothing but this."""
    return name in columns and bool((columns[name] == value).all())
