"""All the numbers of matrices and of their comparisons as wholes, from shared products.

Every matrix is read for its norms, once for the products and twice along its axes, however many
numbers and comparisons come of it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from embtie_widgets.measures import cka, subspaces
from embtie_widgets.measures.axes import Axes, Cloud, find_axes
from embtie_widgets.measures.hashes import watched
from embtie_widgets.measures.isotropy import isotropy_along
from embtie_widgets.measures.matrices import (
    Matrix,
    Rows,
    as_matrix,
    check_heights,
    prepare,
)
from embtie_widgets.measures.means import mean_share
from embtie_widgets.measures.moments import Arithmetic, Moments, Pair, accumulate, symmetrise
from embtie_widgets.measures.pausing import Pause, Remembered
from embtie_widgets.measures.spectra import check_center, describe
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.spectra import (
    Cka,
    MatrixGeometry,
    SpaceComparison,
    SubspaceOverlap,
)

Bases = tuple[torch.Tensor, torch.Tensor]


def matrix_geometry(
    x: Any, center: bool = False, *, device: str = "auto", progress: Progress = silent
) -> MatrixGeometry:
    """Spectrum, isotropy and mean of x (V, d); `center` is for the spectrum alone."""
    return pair_geometry({"x": x}, [], center, device=device, progress=progress)[0]["x"]


def pair_geometry(
    values: Mapping[str, Any],
    pairs: Sequence[Pair],
    center: bool = False,
    *,
    top: int = 100,
    one_basis: Collection[Pair] = (),
    seed: int = 0,
    device: str = "auto",
    progress: Progress = silent,
) -> tuple[dict[str, MatrixGeometry], dict[Pair, SpaceComparison]]:
    """What is said of every named matrix (V, d), and of every pair of them.

    The matrices hold the same tokens row by row; a row that one of them cannot use takes no part
    in any number but those of the mean row.  `center` is for spectra and subspaces; CKA is always
    centred, isotropy never.  `top` leading directions are compared on the token side, and on the
    width side too for the pairs in `one_basis`.
    """
    tensors = {name: as_matrix(value, name) for name, value in values.items()}
    check_heights(tensors)
    check_center(center)
    subspaces.check_options(top, "tokens", [])
    for pair in one_basis:
        subspaces.check_options(top, "width", [tensors[name].shape[1] for name in pair])
    work = _Work.of(tensors, pairs, center, device, progress)
    compared_names = {name for pair in pairs for name in pair}
    found, leading = {}, {}
    for name, value in values.items():
        said = _saying(progress, name)
        geometry, axes = work.describe(name, said)
        spectrum = replace(geometry.spectrum, hashes=work.watched({name: value}))
        found[name] = replace(geometry, spectrum=spectrum)
        if name in compared_names:
            basis = subspaces.token_basis(axes, work.cloud(name, center), top, said)
            leading[name] = basis, subspaces.width_basis(axes, top)
    compared, telling = {}, Remembered(progress)
    for number, pair in enumerate(pairs):
        telling("comparing", number, len(pairs))
        hashes = work.watched({name: values[name] for name in pair})
        tokens, width = work.overlaps(pair, leading, pair in one_basis, seed, telling.again)
        compared[pair] = SpaceComparison(
            cka=replace(work.cka(pair, False), hashes=hashes),
            debiased_cka=replace(work.cka(pair, True), hashes=hashes),
            tokens=replace(tokens, hashes=hashes),
            width=None if width is None else replace(width, hashes=hashes),
        )
    return found, compared


def _saying(progress: Progress, name: str) -> Progress:
    return lambda stage, done, total: progress(f"{stage}: {name}", done, total)


@dataclass(frozen=True)
class _Work:
    """The matrices, centred, the rows that all can use, and the products of all of them."""

    matrices: dict[str, Matrix]
    rows: Rows
    left_out: dict[str, int]
    center: bool
    how: Arithmetic
    about: Moments
    shifts: dict[str, torch.Tensor]
    kernels: cka.Kernels | None

    @classmethod
    def of(
        cls,
        tensors: Mapping[str, torch.Tensor],
        pairs: Sequence[Pair],
        center: bool,
        device: str,
        progress: Progress,
    ) -> "_Work":
        matrices, rows, left_out = prepare(tensors, True, progress)
        how = cka.arithmetic(matrices, rows, device)
        chosen = {name: (matrix, rows) for name, matrix in matrices.items()}
        moments = accumulate(chosen, {pair: pair for pair in pairs}, list(matrices), how, progress)
        about, shifts = moments.about_own_mean(), moments.shifts()
        kernels = cka.kernel_sums(about, shifts, chosen, how, progress) if pairs else None
        return cls(matrices, rows, left_out, center, how, about, shifts, kernels)

    def cloud(self, name: str, centred: bool) -> Cloud:
        """The rows of a matrix about their mean to the last digit, or as they are."""
        matrix = self.matrices[name]
        mean = self._mean(name) / matrix.scale if centred else torch.zeros_like(matrix.mean)
        return Cloud(replace(matrix, mean=mean), self.rows, centred)

    def _mean(self, name: str) -> torch.Tensor:
        """In the scale of the products."""
        matrix = self.matrices[name]
        return matrix.mean * matrix.scale + self.shifts[name]

    def _gram(self, name: str, centred: bool) -> torch.Tensor:
        own = symmetrise(self.about.gram[name])
        mean = self._mean(name)
        return own if centred else own + self.about.n * torch.outer(mean, mean)

    def _axes(self, name: str, centred: bool, vectors: bool, progress: Progress) -> Axes:
        cloud, gram = self.cloud(name, centred), self._gram(name, centred)
        return find_axes(cloud, gram, vectors, self.how.device, progress)

    def describe(self, name: str, progress: Progress) -> tuple[MatrixGeometry, Axes]:
        """The numbers of one matrix, and the axes that its spectrum belongs to."""
        raw = self._axes(name, False, True, progress)
        axes = self._axes(name, True, True, progress) if self.center else raw
        cloud = self.cloud(name, False)
        spectrum = describe(axes, self.cloud(name, self.center), self.left_out)
        even = isotropy_along(raw, cloud, self.left_out, self.how.device, progress)
        mean = mean_share(cloud.matrix.values, progress=progress)
        return MatrixGeometry(spectrum, even, mean), axes

    def cka(self, pair: Pair, debiased: bool) -> Cka:
        """Both variants come from the same sums."""
        assert self.kernels is not None  # noqa: S101 - there are pairs
        found = cka.aligned(self.kernels, pair, debiased)
        return replace(found, settings=found.settings | self._facts(pair))

    def overlaps(
        self,
        pair: Pair,
        leading: Mapping[str, Bases],
        one_basis: bool,
        seed: int,
        pause: Pause,
    ) -> tuple[SubspaceOverlap, SubspaceOverlap | None]:
        """On the token side, and on the width side where both stand in one basis."""
        settings = self._facts(pair) | {"center": self.center, "seed": seed}
        (x, x_axes), (y, y_axes) = (leading[name] for name in pair)
        found = subspaces.compare_tokens(x, y, seed, pause)
        tokens = subspaces.overlap(*found, "tokens", settings)
        if not one_basis:
            return tokens, None
        width = subspaces.compare_widths(x_axes, y_axes, seed)
        return tokens, subspaces.overlap(*width, "width", settings)

    def _facts(self, pair: Pair) -> dict[str, Any]:
        matrices = {name: self.matrices[name] for name in pair}
        return cka.facts(matrices, self.rows, self.left_out, self.how)

    def watched(self, values: Mapping[str, Any]) -> Mapping[str, str]:
        """Hashes of what was given, as long as it is what was measured."""
        return watched(values, {name: self.matrices[name].norms for name in values})
