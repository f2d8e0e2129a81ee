"""The one border where matrices enter the measures: shapes, usable rows, means, blocks.

Everything behind it reads a matrix in blocks of rows, so that memory stays bounded whatever the
vocabulary, and never changes it.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent

BLOCK = 4096
_EXACT_UP_TO = 10_000_000
_TINY, _HUGE = 2.0**-30, 2.0**30


def as_matrix(value: Any, name: str = "matrix") -> torch.Tensor:
    """A two-dimensional floating-point tensor (V, d) that shares memory with `value` if it can."""
    tensor = value.detach() if isinstance(value, torch.Tensor) else _from_array(value, name)
    if tensor.ndim != 2 or 0 in tensor.shape:
        raise EmbtieError(
            f"{name} has the shape {tuple(tensor.shape)}; expected rows x columns, both above 0.",
            "Give one row per token.",
        )
    if tensor.is_meta:
        raise EmbtieError(f"{name} has no values: its weights are not loaded.", "Load them first.")
    if tensor.is_complex() or tensor.layout != torch.strided:
        raise EmbtieError(
            f"{name} is {'complex' if tensor.is_complex() else 'a sparse tensor'}; "
            "expected plain real numbers.",
            "Convert it first.",
        )
    return tensor if tensor.is_floating_point() else tensor.double()


def _from_array(value: Any, name: str) -> torch.Tensor:
    if value is None:
        raise EmbtieError(
            f"There is no matrix {name}: the model stores none.",
            "Look at its .tied and .notes, and choose another matrix.",
        )
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(np.float64), np.nan)
    try:
        array = np.asarray(value)
        if np.iscomplexobj(array):
            return torch.as_tensor(array)
        kept = array.dtype in (np.float16, np.float32, np.float64) and array.dtype.isnative
        return torch.as_tensor(np.ascontiguousarray(array, None if kept else np.float64))
    except (TypeError, ValueError):
        raise EmbtieError(
            f"{name} is a {type(value).__name__} that holds no table of numbers.",
            "Give a tensor or an array of rows x columns.",
        ) from None


@dataclass(frozen=True)
class Matrix:
    """A matrix as the measures see it.

    values  (V, d) as stored
    mean    (d,) float64, of the usable rows; zeros without centring
    scale   a power of two that keeps squares inside the range of the arithmetic
    norms   (V,) float64, of the raw rows
    """

    values: torch.Tensor
    mean: torch.Tensor
    scale: float
    norms: torch.Tensor

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.values.shape[1])

    def block(self, rows: "slice | torch.Tensor", like: torch.Tensor) -> torch.Tensor:
        """Those rows, centred and scaled, in the type and on the device of `like`.

        The mean is subtracted in two parts, so that float32 keeps what float64 would give.
        """
        part = self.values[rows].to(like)
        high = self.mean.to(like)
        low = (self.mean - high.to(self.mean)).to(like)
        centred = torch.sub(part, high).sub_(low)
        return centred if self.scale == 1.0 else centred.mul_(self.scale)


@dataclass(frozen=True)
class Rows:
    """Which rows take part: all of them (`index` None) or those listed."""

    total: int
    index: torch.Tensor | None

    def __len__(self) -> int:
        return self.total if self.index is None else len(self.index)

    def take(self, positions: torch.Tensor) -> "Rows":
        """The rows at these positions of this list, in that order."""
        return Rows(self.total, positions if self.index is None else self.index[positions])

    def blocks(self, size: int = BLOCK) -> Iterator["slice | torch.Tensor"]:
        """Their numbers, block by block."""
        for start in range(0, len(self), size):
            stop = min(start + size, len(self))
            yield slice(start, stop) if self.index is None else self.index[start:stop]


def survey(values: torch.Tensor, progress: Progress = silent) -> tuple[torch.Tensor, torch.Tensor]:
    """Row norms (V,) and column sums (d,) of all rows, as float64 on the CPU.

    Large matrices of narrow types are read as float32: norms to its relative precision, sums of a
    few rows at a time in it and over all rows in float64.
    """
    exact = values.dtype == torch.float64 or values.numel() <= _EXACT_UP_TO
    norms = torch.empty(len(values), dtype=torch.float64)
    total = torch.zeros(values.shape[1], dtype=torch.float64)
    for start in range(0, len(values), BLOCK):
        part = values[start : start + BLOCK]
        part = part.cpu().double() if exact else part.float()
        norms[start : start + BLOCK] = torch.linalg.vector_norm(part, dim=1).cpu()
        total += _sum_rows(part).cpu()
        progress("reading", min(start + BLOCK, len(values)), len(values))
    # A square can overflow or vanish although the row is sound; such rows are measured by parts.
    doubtful = (~norms.isfinite() | (norms == 0)).nonzero()[:, 0]
    rows = values[doubtful].cpu().double()
    largest = rows.abs().amax(1, keepdim=True)
    safe = torch.where((largest > 0) & largest.isfinite(), largest, 1.0)
    norms[doubtful] = torch.linalg.vector_norm(rows / safe, dim=1) * safe[:, 0]
    return norms, total


def _sum_rows(part: torch.Tensor) -> torch.Tensor:
    groups = torch.stack([group.sum(0) for group in part.split(64)])
    return groups.cpu().double().sum(0)


def prepare(
    values: Mapping[str, torch.Tensor], center: bool, progress: Progress = silent
) -> tuple[dict[str, Matrix], Rows, dict[str, int]]:
    """The matrices with their means, the rows that all can use, and how many are left out and why.

    A row takes part when it is finite and not zero in every matrix.
    """
    surveys = {name: survey(matrix, progress) for name, matrix in values.items()}
    rows, left_out = _usable({name: norms for name, (norms, _) in surveys.items()})
    matrices = {}
    for name, matrix in values.items():
        norms, total = surveys[name]
        if rows.index is not None:
            total = _sum_listed(matrix, rows, progress)
        mean = total / len(rows) if center else torch.zeros_like(total)
        used = norms if rows.index is None else norms[rows.index]
        matrices[name] = Matrix(matrix, mean, _scale(float(used.max())), norms)
    return matrices, rows, left_out


def _sum_listed(values: torch.Tensor, rows: Rows, progress: Progress) -> torch.Tensor:
    parts: list[torch.Tensor] = []
    for some in rows.blocks():
        progress("reading", len(parts) * BLOCK, len(rows))
        parts.append(_sum_rows(values[some].double()))
    return torch.stack(parts).sum(0)


def check_heights(tensors: Mapping[str, torch.Tensor]) -> None:
    """Refuse matrices that do not hold the same tokens."""
    heights = {name: len(tensor) for name, tensor in tensors.items()}
    if len(set(heights.values())) > 1:
        shown = ", ".join(f"{name} {rows}" for name, rows in heights.items())
        raise EmbtieError(
            f"The matrices have different numbers of rows: {shown}.",
            "Match their vocabularies first (ew.match) and take the common rows.",
        )


def _usable(norms: Mapping[str, torch.Tensor]) -> tuple[Rows, dict[str, int]]:
    total = len(next(iter(norms.values())))
    finite, nonzero = torch.ones(total, dtype=torch.bool), torch.ones(total, dtype=torch.bool)
    for lengths in norms.values():
        finite &= lengths.isfinite()
        nonzero &= lengths != 0
    usable = finite & nonzero
    left_out = {"not finite": int((~finite).sum()), "zero": int((finite & ~nonzero).sum())}
    if not usable.any():
        raise EmbtieError(
            f"None of the {total} rows can be used: {left_out['not finite']} are not finite, "
            f"{left_out['zero']} are zero.",
            "Check the checkpoint; it holds no embedding that could be compared.",
        )
    return Rows(total, None if bool(usable.all()) else usable.nonzero()[:, 0]), left_out


def _scale(longest: float) -> float:
    if _TINY <= longest <= _HUGE:
        return 1.0
    return float(2.0 ** -round(math.log2(longest)))
