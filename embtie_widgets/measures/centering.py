"""What is done to an output matrix or its logits so that they do not run away, and what it changes.

The mean row of the output matrix moves all logits of a position alike: mean logit = mu h.
"""

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn import functional

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.means import mean_row
from embtie_widgets.progress import Progress, silent

_ENTRIES = 1 << 23  # of a block of logits in float64
_STAGE = "comparing predictions"


def soft_cap(logits: Tensor, cap: float) -> Tensor:
    """cap tanh(logits / cap), in (-cap, cap), of the shape and type of `logits`.

    Near 0 a logit stays what it is.  Source: Output Embedding Centering, version 2.
    """
    return cap * torch.tanh(logits / cap)


def z_loss(logits: Tensor, labels: Tensor | None = None, ignore_index: int = -100) -> Tensor:
    """Mean over positions of the square of logsumexp(logits), a scalar from 0; no coefficient.

    `logits` (..., V) are those that the loss sees: after cap and scale.  Positions whose `labels`
    (...,) are `ignore_index` do not count; without any that counts it is NaN.  Half precision is
    widened to float32.  Source: Output Embedding Centering; the mean is that of the squares.
    """
    if not isinstance(logits, Tensor) or not isinstance(labels, Tensor | None):
        raise EmbtieError(
            "logits or labels is no tensor.", "Give torch.as_tensor(...) of what you have."
        )
    if labels is not None and labels.shape != logits.shape[:-1]:
        raise EmbtieError(
            f"labels has the shape {tuple(labels.shape)}, logits {tuple(logits.shape)}; expected "
            "one label for each position.",
            "Give logits (..., V) and labels (...,).",
        )
    wide = logits if logits.dtype == torch.float64 else logits.float()
    squares = wide.logsumexp(-1).square()
    return squares.mean() if labels is None else squares[labels != ignore_index].mean()


def mu_loss(matrix: Tensor, rows: int | None = None) -> Tensor:
    """Squared length of the mean row of `matrix` (V, d), a scalar from 0; no coefficient.

    Its gradient on each of the n rows that count is 2 mu / n.  Source: Output Embedding Centering.
    """
    return mean_row(matrix, rows).square().sum()


def effect_of_centering(
    output: Tensor,
    hidden: Tensor,
    *,
    moved: Tensor | None = None,
    cap: float | None = None,
    rows: int | None = None,
    progress: Progress = silent,
) -> Mapping[str, float]:
    """The numbers of `results.centering.Effect`: what taking the mean row off `output` changes.

    `output` (V, d) with the mean of its first `rows` rows, of all without; `hidden` (N, d) what the
    head reads.  `moved` (N, d) is what it reads once the matrix is centred, of a model whose input
    matrix it is too; without, the hidden states stay.

    softmax       largest change of a probability, 0 to 1, with `moved` and under `cap`
    fixed_hidden  the same with `hidden` and without cap: 0 but for rounding
    logit_shift   largest change of a logit before any cap, with `moved`

    In float64 on the CPU.  Neither matrix is changed.
    """
    exact = output.detach().cpu().double()
    centred = exact - mean_row(exact, rows)
    block = max(1, _ENTRIES // len(exact))
    before, after = _blocks(hidden, block), _blocks(hidden if moved is None else moved, block)
    largest = torch.zeros(3, dtype=torch.float64)
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        progress(_STAGE, number, len(before))
        logits, fixed, free = old @ exact.T, old @ centred.T, new @ centred.T
        capped = (logits, free) if cap is None else (soft_cap(logits, cap), soft_cap(free, cap))
        found = torch.stack(
            [
                _largest(*(functional.softmax(each, -1) for each in pair))
                for pair in (capped, (logits, fixed))
            ]
            + [_largest(logits, free)]
        )
        largest = torch.maximum(largest, found)
    names = ("softmax", "fixed_hidden", "logit_shift")
    return dict(zip(names, largest.tolist(), strict=True))


def _blocks(states: Tensor, positions: int) -> list[Tensor]:
    wide = states.detach().cpu().double()
    return list(wide.reshape(-1, wide.shape[-1]).split(positions))


def _largest(a: Tensor, b: Tensor) -> Tensor:
    return (a - b).abs().max()
