"""What steps of equal length in logit space buy: along the gradient, and along either part of it.

The logits move before their cap, as G is taken there.  Each direction is scaled as a whole, so that
over all positions together the three steps have one length.  Source:
gradient-bottleneck paper, steps of equal norm.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from embtie_widgets.measures.devices import has_float64
from embtie_widgets.measures.divergence import row_slices, spans
from embtie_widgets.measures.head import Head
from embtie_widgets.measures.head_factor import HeadFactor
from embtie_widgets.measures.logit_gradients import (
    NOTHING,
    GradientRows,
    Tell,
    gradient_of,
    inside,
)
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.bottleneck import DIRECTIONS, EqualSteps

STAGE = "trying steps of equal length"
# A part of less than this share of the gradient's length is rounding, and no direction.
_NO_DIRECTION = 1e-3


def equal_steps(
    head: Head,
    factor: HeadFactor,
    hidden: Tensor,
    targets: Tensor,
    known: GradientRows,
    sizes: Sequence[float],
    progress: Progress = silent,
) -> EqualSteps:
    """The mean loss at m states (m, d) after each step, the logits recomputed some at a time."""
    lengths = _root_mean_squares(factor, known)
    losses = np.full((len(sizes), len(DIRECTIONS)), np.nan)
    way = {n: i for i, n in enumerate(DIRECTIONS) if lengths[i] > _NO_DIRECTION * lengths[0]}
    sums = torch.zeros(len(sizes), len(way), dtype=torch.float64)
    for at in spans(len(hidden), head.device):
        tell = partial(progress, STAGE, at.start, len(hidden))
        tried = _Tried(head, factor, hidden[at], targets[at], known[at], list(way))
        scaled = [[size * lengths[0] / lengths[i] for i in way.values()] for size in sizes]
        sums += tried.losses(scaled, tell)
    losses[:, list(way.values())] = (sums / len(hidden)).numpy()
    return EqualSteps(np.asarray(sizes, float), losses, float(known.loss.mean()))


def _root_mean_squares(factor: HeadFactor, known: GradientRows) -> list[float]:
    """Of the lengths of G, of its transmitted part, and of the rest."""
    weight = (2 * known.scale).exp()
    kept = factor.transmitted(known.at_hidden, known.squared).to(weight)
    parts = (known.squared, kept, known.squared - kept)
    return [float((weight * part).mean().clamp_min(0).sqrt()) for part in parts]


class _Tried:
    """Running sums of the exponentials of moved logits, for some positions."""

    def __init__(
        self,
        head: Head,
        factor: HeadFactor,
        hidden: Tensor,
        targets: Tensor,
        known: GradientRows,
        names: list[str],
    ) -> None:
        self.head, self.hidden, self.targets = head, hidden, targets
        self.known, self.names = known, names
        self.uncapped = replace(head, readout=replace(head.readout, cap=None))
        made = factor.combination(known.at_hidden) * known.scale.exp().to(factor.whiten)[:, None]
        self.combined = made.to(hidden)

    def losses(self, scaled: list[list[float]], tell: Tell) -> Tensor:
        """(sizes, directions): summed over the positions, for steps of these multiples."""
        fine = torch.float64 if has_float64(self.hidden.device) else torch.float32
        shape = (len(scaled), len(self.names), len(self.hidden))
        total = self.hidden.new_full(shape, -torch.inf, dtype=fine)
        likely = torch.zeros_like(total)
        for rows in row_slices(self.head, len(self.hidden)):
            at, column = inside(self.targets, rows)
            raw, ways = self._directions(rows)
            room = torch.empty_like(raw)
            for i, sizes in enumerate(scaled):
                for j, (size, way) in enumerate(zip(sizes, ways, strict=True)):
                    moved = self._capped(torch.add(raw, way, alpha=-size, out=room))
                    likely[i, j, at] = moved[at, column].to(fine)
                    total[i, j] = torch.logaddexp(total[i, j], _log_sum(moved).to(fine))
                tell()
        return (total - likely).sum(-1).cpu().double()

    def _directions(self, rows: slice) -> tuple[Tensor, list[Tensor]]:
        raw = self.uncapped.read(self.hidden, rows)
        G = gradient_of(self.head, self._capped(raw), self.targets, self.known, rows)
        seen = self.combined @ self.head.weight[rows].T
        found = dict(zip(DIRECTIONS, (G, seen, G - seen), strict=True))
        return raw, [found[name] for name in self.names]

    def _capped(self, raw: Tensor) -> Tensor:
        cap = self.head.readout.cap
        return raw if cap is None else torch.tanh(raw / cap) * cap


def _log_sum(logits: Tensor) -> Tensor:
    """Logarithm of the sum of exponentials of each row, which is used up."""
    highest = logits.amax(-1, keepdim=True)
    return highest[:, 0] + logits.sub_(highest).clamp_min_(NOTHING).exp_().sum(-1).log()
