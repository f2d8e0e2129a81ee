"""A sweep that somebody else has run, from its file to a CenteringReport."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.centering_report import sensitivities, why_diverged
from embtie_widgets.jobs.recorded import recorded_path
from embtie_widgets.measures.logits import common_fraction
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import CenteringRequest
from embtie_widgets.requests.centering import METHODS
from embtie_widgets.requests.mapping import columns_of
from embtie_widgets.results.centering import (
    DIVERGED,
    DONE,
    MISSING,
    CenteringReport,
    CenteringRun,
    Sensitivity,
)
from embtie_widgets.sources.recorded_sweep import MOST_RUNS, RELEASED, RecordedSweep, read_sweep

MOST_LINES = 200

_STORED = "The file gives the mean row over all stored rows; it stands for that over tokens too."
_NO_INITIAL = (
    "The file gives no loss before training, so a loss counts as it is, however large; a column "
    'may give it, or the mapping "initial_loss=10.83".'
)
_UNCOUNTED = (
    "The file gives no loss before training, so a line with a diverged run has no sensitivity; a "
    'column may give it, or the mapping "initial_loss=10.83".'
)


def file_sweep(request: CenteringRequest, progress: Progress = silent) -> CenteringReport:
    """Every run of the file, those that its grid lacks as "missing", and what each line comes to.

    A grid is that of one size: each of its lines at each of its learning rates.
    """
    progress("reading the recorded sweep", 0, 1)
    read = read_sweep(recorded_path(request.file), columns_of(request.columns))
    _refuse_too_wide(read)
    initial = _initial(read)
    runs = tuple(_judged(_filled(run), initial(run.size)) for run in read.runs)
    lines, notes = _sensitivities(runs, initial)
    told = {initial(size) for size in {run.size for run in runs}}
    stored = read.format != RELEASED and any(map(_is_of_stored_rows, read.runs))
    return CenteringReport(
        runs=_ordered(runs),
        sensitivity=lines,
        initial_loss=told.pop() if len(told) == 1 else math.nan,
        notes=(*read.notes, *([_STORED] if stored else []), *notes),
        settings={
            **request.to_dict(),
            "file": read.name,
            "format": read.format,
            "columns": read.mapping,
        },
        hashes={"file": read.sha256},
    )


def _refuse_too_wide(read: RecordedSweep) -> None:
    """An EmbtieError for a grid that is mostly gaps, or has more lines than anybody can look at."""
    sizes = {run.size for run in read.runs}
    lines = {run.group for run in read.runs}
    places = 0
    for size in sizes:
        rates = {run.lr for run in read.runs if run.size == size}
        places += len(rates) * sum(line[0] == size for line in lines)
    if len(lines) > MOST_LINES or places > MOST_RUNS:
        raise EmbtieError(
            f"The {len(read.runs):,} runs of '{read.name}' make {len(lines):,} lines of learning "
            f"rates with {places:,} places; at most {MOST_LINES:,} lines and {MOST_RUNS:,} places "
            "are shown.",
            "Keep fewer methods, seeds or coefficients in it.",
        )


def _initial(read: RecordedSweep) -> Callable[[str], float]:
    """By size, what a loss counts for at most; NaN where nobody says so."""
    known = read.initial_losses
    return lambda size: known.get(size, known.get("", math.nan))


def _filled(run: CenteringRun) -> CenteringRun:
    """With the numbers that follow from others.  A matrix without mean has no B-ratio."""
    found, about = dict(run.numbers), dict(run.about)
    deviation = about.pop("logit_std_spread", 0.0)
    if {"logit_mean", "logit_mean_spread", "logit_std"} <= set(found):
        share = common_fraction(
            found["logit_mean"], found["logit_mean_spread"], found["logit_std"], deviation
        )
        found.setdefault("common_fraction", share)
    if found.get("mu_output_all") == 0:
        found.pop("bound_ratio", None)
    if "mu_output_all" in found:
        found.setdefault("mu_output", found["mu_output_all"])
    return replace(run, numbers=found, about=about)


def _is_of_stored_rows(run: CenteringRun) -> bool:
    return "mu_output_all" in run.numbers and "mu_output" not in run.numbers


def _judged(run: CenteringRun, initial: float) -> CenteringRun:
    """A run whose loss is no better than equal guesses has diverged."""
    reason = why_diverged(None, run.loss, initial) if run.state == DONE else ""
    return replace(run, state=DIVERGED, reason=reason) if reason else run


def _ordered(runs: tuple[CenteringRun, ...]) -> tuple[CenteringRun, ...]:
    """In the order of a request, with those that are missing: sizes as the file has them, seeds
    and rates rising, the methods of one rate side by side."""
    known = {(run.group, run.lr): run for run in runs}
    found: list[CenteringRun] = []
    for size in dict.fromkeys(run.size for run in runs):
        mine = [run for run in runs if run.size == size]
        lines = sorted(dict.fromkeys(run.group for run in mine), key=_rank(mine))
        rates = sorted({run.lr for run in mine})
        for seed in dict.fromkeys(line[-1] for line in lines):
            here = [line for line in lines if line[-1] == seed]
            found += [
                known.get((line, lr)) or _missing(line, lr) for lr, line in product(rates, here)
            ]
    return tuple(found)


Line = tuple[str, bool | None, str, float | None, int | None]


def _rank(runs: list[CenteringRun]) -> Callable[[Line], tuple[object, ...]]:
    """Seeds rising; untied before tied; methods as requests list them, then as the file does."""
    names = list(dict.fromkeys((*METHODS, *(run.method for run in runs))))

    def rank(line: Line) -> tuple[object, ...]:
        _, tied, method, coefficient, seed = line
        place = (names.index(method), -1.0 if coefficient is None else coefficient)
        return (-1 if seed is None else seed, {False: 0, True: 1, None: 2}[tied], *place)

    return rank


def _missing(line: Line, lr: float) -> CenteringRun:
    size, tied, method, coefficient, seed = line
    return CenteringRun(
        method=method,
        tied=tied,
        lr=lr,
        coefficient=coefficient,
        size=size,
        seed=seed,
        state=MISSING,
        reason="The file has no such run.",
    )


def _sensitivities(
    runs: Iterable[CenteringRun], initial: Callable[[str], float]
) -> tuple[tuple[Sensitivity, ...], list[str]]:
    """Of each line, by the losses as they are where nobody says what one counts for at most."""
    ordered = _ordered(tuple(runs))
    found = sensitivities(ordered, lambda size: _bound(ordered, size, initial(size)))
    unknown = [one for one in found if math.isnan(initial(one.size))]
    notes = [_NO_INITIAL] if unknown else []
    if any(math.isnan(one.value) for one in unknown):
        notes = [_UNCOUNTED]
    named = [
        replace(one, initial_loss=math.nan) if math.isnan(initial(one.size)) else one
        for one in found
    ]
    return tuple(named), notes


def _bound(runs: Iterable[CenteringRun], size: str, initial: float) -> float:
    """What bounds no loss, where that is not known and all losses are finite."""
    losses = [run.loss for run in runs if run.size == size and run.state in (DONE, DIVERGED)]
    if math.isnan(initial) and losses and all(map(math.isfinite, losses)):
        return max(losses)
    return initial
