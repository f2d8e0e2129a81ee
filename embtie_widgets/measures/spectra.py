"""The singular-value spectrum of a matrix, and what is said of it in one number each."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.axes import Axes, Cloud, find_axes
from embtie_widgets.measures.devices import pick_device
from embtie_widgets.measures.hashes import watched
from embtie_widgets.measures.matrices import as_matrix, prepare
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.spectra import Spectrum


def spectrum(
    x: Any, center: bool = False, *, device: str = "auto", progress: Progress = silent
) -> Spectrum:
    """Singular values of the rows of x (V, d), about their mean with `center`; effective rank,
    participation ratio, condition.

    Every value down to 1e-4 of the largest is right to a relative 1e-6, and any below that to
    about 1e-14 of the largest.  Rows that are zero or not finite take no part.
    """
    matrix = as_matrix(x)
    cloud, left_out = cloud_of(matrix, center, progress)
    axes = find_axes(cloud, None, False, pick_device(device), progress)
    found = describe(axes, cloud, left_out)
    return replace(found, hashes=watched({"x": x}, {"x": cloud.matrix.norms}))


def selected_spectrum(
    x: Any, rows: Any, center: bool = False, *, device: str = "auto", progress: Progress = silent
) -> Spectrum:
    """The spectrum of the rows of these numbers (m,) of x (V, d) alone, centred about their own
    mean; its `normalised` values stand on one scale with those of the whole matrix."""
    matrix = as_matrix(x)
    index = torch.as_tensor(rows).to(torch.int64).reshape(-1)
    if not len(index) or int(index.min()) < 0 or int(index.max()) >= len(matrix):
        raise EmbtieError(
            f"Of the {len(index)} row numbers given some are not among the {len(matrix)} rows, or "
            "none was given.",
            "Select at least one token of the matrix.",
        )
    return spectrum(matrix[index.to(matrix.device)], center, device=device, progress=progress)


def cloud_of(
    matrix: torch.Tensor, center: bool, progress: Progress = silent
) -> tuple[Cloud, dict[str, int]]:
    """The usable rows of one matrix, and how many are left out and why."""
    check_center(center)
    matrices, rows, left_out = prepare({"x": matrix}, center, progress)
    return Cloud(matrices["x"], rows, center), left_out


def check_center(center: bool) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(center, bool):
        raise EmbtieError(f"center is {center!r}; expected True or False.", "Give one of them.")


def describe(axes: Axes, cloud: Cloud, left_out: Mapping[str, int]) -> Spectrum:
    """The spectrum of these axes in numbers."""
    sigma = axes.sigma
    energy = (sigma / sigma.max().clamp_min(torch.finfo(sigma.dtype).tiny)).square()
    some = axes.rank > 0
    return Spectrum(
        singular_values=sigma.numpy(),
        rows=len(cloud.rows),
        effective_rank=_effective_rank(sigma) if some else math.nan,
        participation_ratio=float(energy.sum() ** 2 / energy.square().sum()) if some else math.nan,
        top_share=float(energy.max() / energy.sum()) if some else math.nan,
        condition=_condition(sigma) if some else math.nan,
        rank=axes.rank,
        settings=facts(cloud, left_out) | {"route": axes.route},
    )


def _effective_rank(sigma: torch.Tensor) -> float:
    share = sigma[sigma > 0] / sigma.sum()
    return float(torch.exp(-(share * share.log()).sum()))


def _condition(sigma: torch.Tensor) -> float:
    smallest = float(sigma.min())
    return float(sigma.max()) / smallest if smallest > 0 else math.inf


def facts(cloud: Cloud, left_out: Mapping[str, int]) -> dict[str, Any]:
    """What a measure of these rows rests on."""
    return {
        "center": cloud.centred,
        "rows": cloud.rows.total,
        "rows_used": len(cloud.rows),
        "rows_left_out": dict(left_out),
        "stored": str(cloud.matrix.values.dtype).removeprefix("torch."),
    }
