"""One family of maps between embedding spaces: fit, apply, describe.

Identity, orthogonal (Procrustes) and linear (least squares, ridge) differ only in which d1 x d2
matrix they take from the moments.  Source: weight-tying paper, table 1.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.moments import Moments, Pair, symmetrise
from embtie_widgets.measures.pausing import Pause, no_pause, product
from embtie_widgets.measures.polar import Polar, polar_factor

# Relative rounding of a product summed in float64 from blocks of float32 (measured), and of one
# in float64.
ROUNDING = {torch.float32: 2e-8, torch.float64: 2e-16}
TOLERANCE = 1.5e-6
_SKETCH = 24
_EPS = torch.finfo(torch.float64).eps
_LEAST = torch.finfo(torch.float64).tiny


@dataclass(frozen=True)
class Sense:
    """Sketches (d1, k) and (d2, k) that tell the cosine error of each pair of rows."""

    source: torch.Tensor
    target: torch.Tensor
    scale: float

    def worst(self, x: torch.Tensor, y: torch.Tensor) -> float:
        """The largest error, as a standard deviation, among the rows of two blocks."""
        felt = (x @ self.source.to(x)).square().sum(1) * (y @ self.target.to(y)).square().sum(1)
        lengths = x.square().sum(1) * y.square().sum(1)
        return self.scale * math.sqrt(float((felt / lengths).nan_to_num(nan=0.0).max()))


@dataclass(frozen=True)
class Map:
    """A fitted map: `matrix` (d1, d2) float64, or None for the identity.

    `error` estimates the root-mean-square error of a cosine through rounding in the products
    and is the reason to fit again in higher precision when it exceeds `TOLERANCE`; `sense` does
    the same row by row where it depends on the row.
    """

    kind: str
    matrix: torch.Tensor | None
    facts: dict[str, Any]
    error: float = 0.0
    sense: Sense | None = None

    def apply(self, block: torch.Tensor) -> torch.Tensor:
        """The mapped rows of a block (n, d1), in the block's own type and place."""
        return block if self.matrix is None else block @ self.matrix.to(block)

    def on(self, like: torch.Tensor) -> "Map":
        """The same map with its matrix already in the type and place of `like`."""
        moved = None if self.matrix is None else self.matrix.to(like)
        return Map(self.kind, moved, self.facts, self.error, self.sense)

    def describe(self) -> dict[str, Any]:
        """Kind, shape and what characterises the fit, as plain values."""
        return {"kind": self.kind, **self.facts}


def fit(
    kind: str,
    moments: Moments,
    pair: Pair,
    ridge: float,
    rounding: float,
    pause: Pause = no_pause,
) -> Map:
    """The map of that kind from `pair[0]` to `pair[1]`, fitted on these moments."""
    return FITS[kind](moments, pair, ridge, rounding, pause)


def check_fit(kind: str, rows: int, widths: tuple[int, int], ridge: float) -> None:
    """Refuse what cannot mean anything, before any product is formed."""
    source, target = widths
    if not isinstance(kind, str) or kind not in FITS:
        raise EmbtieError(
            f"map is {kind!r}; expected one of {', '.join(map(repr, FITS))}.",
            "Choose one of these.",
        )
    if not isinstance(ridge, int | float) or not 0 <= ridge < math.inf:
        raise EmbtieError(
            f"ridge is {ridge!r}; expected a number, 0 or more.", "Set it to 0 for none."
        )
    if kind == "identity" and source != target:
        raise EmbtieError(
            f"The identity map needs equal widths; these are {source} and {target}.",
            "Choose the orthogonal or the linear map.",
        )
    if kind == "linear" and rows <= source and ridge == 0:
        raise EmbtieError(
            f"Fewer tokens than dimensions: {rows} usable rows for {source} columns. "
            "A linear map fits any such target exactly, so its score means nothing.",
            "Set ridge above 0, use more tokens, or choose the orthogonal map.",
        )


def _identity(moments: Moments, pair: Pair, ridge: float, rounding: float, pause: Pause) -> Map:
    return Map("identity", None, {"shape": [len(moments.sums[name]) for name in pair]})


