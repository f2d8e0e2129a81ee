"""How far the leading directions of two matrices span the same subspace.

On the token side (left singular vectors) this means something for any two matrices with the same
tokens, whatever their widths and bases.  On the width side (right singular vectors) the two must
stand in one basis, as the input and output matrix of one model do.  No V x V table is formed: the
left vectors are the rows' coordinates along k axes.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.axes import Axes, Cloud, find_axes
from embtie_widgets.measures.devices import pick_device
from embtie_widgets.measures.hashes import watched
from embtie_widgets.measures.matrices import as_matrix, check_heights, prepare
from embtie_widgets.measures.pausing import Pause, Remembered, no_pause, product
from embtie_widgets.measures.spectra import check_center, facts
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.spectra import SubspaceOverlap

SIDES = ("tokens", "width")


def subspace_overlap(
    x: Any,
    y: Any,
    k: int = 100,
    side: str = "tokens",
    center: bool = False,
    *,
    seed: int = 0,
    device: str = "auto",
    progress: Progress = silent,
) -> SubspaceOverlap:
    """Canonical correlations in [0, 1] of the k leading singular subspaces of x (V, d1), y (V, d2).

    `side` "tokens" compares left singular vectors, "width" right ones, which needs one basis.  k
    is cut to the smaller rank.  The floor permutes the rows of y, or draws random directions, by
    `seed`.  Uncentred by default, so that a mean row counts as a direction; the floor then has its
    part in it.  Rows that are zero or not finite in either take no part.
    """
    tensors = {"x": as_matrix(x, "x"), "y": as_matrix(y, "y")}
    check_heights(tensors)
    check_options(k, side, [tensor.shape[1] for tensor in tensors.values()])
    check_center(center)
    matrices, rows, left_out = prepare(tensors, center, progress)
    clouds = {name: Cloud(matrix, rows, center) for name, matrix in matrices.items()}
    place = pick_device(device)
    axes = {n: find_axes(c, device=place, progress=progress) for n, c in clouds.items()}
    if side == "tokens":
        bases = {n: token_basis(axes[n], clouds[n], k, progress) for n in clouds}
        said = Remembered(progress)
        said("comparing", 0, 1)
        correlations, chance = compare_tokens(bases["x"], bases["y"], seed, said.again)
    else:
        correlations, chance = compare_widths(
            width_basis(axes["x"], k), width_basis(axes["y"], k), seed
        )
    settings = {n: facts(cloud, left_out) for n, cloud in clouds.items()}
    stored = {name: known.pop("stored") for name, known in settings.items()}
    found = overlap(correlations, chance, side, {**settings["x"], "stored": stored, "seed": seed})
    norms = {name: matrix.norms for name, matrix in matrices.items()}
    return SubspaceOverlap(**vars(found) | {"hashes": watched({"x": x, "y": y}, norms)})


def check_options(k: int, side: str, widths: list[int]) -> None:
    """Refuse what has no meaning before anything is formed."""
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise EmbtieError(f"k is {k!r}; expected a whole number from 1.", "Use 100, for example.")
    if side not in SIDES:
        raise EmbtieError(f"side is {side!r}; expected 'tokens' or 'width'.", "Choose one.")
    if side == "width" and len(set(widths)) > 1:
        raise EmbtieError(
            f"The width side needs equal widths in one basis; these are {widths[0]} and "
            f"{widths[1]}.",
            "Choose the side 'tokens'.",
        )


def token_basis(axes: Axes, cloud: Cloud, k: int, progress: Progress = silent) -> torch.Tensor:
    """(n, k) float64, orthonormal columns: the leading left singular vectors of the rows."""
    leading, like = width_basis(axes, k), torch.empty(0, dtype=torch.float64)
    out = torch.empty(len(cloud.rows), leading.shape[1], dtype=torch.float64)
    said, done = Remembered(progress), 0
    for rows in cloud.rows.blocks():
        said("placing tokens", done, len(out))
        block = cloud.matrix.block(rows, like)
        out[done : done + len(block)] = product(block, leading, said.again)
        done += len(block)
    progress(f"directions of {len(out):,} x {out.shape[1]:,}", 0, 1)
    basis: torch.Tensor = torch.linalg.qr(out - out.mean(0) if cloud.centred else out).Q
    return basis


def width_basis(axes: Axes, k: int) -> torch.Tensor:
    """(d, k) float64, orthonormal columns: the leading right singular vectors of the rows."""
    assert axes.vectors is not None  # noqa: S101 - the caller asked for them
    return axes.vectors[:, : min(k, axes.rank)].clone()


def compare_tokens(
    x: torch.Tensor, y: torch.Tensor, seed: int, pause: Pause = no_pause
) -> tuple[torch.Tensor, torch.Tensor]:
    """Correlations of two orthonormal bases (n, k), and the same with the rows of y permuted."""
    k = min(x.shape[1], y.shape[1])
    x, y = x[:, :k], y[:, :k]
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    return _cosines(product(x.T, y, pause)), _cosines(product(x.T, y[order], pause))


def compare_widths(
    x: torch.Tensor, y: torch.Tensor, seed: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Correlations of leading right singular vectors (d, k), and those of random subspaces."""
    k = min(x.shape[1], y.shape[1])
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.randn(len(x), k, generator=generator, dtype=torch.float64)
    # Whatever one subspace is, a random one stands to it as to the first k coordinates.
    return _cosines(x[:, :k].T @ y[:, :k]), _cosines(torch.linalg.qr(drawn).Q[:k])


def _cosines(products: torch.Tensor) -> torch.Tensor:
    if not products.numel():
        return torch.zeros(0, dtype=torch.float64)
    found: torch.Tensor = torch.linalg.svdvals(products).clamp(0, 1)
    return found


def overlap(
    correlations: torch.Tensor, chance: torch.Tensor, side: str, settings: Mapping[str, Any]
) -> SubspaceOverlap:
    """The result; without a direction there is no mean."""
    k = len(correlations)
    return SubspaceOverlap(
        correlations=correlations.numpy(),
        mean=float(correlations.mean()) if k else math.nan,
        chance=chance.numpy(),
        floor=float(chance.mean()) if k else math.nan,
        settings={**settings, "side": side, "k": k},
    )
