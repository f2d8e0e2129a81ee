"""How much of the logits' gradient of a training step the head transmits, cheap enough for a log.

`measures.bottleneck` measures each position of a model at rest.  A training asks again and again,
so that sums are taken of some positions only, which add up over micro-batches and processes, and
the head's factor is made once for them.  Source: gradient-bottleneck paper.
"""

import math
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from embtie_widgets.measures.devices import full_float32, has_float64
from embtie_widgets.measures.head_factor import HeadFactor, bottleneck_numbers
from embtie_widgets.measures.logits import AT_ONCE, wide_type

MOST = 256  # positions: the ratio differs little from one to another
# Of a step's time, multiply-adds that take none to speak of, and what one costs in float64.
_SHARE, _LITTLE, _FLOAT64 = 0.1, 1e8, {"cpu": 2.0, "cuda": 32.0}
NAMES = ("destroyed", "visible_cosine", "kept_energy", "target_kept", "line")


@dataclass(frozen=True, eq=False)
class Passed:
    """Sums over positions, of a loss times any factor.

    outer    (d, d) float64 of the outer products of rows of G U
    squared  () float64 of squared lengths of rows of G
    targets  (V,) float64 how often each token is one: the one whose logit the step raises most
    """

    outer: Tensor
    squared: Tensor
    targets: Tensor

    @classmethod
    def none(cls, U: Tensor) -> "Passed":
        """The sums over nothing, for a head U (V, d)."""
        device = U.device if has_float64(U.device) else torch.device("cpu")
        new = partial(torch.zeros, dtype=torch.float64, device=device)
        return cls(new(U.shape[1], U.shape[1]), new(()), new(len(U)))

    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """All of it, to be added to."""
        return self.outer, self.squared, self.targets


def add_passed(total: Passed, gradients: Tensor, U: Tensor, most: int = MOST) -> None:
    """Add positions of the gradient of logits `gradients` (..., V) at a head U (V, d).

    Of more than `most` positions so many are drawn, always the same ones of so many.
    """
    rows, matrix = gradients.detach().reshape(-1, len(U)), U.detach().to(wide_type(U))
    with full_float32():
        for some in _places(len(rows), most).split(max(1, AT_ONCE // len(U))):
            wide = rows[some.to(rows.device)].to(matrix.dtype)
            at_hidden = (wide @ matrix).to(total.outer)
            total.outer.addmm_(at_hidden.T, at_hidden)
            total.squared.add_(wide.square().sum(1).to(total.squared).sum())
            lowest, target = wide.min(dim=1)
            raised = target[lowest < 0].to(total.targets.device)
            total.targets.add_(torch.bincount(raised, minlength=len(U)))


def passed_numbers(total: Passed, U: Tensor) -> dict[str, float]:
    """`results.bottleneck.CURVES` from `destroyed` on, of the head that the sums were taken at; all
    NaN where the gradient is nothing or not finite."""
    squared = float(total.squared)
    if not (math.isfinite(squared) and squared > 0):
        return dict.fromkeys(NAMES, math.nan)
    factor = HeadFactor.of(U)
    kept = (factor.whiten.T @ total.outer * factor.whiten.T).sum()
    found = bottleneck_numbers(total.squared if factor.whole else kept, total.squared)
    return found | {"target_kept": _of_targets(total, factor, U), "line": factor.line}


def each_nth(U: Tensor, positions: int, step: float) -> int:
    """One of so many steps that are logged is to be measured: it then costs these a tenth.

    positions  of a step
    step       multiply-adds of a step of the training, in its own precision
    """
    rows, width = U.shape
    factor = rows * width**2 / 2 * _FLOAT64.get(U.device.type, 1.0)
    ours = factor + float(min(MOST, positions)) * rows * width
    return 1 if ours < _LITTLE else max(1, math.ceil(ours / (_SHARE * step)))


def _of_targets(total: Passed, factor: HeadFactor, U: Tensor) -> float:
    rows = total.targets.nonzero()[:, 0]
    if not len(rows):
        return math.nan
    weights = total.targets[rows]
    return float((weights @ factor.visible(U[rows.to(U.device)])) / weights.sum())


def _places(positions: int, most: int) -> Tensor:
    if positions <= most:
        return torch.arange(positions)
    drawn = torch.randperm(positions, generator=torch.Generator().manual_seed(0))
    return drawn[:most].sort().values
