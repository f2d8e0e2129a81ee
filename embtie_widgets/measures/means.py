"""The mean row of a matrix: what it is, how much of the matrix it is, and the matrix without it.

Rows of real tokens count, unweighted.  A row of zeros is padding: no training leaves a token there,
and with many of them the mean would be too short.  `rows="all"` counts them too, as the paper's
code does for its mu-centering.  Rows that are not finite never take part.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.matrices import BLOCK, as_matrix, survey
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import fields
from embtie_widgets.results.spectra import MeanShare

Vector = np.ndarray[Any, np.dtype[np.int64]]
ROWS = ("tokens", "all")
_EPS = torch.finfo(torch.float64).eps
# Centred rows that are rounded to their type keep a mean: entries of one magnitude are all rounded
# the same way.  It was measured to be up to a sixth of the type's precision times their length, and
# in a training, which centres what it has rounded itself, up to a quarter.
_ROUNDING = 0.5
_STAGE = "finding the mean row"


def center(
    matrix: Any,
    *,
    rows: str = "tokens",
    padding: Sequence[int] | Vector = (),
    dtype: torch.dtype | None = None,
    progress: Progress = silent,
) -> Any:
    """A copy of `matrix` (V, d) without its mean row, in its own type or in `dtype`; a tensor stays
    a tensor.

    `padding` are numbers of rows that belong to no token either, beside those of zeros.  Subtracted
    in float64.  Rows that take no part in the mean stay as they are.  Of an untied
    output matrix this shifts the logits of all tokens alike, so the softmax over them stays, but
    not under a soft-cap, which comes after; of a tied one it moves the inputs as well.
    """
    values = as_matrix(matrix)
    norms, _ = survey(values, progress)
    taken = _taken(norms, rows, padding)
    high, low = _mean(values, taken, progress)
    out = torch.empty_like(values, dtype=dtype, memory_format=torch.contiguous_format)
    for start in range(0, len(values), BLOCK):
        progress("taking the mean row off", start, len(values))
        part = values[start : start + BLOCK].cpu().double()
        moved = part.sub(high).sub(low)
        # Below this an entry is what is left of the rounding of its mean.
        moved = torch.where(moved.abs() <= _EPS * high.abs(), 0.0, moved)
        kept = torch.where(taken[start : start + BLOCK, None], moved, part)
        out[start : start + BLOCK] = kept.to(out)
    return out if isinstance(matrix, torch.Tensor) else np.asarray(out.numpy())


def _taken(norms: torch.Tensor, rows: str, padding: Sequence[int] | Vector = ()) -> torch.Tensor:
    """(V,) which rows count; of a matrix that has nothing but zeros, all that are finite."""
    fields.choice("rows", rows, ROWS)
    finite = norms.isfinite()
    tokens = finite & (norms > 0)
    tokens[torch.as_tensor(np.asarray(padding, np.int64))] = False
    return tokens if rows == "tokens" and bool(tokens.any()) else finite


def mean_row(matrix: torch.Tensor, rows: int | None = None) -> torch.Tensor:
    """The mean (d,) of the first `rows` rows of `matrix` (V, d), of all stored ones without.

    For use at each step of a training: in its type, on its device, with its gradient; that of
    rows of zeros and of such that are not finite as of any other.
    """
    return matrix[:rows].mean(0)


def bound_ratio(matrix: Any, *, rows: str = "tokens") -> float:
    """max |(u - mu) mu| / max |u mu| over the rows u of `matrix` (V, d) with the mean row mu.

    Below 1 centring narrows the range of the logits along mu, above 1 it widens it.  NaN for a
    matrix without mean: one whose mean is no more than the rounding of its entries.  Source:
    Output Embedding Centering.
    """
    return mean_share(matrix, rows=rows).bound_ratio


def is_rounding(length: float, rms: float, dtype: torch.dtype) -> bool:
    """Whether a mean row so long is no more than the rounding of rows of that type and root mean
    square length."""
    return length <= max(_ROUNDING * torch.finfo(dtype).eps, 4 * _EPS) * rms


def mean_share(
    matrix: Any,
    *,
    rows: str = "tokens",
    padding: Sequence[int] | Vector = (),
    progress: Progress = silent,
) -> MeanShare:
    """The length of the mean row of `matrix` (V, d) against those of the rows, and its B-ratio;
    `padding` as for `center`."""
    values = as_matrix(matrix)
    norms, _ = survey(values, progress)
    finite, taken = norms.isfinite(), _taken(norms, rows, padding)
    idle = finite & ~taken
    other = int((idle & (norms > 0)).sum())
    mu = torch.stack(_mean(values, taken, progress)).sum(0)
    known = norms[taken]
    largest = max(float(known.max()), torch.finfo(torch.float64).tiny)
    rms = float((known / largest).square().mean().sqrt()) * largest
    length = float(torch.linalg.vector_norm(mu / largest)) * largest
    none = is_rounding(length, rms, values.dtype)
    ratio = math.nan if none else _ratio(values, mu / length, taken, length, progress)
    return MeanShare(
        value=length / float(known.mean()) if rms > 0 else math.nan,
        energy=(length / rms) ** 2 if rms > 0 else math.nan,
        length=length,
        bound_ratio=ratio,
        settings={
            "rows": len(norms),
            "rows_used": len(known),
            "rows_left_out": {
                "not finite": int((~finite).sum()),
                "zero": int((idle & (norms == 0)).sum()),
                **({"without token": other} if other else {}),
            },
            "stored": str(values.dtype).removeprefix("torch."),
        },
    )


def _mean(
    values: torch.Tensor, taken: torch.Tensor, progress: Progress = silent
) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean of the rows that count as a sum of two float64 vectors (d,), the second a
    correction."""
    if not bool(taken.any()):
        raise EmbtieError(
            f"None of the {len(values)} rows is finite, so there is no mean row.",
            "Check the checkpoint; it holds no embedding.",
        )
    zero = torch.zeros(values.shape[1], dtype=torch.float64)
    high = _mean_about(zero, values, taken, progress)
    return high, _mean_about(high, values, taken, progress)


def _mean_about(
    origin: torch.Tensor, values: torch.Tensor, taken: torch.Tensor, progress: Progress
) -> torch.Tensor:
    total, n = torch.zeros_like(origin), int(taken.sum())
    for start in range(0, len(values), BLOCK):
        progress(_STAGE, start, len(values))
        part = values[start : start + BLOCK].cpu().double()
        total += part[taken[start : start + BLOCK]].sub(origin).sum(0)
    return total / n


def _ratio(
    values: torch.Tensor,
    direction: torch.Tensor,
    taken: torch.Tensor,
    length: float,
    progress: Progress,
) -> float:
    """From the coordinate of every row along the mean."""
    parts = []
    for number, part in enumerate(values.split(BLOCK)):
        progress(_STAGE, number * BLOCK, len(values))
        parts.append(part.cpu().double() @ direction)
    along = torch.cat(parts)[taken]
    return float(along.sub(length).abs().max() / along.abs().max())
