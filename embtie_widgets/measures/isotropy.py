"""Isotropy of a set of vectors: how alike exp(u v) sums up in all eigen-directions v.

The measure of Mu and Viswanath (2018), which the output-centering paper reports.
An eigenvector has two signs and both are as good, so both are taken; a solver's choice of sign
then changes nothing.  Directions that no row has any part in give exactly V.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch

from embtie_widgets.measures.axes import Axes, Cloud, find_axes
from embtie_widgets.measures.devices import full_float32, pick_device
from embtie_widgets.measures.matrices import as_matrix
from embtie_widgets.measures.moments import Arithmetic
from embtie_widgets.measures.pausing import stripes
from embtie_widgets.measures.spectra import cloud_of, facts
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.spectra import Isotropy

# Up to this many multiplications float64 costs little.
_EXACT_UP_TO = 5e9
# Rows no longer than this keep the exponents of float32 products right to about 1e-5.
_LONGEST_QUICK = 64.0


def isotropy(x: Any, *, device: str = "auto", progress: Progress = silent) -> Isotropy:
    """min / max over the eigen-directions +-v of X^T X of Z(v) = sum over rows u of exp(u v).

    x (V, d), not centred and not scaled: the value depends on the unit of the entries.  In [0, 1],
    1 where every direction gives the same.  Rows that are zero or not finite take no part.
    """
    cloud, left_out = cloud_of(as_matrix(x), False, progress)
    place = pick_device(device)
    axes = find_axes(cloud, device=place, progress=progress)
    return isotropy_along(axes, cloud, left_out, place, progress)


def isotropy_along(
    axes: Axes,
    cloud: Cloud,
    left_out: Mapping[str, int],
    device: torch.device,
    progress: Progress = silent,
) -> Isotropy:
    """From the right singular vectors of the rows, which must not be centred."""
    assert axes.vectors is not None  # noqa: S101 - the caller asked for them
    how = _arithmetic(cloud, device)
    vectors, double = axes.vectors.to(how.empty()), how.in_float64().empty()
    sums = torch.full((2, vectors.shape[1]), -torch.inf, dtype=torch.float64)
    done, n = 0, len(cloud.rows)
    with full_float32():
        for rows in cloud.rows.blocks():
            block = cloud.matrix.block(rows, how.empty())
            for some in stripes(vectors.shape[1], block.numel(), block.device):
                progress("measuring isotropy", done, n)
                along = (block @ vectors[:, some]).to(double) / cloud.matrix.scale
                both = torch.stack([along.logsumexp(0), along.neg_().logsumexp(0)])
                sums[:, some] = torch.logaddexp(sums[:, some], both.cpu())
            done += len(block)
    progress("measuring isotropy", done, n)
    if vectors.shape[1] < cloud.matrix.width:
        sums = torch.cat([sums.reshape(-1), torch.tensor([math.log(n)], dtype=torch.float64)])
    low, high = float(sums.min()), float(sums.max())
    return Isotropy(math.exp(low - high), low, high, facts(cloud, left_out))


def _arithmetic(cloud: Cloud, device: torch.device) -> Arithmetic:
    n, width = cloud.shape
    longest = float(cloud.matrix.norms.nan_to_num(posinf=0.0).max())
    how = Arithmetic(device, torch.float32)
    small = n * width**2 <= _EXACT_UP_TO or longest > _LONGEST_QUICK
    stored = cloud.matrix.values.dtype == torch.float64
    return how.in_float64() if small or stored else how
