"""Who moves the mean row of the output matrix, in words: Adam, Coupled Adam, plain SGD."""

import numpy as np

from embtie_widgets.charts.centering_view import called, worded
from embtie_widgets.charts.sentences import listed
from embtie_widgets.results.centering import DIVERGED, CenteringRun

_STILL = 0.02  # of its length: a mean row that has changed by less has stayed


def movers(runs: list[CenteringRun]) -> str:
    """From where to where the mean row's length goes, where it stays, and which runs broke off."""
    base = max(runs, key=lambda run: (run.lr, run.tied is not True))
    alike = [run for run in runs if (run.lr, run.size, run.seed) == (base.lr, base.size, base.seed)]
    names = {id(run): called(run, alike).replace("baseline", "Adam") for run in alike}
    moves: list[str] = []
    stays: dict[str, list[str]] = {}
    for run in alike:
        first, last = span_of(run) or (0.0, 0.0)
        if abs(last - first) > _STILL * max(first, last):
            moves.append(f"from {worded(first)} to {worded(last)} with {names[id(run)]}")
        else:
            stays.setdefault(worded(last), []).append(names[id(run)])
    still = [f"at {where} with {listed(some)}" for where, some in stays.items()]
    said = [f"goes {listed(moves)}" if moves else "", f"stays {listed(still)}" if still else ""]
    gone = [names[id(run)] for run in alike if run.state == DIVERGED]
    lost = f" {listed(gone)} {'diverges' if len(gone) == 1 else 'diverge'}." if gone else ""
    return f"The length of the mean row {', and '.join(part for part in said if part)}.{lost}"


def span_of(run: CenteringRun) -> tuple[float, float] | None:
    """The first and the last length of the mean row."""
    values = np.asarray(run.curves.get("mu_output", ()), float)
    values = values[np.isfinite(values)]
    return (float(values[0]), float(values[-1])) if len(values) > 1 else None
