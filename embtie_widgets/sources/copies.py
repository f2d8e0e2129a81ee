"""Rows that tell tokens apart no longer: copies of one row, or of the mean of all rows."""

from typing import Any

import numpy as np
import torch

_ROWS = 4096
_NEAR_MEAN = 1e-2
"""Of the median distance to the mean: no trained token comes a hundred times closer."""


def near_copies(matrix: torch.Tensor) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Row numbers of near-identical rows of a (V, d) matrix, sorted.

    Rows added to a vocabulary start as copies of the mean row and stay there until trained; they
    crowd neighbour lists.  Found are rows that lie on the mean, where there are two or more, and
    rows whose stored bytes another row has too.
    """
    distance = _distance_to_mean(matrix)
    middle = distance.nanmedian()
    on_mean = torch.nonzero(distance <= _NEAR_MEAN * middle).flatten().tolist()
    found = set(on_mean if len(on_mean) > 1 and middle > 0 else ())
    return np.array(sorted(found | _repeated(matrix)), np.int64)


def _distance_to_mean(matrix: torch.Tensor) -> torch.Tensor:
    """(V,) float64; NaN for rows that are not finite, which take no part in the mean."""
    total = torch.zeros(matrix.shape[1], dtype=torch.float64)
    count = 0
    for block in matrix.split(_ROWS):
        rows = block.to("cpu", torch.float64)
        rows = rows[rows.isfinite().all(1)]
        total, count = total + rows.sum(0), count + len(rows)
    mean = total / max(count, 1)
    blocks = [(b.to("cpu", torch.float64) - mean).norm(dim=1) for b in matrix.split(_ROWS)]
    distance = torch.cat(blocks)
    return distance.where(distance.isfinite(), torch.nan)


def _repeated(matrix: torch.Tensor) -> set[int]:
    first: dict[bytes, int] = {}
    repeated: set[int] = set()
    for start in range(0, len(matrix), _ROWS):
        block = matrix[start : start + _ROWS].contiguous().view(torch.uint8).cpu().numpy()
        for row, values in enumerate(block, start):
            earlier = first.setdefault(values.tobytes(), row)
            if earlier != row:
                repeated |= {earlier, row}
    return repeated
