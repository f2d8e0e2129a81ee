"""What is said of a vector of per-token scores: mean, median, interval, means of groups."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from embtie_widgets.results.alignment import Vector
from embtie_widgets.results.groups import heading_of

RESAMPLES = 1000
# The interval of so many tokens is the same for fewer resamples to its second digit.
_DRAWS = 10_000_000
_FEWEST = 200
_DRAWS_AT_ONCE = 1_000_000
_NORMAL_FROM, _NORMAL_95 = 30, 1.959964


def resamples_for(n: int) -> int:
    """How many resamples of n tokens to draw."""
    return min(RESAMPLES, max(_FEWEST, _DRAWS // n))


def bootstrap_interval(
    values: Vector, seed: int, level: float = 0.95, resamples: int | None = None
) -> tuple[float, float]:
    """Percentile interval of the mean over tokens, in the unit of `values`; NaN where empty."""
    n = len(values)
    if n == 0:
        return (float("nan"), float("nan"))
    rng = np.random.default_rng(seed)
    resamples = resamples or resamples_for(n)
    means = np.empty(resamples)
    step = max(1, _DRAWS_AT_ONCE // n)
    for start in range(0, resamples, step):
        size = min(step, resamples - start)
        draws = rng.integers(0, n, size=(size, n), dtype=np.int32)
        means[start : start + size] = values[draws].mean(axis=1)
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return (float(low), float(high))


def group_means(
    groups: Mapping[str, Vector],
    scores: Mapping[str, Vector],
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> tuple[dict[str, Any], ...]:
    """What each group of tokens scores on average, one mapping per group.

    groups by name, each an (n,) mask, and scores by name, each (n,) with NaN for no value.
    "group" is its name, "by" what it is a group of, "tokens" how many it holds; under the name of
    each score stands the mean of the values there are, None without any.  "scored" says how many
    those are, and "intervals" gives 95 % of the mean by the normal law, None for fewer than 30
    values, where that law is no guide.  What of it lies outside the `bounds` that a score has by
    its definition is clipped off: the mean cannot be there, so the rest covers it as often.
    """
    return tuple(_group(name, mask, scores, bounds) for name, mask in groups.items())


def _group(
    name: str, mask: Vector, scores: Mapping[str, Vector], bounds: tuple[float, float]
) -> dict[str, Any]:
    inside = {score: vector[mask] for score, vector in scores.items()}
    known = {score: values[np.isfinite(values)] for score, values in inside.items()}
    return {
        "group": name,
        "by": heading_of(name),
        "tokens": int(mask.sum()),
        **{score: float(v.mean()) if len(v) else None for score, v in known.items()},
        "scored": {score: len(v) for score, v in known.items()},
        "intervals": {score: _normal_interval(v, bounds) for score, v in known.items()},
    }


def _normal_interval(values: Vector, bounds: tuple[float, float]) -> list[float] | None:
    if len(values) < _NORMAL_FROM:
        return None
    mean, half = values.mean(), _NORMAL_95 * values.std(ddof=1) / np.sqrt(len(values))
    return [max(float(mean - half), bounds[0]), min(float(mean + half), bounds[1])]
