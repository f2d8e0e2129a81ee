"""Singular values and right singular vectors of tall matrices, by the cheapest sound route.

Small matrices go through the SVD of all their rows.  Large ones through the eigenvectors of
their Gram matrix, summed in float64: d x d, or n x n where there are fewer rows than columns.
Its eigenvalues are the squares of the singular values, so that the last digits of those far below
the largest drown.  Where the smallest is that far below, the triangle of a QR factorisation takes
the place of the Gram matrix: several times the work, and every value to the rounding of the
largest.
"""

from dataclasses import dataclass, replace

import torch

from embtie_widgets.measures.matrices import Matrix, Rows
from embtie_widgets.measures.moments import Arithmetic, accumulate, symmetrise
from embtie_widgets.measures.pausing import Remembered, product
from embtie_widgets.measures.triangular import triangle_of
from embtie_widgets.progress import Progress, silent

_EPS = torch.finfo(torch.float64).eps
# So many multiplications an SVD does within half a second.
_DIRECT_UP_TO = 5e8
# From a Gram matrix singular values down to this share of the largest are right to 1e-6.
_RESOLVED = 1e-4
_ROUNDINGS = 16


@dataclass(frozen=True)
class Axes:
    """The singular value decomposition of the rows that take part, without its left side.

    sigma     (m,) float64, m = min(n, d), the largest first; 0 where it is rounding alone
    vectors   (d, m) float64, the right singular vectors; None where they were not asked for
    route     "svd", "gram" or "qr"
    """

    sigma: torch.Tensor
    vectors: torch.Tensor | None
    route: str

    @property
    def rank(self) -> int:
        """How many singular values are more than rounding."""
        return int((self.sigma > 0).sum())


@dataclass(frozen=True)
class Cloud:
    """The rows of one matrix that take part, and whether about their mean.

    The matrix holds the mean; for `centred` it is taken to be the mean of these very rows.
    """

    matrix: Matrix
    rows: Rows
    centred: bool

    @property
    def shape(self) -> tuple[int, int]:
        """Rows that take part, and columns."""
        return len(self.rows), self.matrix.width

    @property
    def rounding(self) -> float:
        """What taking off the mean may leave of nothing, as a length over all rows, scaled."""
        if not self.centred:
            return 0.0
        norms = self.matrix.norms if self.rows.index is None else self.matrix.norms[self.rows.index]
        raw = float(torch.linalg.vector_norm(norms * self.matrix.scale))
        return _ROUNDINGS * _EPS * raw

    def gathered(self) -> torch.Tensor:
        """All rows at once as float64 (n, d): for small ones only."""
        index = slice(None) if self.rows.index is None else self.rows.index
        part = self.matrix.block(index, torch.empty(0, dtype=torch.float64))
        return part - part.mean(0) if self.centred else part


def find_axes(
    cloud: Cloud,
    gram: torch.Tensor | None = None,
    vectors: bool = True,
    device: torch.device | None = None,
    progress: Progress = silent,
) -> Axes:
    """The axes of these rows; `gram` (d, d), the sum of x x^T over them, if it is there already."""
    n, width = cloud.shape
    if n * width * min(n, width) <= _DIRECT_UP_TO:
        return _finish(cloud, *_svd(cloud.gathered(), vectors), "svd")
    if n <= width:
        return _of_few_rows(cloud, vectors, progress)
    if gram is None:
        gram, cloud = _gram(cloud, device or torch.device("cpu"), progress)
    progress(f"eigenvectors of {width:,} x {width:,}", 0, 1)
    sigma, right = _eigen(gram, vectors)
    if _is_resolved(sigma):
        return _finish(cloud, sigma, right, "gram")
    triangle = triangle_of(cloud.matrix, cloud.rows, progress)
    progress(f"singular values of {width:,} x {width:,}", 0, 1)
    return _finish(cloud, *_svd(triangle, vectors), "qr")


def _gram(cloud: Cloud, device: torch.device, progress: Progress) -> tuple[torch.Tensor, Cloud]:
    """The sum of x x^T, and the same rows with their mean to the last digit."""
    how = Arithmetic(device, torch.float64).in_float64()
    found = accumulate({"x": (cloud.matrix, cloud.rows)}, {}, ["x"], how, progress)
    if not cloud.centred:
        return symmetrise(found.gram["x"]), cloud
    mean = cloud.matrix.mean + found.shifts()["x"] / cloud.matrix.scale
    exact = replace(cloud, matrix=replace(cloud.matrix, mean=mean))
    return symmetrise(found.about_own_mean().gram["x"]), exact


def _of_few_rows(cloud: Cloud, vectors: bool, progress: Progress) -> Axes:
    """With no more rows than columns: from the n x n products of the rows."""
    rows, said = cloud.gathered(), Remembered(progress)
    n = len(rows)
    said("multiplying", 0, n)
    gram = product(rows, rows.T, said.again)
    said(f"eigenvectors of {n:,} x {n:,}", 0, 1)
    sigma, left = _eigen(gram, vectors)
    if not _is_resolved(sigma[: n - cloud.centred]):
        progress(f"singular values of {n:,} x {rows.shape[1]:,}", 0, 1)
        return _finish(cloud, *_svd(rows, vectors), "svd")
    sigma[n - cloud.centred :] = 0.0
    right = None if left is None else _orthonormal(product(rows.T, left, said.again))
    return _finish(cloud, sigma, right, "gram")


def _orthonormal(columns: torch.Tensor) -> torch.Tensor:
    """The same directions, those of vanishing length made up so that all stand at right angles."""
    basis, triangle = torch.linalg.qr(columns)
    signed: torch.Tensor = basis * triangle.diagonal().sign().where(triangle.diagonal() != 0, 1.0)
    return signed


def _svd(rows: torch.Tensor, vectors: bool) -> tuple[torch.Tensor, torch.Tensor | None]:
    if not vectors:
        return torch.linalg.svdvals(rows), None
    _, sigma, right = torch.linalg.svd(rows, full_matrices=False)
    return sigma, right.T


def _eigen(gram: torch.Tensor, vectors: bool) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Roots of the eigenvalues, the largest first, and the eigenvectors in their order."""
    if not vectors:
        return torch.linalg.eigvalsh(gram).clamp_min(0.0).sqrt().flip(0), None
    values, right = torch.linalg.eigh(gram)
    return values.clamp_min(0.0).sqrt().flip(0), right.flip(1)


def _is_resolved(sigma: torch.Tensor) -> bool:
    if not len(sigma):
        return True
    return bool(sigma.min() >= _RESOLVED * sigma.max()) and bool(sigma.max() > 0)


def _finish(cloud: Cloud, sigma: torch.Tensor, vectors: torch.Tensor | None, route: str) -> Axes:
    """Out of the scale of the blocks; what is rounding alone becomes 0."""
    limit = max(float(sigma.max()) * max(cloud.shape) * _EPS, cloud.rounding)
    known = torch.where(sigma > limit, sigma, 0.0) / cloud.matrix.scale
    return Axes(known, vectors, route)
