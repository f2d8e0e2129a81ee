"""Identity checks: what must come out before anything is shown."""

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.alignment import align
from embtie_widgets.progress import Progress, silent

_SAMPLE = 2_000
_CLOSE = 1e-5


def self_pair_cosine(matrix: torch.Tensor, map: str, progress: Progress = silent) -> float:
    """The mean cosine of a matrix with itself, which must be 1; from an even sample of its rows.

    Raises where it is not: then no number made with this map can be believed.
    """
    sample = even_sample(matrix, _SAMPLE)
    # A linear map needs more rows than columns; the identity is in every family.
    kind = "orthogonal" if map == "linear" and len(sample) <= sample.shape[1] else map
    if not len(sample):
        return 1.0
    said = of_check(progress)
    found = align(sample, sample, kind, holdout=0, floor=False, device="cpu", progress=said).mean
    if abs(found - 1) > _CLOSE:
        raise EmbtieError(
            f"The identity check failed: a matrix maps onto itself with cosine {found:.6f}, not 1.",
            "The result is withheld. Please report the model and the settings.",
        )
    return found


def of_check(progress: Progress) -> Progress:
    """What a check tells, told as such."""
    return lambda stage, done, total: progress(f"identity check: {stage}", done, total)


def even_sample(matrix: torch.Tensor, size: int) -> torch.Tensor:
    """At least `size` rows spread evenly, if there are so many, as float64; without those that are
    zero or not finite."""
    rows = torch.arange(0, len(matrix), max(1, len(matrix) // size))
    sample = matrix[rows].double()
    return sample[sample.isfinite().all(1) & sample.ne(0).any(1)]
