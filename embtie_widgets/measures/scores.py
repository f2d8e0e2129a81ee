"""Scores over items with their standard errors, and differences of two models on the same items.

Standard errors take the items for independent draws; those of a ratio, as of a perplexity, are by
linearisation.
"""

import math
from typing import Any

import numpy as np

Vector = np.ndarray[Any, np.dtype[Any]]


def mean_and_error(values: Vector) -> tuple[float, float | None]:
    """Of `values` (n,): the mean, and its standard error over n - 1; None for a single one."""
    values = np.asarray(values, float)
    if len(values) < 2:
        return float(values.mean()), None
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))


def rate(nats: Vector, units: Vector) -> tuple[float, Vector]:
    """-sum of `nats` (n,) over the sum of `units` (n,): nats for each unit, at least 0; and what
    each item adds to its error (n,), which sums to 0."""
    total = float(np.sum(units))
    value = -float(np.sum(nats)) / total
    return value, (-np.asarray(nats) - value * np.asarray(units)) / total


def perplexity(nats: Vector, units: Vector) -> tuple[float, float | None, Vector]:
    """exp of `rate`, at least 1, its standard error, and what each item adds to that (n,)."""
    value, parts = rate(nats, units)
    found = math.exp(min(value, 700.0))
    parts = found * parts
    return found, error_of(parts), parts


def error_of(parts: Vector) -> float | None:
    """The standard error from what each item adds (n,); None for a single item."""
    n = len(parts)
    return None if n < 2 else float(math.sqrt(n / (n - 1) * float(np.sum(np.square(parts)))))
