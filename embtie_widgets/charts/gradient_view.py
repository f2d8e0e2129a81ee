"""How a gradient flow is looked at: which share, in which mode, smoothed or not, on which axis."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from embtie_widgets.charts.theme import MODELS, Mark, mark_of
from embtie_widgets.results.gradient import FlowRun, GradientFlow, Vector

SMOOTH = 20
"""Over so many steps the paper's figure takes its means."""
_MOST_POINTS = 4_000


@dataclass(frozen=True)
class Measure:
    """A curve below the lengths: the one of `CURVES` that holds it, its names, what it means, and
    a level worth seeing, with its words."""

    field: str
    label: str
    axis: str
    says: str
    level: float | None = None
    level_words: str = ""

    @property
    def is_share(self) -> bool:
        """Whether 0 is "all by the input" and 1 "all by the output"."""
        return self.field.endswith("share")


_HALF = (0.5, "½, both paths alike")
MEASURES = {
    "share": Measure(
        "output_share",
        "Share",
        "output's share, ⟨G_out, G⟩ / |G|²",
        "How much of the shared matrix's gradient the output's part explains: 0 for nothing, 1 for "
        "all of it. The input has the rest, so a share above 1 says that the input pulls back.",
        *_HALF,
    ),
    "norms": Measure(
        "norm_share",
        "Share of lengths",
        "|G_out| / (|G_in| + |G_out|)",
        "The length of the output's part against both lengths, whatever their directions: 0 to 1.",
        *_HALF,
    ),
    "step": Measure(
        "update_share",
        "Share of Adam's step",
        "output's share of the step",
        "The same share of what Adam does with the gradient: each entry over its own running "
        "size, which the two parts have in common.",
        *_HALF,
    ),
    "angle": Measure(
        "cosine",
        "Angle",
        "angle between the parts, degrees",
        "Below 90° the two parts pull the same way, above 90° against each other; two directions "
        "without anything in common are at 90°.",
        90.0,
        "right angle",
    ),
    "loss": Measure(
        "loss",
        "Loss",
        "cross-entropy, nats per token",
        "What the model does not know of the next token, on the batch of the step, in nats.",
    ),
}
PAPER = Measure(
    "proxy_share",
    "Paper's share",
    "paper's share of the output",
    "",
    *_HALF,
)
MODE_WORDS = {
    "corrected": "Both parts are of the gradient of the matrix itself, V × d, and are checked to "
    "add up to it at every logged step.",
    "paper": "As in the paper's figure 4: the input's part is the norm of the gradient at the "
    "embedding's output, before what belongs to one token is added up, and the share is of norms "
    "averaged over 20 steps, whatever the angle.",
}
_UNCHECKED = (
    "Both parts are as they were recorded; whether they add up to the gradient of the matrix, "
    "nobody has checked."
)


@dataclass(frozen=True)
class View:
    """What is drawn: a key of `MODE_WORDS`, one of `MEASURES`, and how steps are shown; batches of
    a text are never averaged."""

    mode: str = "corrected"
    measure: str = "share"
    smooth: bool = True
    scale: str = "linear"
    by_batch: bool = False

    @property
    def paper(self) -> bool:
        """Whether the paper's numbers are shown."""
        return self.mode == "paper"

    @property
    def shown(self) -> Measure:
        """The curve below the lengths."""
        return PAPER if self.paper else MEASURES[self.measure]

    @property
    def over(self) -> int:
        """Over how many steps curves are averaged."""
        return SMOOTH if (self.smooth or self.paper) and not self.by_batch else 1


def by_batches(result: GradientFlow | None) -> bool:
    """Whether its steps are batches of a text, with no training between them."""
    return result is not None and result.settings.get("source") == "text"


def axis_of(result: GradientFlow | None) -> str:
    """What the axis of steps is called."""
    return "batch of the text" if by_batches(result) else "optimiser step"


def fitting(result: GradientFlow | None, view: View) -> View:
    """The view with what this result has not replaced by what it has."""
    if result is None or not result.runs:
        return view
    modes, offered = modes_of(result), measures_of(result)
    mode = view.mode if view.mode in modes or not modes else modes[0]
    measure = view.measure if view.measure in offered else next(iter(offered), view.measure)
    return replace(view, mode=mode, measure=measure, by_batch=by_batches(result))


def mode_words(result: GradientFlow, view: View) -> str:
    """What the numbers of this mode are, in this result."""
    unchecked = not view.paper and bool(result.runs) and not _known(result, "check")
    return _UNCHECKED if unchecked else MODE_WORDS[view.mode]


def modes_of(result: GradientFlow) -> list[str]:
    """In which modes there is something to see."""
    needs = {"corrected": "input_norm", "paper": "proxy_norm"}
    return [mode for mode, curve in needs.items() if _known(result, curve)]


def measures_of(result: GradientFlow) -> list[str]:
    """The measures that some run of the result has a value of."""
    return [name for name, one in MEASURES.items() if _known(result, one.field)]


def _known(result: GradientFlow, curve: str) -> bool:
    return any(run.knows(curve) for run in result.runs.values())


def values(run: FlowRun, measure: Measure, over: int = 1) -> Vector:
    """The curve of a measure, (n,), as it is drawn."""
    if measure is PAPER:
        return run.paper_share(over)
    known = run.curve(measure.field, over)
    if measure.field == "cosine":
        return np.asarray(np.degrees(np.arccos(np.clip(known, -1, 1))))
    return known


def marks(runs: dict[str, FlowRun]) -> dict[str, Mark]:
    """Colour, dash and marker of each run, by whether it is tied; no two are the same."""
    words = {True: "tied", False: "untied"}
    found: dict[str, Mark] = {}
    for name, run in runs.items():
        mark = MODELS.get(words.get(run.tied, ""), mark_of(""))  # type: ignore[arg-type]
        found[name] = mark_of("") if mark in found.values() else mark
    return found


def stride(runs: Iterable[FlowRun]) -> int:
    """Every how manieth step is drawn."""
    longest = max((len(run.curves["step"]) for run in runs), default=0)
    return max(1, math.ceil(longest / _MOST_POINTS))


def reach(result: GradientFlow | None) -> tuple[float, float]:
    """The first and the last step; while a training goes on, that which it is to end with."""
    runs = [] if result is None else [run for run in result.runs.values() if len(_steps(run))]
    first = min((float(_steps(run)[0]) for run in runs), default=1.0)
    last = max((float(_steps(run)[-1]) for run in runs), default=1.0)
    if result is not None and (result.progress or not runs):
        last = max([last, _asked(result), *(float(run.about.get("of") or 0) for run in runs)])
    return first, max(last, first + 1)


def _asked(result: GradientFlow) -> float:
    """How many steps a training is to take that is asked for; 0 for other sources."""
    trained = result.settings.get("source") == "train"
    return float(result.settings.get("steps") or 0) if trained else 0.0


def _steps(run: FlowRun) -> Vector:
    return np.asarray(run.curves["step"], float)
