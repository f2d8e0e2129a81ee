"""Where a token stands when its norm is drawn against its count, and which tokens are drawn.

Tokens that do not occur have a strip of their own left of the axis, a column for each matrix.
"""

from dataclasses import dataclass

import numpy as np

from embtie_widgets.charts.shapes import Vector
from embtie_widgets.results.norms import NormFrequency, PairNorms

NAMES = ("In", "Out", "Tied")
SCALES = ("linear", "log", "relative")
# Of each matrix so many points are drawn at most: more would be one grey cloud, and slow.
SEEN_POINTS, UNSEEN_POINTS, LIT_POINTS = 1_500, 300, 400
LABELS = 30
# In parts of the axis: a column of the strip, and a label with its line's height.
_COLUMN, _LETTER, _HEIGHT = 0.035, 0.011, 0.05
_LEVELS = 5
_GOLDEN = 0.6180339887


@dataclass(frozen=True)
class Plane:
    """The axes of one result; `scale` is one of SCALES, what the norms are measured in."""

    result: PairNorms | None
    scale: str = "linear"

    def matrix(self, name: str) -> NormFrequency | None:
        """One of the matrices, None where there is none."""
        return None if self.result is None else self.result.matrices.get(name)

    @property
    def right(self) -> float:
        """The largest log10(count + 1) on the axis, with some room."""
        known = [one.log_count for one in self.result.matrices.values()] if self.result else []
        return 1.03 * max((float(v.max(initial=0.0)) for v in known), default=0.0) or 1.0

    @property
    def column(self) -> float:
        """How wide a column of the strip is."""
        return self.right * _COLUMN

    @property
    def left(self) -> float:
        """Where the strip begins; without tokens in it, the axis begins at no count."""
        return -(len(NAMES) + 1.5) * self.column if self.has_strip else 0.0

    @property
    def has_strip(self) -> bool:
        """Whether there are tokens that do not occur."""
        return (
            any(one.unseen.rows for one in self.result.matrices.values()) if self.result else False
        )

    def unit(self, name: str) -> float:
        """What norms of a matrix are divided by: their median over the tokens that occur."""
        one = self.matrix(name)
        if one is None or self.scale != "relative":
            return 1.0
        known = one.norm[one.used] if one.used.any() else one.norm[one.apart]
        return float(np.median(known)) or 1.0

    def centre(self, name: str) -> float:
        """The middle of a matrix's column in the strip."""
        return (NAMES.index(name) - len(NAMES) - 0.5) * self.column

    def place(self, name: str, tokens: Vector) -> tuple[Vector, Vector]:
        """Coordinates of tokens in one matrix; NaN for those without a norm, or without a log."""
        one = self.matrix(name)
        if one is None:
            return np.empty(0), np.empty(0)
        spread = (tokens * _GOLDEN % 1 - 0.5) * 0.7 * self.column
        x = np.where(one.counts[tokens] > 0, one.log_count[tokens], self.centre(name) + spread)
        y = one.norm[tokens] / self.unit(name)
        return x, np.where(y > 0, y, np.nan) if self.scale == "log" else y


def seen(one: NormFrequency | None) -> Vector:
    """Places of the tokens whose points are drawn, evenly spread in order of count and norm."""
    return np.empty(0, np.int64) if one is None else _spread(one, one.used, SEEN_POINTS)


def unseen(one: NormFrequency | None) -> Vector:
    """The same of tokens that do not occur, in order of norm."""
    return np.empty(0, np.int64) if one is None else _spread(one, one.apart, UNSEEN_POINTS)


def _spread(one: NormFrequency, among: Vector, most: int) -> Vector:
    places = np.flatnonzero(among)
    order = places[np.lexsort((one.norm[places], one.counts[places]))]
    return evenly(order, most)


def evenly(places: Vector, most: int) -> Vector:
    """All of them, or so many at equal distances, the first and the last among them."""
    if len(places) <= most:
        return places
    kept = np.linspace(0, len(places) - 1, most).round().astype(int)
    return np.asarray(places[kept])


def labelled(plane: Plane, lit: Vector, letters: Vector) -> tuple[Vector, Vector, Vector]:
    """Which of the lit tokens get their text beside them, and where: (tokens, x, y).

    A token's text stands above its highest point, and higher where another's is in the way; one
    for which there is no room is left out, and so are all after the thirtieth.  The most frequent
    come first.  `letters` are text lengths.
    """
    x, y = (np.array(v) for v in zip(*(plane.place(n, lit) for n in _there(plane)), strict=True))
    known = np.isfinite(y).any(axis=0)
    top = np.where(known, np.nan_to_num(y, nan=-np.inf).argmax(axis=0), 0)
    x, y = x[top, np.arange(len(lit))], y[top, np.arange(len(lit))]
    flat, step = (x - plane.left) / (plane.right - plane.left), _step(plane, y)
    kept: dict[int, float] = {}
    for i in np.lexsort((np.arange(len(lit)), -x)).tolist():
        near = [
            (kept[j] if plane.scale != "log" else np.log10(kept[j]))
            for j in kept
            if abs(flat[i] - flat[j]) < _LETTER * (letters[i] + letters[j]) / 2
        ]
        level = _free(float(np.log10(y[i]) if plane.scale == "log" else y[i]), step, near)
        if known[i] and level is not None and len(kept) < LABELS:
            kept[i] = 10**level if plane.scale == "log" else level
    chosen = np.array(sorted(kept), np.int64)
    return lit[chosen], x[chosen], np.array([kept[i] for i in chosen.tolist()])


def _free(start: float, step: float, taken: list[float]) -> float | None:
    """The lowest level from `start` on that is a step away from those taken; None if too high."""
    levels = (start + i * step for i in range(_LEVELS))
    return next((at for at in levels if all(abs(at - other) >= step for other in taken)), None)


def _there(plane: Plane) -> list[str]:
    return [name for name in NAMES if plane.matrix(name) is not None]


def _step(plane: Plane, lit: Vector) -> float:
    """The height of a line of text in the units of the axis: of norms, or of their logarithms."""
    norms = [plane.place(n, seen(plane.matrix(n)))[1] for n in _there(plane)]
    ends = np.concatenate([*norms, lit])
    ends = ends[np.isfinite(ends)]
    ends = np.log10(ends) if plane.scale == "log" else np.append(ends, 0.0)
    return _HEIGHT * float(np.ptp(ends)) or 1.0
