"""The orthogonal polar factor: the rotation (or reflection) nearest to a matrix."""

from dataclasses import dataclass

import torch

from embtie_widgets.measures.pausing import Pause, no_pause, product

# Below this width an SVD costs next to nothing.
_NEWTON_FROM = 512
_MAX_STEPS = 40
_SINGULAR = 1e11
# A step on a matrix of this condition number leaves one that float32 holds without harm.
_MILD = 10.0
# After such a change two steps of `_polish` leave nothing but rounding.
_CLOSE = 1e-2


@dataclass(frozen=True)
class Polar:
    """`factor` (d1, d2) with orthonormal columns or rows, `inverse` (d2, d1) of the matrix."""

    factor: torch.Tensor
    inverse: torch.Tensor


def polar_factor(matrix: torch.Tensor, exact: bool = True, pause: Pause = no_pause) -> Polar:
    """The partial isometry R that maximises trace(R^T M), for M (d1, d2) in float64.

    Wide square regular matrices go by Higham's scaled Newton iteration, several times faster than
    an SVD and as accurate; all others go by the SVD.  Without `exact` the iteration turns to
    float32 as soon as the small singular values have grown, which is good for about 1e-7 in R.
    Higham, "Computing the polar decomposition - with applications" (1986).
    """
    rows, columns = matrix.shape
    if rows == columns and rows >= _NEWTON_FROM:
        found = _newton(matrix, exact, pause)
        if found is not None:
            return found
    left, sigma, right = torch.linalg.svd(matrix, full_matrices=False)
    inverse = right.T @ (left.T / sigma.clamp_min(torch.finfo(sigma.dtype).tiny)[:, None])
    return Polar(left @ right, inverse)


def _newton(matrix: torch.Tensor, exact: bool, pause: Pause) -> Polar | None:
    size = float(torch.linalg.matrix_norm(matrix))
    if size == 0.0:
        return None
    current, first_inverse = matrix / size, None
    for _ in range(_MAX_STEPS):
        pause()
        inverse, failed = torch.linalg.inv_ex(current)
        if int(failed) or not bool(inverse.isfinite().all()):
            return None
        if first_inverse is None:
            first_inverse = inverse
        following, change, condition = _step(current, inverse)
        if not condition < _SINGULAR:
            return None
        current = following.float() if not exact and condition < _MILD**2 else following
        if change < _CLOSE:
            break
    factor = _polish(_polish(current, pause), pause).to(matrix.dtype)
    assert first_inverse is not None  # noqa: S101 - the loop ran
    return Polar(factor, first_inverse / size)


def _step(current: torch.Tensor, inverse: torch.Tensor) -> tuple[torch.Tensor, float, float]:
    """The next iterate, the relative change, and an estimate of the condition number."""
    size, other = _product_of_norms(current), _product_of_norms(inverse)
    gamma = (other / size) ** 0.25
    following = torch.add(current * (gamma / 2), inverse.T, alpha=0.5 / gamma)
    change = torch.linalg.matrix_norm(following - current) / torch.linalg.matrix_norm(current)
    return following, float(change), (size * other / len(current)) ** 0.5


def _product_of_norms(matrix: torch.Tensor) -> float:
    """Of the largest column sum and the largest row sum: at least the square of sigma_1."""
    sizes = matrix.abs()
    return float(sizes.sum(0).max() * sizes.sum(1).max())


def _polish(factor: torch.Tensor, pause: Pause) -> torch.Tensor:
    """One Newton-Schulz step: squares the distance from orthogonality."""
    return 1.5 * factor - product(0.5 * factor, product(factor.T, factor, pause), pause)
