"""Figures 3, 8 and 9 of the weight-tying paper: how far rows turn from checkpoint to checkpoint."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs.papers_ground import Ground, Lack, all_of, from_facts
from embtie_widgets.jobs.papers_records import DRIFT as SERIES
from embtie_widgets.jobs.run import first
from embtie_widgets.requests import DriftRequest, ModelRef
from embtie_widgets.results.drift import CURVES
from embtie_widgets.results.papers import PaperItem, PaperNumber
from embtie_widgets.results.tying_published import DRIFT, PublishedSeries

if TYPE_CHECKING:
    from embtie_widgets.results.drift import Drift

_COLUMNS = {
    "input_to_first": "input, to step 0",
    "output_to_first": "output, to step 0",
    "input_to_previous": "input, to the one before",
    "output_to_previous": "output, to the one before",
}
_MEANT = (
    "Mean over tokens of the cosine of a row with itself at another step; nothing is centred and "
    "nothing is aligned, as it is one run in one basis."
)
_IN_ORDER = (
    "Which model figures 8 and 9 show is taken from the order in which the paper names the models."
)
_STAND_IN = "nano-untied"


def _printed(name: str) -> PaperItem:
    series = DRIFT[name]
    numbers = tuple(
        PaperNumber(_row(line.step), _COLUMNS[curve], f"{getattr(line, curve):.3f}", tolerance=0.01)
        for line in series.lines
        for curve in CURVES
    )
    spaced = (
        f"The one before is {series.interval:,} steps earlier; a change over another distance is "
        "another number."
    )
    called = series.model.rpartition("/")[2].removesuffix("-hf")
    title = f"Drift of the rows of {called} in training"
    ordered = () if name == "figure-3" else (_IN_ORDER,)
    return PaperItem(name, "tying", title, numbers, (_MEANT, spaced, *ordered))


figure_3: Callable[[], PaperItem] = partial(_printed, "figure-3")
figure_8: Callable[[], PaperItem] = partial(_printed, "figure-8")
figure_9: Callable[[], PaperItem] = partial(_printed, "figure-9")


def make(ground: Ground, printed: PaperItem) -> PaperItem:
    """From the released series, else from checkpoints, else by the bundled model."""
    series = DRIFT[printed.name]
    path = ground.records.find(SERIES, series.model)
    if path is not None:
        from embtie_widgets.jobs.recorded import recorded_drift

        drift, _ = recorded_drift(path)
        source = f"the released series, {len(drift.steps)} checkpoints"
        return _filled(printed, series, drift, "recorded", source)
    try:
        names = _revisions(series)
        lack = ground.lacking(*(ModelRef(series.model, name) for name in names))
    except Cancelled:
        raise
    except EmbtieError as error:
        lack = _without_listing(ground, series, error.message)
    if lack is not None:
        return all_of(_stood_in(printed) if ground.request.stand_in else printed, lack)
    from embtie_widgets.jobs.drift import run_drift

    asked = DriftRequest(model=ModelRef(series.model), revisions=tuple(names))
    (drift,) = run_drift(asked, ground.progress).runs.values()
    source = f"{series.model} at {len(drift.steps)} checkpoints"
    return _filled(printed, series, drift, "model", source)


def _steps(series: PublishedSeries) -> list[int]:
    """The least that the printed lines need: each, the one before, and step 0."""
    ends = [line.step for line in series.lines]
    return sorted({0, *ends, *(end - series.interval for end in ends)})


def _revisions(series: PublishedSeries) -> list[str]:
    """Names of these steps in the first stage, each once; what the model lacks is left out."""
    from embtie_widgets.sources.series import list_revisions

    found: dict[int, str] = {}
    wanted = set(_steps(series))
    for one in list_revisions(series.model):
        if one.step in wanted and one.track == (1, 0):
            found.setdefault(one.step, one.name)
    if 0 not in found or len(found) < 2:
        raise EmbtieError(
            f"'{series.model}' has no checkpoints at step 0 and at those of the figure.",
            "Name the folder of the released series as data.",
        )
    return list(found.values())


def _without_listing(ground: Ground, series: PublishedSeries, why: str) -> Lack:
    """What is missing where nobody says which checkpoints there are."""
    words, size = from_facts(ModelRef(series.model))
    steps = _steps(series)
    at = ", ".join(f"{step:,}" for step in steps)
    whole = None if size is None else size * len(steps)
    file = ground.records.lack(SERIES, series.model)
    return Lack(f"{words} at steps {at}; or {file.what}", whole, f"{file.reason} {why}")


def _filled(
    printed: PaperItem, series: PublishedSeries, drift: "Drift", origin: str, source: str
) -> PaperItem:
    """With what a drift says; a change over another distance than the paper's is none of its."""
    at = {int(step): place for place, step in enumerate(drift.steps) if np.isfinite(step)}
    reason = _same_bytes(drift)
    numbers = []
    for number, (step, curve) in zip(printed.numbers, _places(series), strict=True):
        place = at.get(step)
        value = np.nan if place is None else float(getattr(drift, curve)[place])
        near = place is not None and drift.since[place] == series.interval
        if np.isfinite(value) and (near or curve.endswith("_to_first")):
            numbers.append(number.found(value, origin, source, reason))
        else:
            numbers.append(_gap(step, curve, series).told(number))
    return replace(
        printed,
        numbers=tuple(numbers),
        notes=(*printed.notes, *_late(drift), *drift.notes),
        settings=drift.settings | {"source": source, "steps": tuple(sorted(at))},
        hashes={f"{series.model} {what}": sha for what, sha in drift.hashes.items()},
    )


