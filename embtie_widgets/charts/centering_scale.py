"""How strong the colour of a cell is: by its loss above the best, or by how large a number is."""

import math
from dataclasses import dataclass

from embtie_widgets.charts.centering_view import HELD_LOSS, number_of
from embtie_widgets.results.centering import CenteringRun

LOSSES = (HELD_LOSS, "loss")
_LEAST = 0.005  # nats: so far above the best a colour begins
_ALIKE = 1.5  # magnitudes that differ by less than this factor hardly differ


@dataclass(frozen=True)
class Scale:
    """From a number to the strength of its colour, and the numbers beside the scale."""

    best: dict[str, float]
    lowest: float
    highest: float
    ticks: list[tuple[float, str]]

    def of(self, run: CenteringRun, measure: str) -> float:
        """How strong the colour of a run is, from `lowest` to `highest`."""
        value = number_of(run, measure)
        if measure in LOSSES:
            return math.log10(max(value - self.best.get(run.size, value), 0) + _LEAST)
        return math.asinh(abs(value))


def scale_of(known: list[tuple[CenteringRun, float]], measure: str) -> Scale:
    """The scale of runs with their numbers."""
    return _of_losses(known) if measure in LOSSES else _of_magnitudes([abs(v) for _, v in known])


def _of_losses(known: list[tuple[CenteringRun, float]]) -> Scale:
    """By how far they lie above the best of their size."""
    best: dict[str, float] = {}
    for run, value in known:
        best[run.size] = min(value, best.get(run.size, math.inf))
    most = max((value - best[run.size] for run, value in known), default=0.0)
    most = max(most, 0.1)
    steps = [step for step in (0.01, 0.1, 1.0, 10.0) if step <= most]
    ticks = [(math.log10(step + _LEAST), f"+{step:g}") for step in steps]
    lowest = math.log10(_LEAST)
    return Scale(best, lowest, math.log10(most + _LEAST), [(lowest, "best"), *ticks])


def _of_magnitudes(known: list[float]) -> Scale:
    """From the least of them; from 0 where they hardly differ."""
    least, most = min(known, default=0.0), max(known, default=0.0) or 1.0
    least = 0.0 if most < _ALIKE * least else least
    steps = [step for step in (0.0, 1.0, 10.0, 100.0, 1e3, 1e4) if least <= step <= most]
    steps = steps if len(steps) > 1 else [least, most]
    ticks = [(math.asinh(step), f"{step:.4g}") for step in steps]
    return Scale({}, math.asinh(least), math.asinh(most), ticks)
