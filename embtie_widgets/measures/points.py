"""Rows as points whose distances rank neighbours, with bounds on what rounding can do to them.

Both metrics become one: the cosine is a distance between rows of length one.  Nearness of two
points p and q is -|p - q|^2 / 2 = pq - |p|^2 / 2 - |q|^2 / 2; it does not change when all points
are shifted alike, and the smaller the points, the smaller its rounding.
"""

from dataclasses import dataclass, replace

import torch

from embtie_widgets.measures.participants import mean_of
from embtie_widgets.progress import Progress, silent

_EPS = torch.finfo(torch.float64).eps
# Elements of float64 that stay in a processor's own memory.
_PIECE = 2**18


@dataclass(frozen=True)
class Points:
    """The rows of a matrix that take part, numbered from 0 to n - 1 in their order.

    values   (V, d) as stored
    index    (n,) their row numbers
    mean     (d,) float64, what centring takes off
    lengths  (n,) float64, what the cosine divides by; None for the Euclidean distance
    scale    a power of two that brings Euclidean distances into the range of float32
    blur     (n,) float64, the nearness that rounding of the mean can hide
    """

    values: torch.Tensor
    index: torch.Tensor
    mean: torch.Tensor
    lengths: torch.Tensor | None
    scale: float
    blur: torch.Tensor

    def __len__(self) -> int:
        return len(self.index)

    @property
    def plain(self) -> bool:
        """Whether nothing is taken off."""
        return not self.mean.any()

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.values.shape[1])

    def only(self, which: torch.Tensor) -> "Points":
        """Those of the points (m,), numbered anew."""
        lengths = None if self.lengths is None else self.lengths[which]
        return replace(self, index=self.index[which], lengths=lengths, blur=self.blur[which])

    def exact(self, which: torch.Tensor | slice) -> torch.Tensor:
        """(m, d) float64: these rows, centred and of length one, or scaled."""
        part = self._centred(which)
        return part * self.scale if self.lengths is None else part / self.lengths[which, None]

    def _centred(self, which: torch.Tensor | slice) -> torch.Tensor:
        part = self.values[self._rows(which)].cpu().double()
        return part if self.plain else part - self.mean

    def _rows(self, which: torch.Tensor | slice) -> torch.Tensor | slice:
        all_there = len(self.index) == len(self.values)
        return which if all_there else self.index[which]

    def nearness(self, rows: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
        """(m, c) float64 between rows (m,) and others (m, c): cosine, or minus squared distance."""
        read = self.exact
        if self.lengths is not None and self.values.dtype != torch.float64:
            read = self._centred  # whose products stay inside the range
        here = read(rows)[:, None]
        there = read(others.reshape(-1)).view(*others.shape, -1)
        if self.lengths is None:
            return -(there - here).square_().sum(2)
        products = torch.bmm(there, here.transpose(1, 2))[:, :, 0]
        if read == self.exact:
            return products
        return products / (self.lengths[rows, None] * self.lengths[others])

    def doubt(self, rows: torch.Tensor, others: torch.Tensor, found: torch.Tensor) -> torch.Tensor:
        """(m, c) by how much rounding can shift each of these values of `nearness`."""
        if self.lengths is None:
            return (self.width + 8) * _EPS / 2 * found.abs()
        return self._base() + self.blur[rows, None] + self.blur[others]

    def _base(self) -> float:
        return (0.75 * self.width + 4) * _EPS

    def slack(self) -> torch.Tensor:
        """(n,) float64: half the doubt of a nearness that does not come from its width."""
        none = self.lengths is None
        return self.blur * 2 + (0.0 if none else self._base())


def points_of(
    values: torch.Tensor,
    usable: torch.Tensor,
    metric: str,
    center: bool,
    progress: Progress = silent,
) -> Points:
    """The usable rows (V,) of values (V, d) as points."""
    index = usable.nonzero()[:, 0]
    nothing = torch.zeros(len(index), dtype=torch.float64)
    mean = torch.zeros(values.shape[1], dtype=torch.float64)
    if metric == "euclidean":
        longest = _lengths(values, index, mean, progress).max()
        scale = 2.0 ** -float(torch.log2(longest).round()) if longest > 0 else 1.0
        return Points(values, index, mean, None, scale, nothing)
    if not center:
        lengths = _lengths(values, index, mean, progress)
        return Points(values, index, mean, lengths, 1.0, nothing)
    mean = mean_of(values, usable, progress)
    lengths = _lengths(values, index, mean, progress)
    blur = 16 * _EPS * (1 + 2 * mean.norm() / lengths)
    return Points(values, index, mean, lengths, 1.0, blur)


def _lengths(
    values: torch.Tensor, index: torch.Tensor, mean: torch.Tensor, progress: Progress
) -> torch.Tensor:
    parts, together = [], piece(values.shape[1])
    for number, some in enumerate(index.split(together)):
        progress("reading", number * together, len(index))
        rows = values[some].cpu().double() - mean
        largest = torch.ones(len(rows), 1, dtype=torch.float64)
        if values.dtype == torch.float64:  # whose squares can leave its range
            largest = rows.abs().amax(1, keepdim=True)
            largest = torch.where(largest > 0, largest, 1.0)
        parts.append(torch.linalg.vector_norm(rows / largest, dim=1) * largest[:, 0])
    return torch.cat(parts)


def piece(width: int) -> int:
    """How many rows of that width, in float64, stay in a processor's own memory."""
    return max(16, _PIECE // width)
