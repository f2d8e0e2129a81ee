"""What of a staircase is looked at: a run, a matrix, signatures, and a step of the training."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.shapes import Vector
from embtie_widgets.charts.steps import marks
from embtie_widgets.charts.theme import ROLES, SIGNATURES, Mark
from embtie_widgets.results.checkpoints import Place
from embtie_widgets.results.staircase import (
    MatrixTrack,
    SignatureTrack,
    StaircaseReport,
    StaircaseRun,
)

ALL, LAST = "all", -1
GIVEN, ALIKE = "given", "alike"
MOST_SIDE_BY_SIDE = 3  # signatures beside a matrix
MOST_DRAWN = 256  # anchors in one picture
MATRICES = {"embedding": "embedding E", "unembedding": "unembedding U", "tied": "tied W"}
ROLE_OF = {"embedding": "input", "unembedding": "output", "tied": "tied"}
_SIGNATURES = {
    "next": "what follows",
    "previous": "what stands before",
    "next, order 1": "what follows, order 1",
    "previous, order 1": "what stands before, order 1",
}


@dataclass(frozen=True)
class View:
    """How a staircase is looked at; "" for what says most.

    run, matrix  by name
    signature    by name, or ALL side by side
    step         the snapshot nearest to it is shown; LAST for the last
    scale        of the axis of steps: "log" or "linear"
    arrange      anchors GIVEN as they come, or ALIKE beside one another
    spread       colours over the values that there are, else from -1 to 1
    pair         two anchors that are looked at, or none
    lit          the anchors that stand out
    """

    run: str = ""
    matrix: str = ""
    signature: str = ALL
    step: int = LAST
    scale: str = "log"
    arrange: str = GIVEN
    spread: bool = False
    pair: tuple[int, ...] = ()
    lit: frozenset[int] = frozenset()


USUAL = View()


@dataclass(frozen=True)
class Look:
    """What a view comes to on a result that has it.

    place     of the snapshot, among the run's steps
    tracks    the signatures side by side
    order     (n,) the anchors drawn, in the order of rows and columns
    """

    name: str
    run: StaircaseRun
    matrix: MatrixTrack
    tracks: tuple[SignatureTrack, ...]
    place: int
    order: Vector

    @property
    def step(self) -> int:
        """The step of the snapshot."""
        return int(steps_of(self.run)[self.place])


def look(result: StaircaseReport | None, view: View = USUAL) -> Look | None:
    """What the view shows; None before a matrix is known at any step."""
    name = run_name(result, view)
    if result is None or not name:
        return None
    run = result.runs[name]
    matrix = run.matrices.get(view.matrix) or next(iter(run.matrices.values()))
    own = tuple(track for track in run.tracks if track.matrix == matrix.matrix)
    one = tuple(track for track in own if track.signature == view.signature)
    tracks = (one or own)[:MOST_SIDE_BY_SIDE]
    return Look(name, run, matrix, tracks, place_of(run, view.step), _order(tracks, matrix, view))


def run_name(result: StaircaseReport | None, view: View = USUAL) -> str:
    """The run that is looked at: the chosen one, else the first with a snapshot; "" for none."""
    known = {} if result is None else result.runs
    good = [name for name, run in known.items() if len(run.steps) and run.matrices]
    return view.run if view.run in good else next(iter(good), "")


def place_of(run: StaircaseRun, step: int) -> int:
    """The snapshot nearest to a step on the logarithmic axis."""
    if step == LAST:
        return len(run.steps) - 1
    return int(np.abs(np.log1p(steps_of(run)) - np.log1p(max(step, 0))).argmin())


def steps_of(run: StaircaseRun) -> Vector:
    """(s,) whole numbers; a checkpoint that has no step, as `main`, stands behind all others."""
    steps = np.asarray(run.steps, float)
    known = np.concatenate([steps[np.isfinite(steps)], run.curves.get("step", ())])
    last = float(known.max()) + 1 if len(known) else 0.0
    return np.where(np.isfinite(steps), steps, last).astype(np.int64)


def called_step(result: StaircaseReport, run: StaircaseRun, place: int) -> str:
    """A snapshot in words: "epoch 1,000", or a checkpoint without a step by its name."""
    if np.isfinite(float(run.steps[place])):
        return f"{step_word(result)} {int(run.steps[place]):,}"
    names = run.about.get("checkpoints", ())
    return str(names[place]) if place < len(names) else "the checkpoint"


def at(values: Vector, place: int) -> Vector:
    """(...) of one step of what has a first axis of steps, or of as many as it has: one for all."""
    return np.asarray(values[min(place, len(values) - 1)], "f4")


def _order(tracks: Sequence[SignatureTrack], matrix: MatrixTrack, view: View) -> Vector:
    """Anchors from the first on; by the first principal component of the last signature where they
    are to stand by likeness."""
    n = matrix.similarity.shape[-1]
    if view.arrange == ALIKE:
        points = (tracks[-1].points if tracks else matrix.points)[-1]
        kept = np.argsort(np.nan_to_num(points[: min(n, MOST_DRAWN), 0]), kind="stable")
        return np.asarray(kept)
    return np.arange(min(n, MOST_DRAWN))


def is_text(result: StaircaseReport | None) -> bool:
    """Whether the anchors are tokens of a language model, rather than of a toy task."""
    return result is not None and bool(result.tokens)


def numbers(result: StaircaseReport, matrix: MatrixTrack) -> Vector:
    """(n,) which rows are numbers of a toy task, so that a line from one to the next means
    something."""
    if is_text(result):
        return np.zeros(len(result.anchors), bool)
    return np.array([name.lstrip("−-").isdigit() for name in matrix.rows or result.anchors])


def names(result: StaircaseReport, matrix: MatrixTrack) -> list[str]:
    """The rows that are compared as they are written, no two alike, safe for plotly."""
    found: list[str] = []
    seen: set[str] = set()
    known = matrix.rows or result.anchors
    ids = range(len(known)) if matrix.rows else result.ids.tolist()
    for name, row in zip(known, ids, strict=True):
        one = f"{name} ({row})" if name in seen else name
        seen.add(one)
        found.append(plain(one))
    return found


# Signatures.


def measure_of(track: SignatureTrack) -> str:
    """The measure that says most: held out where there is a probe, `fit` for what does not vary."""
    if "held_out" in track.by_step:
        return "held_out"
    return "fit" if track.constant else "pearson"


def values_of(track: SignatureTrack, measure: str = "") -> Vector:
    """(s,) of the measure, or of the one that says most."""
    return np.asarray(track.by_step.get(measure or measure_of(track), ()), float)


def signature_words(name: str) -> str:
    """A signature as readers see it."""
    return _SIGNATURES.get(name, name)


def matrix_words(name: str) -> str:
    """A matrix as readers see it."""
    return MATRICES.get(name, name)


def mark_of_signature(name: str, among: Sequence[str]) -> Mark:
    """The mark of a signature; one that has none of its own gets one that is free."""
    if name in SIGNATURES:
        return SIGNATURES[name]
    free = list(SIGNATURES.values())
    return free[among.index(name) % len(free)] if name in among else free[0]


def mark_of_matrix(result: StaircaseReport, run: str, matrix: str) -> Mark:
    """The mark of a matrix by its role; of a second run with the same role dotted."""
    own = ROLES[ROLE_OF.get(matrix, "tied")]
    first = next(name for name, one in result.runs.items() if matrix in one.matrices)
    return own if run == first else Mark(own.color, "dot", own.symbol)


# Choices.


def run_choices(result: StaircaseReport | None) -> list[tuple[str, str]]:
    """Words and name of each run that can be looked at, "" for the first."""
    known = {} if result is None else result.runs
    found = [name for name, run in known.items() if len(run.steps) and run.matrices]
    return [(name, name if place else "") for place, name in enumerate(found)]


def matrix_choices(result: StaircaseReport | None, view: View = USUAL) -> list[tuple[str, str]]:
    """Words and name of each matrix of the run, "" for the first."""
    name = run_name(result, view)
    known = result.runs[name].matrices if result is not None and name else {}
    return [(matrix_words(one), one if place else "") for place, one in enumerate(known)]


def signature_choices(result: StaircaseReport | None, view: View = USUAL) -> list[tuple[str, str]]:
    """Words and name of each signature, and all side by side."""
    name = run_name(result, view)
    tracks = result.runs[name].tracks if result is not None and name else ()
    known = list(dict.fromkeys(track.signature for track in tracks))
    return [("side by side", ALL), *((signature_words(one), one) for one in known)]


# The axis of steps.


def axis_place(result: StaircaseReport | None, scale: str) -> Place:
    """One axis from 0 to 1 for the snapshots and curves of every run."""
    runs = [] if result is None else list(result.runs.values())
    steps = [part for one in runs for part in (steps_of(one), one.curves.get("step", ()))]
    known = np.concatenate([np.zeros(1), *(np.asarray(part, float) for part in steps)])
    last = float(known.max()) or 1.0
    return Place("", "steps", 0.0, 1.0, 0.0, last, scale == "log")


def step_word(result: StaircaseReport | None) -> str:
    """What a step of the training is called."""
    return "step" if is_text(result) else "epoch"


def about_step(result: StaircaseReport, shown: Look) -> str:
    """The snapshot in words, with the numbers of every signature there."""
    said = [
        f"{signature_words(track.signature)} {number(values_of(track)[shown.place])}"
        for track in shown.tracks
        if len(values_of(track)) > shown.place
    ]
    return " · ".join([called_step(result, shown.run, shown.place), *said])


def number(value: Any, places: int = 2) -> str:
    """A correlation with a real minus sign; a dash where there is none."""
    if not np.isfinite(value):
        return "–"
    return f"{round(float(value), places) + 0.0:.{places}f}".replace("-", "−")


def ticks(result: StaircaseReport, view: View = USUAL) -> dict[str, Any]:
    """What a StepSlider shows of the run that is looked at."""
    shown, axis = look(result, view), axis_place(result, view.scale)
    steps = [] if shown is None else steps_of(shown.run).tolist()
    readouts = [
        about_step(result, replace(shown, place=place))
        for place in range(len(steps))
        if shown is not None
    ]
    return {
        "places": [axis.of(step) for step in steps],
        "readouts": readouts,
        "kinds": ["listed"] * len(steps),
        "marks": marks(axis),
    }
