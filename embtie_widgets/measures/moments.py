"""Second moments of matrix pairs: the d x d products from which every map is fitted.

They are summed block by block into float64.  Small work runs in float64 throughout.  Large work
multiplies x y^T in float32, which is about twice as fast, and the caller repeats it in float64
where the error estimate of the fitted map says that float32 is not enough.  x x^T is
formed in float64 for least squares and spectra, which square its condition number.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

from embtie_widgets.measures.devices import full_float32, has_float64
from embtie_widgets.measures.matrices import BLOCK, Matrix, Rows
from embtie_widgets.measures.pausing import Pause, Remembered, stripes
from embtie_widgets.progress import Progress, silent

Pair = tuple[str, str]


@dataclass
class Moments:
    """Sums over n rows, about the means of all rows that take part.

    sums   by matrix name, (d,) float64
    gram   by name of a source, (d, d): sum of x x^T
    cross  by (source, target), (d1, d2): sum of x y^T
    square by matrix name: sum of the squared entries
    """

    n: int = 0
    sums: dict[str, torch.Tensor] = field(default_factory=dict)
    gram: dict[str, torch.Tensor] = field(default_factory=dict)
    cross: dict[Pair, torch.Tensor] = field(default_factory=dict)
    square: dict[str, float] = field(default_factory=dict)

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(
            self.n + other.n,
            {k: v + other.sums[k] for k, v in self.sums.items()},
            {k: v + other.gram[k] for k, v in self.gram.items()},
            {k: v + other.cross[k] for k, v in self.cross.items()},
            {k: v + other.square[k] for k, v in self.square.items()},
        )

    def about_own_mean(self) -> "Moments":
        """The same sums about the means of these n rows: what a fit on a part of the rows needs."""
        n = max(self.n, 1)
        return Moments(
            self.n,
            {k: torch.zeros_like(v) for k, v in self.sums.items()},
            {k: v - torch.outer(self.sums[k], self.sums[k]) / n for k, v in self.gram.items()},
            {
                (a, b): v - torch.outer(self.sums[a], self.sums[b]) / n
                for (a, b), v in self.cross.items()
            },
            {k: v - float(self.sums[k].square().sum()) / n for k, v in self.square.items()},
        )

    def shifts(self) -> dict[str, torch.Tensor]:
        """By matrix name, (d,): how far the mean of these n rows is from where the sums are
        about."""
        return {name: total / max(self.n, 1) for name, total in self.sums.items()}


@dataclass(frozen=True)
class Arithmetic:
    """The device and the type that products run in."""

    device: torch.device
    dtype: torch.dtype

    def empty(self) -> torch.Tensor:
        """A tensor that other tensors are made like."""
        return torch.empty(0, dtype=self.dtype, device=self.device)

    @property
    def exact(self) -> bool:
        """Whether this is float64."""
        return self.dtype == torch.float64

    def in_float64(self) -> "Arithmetic":
        """The float64 arithmetic nearest to this one; on the CPU where the device has none."""
        device = self.device if has_float64(self.device) else torch.device("cpu")
        return Arithmetic(device, torch.float64)


def accumulate(
    chosen: Mapping[str, tuple[Matrix, Rows]],
    products: Mapping[Pair, Pair],
    grams: Sequence[str],
    how: Arithmetic,
    progress: Progress = silent,
    *,
    exact_grams: bool = True,
) -> Moments:
    """Sums over equally long lists of rows of named matrices.

    `products` names the pairs that are multiplied, by the pair that they are kept under; `grams`
    the matrices whose x x^T is wanted, in float64 unless their sizes alone are (`exact_grams`).
    """
    like, double = how.empty(), how.in_float64().empty()
    streams = {name: list(rows.blocks()) for name, (_, rows) in chosen.items()}
    found = _zeros({name: matrix for name, (matrix, _) in chosen.items()}, products, grams)
    found.n = len(next(iter(chosen.values()))[1])
    said = Remembered(progress)
    with full_float32():
        for number in range(len(next(iter(streams.values())))):
            said("multiplying", number * BLOCK, found.n)
            part = {}
            for name, (matrix, _) in chosen.items():
                part[name] = matrix.block(streams[name][number], like)
                said.again()
            _add_block(found, part, products, said.again)
            for name in grams:
                numbers = streams[name][number]
                ready = how.exact or not exact_grams
                block = part[name] if ready else chosen[name][0].block(numbers, double)
                add_gram(found.gram[name], block, said.again)
    said("multiplying", found.n, found.n)
    return found


def _zeros(
    matrices: Mapping[str, Matrix], products: Mapping[Pair, Pair], grams: Sequence[str]
) -> Moments:
    def zeros(*shape: int) -> torch.Tensor:
        return torch.zeros(shape, dtype=torch.float64)

    width = {name: matrix.width for name, matrix in matrices.items()}
    return Moments(
        sums={name: zeros(d) for name, d in width.items()},
        gram={name: zeros(width[name], width[name]) for name in grams},
        cross={kept: zeros(width[a], width[b]) for kept, (a, b) in products.items()},
        square=dict.fromkeys(matrices, 0.0),
    )


def _add_block(
    found: Moments,
    part: Mapping[str, torch.Tensor],
    products: Mapping[Pair, Pair],
    pause: Pause,
) -> None:
    for name, block in part.items():
        found.sums[name] += block.sum(0).cpu()
        found.square[name] += float(torch.linalg.vector_norm(block)) ** 2
    for kept, (source, target) in products.items():
        left, right = part[source].T, part[target]
        for some in stripes(right.shape[1], left.numel(), right.device):
            found.cross[kept][:, some] += (left @ right[:, some]).cpu()
            pause()


def add_gram(total: torch.Tensor, block: torch.Tensor, pause: Pause, panels: int = 8) -> None:
    """Add block^T block to a total of its type by the upper panels only: the lower ones mirror them
    (`symmetrise`)."""
    width = block.shape[1]
    step = max(-(-width // panels), 64)
    for left in range(0, width, step):
        stripe, others = block[:, left : left + step].T, block[:, left:]
        for some in stripes(others.shape[1], stripe.numel(), block.device):
            total[left : left + step, left:][:, some] += (stripe @ others[:, some]).to(total.device)
            pause()


def symmetrise(gram: torch.Tensor) -> torch.Tensor:
    """The whole symmetric matrix from its upper half."""
    return gram.triu() + gram.triu(1).T
