"""Sweeps over methods and learning rates that somebody else has run, one row for each run.

The file of the paper's authors and the exports of this laboratory are known at once; of other
tables a mapping says which column means what.  Rows that stand for several steps of one run are its
curves.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests.fields import short
from embtie_widgets.results.centering import (
    CURVES,
    DIVERGED,
    DONE,
    FAILED,
    MISSING,
    STATES,
    CenteringRun,
)
from embtie_widgets.results.centering_published import INITIAL_LOSS
from embtie_widgets.sources.recorded import TABLE, mapping_of
from embtie_widgets.sources.recorded_methods import RECORDED, Named, method_of, named, weight_of
from embtie_widgets.sources.recorded_names import REQUIRED, WANTED, known
from embtie_widgets.sources.recorded_rows import column, ordered
from embtie_widgets.sources.tables import Table, counted, read_table

Vector = np.ndarray[Any, np.dtype[Any]]
MOST_RUNS = 2_000
RELEASED = "paper-sweep"
ABOUT = ("logit_std_spread", "seconds")
_TYING = {
    **dict.fromkeys(("tied", "true", "1", "1.0", "yes"), True),
    **dict.fromkeys(("untied", "false", "0", "0.0", "no"), False),
}
_STATES = {
    **{state: state for state in STATES},
    **dict.fromkeys(("finished", "completed", "complete", "ok", "success"), DONE),
    **dict.fromkeys(("crashed", "killed", "error", "oom", "aborted"), FAILED),
    **dict.fromkeys(("nan", "inf", "+inf", "-inf", "infinity", "-infinity"), DIVERGED),
}
TEXTS = {"name", "method", "size", "tied", "state", "loss"}


@dataclass(frozen=True)
class RecordedSweep:
    """A recorded sweep.

    format   "paper-sweep", "own-sweep", "own-sweep-curves" or "table"
    runs     in the order of the file, each once: "done" where it has a finite loss, "diverged" for
             another, "missing" where the loss is empty, unless the file says otherwise
    initial_losses  by size; empty where nobody says what a loss counts for at most
    mapping  name to header: what was taken for what
    """

    name: str
    format: str
    runs: tuple[CenteringRun, ...]
    initial_losses: dict[str, float]
    notes: tuple[str, ...]
    sha256: str
    mapping: dict[str, str] = field(default_factory=dict)


def read_sweep(path: Path, columns: Mapping[str, str] | None = None) -> RecordedSweep:
    """The runs in a file; `columns` maps names of WANTED["sweep"] to headers, and "initial_loss"
    to a header or a number.  An EmbtieError where it says of no run what it is and its loss."""
    table = read_table(path, typed=False)
    headers = tuple(table.frame.columns)
    given, initial = _apart(columns or {}, headers)
    file = None if given else known(headers, "sweep")
    mapping = mapping_of(table, "sweep", given, file)
    _check(table, mapping)
    rows = _Rows(table, mapping)
    runs = rows.runs()
    released = rows.named and all(run.size in INITIAL_LOSS for run in runs)
    kind = file.key if file else TABLE
    return RecordedSweep(
        table.name,
        kind,
        runs,
        initial or rows.initial_losses() or (dict(INITIAL_LOSS) if released else {}),
        (*table.notes, *dict.fromkeys(rows.notes), *(file.notes if file else ())),
        table.sha256,
        mapping,
    )


def _apart(
    columns: Mapping[str, str], headers: tuple[str, ...]
) -> tuple[dict[str, str], dict[str, float]]:
    """The mapping, and an initial loss that is given as a number, by no size in particular."""
    given = dict(columns)
    value = given.get("initial_loss", "")
    try:
        number = math.nan if value in headers else float(value)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        return given, {}
    del given["initial_loss"]
    return given, {"": number}


def _check(table: Table, mapping: Mapping[str, str]) -> None:
    """A loss is needed, and a rate or names that give one."""
    lacking = [name for name in REQUIRED["sweep"] if name not in mapping]
    if not {"lr", "name"} & set(mapping):
        lacking.append("lr")
    if lacking:
        raise EmbtieError(
            f"'{table.name}' has no column that is known to be {' or '.join(lacking)}.",
            "Say which column is which: the learning rate lr, the loss, and the method.",
        )


class _Rows:
    """The rows of a table, what they say, and what cannot be used of them."""

    def __init__(self, table: Table, mapping: Mapping[str, str]) -> None:
        self.notes: list[str] = []
        self._table, self._frame, self._mapping = table, table.frame, mapping
        self._order = ordered(None, len(self._frame))
        self._kinds = {one.name: one for one in WANTED["sweep"]}
        self._texts = {
            name: list(map(_text, self._frame[mapping[name]])) for name in TEXTS & set(mapping)
        }
        self.named = "lr" not in mapping
        self._columns = {
            name: self._numbers(name)
            for name in (*CURVES, *ABOUT)
            if name in mapping and name not in ("loss", "lr")
        }

    def runs(self) -> tuple[CenteringRun, ...]:
        """Each run once, by the last of its rows."""
        found: dict[Any, list[int]] = {}
        whats = self._whats()
        for row, what in enumerate(whats):
            if what is not None:
                found.setdefault(what, []).append(row)
        if not found:
            raise self._without_rates()
        if len(found) > MOST_RUNS:
            raise EmbtieError(
                f"'{self._table.name}' holds {len(found):,} runs; at most {MOST_RUNS:,} are shown.",
                "Keep fewer sizes, seeds or coefficients in it.",
            )
        left = whats.count(None)
        if left:
            self.notes.append(f"{counted(left, 'row')} without a learning rate left out.")
        return tuple(self._run(what, rows) for what, rows in found.items())

    def initial_losses(self) -> dict[str, float]:
        """By size, the first that a row of that size gives."""
        if "initial_loss" not in self._mapping:
            return {}
        found: dict[str, float] = {}
        values = self._numbers("initial_loss")
        for row, value in enumerate(values):
            if value > 0:
                found.setdefault(self._size(row), float(value))
        if len({float(value) for value in values if value > 0}) > len(set(found.values())):
            self.notes.append("A size has several initial losses; the first counts.")
        return found

    def _whats(self) -> list[Named | None]:
        """What each row is of; None where it gives no rate."""
        if self.named:
            return [named(name) for name in self._texts["name"]]
        rates, weights = self._numbers("lr"), self._numbers("coefficient")
        seeds = self._numbers("seed")
        return [
            self._what(row, rates[row], weights[row], seeds[row]) if rates[row] > 0 else None
            for row in range(len(self._frame))
        ]

    def _what(self, row: int, rate: float, weight: float, seed: float) -> Named:
        method = method_of(self._text("method", row)) if "method" in self._mapping else RECORDED
        return Named(
            method=method,
            lr=float(rate),
            size=self._size(row),
            seed=int(seed) if math.isfinite(seed) else None,
            coefficient=weight_of(method, float(weight) if math.isfinite(weight) else None),
            tied=_TYING.get(self._text("tied", row).lower()),
        )

    def _run(self, what: Named, rows: list[int]) -> CenteringRun:
        rows, curves = self._in_time(rows)
        last = rows[-1]
        loss, state, reason = self._loss(rows)
        steps = self._columns.get("step")
        step = 0 if steps is None or math.isnan(steps[last]) else int(steps[last])
        ends = {name: _last(values[rows]) for name, values in self._columns.items()}
        about = {name: ends[name] for name in ABOUT if math.isfinite(ends.get(name, math.nan))}
        name = self._text("name", last)
        return CenteringRun(
            **what._asdict(),
            state=state,
            loss=loss,
            numbers={k: v for k, v in ends.items() if k in CURVES and math.isfinite(v)},
            curves=curves,
            step=step,
            of=step,
            reason=reason,
            about=about | ({"name": name} if name else {}),
        )

    def _in_time(self, rows: list[int]) -> tuple[list[int], dict[str, Vector]]:
        """The rows in the order of their steps, and curves; without steps the last row alone."""
        if len(rows) == 1:
            return rows, {}
        steps = self._columns.get("step")
        if steps is None:
            self.notes.append("Several rows are of one run; the last of each counts.")
            return rows[-1:], {}
        at = {steps[row]: row for row in rows if not math.isnan(steps[row])}  # the last of a step
        if not at:
            return rows[-1:], {}
        ordered_rows = [at[step] for step in sorted(at)]
        losses = np.array([self._loss_at(row)[0] for row in ordered_rows])
        curves = {k: v[ordered_rows] for k, v in self._columns.items() if k in CURVES}
        self.notes.append("The loss of a run is that of its last step in the file.")
        return ordered_rows, curves | {"loss": losses}

    def _loss(self, rows: list[int]) -> tuple[float, str, str]:
        """The loss at the end, the state that follows, and why."""
        loss, state, reason = self._loss_at(rows[-1])
        told = _STATES.get(self._text("state", rows[-1]).lower(), state)
        if told in (state, DONE):
            return loss, state, reason
        return loss, told, f"The file calls it {told}."

    def _loss_at(self, row: int) -> tuple[float, str, str]:
        text = self._text("loss", row)
        if not text:
            return math.nan, MISSING, "The file gives no loss for it."
        try:
            value = float(text)
        except ValueError:
            state = _STATES.get(text.lower(), FAILED)
            return math.nan, state, f"The file has {short(text)} for its loss."
        if math.isfinite(value):
            return value, DONE, ""
        return value, DIVERGED, "Its loss is no finite number."

    def _numbers(self, name: str) -> Vector:
        """(rows,) a column; NaN where there is none."""
        if name not in self._mapping:
            return np.full(len(self._frame), np.nan)
        cells = self._frame[self._mapping[name]]
        notes: list[str] = []
        values = column(cells, self._kinds[name], self._order, notes)
        self.notes += [note for note in notes if not _merely_empty(note)]
        return values

    def _text(self, name: str, row: int) -> str:
        return self._texts[name][row] if name in self._texts else ""

    def _size(self, row: int) -> str:
        return self._text("size", row)[:60]

    def _without_rates(self) -> EmbtieError:
        if self.named:
            return EmbtieError(
                f"The names in '{self._table.name}' do not say what each run is.",
                "Choose the columns that hold the learning rate lr and the method.",
            )
        return EmbtieError(
            f"'{self._table.name}' gives no learning rate above 0.",
            "Choose the column that holds the peak learning rate of each run.",
        )


def _text(cell: Any) -> str:
    """Of one line, and not long."""
    text = "" if cell is None else str(cell).strip()[:200]
    return text if text.isprintable() else ""


def _last(values: Vector) -> float:
    """The last that is known."""
    good = values[np.isfinite(values)]
    return float(good[-1]) if len(good) else math.nan


def _merely_empty(note: str) -> bool:
    """Whether a note on a column says no more than that some rows lack it, as a baseline lacks a
    coefficient."""
    return "empty or NaN" in note and ";" not in note
