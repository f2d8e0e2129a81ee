"""The nearest rows of a row: which tokens stand near a token in one space."""

from typing import Any

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.devices import full_float32
from embtie_widgets.measures.matrices import BLOCK, as_matrix
from embtie_widgets.results.neighbours import Neighbours

METRICS = ("cosine", "euclidean")


def nearest(
    x: Any, row: int, k: int = 10, metric: str = "cosine", center: bool = False
) -> Neighbours:
    """The k rows of x (V, d) nearest to `row`, which is not among them.

    Cosine similarity in [-1, 1], the largest first, or Euclidean distance, the smallest first, in
    float64 of the stored values.  Equal ones come in the order of their rows; duplicates of the
    row are kept; rows that are zero (for the cosine) or not finite are no neighbours.
    """
    matrix = as_matrix(x)
    if metric not in METRICS:
        raise EmbtieError(f"metric is {metric!r}; expected 'cosine' or 'euclidean'.", "Choose one.")
    if not 0 <= row < len(matrix):
        raise EmbtieError(
            f"There is no row {row}; the matrix has {len(matrix)}.", "Choose another token."
        )
    nearness = _nearness(matrix, row, metric, center)
    nearness[row] = -torch.inf
    order = torch.sort(nearness, descending=True, stable=True).indices[: min(k, len(matrix) - 1)]
    order = order[nearness[order] > -torch.inf]
    values = nearness[order] if metric == "cosine" else -nearness[order]
    return Neighbours(
        rows=order.numpy(),
        values=values.numpy(),
        settings={"row": row, "k": k, "metric": metric, "center": center},
    )


def _nearness(matrix: torch.Tensor, row: int, metric: str, center: bool) -> torch.Tensor:
    """(V,) float64: the larger the nearer; minus infinity for rows that have none."""
    mean = _mean(matrix) if center else torch.zeros(matrix.shape[1], dtype=torch.float64)
    here = matrix[row].cpu().double() - mean
    parts = []
    with full_float32():
        for block in matrix.split(BLOCK):
            rows = block.cpu().double() - mean
            if metric == "cosine":
                part = rows @ here / (torch.linalg.vector_norm(rows, dim=1) * here.norm())
            else:
                part = -torch.linalg.vector_norm(rows - here, dim=1)
            parts.append(part)
    return torch.cat(parts).nan_to_num(nan=-torch.inf, posinf=-torch.inf)


def _mean(matrix: torch.Tensor) -> torch.Tensor:
    total = torch.zeros(matrix.shape[1], dtype=torch.float64)
    rows = 0
    for block in matrix.split(BLOCK):
        part = block.cpu().double()
        part = part[part.isfinite().all(1)]
        total += part.sum(0)
        rows += len(part)
    return total / max(rows, 1)
