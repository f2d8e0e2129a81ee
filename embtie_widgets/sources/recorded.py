"""Numbers that somebody recorded while training elsewhere: gradient logs, drift series, metrics.

Files of the paper's authors and of this laboratory are known at once; of any other table a mapping
says which column means what.  What can be used of a damaged file is used, and the notes say what
was not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests.fields import short
from embtie_widgets.sources.recorded_names import (
    IN_FORM,
    NEEDED,
    REQUIRED,
    WANTED,
    Known,
    Wanted,
    guess,
    known,
)
from embtie_widgets.sources.recorded_rows import Order, all_equal, column, ordered
from embtie_widgets.sources.tables import Table, counted, read_table, shown_rows

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]
TABLE = "table"
_RUN, _TIED = "run", "tied"


@dataclass(frozen=True)
class Recorded:
    """A recorded file, by step.

    name     the file's own
    format   "paper-gradient", "paper-drift", "paper-sweep", "own-gradient", "own-drift", "table"
    columns  "step" (n,), whole and rising, and what else is known to (n,); NaN is a gap
    headers  of the file, as it spells them
    mapping  name to header: what was taken for what
    names    (n,) of the checkpoints or runs, where the file names them; else empty
    model    as the file calls it; "" where it does not
    """

    name: str
    format: str
    columns: dict[str, Vector]
    headers: tuple[str, ...]
    notes: tuple[str, ...]
    sha256: str
    mapping: dict[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    model: str = ""


@dataclass(frozen=True)
class Peek:
    """What a form shows of a file before it is used.

    format  as in `Recorded`
    words   what the file is known as, in words
    height  how many rows there are
    guess   name to header: what would be taken for what
    names   name to its meaning: what may be mapped
    rows    the first rows, as text
    needed  of these names one at least must be mapped, and all of `required`
    """

    name: str
    format: str
    words: str
    headers: tuple[str, ...]
    height: int
    guess: dict[str, str]
    names: dict[str, str]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    needed: tuple[str, ...]
    required: tuple[str, ...] = ("step",)

    @property
    def is_known(self) -> bool:
        """Whether what is needed of it is taken for something already."""
        found = set(self.guess)
        return not self.needed or (set(self.required) <= found and bool(found & set(self.needed)))


def peek(path: Path, wanted: str = "gradient") -> Peek:
    """Headers, first rows, and what is taken for what; an EmbtieError where there is no table."""
    table = read_table(path)
    headers = tuple(table.frame.columns)
    file = known(headers, wanted)
    meanings = {one.name: one.words for one in WANTED[wanted] if one.name in IN_FORM[wanted]}
    other = None if file else known(headers)
    notes = (f"It is what the view of {other.wanted} reads.",) if other else ()
    said = file or other
    return Peek(
        table.name,
        file.key if file else TABLE,
        said.words if said else "a table",
        headers,
        len(table.frame),
        guess(headers, wanted) | (file.columns if file else {}),
        meanings,
        shown_rows(table.frame),
        (*table.notes, *notes),
        NEEDED[wanted],
        REQUIRED[wanted],
    )


def read_recorded(
    path: Path, wanted: str = "gradient", columns: Mapping[str, str] | None = None
) -> Recorded:
    """The recorded numbers for a "gradient", "drift" or "metrics" view; for a "sweep", which has
    no steps, see `recorded_sweep`.

    `columns` maps names of WANTED to headers; without any, headers are taken for what they are
    known to mean, and those that no form offers always are.  An EmbtieError says so where nothing
    can be used.
    """
    table = read_table(path)
    frame, notes = _one_run(table.frame)
    headers = tuple(frame.columns)
    file = None if columns else known(headers, wanted)
    mapping = mapping_of(table, wanted, columns or {}, file)
    order = ordered(frame[mapping["step"]] if "step" in mapping else None, len(frame))
    notes += order.notes
    texts = order.names or _names(frame, mapping)
    found = {"step": order.steps, **_columns(frame, wanted, mapping, order, notes)}
    if wanted == "drift":
        _check_previous(found, order, notes)
        notes += _drift_notes(found)
    if all_equal(found, "loss", 0.0):
        del found["loss"]
        notes.append("The loss is 0 in every row, so it was not logged; it is left out.")
    _check_any(found, wanted, table, mapping)
    return Recorded(
        table.name,
        file.key if file else TABLE,
        found,
        headers,
        (*table.notes, *notes, *(file.notes if file else ())),
        table.sha256,
        mapping,
        texts,
        table.facts.get("model_id", ""),
    )


def _one_run(frame: "pd.DataFrame") -> tuple["pd.DataFrame", list[str]]:
    """An export of several runs holds one below the other: one of them, the tied one if it is
    there."""
    if _RUN not in frame or "step" not in frame:
        return frame, []
    names = list(dict.fromkeys(map(str, frame[_RUN])))
    if not 1 < len(names) <= 64:
        return frame, []
    chosen = _TIED if _TIED in names else names[0]
    part = frame[frame[_RUN].astype(str) == chosen].reset_index(drop=True)
    return part, [f"The file holds {len(names)} runs; that called {short(chosen)} is shown."]


def mapping_of(
    table: Table, wanted: str, columns: Mapping[str, str], file: Known | None
) -> dict[str, str]:
    """Name to header: as they are mapped, else what headers are known to mean."""
    headers = tuple(table.frame.columns)
    names = {one.name for one in WANTED[wanted]}
    for name, header in columns.items():
        if name not in names:
            raise EmbtieError(
                f"{short(name)} is no column of this view; known are {', '.join(sorted(names))}.",
                "Map one of these.",
            )
        if header not in headers:
            raise EmbtieError(
                f"'{table.name}' has no column {short(header)}; it has {_listed(headers)}.",
                f"Choose another column for {name}.",
            )
    found = guess(headers, wanted) | (file.columns if file else {})
    if columns:
        unasked = {k: v for k, v in found.items() if k not in IN_FORM[wanted]}
        return unasked | dict(columns)
    if wanted != "metrics" and not set(found) & set(NEEDED[wanted]):
        other = known(headers)
        raise EmbtieError(
            f"'{table.name}' is {other.words}."
            if other
            else f"'{table.name}' has the columns {_listed(headers)}; none of them is known to "
            "mean what is shown here.",
            f"Open it where the {other.wanted} is shown."
            if other
            else f"Say which column is which; needed is one of {', '.join(NEEDED[wanted])}.",
        )
    return found


def _columns(
    frame: "pd.DataFrame", wanted: str, mapping: dict[str, str], order: Order, notes: list[str]
) -> dict[str, Vector]:
    kinds = {one.name: one for one in WANTED[wanted]}
    chosen = [
        (kinds.get(name, Wanted(name, name)), header)
        for name, header in mapping.items()
        if name not in ("step", "name")
    ]
    if wanted == "metrics":
        taken = set(mapping.values())
        chosen += [(Wanted(h, h), h) for h in frame.columns if _is_numeric(frame[h], h, taken)]
    return {one.name: column(frame[header], one, order, notes) for one, header in chosen}


def _names(frame: "pd.DataFrame", mapping: dict[str, str]) -> tuple[str, ...]:
    """What the rows are called, where they are no steps."""
    if "name" not in mapping or "step" in mapping:
        return ()
    return tuple(str(cell)[:200] for cell in frame[mapping["name"]])


def _is_numeric(cells: "pd.Series[Any]", header: str, taken: set[str]) -> bool:
    return header not in taken and header != "step" and cells.dtype.kind in "iuf"


def _check_previous(found: dict[str, Vector], order: Order, notes: list[str]) -> None:
    """A change from "the checkpoint before" is one from the row before in the file: where that is
    another than the step before, its value says nothing here."""
    moved = order.first_of_file()
    names = [name for name in found if name.endswith("_to_previous")]
    if not moved.any() or not names:
        return
    for name in names:
        found[name] = np.where(moved, np.nan, found[name])
    notes.append(
        f"At {counted(int(moved.sum()), 'step')} the row before in the file is not the step before,"
        " so the change from the checkpoint before is not known there and is a gap."
    )


def _drift_notes(found: dict[str, Vector]) -> list[str]:
    notes = []
    first = [found[name][0] for name in found if name.endswith("_to_first")]
    if first and not any(value > 0.9999 for value in first):
        notes.append(
            f"The file begins at step {found['step'][0]:,}, after the checkpoint that it calls the "
            "first."
        )
    before = [found[name][1:] for name in found if name.endswith("_to_previous")]
    same = np.flatnonzero(np.all(np.array(before) >= 1.0, axis=0)) if before else np.array([])
    if len(same):
        at = ", ".join(f"{found['step'][i + 1]:,}" for i in same[:6])
        notes.append(
            f"At step {at} nothing has turned since the checkpoint before, not by a bit: the two "
            "may be the same file."
        )
    return notes


def _check_any(
    found: dict[str, Vector], wanted: str, table: Table, mapping: Mapping[str, str]
) -> None:
    named = [name for name in found if name in NEEDED[wanted] or wanted == "metrics"]
    named = [name for name in named if name != "step"]
    if not named:
        raise EmbtieError(
            f"Of '{table.name}' only {', '.join(map(short, mapping)) or 'nothing'} is mapped.",
            f"Map one of {', '.join(NEEDED[wanted])}."
            if NEEDED[wanted]
            else "Choose a file that has columns of numbers.",
        )
    if not any(np.isfinite(found[name]).any() for name in named):
        raise EmbtieError(
            f"'{table.name}' holds no number that can be used for {', '.join(named[:6])}.",
            "Choose other columns, or another file.",
        )


def _listed(headers: tuple[str, ...]) -> str:
    more = f" and {len(headers) - 12} more" if len(headers) > 12 else ""
    return ", ".join(map(short, headers[:12])) + more
