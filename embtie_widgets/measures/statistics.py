"""What is said of a vector of per-token scores: mean, median, bootstrap interval, bands."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from embtie_widgets.results.alignment import Vector

RESAMPLES = 1000
# The interval of so many tokens is the same for fewer resamples to its second digit.
_DRAWS = 10_000_000
_FEWEST = 200
_DRAWS_AT_ONCE = 4_000_000
# Counts are banded by powers of ten; the last band has no upper end.
BAND_EDGES = (0, 1, 10, 100, 1_000, 10_000)


def bootstrap_interval(
    values: Vector, seed: int, level: float = 0.95, resamples: int | None = None
) -> tuple[float, float]:
    """Percentile interval of the mean over tokens, in the unit of `values`; NaN where empty."""
    n = len(values)
    if n == 0:
        return (float("nan"), float("nan"))
    rng = np.random.default_rng(seed)
    resamples = resamples or min(RESAMPLES, max(_FEWEST, _DRAWS // n))
    means = np.empty(resamples)
    step = max(1, _DRAWS_AT_ONCE // n)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        draws = rng.integers(0, n, size=(size, n), dtype=np.int32)
        means[start : start + size] = values[draws].mean(axis=1)
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return (float(low), float(high))


def bands(counts: Vector, scores: Mapping[str, Vector]) -> tuple[dict[str, Any], ...]:
    """Mean score by token-frequency band: counts 0, 1-9, 10-99 and so on.

    counts (n,) and each vector of scores (n,); NaN scores are left out.
    """
    rows = []
    for low, high in zip(BAND_EDGES, [*BAND_EDGES[1:], None], strict=True):
        inside = (counts >= low) & (counts < high) if high is not None else counts >= low
        if inside.any():
            means = {name: _mean(vector[inside]) for name, vector in scores.items()}
            rows.append({"band": _label(low, high), "tokens": int(inside.sum()), **means})
    return tuple(rows)


def _mean(values: Vector) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _label(low: int, high: int | None) -> str:
    if high is None:
        return f"{low:,} and more"
    return f"{low:,}" if high == low + 1 else f"{low:,} to {high - 1:,}"
