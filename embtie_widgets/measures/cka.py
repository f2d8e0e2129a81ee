"""Linear centred kernel alignment (Kornblith et al. 2019) from d x d products, plain and debiased.

With the rows about their mean, K = X X^T and L = Y Y^T, everything follows from sums that need no
n x n table: <K, L> = |X^T Y|^2, and the squared lengths k and l of the rows, which are the
diagonals.  The debiased variant is the same ratio of the unbiased estimator of Song et al. (2012),
which leaves the diagonals out; for centred rows it comes down to

    |X^T Y|^2 - n / (n - 2) sum(k l) + sum(k) sum(l) / ((n - 1) (n - 2)),

up to a factor that cancels.  Both floors are exact: the mean over all permutations of the rows of
y is tr K tr L / (n - 1) for the plain one and 0 for the debiased one.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from embtie_widgets.measures.devices import pick_device
from embtie_widgets.measures.hashes import watched
from embtie_widgets.measures.matrices import (
    Matrix,
    Rows,
    as_matrix,
    check_heights,
    prepare,
)
from embtie_widgets.measures.moments import Arithmetic, Moments, Pair, accumulate, symmetrise
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.spectra import Cka

# Up to this many multiplications float64 costs little, so it is simply used.
_EXACT_UP_TO = 5e9
_ROUNDINGS = 16


def cka(
    x: Any, y: Any, debiased: bool = False, *, device: str = "auto", progress: Progress = silent
) -> Cka:
    """Linear CKA in [0, 1] of x (V, d1) and y (V, d2), the same tokens row by row, with its floor.

    Columns are centred; rotating or scaling either matrix changes nothing.  `debiased` leaves the
    diagonals of the two kernels out: in [-1, 1], about 0 for unrelated rows however wide.  Rows
    that are zero or not finite in either take no part.  NaN where all rows of a matrix are equal.
    """
    tensors = {"x": as_matrix(x, "x"), "y": as_matrix(y, "y")}
    check_heights(tensors)
    matrices, rows, left_out = prepare(tensors, True, progress)
    how = arithmetic(matrices, rows, device)
    chosen = {name: (matrix, rows) for name, matrix in matrices.items()}
    products, names = {("x", "y"): ("x", "y")}, ["x", "y"]
    moments = accumulate(chosen, products, names, how, progress, exact_grams=False)
    sums = kernel_sums(moments.about_own_mean(), moments.shifts(), chosen, how, progress)
    found = aligned(sums, ("x", "y"), debiased)
    settings = found.settings | facts(matrices, rows, left_out, how)
    norms = {name: matrix.norms for name, matrix in matrices.items()}
    return replace(found, settings=settings, hashes=watched({"x": x, "y": y}, norms))


def arithmetic(matrices: Mapping[str, Matrix], rows: Rows, device: str) -> Arithmetic:
    """float64 for small work and for matrices stored so; float32 products for the rest."""
    how = Arithmetic(pick_device(device), torch.float32)
    widest = max(matrix.width for matrix in matrices.values())
    stored = {matrix.values.dtype for matrix in matrices.values()}
    small = len(rows) * widest**2 <= _EXACT_UP_TO
    return how.in_float64() if small or torch.float64 in stored else how


def facts(
    matrices: Mapping[str, Matrix], rows: Rows, left_out: Mapping[str, int], how: Arithmetic
) -> dict[str, Any]:
    """What a comparison of these matrices rests on."""
    return {
        "rows": rows.total,
        "rows_used": len(rows),
        "rows_left_out": dict(left_out),
        "stored": {n: str(m.values.dtype).removeprefix("torch.") for n, m in matrices.items()},
        "device": how.device.type,
        "arithmetic": str(how.dtype).removeprefix("torch."),
    }


@dataclass(frozen=True)
class Kernels:
    """What the kernels of n centred rows come to.

    squares  by name, (n,) float64: the squared lengths of the centred rows
    own      by name, |X^T X|^2; 0 where the rows differ by rounding alone
    cross    by pair, |X^T Y|^2
    """

    n: int
    squares: dict[str, torch.Tensor]
    own: dict[str, float]
    cross: dict[Pair, float]


def kernel_sums(
    about: Moments,
    shifts: Mapping[str, torch.Tensor],
    chosen: Mapping[str, tuple[Matrix, Rows]],
    how: Arithmetic,
    progress: Progress = silent,
) -> Kernels:
    """From moments about the mean, with the Gram matrix of every matrix; `shifts` as in Moments."""
    squares, own = {}, {}
    for name, (matrix, rows) in chosen.items():
        squares[name] = _squares(matrix, rows, shifts[name], how, progress)
        used = matrix.norms if rows.index is None else matrix.norms[rows.index]
        raw = float((used * matrix.scale).square().sum())
        limit = (_ROUNDINGS * torch.finfo(how.dtype).eps) ** 2 * raw
        some = float(squares[name].sum()) > limit
        own[name] = float(symmetrise(about.gram[name]).square().sum()) if some else 0.0
    cross = {pair: float(product.square().sum()) for pair, product in about.cross.items()}
    return Kernels(about.n, squares, own, cross)


def _squares(
    matrix: Matrix, rows: Rows, shift: torch.Tensor, how: Arithmetic, progress: Progress
) -> torch.Tensor:
    like, lengths, done = how.empty(), [], 0
    for some in rows.blocks():
        progress("measuring lengths", done, len(rows))
        block = matrix.block(some, like).sub_(shift.to(like))
        lengths.append(torch.linalg.vector_norm(block, dim=1))
        done += len(block)
    return torch.cat(lengths).cpu().double().square()


def aligned(sums: Kernels, pair: Pair, debiased: bool) -> Cka:
    """The value with its floor, of a pair whose sums are there."""
    value, floor, spread = (_debiased if debiased else _plain)(sums, pair)
    notes = [] if math.isfinite(value) else [_why_none(sums, pair)]
    return Cka(value, floor, spread, debiased, {"debiased": debiased, "notes": notes})


def _why_none(sums: Kernels, pair: Pair) -> str:
    if not all(sums.own[name] > 0 for name in pair):
        return "There is no value: all rows of one of the matrices are equal."
    return f"There is no value: {sums.n} rows are too few."


def _plain(sums: Kernels, pair: Pair) -> tuple[float, float, float]:
    scale = _scale([sums.own[name] for name in pair])
    if math.isnan(scale) or sums.n < 2:
        return math.nan, math.nan, math.nan
    traces = [float(sums.squares[name].sum()) for name in pair]
    floor = traces[0] * traces[1] / scale / (sums.n - 1)
    return min(_cross(sums, pair) / scale, 1.0), min(floor, 1.0), _spread(sums, pair)


def _debiased(sums: Kernels, pair: Pair) -> tuple[float, float, float]:
    n = sums.n
    if n < 4:
        return math.nan, math.nan, math.nan
    own = [_unbiased(sums, name, name, sums.own[name]) for name in pair]
    # A kernel that is its own diagonal and no more leaves rounding behind.
    known = all(u > 1e-12 * sums.own[name] for u, name in zip(own, pair, strict=True))
    scale = _scale(own) if known else math.nan
    value = _unbiased(sums, *pair, _cross(sums, pair)) / scale
    # The variance of <A, B> over permutations, for A and B with zero diagonals and row sums.
    return (
        math.nan if math.isnan(value) else max(-1.0, min(value, 1.0)),
        0.0,
        math.sqrt(2 / (n * (n - 3))),
    )


def _unbiased(sums: Kernels, one: str, other: str, cross: float) -> float:
    n, first, second = sums.n, sums.squares[one], sums.squares[other]
    together = float((first * second).sum()) * n / (n - 2)
    return cross - together + float(first.sum()) * float(second.sum()) / ((n - 1) * (n - 2))


def _cross(sums: Kernels, pair: Pair) -> float:
    return sums.own[pair[0]] if pair[0] == pair[1] else sums.cross[pair]


def _scale(own: Sequence[float]) -> float:
    return math.sqrt(own[0]) * math.sqrt(own[1]) if min(own) > 0 else math.nan


def _spread(sums: Kernels, pair: Pair) -> float:
    """The standard deviation of the plain value over all permutations (Josse et al. 2008)."""
    n = sums.n
    if n < 4:
        return math.nan
    beta, tau = [], []
    for name in pair:
        diagonal, own = sums.squares[name], sums.own[name]
        beta.append(float(diagonal.sum()) ** 2 / own)
        left = n * (n + 1) * float(diagonal.square().sum()) / own - (n - 1) * (beta[-1] + 2)
        tau.append((n - 1) / (n - 3) * left)
    free = [n - 1 - one for one in beta]
    # tau over free twice, multiplied out: free is 0 where all n - 1 directions are alike.
    product = free[0] * free[1] + (n - 3) / (2 * n * (n - 1)) * tau[0] * tau[1]
    return math.sqrt(max(2 * product / ((n + 1) * (n - 1) ** 2 * (n - 2)), 0.0))
