"""Correlation of two vectors over tokens, with what sampling and what chance would make of it."""

from dataclasses import dataclass

import numpy as np

from embtie_widgets.measures.statistics import resamples_for
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.alignment import Vector
from embtie_widgets.results.norms import Correlation

_FEWEST = 3
_LEVEL = 0.95
_NORMAL = 1.959964
_NONE = (float("nan"), float("nan"))
# Values that agree to so many digits differ by rounding: they are equal.
_DIGITS = 12


@dataclass(frozen=True)
class _Ties:
    """Values as groups of equal ones: the number of each value's group, in rising order."""

    group: Vector
    groups: int

    @classmethod
    def of(cls, values: Vector) -> "_Ties":
        part, exponent = np.frexp(values)
        rounded = np.ldexp(np.round(part, _DIGITS), exponent)
        distinct, group = np.unique(rounded, return_inverse=True)
        return cls(group, len(distinct))

    def ranks(self, weights: Vector) -> Vector:
        """Mean ranks of the values, each of them there `weights` times."""
        sizes = np.bincount(self.group, weights, self.groups)
        return (np.cumsum(sizes) - (sizes - 1) / 2)[self.group]


def correlate(x: Vector, y: Vector, seed: int = 0, progress: Progress = silent) -> Correlation:
    """Pearson and Spearman correlation of x and y, (n,) finite numbers each.

    Intervals are percentiles of a bootstrap over tokens, which assumes no shape of the two: norms
    spread unevenly along the frequency, and Fisher's z, which assumes that they do not, gives
    intervals a third too narrow.  Chance is the same correlation with y shuffled.
    """
    n = len(x)
    x, y = _unit(x), _unit(y)
    ties = _Ties.of(x), _Ties.of(y)
    if n < _FEWEST or min(ties[0].groups, ties[1].groups) < 2:
        nan = float("nan")
        return Correlation(n, nan, nan, _NONE, _NONE, nan, nan, nan)
    once = np.ones(n)
    ranks = ties[0].ranks(once), ties[1].ranks(once)
    sampled = _bootstrap((x, y), ties, seed, progress)
    shuffled = _shuffled([(x, y), ranks], seed, progress)
    return Correlation(
        tokens=n,
        pearson=_weighted(x, y, once),
        spearman=_weighted(*ranks, once),
        pearson_interval=_middle(sampled[0]),
        spearman_interval=_middle(sampled[1]),
        pearson_floor=float(np.quantile(np.abs(shuffled[0]), _LEVEL)),
        spearman_floor=float(np.quantile(np.abs(shuffled[1]), _LEVEL)),
        floor_expected=_NORMAL / float(np.sqrt(n - 1)),
    )


def _unit(values: Vector) -> Vector:
    """The values over the largest of them, so that squares stay inside the arithmetic."""
    values = np.asarray(values, float)
    largest = float(np.abs(values).max(initial=0.0))
    return values / largest if largest > 0 else values


def _weighted(x: Vector, y: Vector, weights: Vector) -> float:
    """Pearson correlation of the pairs, each of them there `weights` times; NaN if one is
    constant."""
    x = x - weights @ x / weights.sum()
    y = y - weights @ y / weights.sum()
    weighted = weights * x
    square = (weighted @ x) * (weights @ (y * y))
    return float(np.clip(weighted @ y / np.sqrt(square), -1, 1)) if square > 0 else float("nan")


def _bootstrap(
    pair: tuple[Vector, Vector], ties: tuple[_Ties, _Ties], seed: int, progress: Progress
) -> tuple[Vector, Vector]:
    """Both correlations of so many samples of n tokens, drawn with replacement."""
    n, rng = len(pair[0]), np.random.default_rng(seed)
    found = np.empty((2, resamples_for(n)))
    for i in range(found.shape[1]):
        weights = np.bincount(rng.integers(0, n, n), minlength=n).astype(float)
        found[0, i] = _weighted(*pair, weights)
        found[1, i] = _weighted(ties[0].ranks(weights), ties[1].ranks(weights), weights)
        progress("resampling tokens", i + 1, found.shape[1])
    return found[0], found[1]


def _shuffled(
    pairs: list[tuple[Vector, Vector]], seed: int, progress: Progress
) -> tuple[Vector, ...]:
    """The correlation of each pair with its second vector shuffled, so many times."""
    n, rng = len(pairs[0][0]), np.random.default_rng([seed, 1])
    standard = [(_standard(x), _standard(y)) for x, y in pairs]
    found = np.empty((len(pairs), resamples_for(n)))
    for i in range(found.shape[1]):
        order = rng.permutation(n)
        found[:, i] = [x @ y[order] for x, y in standard]
        progress("shuffling tokens", i + 1, found.shape[1])
    return tuple(found)


def _standard(values: Vector) -> Vector:
    centred: Vector = values - values.mean()
    return np.asarray(centred / np.linalg.norm(centred))


def _middle(values: Vector) -> tuple[float, float]:
    """The middle 95 % of those that are numbers."""
    known = values[np.isfinite(values)]
    if not len(known):
        return _NONE
    low, high = np.quantile(known, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return float(low), float(high)
