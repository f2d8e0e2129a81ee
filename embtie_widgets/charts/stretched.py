"""An axis for numbers of any size and sign: small ones to scale, large ones by their logarithm."""

import math
from typing import Any

import numpy as np

from embtie_widgets.charts.shapes import Vector

_DECADES = 12


def stretched(values: Any, unit: float) -> Vector:
    """Where numbers stand; `unit` is about where the scale turns from one into the other."""
    return np.asarray(np.arcsinh(np.asarray(values, float) / unit))


def axis(low: float, high: float, unit: float) -> dict[str, Any]:
    """The axis from one number to another, both among its ends, with round numbers as ticks."""
    ends = [math.asinh(low / unit), math.asinh(high / unit)]
    air = 0.04 * ((ends[1] - ends[0]) or 1.0)
    ticks = _round(low, high, unit)
    return {
        "range": [ends[0] - air, ends[1] + air],
        "tickmode": "array",
        "tickvals": [math.asinh(value / unit) for value in ticks],
        "ticktext": [f"{value:g}".replace("-", "−") for value in ticks],
    }


def _round(low: float, high: float, unit: float) -> list[float]:
    """Zero, and powers of ten from `unit` on, of either sign, no more than some seven of them."""
    powers = [unit * 10.0**power for power in range(_DECADES)]
    up = [power for power in powers if power <= high * 1.001]
    down = [-power for power in powers if -power >= low * 1.001]
    every = max(1, math.ceil((len(up) + len(down)) / 6))
    zero = [0.0] if low <= 0 <= high else []
    return sorted([*_last(down, every), *zero, *_last(up, every)])


def _last(powers: list[float], every: int) -> list[float]:
    """Each so manieth, the largest among them."""
    return powers[::-1][::every]
