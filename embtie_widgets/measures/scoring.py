"""Per-token cosines of mapped rows with their targets."""

import math
from dataclasses import dataclass

import torch

from embtie_widgets.measures.devices import full_float32
from embtie_widgets.measures.maps import Map
from embtie_widgets.measures.matrices import BLOCK, Matrix, Rows
from embtie_widgets.measures.moments import Arithmetic
from embtie_widgets.progress import Progress, silent


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a matrix, its rows in order, and the mean that the fit used.

    `shift` is that mean relative to the mean of all rows, in the scale of the blocks; None where
    they are the same.
    """

    matrix: Matrix
    rows: Rows
    shift: torch.Tensor | None = None

    def block(self, rows: "slice | torch.Tensor", like: torch.Tensor) -> torch.Tensor:
        """Those rows about the mean that the fit used."""
        part = self.matrix.block(rows, like)
        return part if self.shift is None else part - self.shift.to(like)


def cosines(
    fitted: Map, source: Side, target: Side, how: Arithmetic, progress: Progress = silent
) -> tuple[torch.Tensor, float]:
    """(n,) float64 in [-1, 1]: cosine of each mapped source row with its target row.

    NaN where the mapped row or the target vanishes, as a row equal to the mean does.  With it
    the largest error of a cosine through rounding in the fit, as a standard deviation; infinite
    where float32 cannot tell whether a row vanishes.
    """
    like = how.empty()
    moved, n = fitted.on(like), len(source.rows)
    out = torch.empty(n, dtype=torch.float64)
    done, worst = 0, 0.0
    with full_float32():
        for left, right in zip(source.rows.blocks(), target.rows.blocks(), strict=True):
            x, y = source.block(left, like), target.block(right, like)
            mapped = moved.apply(x)
            lengths = torch.linalg.vector_norm(mapped, dim=1) * torch.linalg.vector_norm(y, dim=1)
            part = (mapped * y).sum(1) / lengths
            gone = _vanishes(x, source, left, how) | _vanishes(y, target, right, how)
            part[gone] = torch.nan
            if fitted.sense is not None:
                worst = max(worst, fitted.sense.worst(x, y))
            if not how.exact and bool(gone.any()):
                worst = math.inf
            out[done : done + len(x)] = part.clamp(-1, 1).cpu()
            done += len(x)
            progress("scoring", min(done + BLOCK, n), n)
    return out, worst


def _vanishes(
    block: torch.Tensor, side: Side, rows: "slice | torch.Tensor", how: Arithmetic
) -> torch.Tensor:
    """Rows that are nothing but rounding after the mean is taken off."""
    raw = (side.matrix.norms[rows] * side.matrix.scale).nan_to_num(posinf=0.0)
    limit = 16 * torch.finfo(how.dtype).eps * raw.to(block)
    return torch.le(torch.linalg.vector_norm(block, dim=1), limit)