def _places(series: PublishedSeries) -> Iterator[tuple[int, str]]:
    return ((line.step, curve) for line in series.lines for curve in CURVES)


def _gap(step: int, curve: str, series: PublishedSeries) -> Lack:
    before = "" if curve.endswith("_to_first") else f" or {step - series.interval:,}"
    what = f"{series.model} at step {step:,}{before}"
    return Lack(what, None, "There is no such checkpoint in what was read, or it has no value.")


def _same_bytes(drift: "Drift") -> str:
    """Where two checkpoints are the same file, a cosine is not what it says."""
    if not drift.same_bytes:
        return ""
    role, step, other = drift.same_bytes[0]
    return f"The {role} at steps {step} and {other} is the same byte for byte."


def _late(drift: "Drift") -> list[str]:
    """Which side turns faster at the end."""
    near = float(drift.input_to_previous[-1]), float(drift.output_to_previous[-1])
    if not near[0] < near[1]:
        return []
    return [
        f"At step {int(drift.steps[-1]):,} the input turns more than the output since the "
        f"checkpoint before ({near[0]:.3f} against {near[1]:.3f}): that the output turns faster "
        "holds early in the run."
    ]


def _stood_in(printed: PaperItem) -> PaperItem:
    """By the bundled untied model: its first checkpoint after 0 for the first line, its last for
    the last."""
    known = first(DriftRequest())
    drift = None if known is None else known.runs.get(_STAND_IN)
    if drift is None:
        return printed
    series = DRIFT[printed.name]
    place_of = {series.lines[0].step: 1, series.lines[-1].step: len(drift.steps) - 1}
    numbers = []
    for number, (step, curve) in zip(printed.numbers, _places(series), strict=True):
        place = place_of.get(step)
        if place is None:
            numbers.append(number)
            continue
        at = int(drift.steps[place])
        source = f"{_STAND_IN} at step {at:,} of {int(drift.steps[-1]):,}"
        reason = f"Of {source}, a far smaller model: only which side turns more can be compared."
        value = float(getattr(drift, curve)[place])
        numbers.append(number.found(value, "stand-in", source, reason))
    hashes = {f"{_STAND_IN} {what}": sha for what, sha in drift.hashes.items()}
    return replace(printed, numbers=tuple(numbers), hashes=hashes)


def _row(step: int) -> str:
    return f"step {step:,}"
