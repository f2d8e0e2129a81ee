"""The mean row of a matrix: what it is, how much of the matrix it is, and the matrix without it.

All stored rows count, padding and zero rows too, unweighted (METHODS 2.1); only rows that are not
finite take no part.
"""

import math
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.matrices import BLOCK, as_matrix, survey
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.spectra import MeanShare

_EPS = torch.finfo(torch.float64).eps
# Centred rows that are rounded to their type keep a mean: entries of one magnitude are all rounded
# the same way.  It was measured to be up to a sixth of the type's precision times their length.
_ROUNDING = 0.25
_STAGE = "finding the mean row"


def center(matrix: Any) -> Any:
    """A copy of `matrix` (V, d) without its mean row, in its own type; a tensor stays a tensor.

    Subtracted in float64.  Rows that are not finite stay as they are.  Of an untied output matrix
    this shifts all logits alike, so the softmax stays; of a tied one it moves the inputs as well.
    """
    values = as_matrix(matrix)
    norms, _ = survey(values)
    high, low = _mean(values, norms.isfinite())
    out = torch.empty_like(values, memory_format=torch.contiguous_format)
    for start in range(0, len(values), BLOCK):
        part = values[start : start + BLOCK].cpu().double()
        moved = part.sub(high).sub(low)
        # Below this an entry is what is left of the rounding of its mean.
        moved = torch.where(moved.abs() <= _EPS * high.abs(), 0.0, moved)
        kept = torch.where(norms[start : start + BLOCK, None].isfinite(), moved, part)
        out[start : start + BLOCK] = kept.to(out)
    return out if isinstance(matrix, torch.Tensor) else np.asarray(out.numpy())


def bound_ratio(matrix: Any) -> float:
    """max |(u - mu) mu| / max |u mu| over the rows u of `matrix` (V, d) with the mean row mu.

    Below 1 centring narrows the range of the logits along mu, above 1 it widens it.  NaN for a
    matrix without mean: one whose mean is no more than the rounding of its entries.  Source:
    Output Embedding Centering, METHODS 2.1.
    """
    return mean_share(matrix).bound_ratio


def mean_share(matrix: Any, *, progress: Progress = silent) -> MeanShare:
    """The length of the mean row of `matrix` (V, d) against those of the rows, and its B-ratio."""
    values = as_matrix(matrix)
    norms, _ = survey(values, progress)
    finite = norms.isfinite()
    mu = torch.stack(_mean(values, finite, progress)).sum(0)
    known = norms[finite]
    largest = max(float(known.max()), torch.finfo(torch.float64).tiny)
    rms = float((known / largest).square().mean().sqrt()) * largest
    length = float(torch.linalg.vector_norm(mu / largest)) * largest
    rounding = max(_ROUNDING * torch.finfo(values.dtype).eps, 4 * _EPS)
    none = length <= rounding * rms
    ratio = math.nan if none else _ratio(values, mu / length, finite, length, progress)
    return MeanShare(
        value=length / float(known.mean()) if rms > 0 else math.nan,
        energy=(length / rms) ** 2 if rms > 0 else math.nan,
        length=length,
        bound_ratio=ratio,
        settings={
            "rows": len(norms),
            "rows_used": len(known),
            "rows_left_out": {"not finite": int((~finite).sum())},
            "stored": str(values.dtype).removeprefix("torch."),
        },
    )


def _mean(
    values: torch.Tensor, finite: torch.Tensor, progress: Progress = silent
) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean of the finite rows as a sum of two float64 vectors (d,), the second a correction."""
    if not bool(finite.any()):
        raise EmbtieError(
            f"None of the {len(values)} rows is finite, so there is no mean row.",
            "Check the checkpoint; it holds no embedding.",
        )
    zero = torch.zeros(values.shape[1], dtype=torch.float64)
    high = _mean_about(zero, values, finite, progress)
    return high, _mean_about(high, values, finite, progress)


def _mean_about(
    origin: torch.Tensor, values: torch.Tensor, finite: torch.Tensor, progress: Progress
) -> torch.Tensor:
    total, n = torch.zeros_like(origin), int(finite.sum())
    for start in range(0, len(values), BLOCK):
        progress(_STAGE, start, len(values))
        part = values[start : start + BLOCK].cpu().double()
        total += part[finite[start : start + BLOCK]].sub(origin).sum(0)
    return total / n


def _ratio(
    values: torch.Tensor,
    direction: torch.Tensor,
    finite: torch.Tensor,
    length: float,
    progress: Progress,
) -> float:
    """From the coordinate of every row along the mean."""
    parts = []
    for number, part in enumerate(values.split(BLOCK)):
        progress(_STAGE, number * BLOCK, len(values))
        parts.append(part.cpu().double() @ direction)
    along = torch.cat(parts)[finite]
    return float(along.sub(length).abs().max() / along.abs().max())
