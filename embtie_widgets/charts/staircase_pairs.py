"""Pairs of anchors: similar as rows, similar as signatures, and what they add to a correlation."""

from dataclasses import dataclass

import numpy as np

from embtie_widgets.charts.shapes import Vector
from embtie_widgets.charts.staircase_view import Look, at
from embtie_widgets.results.staircase import SignatureTrack

_LEAST = 5e-5  # a smaller part of a correlation is not told


@dataclass(frozen=True)
class Pair:
    """Two anchors at one step.

    anchors    their places
    embedding  cosine of their rows
    signature  cosine of their signatures
    part       what the pair adds to the Pearson correlation over all pairs, which is the sum of
               all of these
    """

    anchors: tuple[int, int]
    embedding: float
    signature: float
    part: float


def pair_of(shown: Look, track: SignatureTrack, anchors: tuple[int, ...]) -> Pair | None:
    """That pair; None for one and the same anchor or for one that is not there."""
    n = shown.matrix.similarity.shape[-1]
    if len(anchors) != 2 or anchors[0] == anchors[1] or not all(0 <= one < n for one in anchors):
        return None
    rows, columns, own, other, parts = _parts(shown, track)
    low, high = sorted(anchors)
    place = int(np.flatnonzero((rows == low) & (columns == high))[0])
    return Pair((low, high), float(own[place]), float(other[place]), float(parts[place]))


def driving(shown: Look, track: SignatureTrack, count: int) -> tuple[list[Pair], list[Pair]]:
    """The pairs that raise the correlation most, and those that lower it most."""
    rows, columns, own, other, parts = _parts(shown, track)
    ranked = np.argsort(parts)
    ranked = ranked[np.isfinite(parts[ranked])]

    def made(places: Vector) -> list[Pair]:
        return [
            Pair((int(rows[i]), int(columns[i])), float(own[i]), float(other[i]), float(parts[i]))
            for i in places
        ]

    up = [i for i in ranked[::-1][:count] if parts[i] > _LEAST]
    down = [i for i in ranked[:count] if parts[i] < -_LEAST]
    return made(np.array(up, int)), made(np.array(down, int))


def agreement(shown: Look, track: SignatureTrack) -> Vector:
    """(A,) of each anchor the Pearson correlation of its similarities to all others with those of
    its signature; NaN where one of the two does not vary."""
    own, other = (
        np.array(at(values, shown.place), float)
        for values in (shown.matrix.similarity, track.similarity)
    )
    for one in (own, other):
        np.fill_diagonal(one, np.nan)
    return np.array([_correlation(a, b) for a, b in zip(own, other, strict=True)])


def _correlation(a: Vector, b: Vector) -> float:
    known = np.isfinite(a) & np.isfinite(b)
    a, b = a[known], b[known]
    if len(a) < 3 or a.std() < 1e-6 or b.std() < 1e-6:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])


def _parts(shown: Look, track: SignatureTrack) -> tuple[Vector, Vector, Vector, Vector, Vector]:
    """Rows and columns of every pair, its two similarities, and its part of the correlation."""
    own, other = (at(values, shown.place) for values in (shown.matrix.similarity, track.similarity))
    rows, columns = np.triu_indices(len(own), 1)
    a, b = own[rows, columns].astype(float), other[rows, columns].astype(float)
    spread = np.sqrt(np.nanmean((a - np.nanmean(a)) ** 2) * np.nanmean((b - np.nanmean(b)) ** 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = (a - np.nanmean(a)) * (b - np.nanmean(b)) / (spread * len(a))
    return rows, columns, a, b, parts if spread > 1e-9 else np.full(len(a), np.nan)
