"""Correlation of two vectors over tokens, with what sampling and what chance would make of it."""

import math
from dataclasses import dataclass

import numpy as np

from embtie_widgets.results.alignment import Vector
from embtie_widgets.results.norms import Correlation

_FEWEST = 3
_LEVEL, _NORMAL = 0.95, 1.959964
_SHUFFLES = 1000
_NONE = (float("nan"), float("nan"))
# Values that agree to so many digits differ by rounding: they are equal.
_DIGITS = 12


@dataclass(frozen=True)
class _Ties:
    """Values as groups of equal ones: the number of each value's group in rising order, (n,), and
    how many values each group has."""

    group: Vector
    sizes: Vector

    @classmethod
    def of(cls, values: Vector) -> "_Ties":
        part, exponent = np.frexp(values)
        rounded = np.ldexp(np.round(part, _DIGITS), exponent)
        _, group, sizes = np.unique(rounded, return_inverse=True, return_counts=True)
        return cls(group, sizes)

    def ranks(self) -> Vector:
        """Mean ranks, (n,)."""
        return np.asarray((np.cumsum(self.sizes) - (self.sizes - 1) / 2)[self.group])

    def above(self, numbers: Vector) -> Vector:
        """For each value the sum of the `numbers` (n,) of all larger values, and half of those of
        the equal ones: what changes in the sum of numbers times ranks when the value comes twice.
        """
        sums = np.bincount(self.group, numbers)
        return np.asarray((sums.sum() - np.cumsum(sums) + sums / 2)[self.group])


def correlate(x: Vector, y: Vector, seed: int = 0) -> Correlation:
    """Pearson and Spearman correlation of x and y, (n,) finite numbers each.

    Intervals come from the influence that each token has on the correlation, that on the ranks of
    all others included, by the normal law on Fisher's scale.  They assume no shape of the two:
    norms spread unevenly along the frequency, and Fisher's own interval, which assumes that they
    do not, is a third too narrow there.  Chance is the same correlation with y shuffled.
    """
    n = len(x)
    x, y = _unit(x), _unit(y)
    ties = _Ties.of(x), _Ties.of(y)
    if n < _FEWEST or min(len(ties[0].sizes), len(ties[1].sizes)) < 2:
        nan = float("nan")
        return Correlation(n, nan, nan, _NONE, _NONE, nan, nan, nan)
    x, y = _standard(x), _standard(y)
    ranked = _standard(ties[0].ranks()), _standard(ties[1].ranks())
    pearson, spearman = float(x @ y), float(ranked[0] @ ranked[1])
    return Correlation(
        tokens=n,
        pearson=min(1.0, max(-1.0, pearson)),
        spearman=min(1.0, max(-1.0, spearman)),
        pearson_interval=_interval(pearson, _influence(x, y)),
        spearman_interval=_interval(spearman, _influence(*ranked, ties)),
        pearson_floor=_floor(x, y, seed),
        spearman_floor=_floor(*ranked, seed),
        floor_expected=_NORMAL / math.sqrt(n - 1),
    )


def _unit(values: Vector) -> Vector:
    """The values over the largest of them, so that squares stay inside the arithmetic."""
    values = np.asarray(values, float)
    largest = float(np.abs(values).max(initial=0.0))
    return values / largest if largest > 0 else values


def _standard(values: Vector) -> Vector:
    """The values with mean 0 and sum of squares 1."""
    centred: Vector = values - values.mean()
    return np.asarray(centred / np.linalg.norm(centred))


def _influence(x: Vector, y: Vector, ties: tuple[_Ties, _Ties] | None = None) -> Vector:
    """(n,) how much the correlation x @ y of standard vectors would change, for each token, if it
    came once more; with `ties` the vectors are ranks, which change then as well."""
    r = x @ y
    product, square_x, square_y = x * y, x * x, y * y
    if ties is not None:
        # A rank grows by one where a smaller value comes in, in units of the standard ranks.
        step_x, step_y = (_step(ties[0], x), _step(ties[1], y))
        product = product + step_x * ties[0].above(y) + step_y * ties[1].above(x)
        square_x = square_x + 2 * step_x * ties[0].above(x)
        square_y = square_y + 2 * step_y * ties[1].above(y)
    return np.asarray(product - r * (square_x + square_y) / 2)


def _step(ties: _Ties, ranks: Vector) -> float:
    """What one rank is in standard ranks."""
    plain = ties.ranks()
    low, high = int(plain.argmin()), int(plain.argmax())
    return float((ranks[high] - ranks[low]) / (plain[high] - plain[low]))


def _interval(r: float, influence: Vector) -> tuple[float, float]:
    """95 % of a correlation whose tokens were drawn from many."""
    error = float(np.linalg.norm(influence - influence.mean()))
    room = 1 - r * r
    if room <= 10.0**-_DIGITS:
        return (r, r)
    z, half = math.atanh(r), _NORMAL * error / room
    return (math.tanh(z - half), math.tanh(z + half))


def _floor(x: Vector, y: Vector, seed: int) -> float:
    """What 95 % of the correlations of x with a shuffled y stay below, whatever their sign.

    Both are shuffled, and then y is moved on round x place by place: every move is a shuffle of its
    own, and one Fourier transform gives the correlations of all n.
    """
    n, rng = len(x), np.random.default_rng(seed)
    found = []
    for _ in range(math.ceil(_SHUFFLES / n)):
        mixed = np.fft.rfft(rng.permutation(x)) * np.fft.rfft(rng.permutation(y)).conj()
        found.append(np.fft.irfft(mixed, n))
    return float(np.quantile(np.abs(np.concatenate(found)), _LEVEL))
