"""What is to be read before the numbers of a sweep over methods and learning rates."""

import math

from embtie_widgets.charts.centering_view import method_words, rate
from embtie_widgets.charts.sentences import listed
from embtie_widgets.results.centering import FAILED, MISSING, CenteringReport, CenteringRun


def cautions(result: CenteringReport) -> list[str]:
    """What to read before the numbers."""
    return [*_lost(result), *_uneven(result), *_at_ends(result)]


def _lost(result: CenteringReport) -> list[str]:
    """Runs that have failed, each with its reason once, and those that a record lacks."""
    reasons: dict[str, list[CenteringRun]] = {}
    for run in result.runs:
        if run.state == FAILED:
            reasons.setdefault(run.reason or "No reason was given.", []).append(run)
    found = [
        f"{len(runs)} of {len(result.runs)} runs failed"
        f" ({listed([f'{method_words(r.method)} at {rate(r.lr)}' for r in runs[:3]])}"
        f"{', ...' if len(runs) > 3 else ''}): {reason}"
        for reason, runs in reasons.items()
    ]
    missing = sum(run.state == MISSING for run in result.runs)
    verb = "is" if missing == 1 else "are"
    return [*found, *([f"{missing} of {len(result.runs)} runs {verb} missing."] if missing else [])]


def _uneven(result: CenteringReport) -> list[str]:
    """Sensitivities that leave rates out stand on other rates than the rest."""
    short = [one for one in result.sensitivity if one.unknown and math.isfinite(one.value)]
    if not short or result.progress:
        return []
    names = listed(list(dict.fromkeys(method_words(one.method) for one in short)))
    return [
        f"The sensitivity of {names} leaves out rates whose loss is not known. It may look better "
        "than it is; compare it with none that has all of them."
    ]


def _at_ends(result: CenteringReport) -> list[str]:
    """A best rate at an end of the sweep may not be the best."""
    if result.progress or len(result.rates) < 2:
        return []
    outer = [
        one
        for one in result.sensitivity
        if math.isfinite(one.value) and one.best_lr in (result.rates[0], result.rates[-1])
    ]
    if not outer:
        return []
    names = listed(list(dict.fromkeys(method_words(one.method) for one in outer)))
    return [
        f"The best rate of {names} is at an end of the sweep: a better one may lie beyond, and the "
        "sensitivity is then larger."
    ]
