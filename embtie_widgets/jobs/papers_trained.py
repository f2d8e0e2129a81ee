"""What the weight-tying paper says of its own trainings, which are not public: tables 2, 6 and 7,
figure 5; and its table on Chung et al. 2020.  Small trainings here stand in for some of them."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from embtie_widgets.jobs.papers_ground import Ground
from embtie_widgets.jobs.run import first
from embtie_widgets.requests import NormFrequencyRequest, ScalingRequest
from embtie_widgets.results.papers import PaperItem, PaperNumber
from embtie_widgets.results.tying_published import COUPLING, EVALUATION, NORMS, SCALING

if TYPE_CHECKING:
    from embtie_widgets.results.norms import PairNorms
    from embtie_widgets.results.scaling import ScaledRun

_REFERENCE = "allenai/OLMo-1B-0724-hf"
_WIDTH, _ROWS = 2_048, 50_280  # of that model; its padding rows are left out in both tables
_SCALED = {  # item: steps, name of the reference's checkpoint
    "table-2": ("10,000", "step10000-tokens20B"),
    "table-6": ("1,000", "step1000-tokens2B"),
}
_TO = {"input": "to the untied input", "output": "to the untied output"}
_AT_CHANCE = 0.003
_SCALING_NOTES = (
    "Mean cosine after the best rotation or reflection, centred, fitted and scored on the same "
    "50,280 tokens.",
    "The tied runs are the paper's own and are not public; what can be had is the untied "
    "reference, {reference} at {revision}. A pair of one's own is compared in the panel Alignment.",
)
_UNLIKE = (
    "Neither run is public. By the released configurations they are no clean pair either: the tied "
    "one warmed up for 2,500 steps, that of x5 for 1,000."
)
_EVALUATION_NOTE = "Two models or runs of one's own are scored on the same tasks in Evaluate."
_CHUNG = "Numbers of Chung et al. 2020, which the paper quotes; their models are not compared here."
_UNSEEN = (
    "The pair of models behind the figure is not public, nor is it said which text was counted; "
    "the number is read off the figure."
)


# Tables 2 and 6.


def _scaling(name: str) -> PaperItem:
    steps, revision = _SCALED[name]
    numbers = tuple(
        PaperNumber(_row(line.factor), column, f"{getattr(line, to):.3f}")
        for line in SCALING
        if line.steps == steps
        for to, column in _TO.items()
    )
    notes = [note.format(reference=_REFERENCE, revision=revision) for note in _SCALING_NOTES]
    title = f"Tied runs with their input gradient multiplied, after {steps} steps"
    return PaperItem(name, "tying", title, numbers, tuple(notes))


table_2: Callable[[], PaperItem] = partial(_scaling, "table-2")
table_6: Callable[[], PaperItem] = partial(_scaling, "table-6")


def make_scaling(ground: Ground, printed: PaperItem) -> PaperItem:
    """What chance reaches, and twins trained here where they have the same factor."""
    from embtie_widgets.measures.alignment import chance_level

    floor = chance_level("orthogonal", _ROWS, (_WIDTH, _WIDTH)) or 0.0
    numbers = [
        replace(n.print_only(f"The run is not public. {_above(n, floor)}"), floor=floor)
        for n in printed.numbers
    ]
    report = first(ScalingRequest()) if ground.request.stand_in else None
    if report is None:
        return replace(printed, numbers=tuple(numbers))
    by_row = {_row(run.factor): run for run in report.whole}
    source = (
        f"twins trained here for {report.settings['steps']:,} steps, {report.settings['rows']:,} "
        f"rows of width {report.settings['width']:,}"
    )
    stood = tuple(_trained(n, by_row.get(n.row), source) for n in numbers)
    return replace(printed, numbers=stood, hashes=dict(report.hashes))


def _above(number: PaperNumber, floor: float) -> str:
    """Where a print stands to chance."""
    print_, _ = number.ends
    said = f"8/(3 pi) sqrt({_WIDTH:,}/{_ROWS:,}) = {floor:.3f}"
    if abs(print_ - floor) < _AT_CHANCE:
        return f"The print is what chance reaches, {said}: it says nothing of nearness."
    return f"The print is {print_ - floor:.3f} above what chance reaches, {said}."


def _trained(number: PaperNumber, run: "ScaledRun | None", source: str) -> PaperNumber:
    if run is None:
        return number
    near = run.nearness["input" if number.column == _TO["input"] else "output"]
    reason = f"{number.reason} In its place stand {source}; their own chance is {near.floor:.3f}."
    return number.found(near.mean, "stand-in", source, reason, near.floor)


def _row(factor: float) -> str:
    return "no scaling" if factor == 1 else f"input x{factor:g}"


# Table 7, and the table on coupled embeddings.


def table_7() -> PaperItem:
    """The scores of both runs."""
    numbers = tuple(
        PaperNumber(f"{task}, {metric}", column, printed).print_only(_UNLIKE)
        for (task, metric), both in EVALUATION.items()
        for column, printed in zip(("tied", "input x5"), both, strict=True)
    )
    title = "Scores of the tied run and of that with its input gradient times 5, 10,000 steps"
    return PaperItem("table-7", "tying", title, numbers, (_EVALUATION_NOTE,))


def coupling() -> PaperItem:
    """Coupled and decoupled embeddings of a multilingual model."""
    numbers = tuple(
        PaperNumber(row, column, printed, unit=unit).print_only(_CHUNG)
        for (row, unit), both in COUPLING.items()
        for column, printed in zip(("coupled", "decoupled"), both, strict=True)
    )
    title = "Coupled and decoupled embeddings, from Chung et al. 2020"
    return PaperItem("table-coupling", "tying", title, numbers)


# Figure 5.


def figure_5() -> PaperItem:
    """Row norms by frequency, as far as the figure gives numbers."""
    numbers = tuple(
        PaperNumber(row, column, str(value)).print_only(_UNSEEN)
        for (row, column), value in NORMS.items()
    )
    notes = (
        "The axis of frequency is log10(count + 1); norms are lengths of rows, not centred.",
        "The flat band of the input is, for the most part, its initialisation after weight decay.",
    )
    return PaperItem("figure-5", "tying", "Row norm against token frequency", numbers, notes)


def make_figure_5(ground: Ground, printed: PaperItem) -> PaperItem:
    """With the running medians of the bundled pair."""
    pair: PairNorms | None = first(NormFrequencyRequest()) if ground.request.stand_in else None
    if pair is None:
        return printed
    inside, tied = pair.matrices["In"].curve, pair.matrices["Tied"].curve
    top = tied.peak
    at = 10 ** (top[0] if top else 0.0) - 1
    values = (
        float(inside.median.min()),
        float(inside.median.max()),
        float(tied.median[0]),
        top[1] if top else float("nan"),
        float(tied.median[-1]),
    )
    source = "medians of the bundled pair, In and Tied"
    reason = (
        f"{_UNSEEN} Those of the bundled pair have another scale, so compare the shape: its tied "
        f"norms are largest near a count of {at:,.0f}."
    )
    numbers = tuple(
        number.found(value, "stand-in", source, reason)
        for number, value in zip(printed.numbers, values, strict=True)
    )
    return replace(printed, numbers=numbers, hashes=dict(pair.hashes))
