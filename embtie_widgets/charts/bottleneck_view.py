"""How a report on the gradient bottleneck is looked at: in which number, whose, on which axis."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from embtie_widgets.charts.theme import Mark, marks_of
from embtie_widgets.results.bottleneck import BottleneckModel, BottleneckReport, BottleneckRun
from embtie_widgets.results.bottleneck import Vector as Vector
from embtie_widgets.results.bottleneck_published import RATIO
from embtie_widgets.results.gradient import trailing_mean

SMOOTH = 20
"""Over so many steps curves of a run are averaged, where that is wanted."""


@dataclass(frozen=True)
class Scale:
    """One number said in three ways: what it is of the ratio r that is not transmitted.

    field       of `Bottleneck`, and the curve of a run, that holds it
    of          r to the number
    low, high   where the paper's models lie: r from 0.95 to 0.99
    """

    field: str
    label: str
    axis: str
    says: str
    of: Callable[[Vector], Vector]
    log: bool = False

    @property
    def paper(self) -> tuple[float, float]:
        """Between which numbers the paper's models lie."""
        low, high = sorted(float(self.of(np.asarray(r))) for r in RATIO)
        return low, high


_R = Scale(
    "destroyed",
    "Not transmitted, r",
    "not transmitted, r = |G P_K| / |G|",
    "Which share of the logit gradient's length the head does not transmit to the hidden state: 0 "
    "where it transmits all of it, 1 nothing.",
    lambda r: r,
)
_C = Scale(
    "visible_cosine",
    "Transmitted, c",
    "visible cosine, c = √(1 − r²)",
    "The cosine between the logit gradient and the part of it that is transmitted, which is also "
    "that part's share of the length: 1 for all of it. The same as r, said the other way round.",
    lambda r: np.sqrt(np.maximum(1 - r**2, 0)),
    log=True,
)
_E = Scale(
    "kept_energy",
    "Energy, c²",
    "transmitted energy, c² = 1 − r²",
    "Which share of the squared length is transmitted. A direction without preference has d / V "
    "of its energy where the head can see it.",
    lambda r: np.maximum(1 - r**2, 0),
    log=True,
)
SCALES = {"r": _R, "c": _C, "energy": _E}


@dataclass(frozen=True)
class Curve:
    """A curve of a run: the one of `CURVES` that holds it, its names and what it means."""

    field: str
    label: str
    axis: str
    says: str


MEASURES = {name: Curve(one.field, one.label, one.axis, one.says) for name, one in SCALES.items()}
MEASURES |= {
    "target": Curve(
        "target_kept",
        "Of the target",
        "transmitted of the target's direction",
        "Of the one-hot direction of the token that was to be predicted: which share of its "
        "squared length is transmitted. Its mean over all tokens is d / V.",
    ),
    "loss": Curve(
        "loss",
        "Loss",
        "cross-entropy, nats per token",
        "What the model does not know of the next token, on the batch of the step, in nats.",
    ),
}


@dataclass(frozen=True)
class View:
    """What is drawn: a key of MEASURES, means over steps or not, and the axis of steps."""

    measure: str = "r"
    smooth: bool = True
    scale: str = "linear"

    @property
    def over(self) -> int:
        """Over how many steps curves are averaged."""
        return SMOOTH if self.smooth else 1

    @property
    def as_scale(self) -> Scale:
        """The number in which ratios are said."""
        return SCALES.get(self.measure, _R)


def fitting(result: BottleneckReport | None, view: View) -> View:
    """The view with a number that this result has."""
    offered = measures_of(result)
    return view if view.measure in offered else replace(view, measure=offered[0])


def measures_of(result: BottleneckReport | None) -> list[str]:
    """Which of MEASURES there is something to see of."""
    runs = {} if result is None else result.runs
    known = [
        name
        for name, one in MEASURES.items()
        if any(knows(run, one.field) for run in runs.values())
    ]
    return known if runs and known else list(SCALES)


def knows(run: BottleneckRun, curve: str) -> bool:
    """Whether some step has it."""
    return bool(np.isfinite(np.asarray(run.curves.get(curve, ()), float)).any())


def marks(result: BottleneckReport) -> dict[str, Mark]:
    """Colour, dash and marker of each model and run, by whether it is tied; no two are the same
    where there are two."""
    return {**_marks(result.models), **_marks(result.runs)}


def _marks(sides: dict[str, BottleneckModel] | dict[str, BottleneckRun]) -> dict[str, Mark]:
    words = {True: "tied", False: "untied", None: "untied"}
    looks = marks_of([words[one.tied] for one in sides.values()])
    return dict(zip(sides, looks, strict=True))


@dataclass(frozen=True)
class Ratio:
    """What is said of a model or a run in one number: r, its line, d / V, and a random one's."""

    destroyed: float
    line: float
    share: float
    random: float | None = None


def ratios(result: BottleneckReport | None) -> dict[str, Ratio]:
    """Of each model, and of each run over its last steps, where they are known."""
    if result is None:
        return {}
    found = {
        name: Ratio(one.destroyed, one.line, one.width / one.rows, one.random)
        for name, one in ((name, model.bottleneck) for name, model in result.models.items())
    }
    ends = {name: _end(run) for name, run in result.runs.items()}
    return found | {name: end for name, end in ends.items() if end is not None}


def _end(run: BottleneckRun) -> Ratio | None:
    """Over the last steps, energies being averaged; the share of dimensions is what the line
    says."""
    energy = curve_of(run, "kept_energy")[-SMOOTH:]
    line = curve_of(run, "line")
    if not np.isfinite(energy).any() or not np.isfinite(line[-1:]).any():
        return None
    destroyed = max(1 - float(np.nanmean(energy)), 0.0) ** 0.5
    return Ratio(destroyed, float(line[-1]), float(1 - line[-1] ** 2))


def curve_of(run: BottleneckRun, field: str, over: int = 1) -> Vector:
    """A curve as numbers, (n,), each the mean over the last so many steps; NaN where unknown."""
    steps = np.asarray(run.curves["step"], float)
    values: Vector = np.asarray(run.curves.get(field, np.full(len(steps), np.nan)), float)
    return values if over == 1 else trailing_mean(steps, values, over)


def has_positions(result: BottleneckReport | None) -> bool:
    """Whether single positions of a text are known."""
    return result is not None and bool(result.models)


def has_tokens(result: BottleneckReport | None) -> bool:
    """Whether tokens are known by name."""
    return has_positions(result) and bool(result is not None and result.tokens)


def has_spectrum(result: BottleneckReport | None) -> bool:
    """Whether the singular values of a gradient are known."""
    return _any(result, lambda one: one.bottleneck.spectrum is not None)


def has_steps(result: BottleneckReport | None) -> bool:
    """Whether equal steps were taken."""
    return _any(result, lambda one: one.bottleneck.steps is not None)


def _any(result: BottleneckReport | None, has: Callable[[BottleneckModel], bool]) -> bool:
    return result is not None and any(map(has, result.models.values()))


def last_step(runs: Iterable[BottleneckRun]) -> float:
    """The last step of all."""
    return max(
        (float(run.curves["step"][-1]) for run in runs if len(run.curves["step"])), default=1
    )
