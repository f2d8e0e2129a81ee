"""The tables of the paper on output embedding centering, from its authors' released runs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from embtie_widgets.jobs.papers_ground import Ground, all_of
from embtie_widgets.jobs.papers_records import SWEEP
from embtie_widgets.jobs.run import first
from embtie_widgets.requests import CenteringRequest
from embtie_widgets.results.centering_published import (
    BEST_LOSS,
    BEST_LOSS_COSTLY,
    BEST_RATE,
    BOUND,
    ENDS,
    EXTRA_TIME,
    MORE_ENDS,
    PUBLISHED,
    RATES,
    RELEASED,
    SIZES,
)
from embtie_widgets.results.papers import PaperItem, PaperNumber

if TYPE_CHECKING:
    from embtie_widgets.results.centering import CenteringReport, CenteringRun

_STANDS_FOR = ("16M", 1e-1)  # the bundled runs are small, and of this rate
_WEIGHTS = {"z-loss": 1e-4, "mu-loss": 1e-4}
_ENDS = {
    "loss": "loss",
    "logit_mean": "mean logit",
    "logit_std": "spread of logits",
    "logit_max": "largest logit",
    "mu_output": "length of mu",
}
_TITLES = {
    "centering-sensitivity": "Learning-rate sensitivity by method and size",
    "centering-coefficients": "Learning-rate sensitivity by coefficient, untied",
    "centering-losses": "How runs end: test loss, logits and mean row",
    "centering-bound": "Ratio of bounds of runs without a method",
    "centering-time": "Extra time of a run against one without a method",
}
_SUMMED = (
    "The sum of min(loss, initial loss) minus the best loss, over seven learning rates, divided by "
    "six; the initial loss is 10.83, that of 221M 10.85."
)
_NOTES = {
    "centering-sensitivity": (
        _SUMMED,
        "The best loss over the rates is that of runs without a method; all methods come within "
        "0.01 of each other.",
    ),
    "centering-coefficients": (_SUMMED,),
    "centering-losses": (
        "Where nothing else is said, a run is untied.",
        "Logits are those before any cap; their mean and spread are over the vocabulary at a "
        "position, then over positions.",
    ),
    "centering-bound": (
        "Above 1, as tied runs of all sizes but the largest have it at the lowest rate, centring "
        "widens the range of logits along the mean row.",
    ),
    "centering-time": (
        "Here: the seconds of the seven runs of a method over those of the seven without one. How "
        "the paper takes the mean is not said.",
    ),
}


@dataclass(frozen=True)
class _Place:
    """Which run or line of runs a number is of; `lr` None for a line."""

    what: str
    size: str
    tied: bool
    method: str = "none"
    coefficient: float | None = None
    lr: float | None = None

    @property
    def unreleased(self) -> str:
        """Why no public run has it; "" where one has."""
        if self.tied:
            return "The runs that were released are untied."
        if (self.method, self.coefficient) in RELEASED:
            return ""
        known = [weight for method, weight in RELEASED if method == self.method]
        if not known:
            return f"Of the released runs none is of {self.method}."
        return f"The released runs of {self.method} have the coefficient {known[0]:g}."


Places = Iterator[tuple[PaperNumber, _Place]]


def _sensitivities(varied: bool) -> Places:
    """Those at the usual coefficients, or those where these were varied."""
    for one in PUBLISHED:
        if (one.coefficient not in (None, _WEIGHTS.get(one.method))) == varied:
            tying = "tied" if one.tied else "untied"
            column = f"{one.method} {one.coefficient:g}" if varied else f"{tying}, {one.method}"
            number = PaperNumber(one.size, column, f"{one.value:.3f}", tolerance=0.002)
            place = _Place("sensitivity", one.size, one.tied, one.method, one.coefficient)
            yield number, place


def _best_losses() -> Places:
    for tied, losses in BEST_LOSS.items():
        for size, printed in zip(SIZES, losses, strict=True):
            column = f"{'tied' if tied else 'untied'}, best loss"
            number = PaperNumber(size, column, printed, tolerance=0.01)
            yield number, _Place("best_loss", size, tied)


def _best_rates() -> Places:
    for size, printed in BEST_RATE.items():
        yield PaperNumber(size, "untied, best rate", printed), _Place("best_rate", size, False)


def _main_table() -> Places:
    yield from _sensitivities(varied=False)
    yield from _best_losses()
    yield from _best_rates()


def _coefficients() -> Places:
    yield from _sensitivities(varied=True)
    for size, printed in BEST_LOSS_COSTLY.items():
        number = PaperNumber(size, "z-loss 100, best loss", printed, tolerance=0.01)
        yield number, _Place("best_loss", size, False, "z-loss", 100.0)


def _losses() -> Places:
    for end in ENDS:
        row = f"{end.size} at {end.lr:g}, {end.method}"
        for what, column in _ENDS.items():
            value = getattr(end, what)
            printed = f"{value:.3f}" if what == "loss" else str(value)
            weight = _WEIGHTS.get(end.method)
            place = _Place(what, end.size, False, end.method, weight, end.lr)
            yield PaperNumber(row, column, printed, tolerance=0.02 * abs(value)), place
    for one in MORE_ENDS:
        weight = _WEIGHTS.get(one.method)
        row = f"{one.size}{' tied' if one.tied else ''} at {one.lr:g}, {one.method}"
        for what, printed in one.printed.items():
            place = _Place(what, one.size, one.tied, one.method, weight, one.lr)
            yield PaperNumber(row, _ENDS[what], printed), place


def _bounds() -> Places:
    for (tied, size), values in BOUND.items():
        for lr, value in zip(RATES, values, strict=True):
            row = f"{size}, {'tied' if tied else 'untied'}"
            number = PaperNumber(row, f"at {lr:g}", f"{value:.2f}", tolerance=0.02)
            yield number, _Place("bound_ratio", size, tied, lr=lr)


def _times() -> Places:
    for (tied, size), by_method in EXTRA_TIME.items():
        for method, value in by_method.items():
            row = f"{size}, {'tied' if tied else 'untied'}"
            number = PaperNumber(row, method, f"{value:.1f}", unit="%", tolerance=0.3)
            weight = dict(RELEASED).get(method)
            place = _Place("extra_time", size, tied, method, weight)
            yield number, place


_PLACES: dict[str, Callable[[], Places]] = {
    "centering-sensitivity": _main_table,
    "centering-coefficients": _coefficients,
    "centering-losses": _losses,
    "centering-bound": _bounds,
    "centering-time": _times,
}


def _printed(name: str) -> PaperItem:
    numbers = tuple(
        number.print_only(place.unreleased) if place.unreleased else number
        for number, place in _PLACES[name]()
    )
    return PaperItem(name, "centering", _TITLES[name], numbers, _NOTES[name])


sensitivity: Callable[[], PaperItem] = partial(_printed, "centering-sensitivity")
coefficients: Callable[[], PaperItem] = partial(_printed, "centering-coefficients")
losses: Callable[[], PaperItem] = partial(_printed, "centering-losses")
bound: Callable[[], PaperItem] = partial(_printed, "centering-bound")
time: Callable[[], PaperItem] = partial(_printed, "centering-time")


def make(ground: Ground, printed: PaperItem) -> PaperItem:
    """From the released runs; without them some numbers by those that ship."""
    path = ground.records.find(SWEEP)
    if path is None:
        made = _stood_in(printed) if ground.request.stand_in else printed
        return all_of(made, ground.records.lack(SWEEP))
    from embtie_widgets.jobs.centering_file import file_sweep

    asked = CenteringRequest(source="file", file=f"{ground.request.data}/{path.name}")
    report = file_sweep(asked, ground.progress)
    source = f"{len(report.runs)} released runs"
    numbers = tuple(
        _of_release(number, place, report, source)
        for number, (_, place) in zip(printed.numbers, _PLACES[printed.name](), strict=True)
    )
    return replace(
        printed,
        numbers=numbers,
        notes=(*printed.notes, *report.notes),
        settings={"source": source, "columns": report.settings["columns"]},
        hashes={"released runs": report.hashes["file"]},
    )


def _of_release(
    number: PaperNumber, place: _Place, report: "CenteringReport", source: str
) -> PaperNumber:
    if place.unreleased:
        return number
    value = _value(report, place)
    if value is None:
        return number.lacking("a run of this line", None, "The file does not hold it whole.")
    return number.found(value, "recorded", source, _why(place))


def _why(place: _Place) -> str:
    """What is known to make a difference."""
    if place.what != "extra_time":
        return ""
    weight = "" if place.method != "mu-loss" else " The released runs have the coefficient 0.1."
    return f"Times of single runs vary by as much, and how they are averaged is not said.{weight}"


def _value(report: "CenteringReport", place: _Place) -> float | None:
    """What the runs have for it; None where they do not."""
    if place.what in _OF_LINES:
        return _of_line(report, place)
    if place.what == "extra_time":
        own = _seconds(report, place)
        plain = _seconds(report, replace(place, method="none", coefficient=None))
        return 100 * (own / plain - 1) if own and plain else None
    run = next((run for run in report.runs if _is_of(run, place) and run.lr == place.lr), None)
    if run is None:
        return None
    return run.loss if place.what == "loss" else run.numbers.get(place.what)


_OF_LINES = {"sensitivity": "value", "best_loss": "best_loss", "best_rate": "best_lr"}


def _of_line(report: "CenteringReport", place: _Place) -> float | None:
    wanted = (place.size, place.tied, place.method, place.coefficient)
    for one in report.sensitivity:
        whole = not one.unknown and len(one.rates) == len(RATES)
        if whole and (one.size, one.tied, one.method, one.coefficient) == wanted:
            value: float = getattr(one, _OF_LINES[place.what])
            return value
    return None


def _seconds(report: "CenteringReport", place: _Place) -> float:
    """Of all runs of a line; 0 where a time is not known."""
    runs = [run for run in report.runs if _is_of(run, place)]
    times = [float(run.about["seconds"]) for run in runs if "seconds" in run.about]
    return sum(times) if len(times) == len(RATES) else 0.0


def _is_of(run: "CenteringRun", place: _Place) -> bool:
    own = (run.size, run.tied, run.method, run.coefficient)
    return own == (place.size, place.tied, place.method, place.coefficient)


def _stood_in(printed: PaperItem) -> PaperItem:
    """Single runs of the smallest size at one rate, by the small runs that ship."""
    report: CenteringReport | None = first(CenteringRequest())
    if report is None:
        return printed
    size, lr = _STANDS_FOR
    steps = report.settings["steps"]
    source = f"a run trained here, {steps:,} steps at a rate of {lr:g}"
    reason = (
        f"Of a model of {report.settings['rows of tokens']:,} tokens trained for {steps:,} steps: "
        "which method holds the logits together can be compared, no more."
    )
    numbers = []
    for number, (_, place) in zip(printed.numbers, _PLACES[printed.name](), strict=True):
        fits = (place.size, place.lr, place.tied) == (size, lr, False)
        value = _value(report, replace(place, size=report.runs[0].size)) if fits else None
        if value is not None and not place.unreleased:
            number = number.found(value, "stand-in", source, reason)
        numbers.append(number)
    any_of = any(number.value is not None for number in numbers)
    return replace(printed, numbers=tuple(numbers), hashes=dict(report.hashes) if any_of else {})