def _orthogonal(moments: Moments, pair: Pair, ridge: float, rounding: float, pause: Pause) -> Map:
    cross = moments.cross[pair]
    quick = rounding > ROUNDING[torch.float64]
    polar = polar_factor(cross, exact=not quick, pause=pause)
    facts: dict[str, Any] = {"shape": list(cross.shape)}
    if cross.shape[0] == cross.shape[1]:
        facts["determinant"] = int(torch.linalg.slogdet(polar.factor.float()).sign.item())
    sense = _sense(moments, pair, polar, rounding) if quick else None
    return Map("orthogonal", polar.factor, facts, sense=sense)


def _sense(moments: Moments, pair: Pair, polar: Polar, rounding: float) -> "Sense":
    """What every row feels of the rounding in the product M = U S V^T.

    An error E turns R by E_ij / (s_i + s_j) in the singular basis, at most by
    E_ij / (2 sqrt(s_i s_j)).  A row feels its own weight in these directions:
    x^T (M M^T)^(-1/2) x and y^T (M^T M)^(-1/2) y.
    """
    factor, inverse = polar.factor.float(), polar.inverse.float()
    size = (moments.square[pair[0]] * moments.square[pair[1]] / factor.numel()) ** 0.5
    return Sense(_sketch(factor @ inverse), _sketch(inverse @ factor), rounding * size / 2)


def _sketch(weight: torch.Tensor) -> torch.Tensor:
    """(d, k) such that |x sketch|^2 is x^T weight x, to about a third, for any x."""
    weight = (weight + weight.T) / 2
    # What float32 cannot tell from zero is taken for more than it is, never for less.
    weight.diagonal().add_(1e-5 * weight.diagonal().abs().max())
    root, failed = torch.linalg.cholesky_ex(weight)
    if int(failed):
        return torch.full((len(weight), 1), torch.inf)
    generator = torch.Generator().manual_seed(0)
    sketch: torch.Tensor = root @ torch.randn(len(weight), _SKETCH, generator=generator)
    return sketch.div(_SKETCH**0.5)


def _linear(moments: Moments, pair: Pair, ridge: float, rounding: float, pause: Pause) -> Map:
    values, vectors = torch.linalg.eigh(symmetrise(moments.gram[pair[0]]))
    values = values.clamp_min(0.0)
    # Below this an eigenvalue of a float64 Gram matrix is rounding, not data.
    kept = values > values.max() * len(values) * _EPS
    inverse = torch.where(kept, 1 / (values + ridge).clamp_min(_LEAST), 0.0)
    pause()
    turned = inverse[:, None] * product(vectors.T, moments.cross[pair], pause)
    matrix = product(vectors, turned, pause)
    spread = float(values.mean() * inverse.mean())
    lost = 0.0 if ridge > 0 or bool(kept.all()) else math.inf
    error = rounding * spread**0.5 + ROUNDING[torch.float64] * spread + lost
    return Map("linear", matrix, _linear_facts(matrix, kept, (values + ridge).sqrt()), error)


def fit_triangular(triangle: torch.Tensor, rotated: torch.Tensor, rows: int, ridge: float) -> Map:
    """The minimum-norm linear map from the QR factors of the centred rows, for ill-conditioned X.

    triangle (d1, d1) and rotated (d1, d2) are R and Q^T Y.  Rank as in numpy's `lstsq`.
    """
    left, sigma, right = torch.linalg.svd(triangle, full_matrices=False)
    kept = sigma > sigma.max() * max(rows, len(sigma)) * _EPS
    inverse = torch.where(kept, sigma / (sigma.square() + ridge).clamp_min(_LEAST), 0.0)
    matrix = right.T @ (inverse[:, None] * (left.T @ rotated))
    return Map("linear", matrix, _linear_facts(matrix, kept, (sigma.square() + ridge).sqrt()))


def _linear_facts(matrix: torch.Tensor, kept: torch.Tensor, sigma: torch.Tensor) -> dict[str, Any]:
    used = sigma[kept]
    condition = float(used.max() / used.min()) if len(used) else math.nan
    return {"shape": list(matrix.shape), "rank": int(kept.sum()), "condition": condition}


FITS: dict[str, Callable[[Moments, Pair, float, float, Pause], Map]] = {
    "identity": _identity,
    "orthogonal": _orthogonal,
    "linear": _linear,
}
