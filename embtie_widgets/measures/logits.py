"""How far the logits of a step are from 0, and what of it all tokens have in common.

Of each position over the vocabulary first, then over positions; and the matrix that makes them.
Meant for a run in training: in float32 on the matrix's own device, in blocks.  `measures.means` is
the float64 truth on the mean row.

Source: Output Embedding Centering, of whose statistics these have the names' order: mean, standard
deviation and largest magnitude.
"""

import math
from typing import Any

import torch
from torch import Tensor

from embtie_widgets.measures.means import is_rounding

AT_ONCE = 2**20  # numbers in a block
SUMS = 6


def logit_numbers(logits: Tensor) -> dict[str, float]:
    """Of `logits` (..., V), nats; no rows: nothing is known, and nothing returned.

    logit_mean         mean over the vocabulary, over positions
    logit_mean_spread  standard deviation (over n) of that mean from position to position
    logit_std          standard deviation over the vocabulary (over n), over positions
    logit_max          largest magnitude over the vocabulary, over positions
    common_fraction    0 to 1: what the means' squares are of all squares; NaN where all are 0
    """
    return numbers_of_sums(logit_sums(logits))


def logit_sums(logits: Tensor) -> Tensor:
    """(6,) sums over the positions of `logits` (..., V), that add up over several batches.

    In float64 where the device has it, on the device, without waiting for it.
    """
    rows = logits.detach().reshape(-1, logits.shape[-1])
    fine = torch.float32 if rows.device.type == "mps" else torch.float64
    total = torch.zeros(SUMS, device=rows.device, dtype=fine)
    for block in in_blocks(rows) if len(rows) else ():
        total += _sums(block.to(wide_type(block)), fine)
    return total


def _sums(rows: Tensor, fine: torch.dtype) -> Tensor:
    """Count, mean, squared mean, standard deviation, largest magnitude, and variance."""
    # Two passes: of logits near 1,000 the sum of squares would leave nothing of their variance.
    variance, mean = (x.to(fine) for x in torch.var_mean(rows, 1, correction=0))
    low, high = torch.aminmax(rows, dim=1)
    largest = torch.maximum(high, -low).to(fine)
    each = (torch.ones_like(mean), mean, mean**2, variance.sqrt(), largest, variance)
    return torch.stack(each).sum(1)


def numbers_of_sums(sums: Tensor) -> dict[str, float]:
    """The numbers of `logit_numbers` from what `logit_sums` gave."""
    count, mean, square, std, largest, variance = sums.tolist()
    if not count:
        return {}
    spread = max(square / count - (mean / count) ** 2, 0.0)
    return {
        "logit_mean": mean / count,
        "logit_mean_spread": math.sqrt(spread) if math.isfinite(square) else math.nan,
        "logit_std": std / count,
        "logit_max": largest / count,
        "common_fraction": square / (square + variance) if square + variance else math.nan,
    }


def common_fraction(mean: float, spread: float, std: float, std_spread: float = 0.0) -> float:
    """That of `logit_numbers`, from the others: `logit_mean`, its spread, `logit_std` and, where it
    is known, that one's standard deviation from position to position.  NaN where all are 0."""
    common, own = mean**2 + spread**2, std**2 + std_spread**2
    return common / (common + own) if common + own else math.nan


def matrix_means(matrix: Tensor, tokens: Any = None, role: str = "output") -> dict[str, float]:
    """Of `matrix` (V, d), in the units of its entries; names end in the role.

    mu_output        length of the mean row, over rows of real tokens
    mu_output_all    the same over all stored rows
    row_norm_output  mean length of a row, over rows of real tokens
    bound_ratio      of an output alone: max |(u - mu) mu| / max |u mu| over them; NaN without mean

    tokens  which rows are of real tokens: (V,) booleans, or how many that lead; None for those that
            are not all 0, as in `measures.means`

    Agrees with `mean_share` to the rounding of float32; a matrix that is not finite gives NaN.
    """
    rows = matrix.detach()
    lengths = torch.cat(
        [torch.linalg.vector_norm(r.to(wide_type(r)), dim=1) for r in in_blocks(rows)]
    )
    taken = _taken(lengths, tokens)
    kept = taken.sum().clamp(min=1)
    total, of_others = _column_sums(rows, taken)
    mu, mu_all = total / kept, (total + of_others) / len(rows)
    along = torch.cat([torch.mv(r.to(mu.dtype), mu) for r in in_blocks(rows)])
    counted = torch.where(taken, lengths, 0.0)
    square = torch.dot(mu, mu)
    found = torch.stack([
        torch.linalg.vector_norm(mu),
        torch.linalg.vector_norm(mu_all),
        counted.sum() / kept,
        (counted.square().sum() / kept).sqrt(),
        torch.where(taken, along - square, 0.0).abs().max(),
        torch.where(taken, along, 0.0).abs().max(),
    ])  # fmt: skip
    length, length_all, norm, rms, centred, raw = found.tolist()
    named = {f"mu_{role}": length, f"mu_{role}_all": length_all, f"row_norm_{role}": norm}
    if role == "output":
        none = not raw or is_rounding(length, rms, rows.dtype)
        named["bound_ratio"] = math.nan if none else centred / raw
    return named


def _taken(lengths: Tensor, tokens: Any) -> Tensor:
    """(V,) which rows count."""
    if tokens is None:
        known = lengths != 0
        return known | ~known.any()
    if isinstance(tokens, int):
        return torch.arange(len(lengths), device=lengths.device) < tokens
    return torch.as_tensor(tokens, dtype=torch.bool, device=lengths.device)


def _column_sums(rows: Tensor, taken: Tensor) -> tuple[Tensor, Tensor]:
    """(d,) of the rows that count, and of the others."""
    total = torch.zeros(2, rows.shape[1], device=rows.device, dtype=wide_type(rows))
    start = 0
    for block in in_blocks(rows):
        here = taken[start : start + len(block), None]
        part = block.to(total.dtype)
        total[0] += torch.where(here, part, 0.0).sum(0)
        total[1] += torch.where(here, 0.0, part).sum(0)
        start += len(block)
    return total[0], total[1]


def in_blocks(rows: Tensor) -> tuple[Tensor, ...]:
    """`rows` (n, width) in blocks that are small whatever n is."""
    return torch.split(rows, max(1, AT_ONCE // max(1, rows.shape[1])))


def wide_type(values: Tensor) -> torch.dtype:
    """float32 for what is narrower."""
    return torch.float64 if values.dtype == torch.float64 else torch.float32
