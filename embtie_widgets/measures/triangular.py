"""QR factors of tall matrices, block by block: for fits too ill-conditioned for moments."""

import torch

from embtie_widgets.measures.matrices import Matrix, Rows
from embtie_widgets.measures.scoring import Side
from embtie_widgets.progress import Progress, silent

_ROWS = 4096


def triangular_factors(
    source: Side, target: Side, progress: Progress = silent
) -> tuple[torch.Tensor, torch.Tensor]:
    """R (d1, d1) and Q^T Y (d1, d2) of the rows of X and Y in float64, in bounded memory.

    Each block is stacked under the factors so far and reduced again.
    """
    like = torch.empty(0, dtype=torch.float64)
    width = source.matrix.width
    triangle = torch.zeros(0, width, dtype=torch.float64)
    rotated = torch.zeros(0, target.matrix.width, dtype=torch.float64)
    done, n = 0, len(source.rows)
    for left, right in zip(source.rows.blocks(_ROWS), target.rows.blocks(_ROWS), strict=True):
        stacked = torch.cat([triangle, source.block(left, like)])
        targets = torch.cat([rotated, target.block(right, like)])
        basis, triangle = torch.linalg.qr(stacked)
        rotated = basis.T @ targets
        done = min(done + _ROWS, n)
        progress("factorising", done, n)
    return triangle, rotated


def triangle_of(matrix: Matrix, rows: Rows, progress: Progress = silent) -> torch.Tensor:
    """R (d, d) alone of these rows, in float64: their singular values without squaring them."""
    like = torch.empty(0, dtype=torch.float64)
    triangle = torch.zeros(0, matrix.width, dtype=torch.float64)
    done, n = 0, len(rows)
    for numbers in rows.blocks(_ROWS):
        stacked = torch.cat([triangle, matrix.block(numbers, like)])
        triangle = torch.linalg.qr(stacked, mode="r").R
        done = min(done + _ROWS, n)
        progress("factorising", done, n)
    return triangle
