"""Which rows take part in a search for neighbours, and which of them are alike to the last bit."""

from collections.abc import Sequence
from numbers import Integral

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.hashing import raw_bytes
from embtie_widgets.measures.matrices import BLOCK, survey
from embtie_widgets.progress import Progress, silent

# A row whose length is this many units in the last place of what was subtracted is rounding.
_ROUNDING = 16 * torch.finfo(torch.float64).eps


def usable_rows(
    matrices: Sequence[torch.Tensor],
    metric: str = "cosine",
    center: bool = False,
    progress: Progress = silent,
) -> tuple[torch.Tensor, dict[str, int]]:
    """The rows (V,) that take part in all matrices (V, d), and how many do not, by reason.

    A row must be finite and, for the cosine, have a direction: not zero, or with centring not
    equal to the mean.
    """
    norms = [survey(matrix, progress)[0] for matrix in matrices]
    finite = torch.stack([length.isfinite() for length in norms]).all(0)
    if metric == "euclidean" or not finite.any():
        return finite, {"not finite": int((~finite).sum())}
    usable, reason = finite, "equal to the mean" if center else "zero"
    # What is left out of one matrix moves the mean of another, so look again until none is.
    while True:
        kept = usable.clone()
        for matrix, length in zip(matrices, norms, strict=True):
            some = _has_direction(matrix, length, usable, progress) if center else length != 0
            kept &= some
        if bool((kept == usable).all()) or not kept.any():
            break
        usable = kept
    left_out = {"not finite": int((~finite).sum()), reason: int((finite & ~kept).sum())}
    return kept, left_out


def mean_of(
    matrix: torch.Tensor, usable: torch.Tensor, progress: Progress = silent
) -> torch.Tensor:
    """(d,) float64 on the CPU: the mean of these rows."""
    total = torch.zeros(matrix.shape[1], dtype=torch.float64)
    for start in range(0, len(matrix), BLOCK):
        part = matrix[start : start + BLOCK].cpu().double()
        total += part[usable[start : start + BLOCK]].sum(0)
        progress("reading", min(start + BLOCK, len(matrix)), len(matrix))
    return total / max(1, int(usable.sum()))


def _has_direction(
    matrix: torch.Tensor, norms: torch.Tensor, usable: torch.Tensor, progress: Progress
) -> torch.Tensor:
    mean = mean_of(matrix, usable, progress)
    limits = _ROUNDING * torch.maximum(norms, mean.norm())
    parts = []
    for start in range(0, len(matrix), BLOCK):
        part = matrix[start : start + BLOCK].cpu().double() - mean
        parts.append(torch.linalg.vector_norm(part, dim=1) > limits[start : start + BLOCK])
        progress("reading", min(start + BLOCK, len(matrix)), len(matrix))
    return torch.cat(parts)


def first_equals(
    matrix: torch.Tensor, usable: torch.Tensor, progress: Progress = silent
) -> torch.Tensor:
    """(V,) int64: the first usable row that holds the same values as each, itself for most."""
    groups: dict[int, list[int]] = {}
    for start in range(0, len(matrix), BLOCK):
        # Adding nought makes the two zeros one.
        block = raw_bytes(matrix[start : start + BLOCK].cpu() + 0.0).numpy()
        for row in usable[start : start + BLOCK].nonzero()[:, 0].tolist():
            groups.setdefault(hash(block[row].tobytes()), []).append(start + row)
        progress("comparing rows", min(start + BLOCK, len(matrix)), len(matrix))
    first = torch.arange(len(matrix))
    for rows in groups.values():
        left = torch.tensor(rows)
        while len(left) > 1:  # once, unless unlike rows share a hash
            same = _equal(matrix, left, progress)
            first[left[same]] = left[0]
            left = left[~same]
    return first


def _equal(matrix: torch.Tensor, rows: torch.Tensor, progress: Progress) -> torch.Tensor:
    """Whether each of these rows (m,) holds the same values as the first of them."""
    parts = []
    for number, some in enumerate(rows.split(BLOCK)):
        progress("comparing rows", min(number * BLOCK, len(rows)), len(rows))
        parts.append((matrix[some] == matrix[rows[0]]).all(1).cpu())
    return torch.cat(parts)


def check_k(k: int, usable: int, left_out: dict[str, int]) -> None:
    """Refuse a k that the rows cannot give."""
    if isinstance(k, Integral) and not isinstance(k, bool) and 1 <= k < usable:
        return
    reasons = ", ".join(f"{number} {reason}" for reason, number in left_out.items() if number)
    raise EmbtieError(
        f"k is {k!r}; expected a whole number from 1 to {max(usable - 1, 0)}: {usable} rows take "
        f"part{f' ({reasons} left out)' if reasons else ''}, and a row is no neighbour of itself.",
        "Choose a smaller k." if usable > 1 else "There is nothing to compare in this matrix.",
    )
