"""Singular values of the gradient of the logits, by the m x m products of its rows."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from embtie_widgets.measures.devices import has_float64
from embtie_widgets.measures.divergence import slices
from embtie_widgets.measures.head import Head
from embtie_widgets.measures.logit_gradients import GradientRows, gradient_of
from embtie_widgets.measures.pausing import Remembered
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.bottleneck import GradientSpectrum, Vector

STAGE = "finding the spectrum of the gradient"
SHARES = (0.7, 0.9, 0.999)
# A singular value below this share of the largest is rounding of the float32 logits.
TOLERANCE = 1e-5
_FLOATS = 2**22  # of G at a time
_FEWEST = 4


def gradient_spectrum(
    head: Head,
    hidden: Tensor,
    targets: Tensor,
    known: GradientRows,
    shares: Sequence[float] = SHARES,
    progress: Progress = silent,
) -> GradientSpectrum:
    """Of G at m states (m, d); and its rank, and how many components hold parts of its squared
    length, for the first m, m/2, m/4, ... positions.

    In m^2 V multiplications in float64, and m^2 numbers of memory.
    """
    gram, said = _gram(head, hidden, targets, known, progress), Remembered(progress)
    at = _positions(len(gram))
    found: list[Vector] = []
    for n in at:
        said(f"{STAGE}: {n:,} x {n:,}", len(found), len(at))
        values = torch.linalg.eigvalsh(gram[:n, :n]).flip(0).clamp_min(0)
        found.append(values.sqrt().cpu().numpy())
    return GradientSpectrum(
        values=found[-1],
        positions=np.array(at),
        rank=np.array([int((sizes > TOLERANCE * sizes[0]).sum()) for sizes in found]),
        shares=tuple(shares),
        components=np.array([[_components(sizes, part) for part in shares] for sizes in found]),
    )


def _gram(
    head: Head, hidden: Tensor, targets: Tensor, known: GradientRows, progress: Progress
) -> Tensor:
    """G G^T (m, m) float64."""
    m, rows = len(hidden), len(head.weight)
    device = hidden.device if has_float64(hidden.device) else torch.device("cpu")
    total = torch.zeros(m, m, dtype=torch.float64, device=device)
    for part in slices(rows, max(64, _FLOATS // m)):
        progress(STAGE, part.start, rows)
        G = gradient_of(head, head.read(hidden, part), targets, known, part).to(total)
        total.addmm_(G, G.T)
    return total


def _positions(m: int) -> list[int]:
    """m, m/2, m/4, ..., the fewest first."""
    found = [m]
    while found[0] // 2 >= _FEWEST:
        found.insert(0, found[0] // 2)
    return found


def _components(sizes: Vector, part: float) -> int:
    """How many of the largest hold that part of the squared length; 0 where there is none."""
    squares = np.cumsum(np.square(sizes))
    return int(np.searchsorted(squares, part * squares[-1]) + 1) if squares[-1] > 0 else 0
