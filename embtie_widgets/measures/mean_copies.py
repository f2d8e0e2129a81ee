"""Rows that are all but the mean row: added to a finished model, and never trained."""

from typing import Any

import numpy as np
import torch

Rows = np.ndarray[Any, np.dtype[np.int64]]

_NEAR = 1e-2  # of the middle distance from the mean; in bfloat16 added rows lie nearly so far off
_FIRST = 16  # columns that tell nearly all other rows apart
_BLOCK = 4096


def mean_copies(matrix: torch.Tensor) -> Rows:
    """The rows of a (V, d) matrix that lie within a hundredth of the middle distance from the mean
    row, in order; rows of zeros and rows that are not finite are none.

    Models whose vocabulary was enlarged have such rows: the usual start of an added row is the mean
    of the others.  They are near-duplicates of each other and crowd lists of neighbours.
    """
    near = _near_mean(matrix[:, :_FIRST], np.arange(len(matrix)))
    return _near_mean(matrix, near) if len(near) else near


def _near_mean(matrix: torch.Tensor, among: Rows) -> Rows:
    total, many = torch.zeros(matrix.shape[1], dtype=torch.float64), 0
    for block in matrix.split(_BLOCK):
        finite = block[torch.isfinite(block).all(1)]
        total += finite.double().sum(0)
        many += len(finite)
    mean = total / max(many, 1)
    distances = torch.cat([(block.double() - mean).norm(dim=1) for block in matrix.split(_BLOCK)])
    close = distances < _NEAR * distances.nanmedian()
    chosen = torch.from_numpy(among)
    found = chosen[close[chosen] & matrix[chosen].any(1)]
    return found.numpy()
