"""Means over the positions of a text, and how sure they are."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from embtie_widgets.measures.statistics import resamples_for

Vector = np.ndarray[Any, np.dtype[Any]]

# From so many pieces on they are drawn anew as wholes: positions of one piece resemble each other.
FEWEST_PIECES = 8
_WEIGHTS_AT_ONCE = 4_000_000


def finite_mean(values: Vector) -> Vector:
    """(m, n) -> (m,) mean of the finite ones of each row; NaN without any."""
    known = np.isfinite(values)
    return _ratio(np.where(known, values, 0).sum(axis=1), known.sum(axis=1))


def intervals(values: Vector, piece: Vector, seed: int) -> tuple[Vector, str]:
    """(m, n) -> (m, 2): 95 % of the mean of the finite values of each row, by bootstrap.

    Second: what is drawn anew, "pieces" or, where these are few, "positions".
    """
    pieces, of_piece = np.unique(piece, return_inverse=True)
    by_pieces = len(pieces) >= FEWEST_PIECES
    group = of_piece if by_pieces else np.arange(values.shape[1])
    size = int(group.max(initial=-1)) + 1
    known = np.isfinite(values)
    sums = _by_group(np.where(known, values, 0), group, size)
    counts = _by_group(known, group, size)
    means = np.concatenate([_ratio(w @ sums, w @ counts) for w in _weights(size, seed)])
    return np.stack([_middle(column) for column in means.T]), "pieces" if by_pieces else "positions"


def _middle(means: Vector) -> Vector:
    known = means[np.isfinite(means)]
    return np.quantile(known, [0.025, 0.975]) if len(known) else np.full(2, np.nan)


def _ratio(sums: Vector, counts: Vector) -> Vector:
    ratio: Vector = np.full(np.shape(sums), np.nan)
    np.divide(sums, counts, out=ratio, where=np.asarray(counts) > 0)
    return ratio


def _by_group(values: Vector, group: Vector, size: int) -> Vector:
    """(m, n) -> (size, m) sums."""
    sums = [np.bincount(group, weights=row, minlength=size) for row in values]
    return np.stack(sums, axis=1)


def _weights(size: int, seed: int) -> Iterator[Vector]:
    """How often each group is drawn, (resamples, size), a bounded number at a time."""
    rng, even = np.random.default_rng(seed), np.full(size, 1 / size)
    left = resamples_for(size)
    while left:
        now = min(left, max(1, _WEIGHTS_AT_ONCE // size))
        yield rng.multinomial(size, even, size=now).astype(float)
        left -= now
