"""Hidden states to train translators on: made once, and kept where they fit in memory.

Text whose states do not fit is cut in windows that do; each window is read again whenever its turn
comes.  What is summed over all positions, for the closed form, is summed as they stream by.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.states import Block, states_of
from embtie_widgets.progress import Progress
from embtie_widgets.sources.live import layout_of
from embtie_widgets.training.lens_loss import Divergence, Target

MEMORY = 1 << 30  # bytes of states that are kept


@dataclass(frozen=True, eq=False)
class Window:
    """Positions with all that training asks of them.

    states  L tensors (n, d): what enters each block
    last    (n, d): what leaves the last
    target  of the model's own distribution
    words   (V,) the mean of that distribution
    lost    how many positions are left out since a state or a logit of them is not finite
    """

    states: list[Tensor]
    last: Tensor
    target: Target
    words: Tensor
    lost: int

    def __len__(self) -> int:
        return len(self.target)


class Text:
    """Pieces of text, shuffled and cut into windows."""

    def __init__(
        self, model: Any, pieces: Sequence[Any], loss: Divergence, seed: int, memory: int = MEMORY
    ) -> None:
        self.model, self.loss = model, loss
        runs = [np.asarray(piece, dtype=np.int64).reshape(-1) for piece in pieces]
        runs = [runs[i] for i in np.random.default_rng(seed).permutation(len(runs)) if len(runs[i])]
        if not runs:
            raise EmbtieError("There is no text to train the lens on.", "Give a longer text.")
        layers, width = layout_of(model).layer_count, model.config.get_text_config().hidden_size
        each = 4 * ((layers + 2) * width + 2)
        self.layers, self.width = layers, width
        self.groups = list(_grouped(runs, max(1, memory // each)))
        self.positions = sum(map(len, runs))
        self._kept: tuple[int, Window] | None = None

    @property
    def order(self) -> list[int]:
        """The windows, what is in memory first."""
        numbers = list(range(len(self.groups)))
        return numbers[-1:] + numbers[:-1]

    def window(self, number: int, progress: Progress) -> Window:
        """The states of one group of pieces; the latest stays in memory."""
        if self._kept is None or self._kept[0] != number:
            self._kept = None  # the memory of the one is needed for the other
            self._kept = number, self._read(self.groups[number], progress)
        return self._kept[1]

    def windows(self, progress: Progress) -> Iterator[Window]:
        """Each in turn."""
        for number in range(len(self.groups)):
            yield self.window(number, progress)

    def _read(self, runs: Sequence[Any], progress: Progress) -> Window:
        device = self.loss.head.device
        parts: list[tuple[list[Tensor], Target]] = []
        words, lost = torch.zeros(len(self.loss.head.weight), device=device), 0
        for block in states_of(self.model, runs, device=device, progress=progress):
            states, own = _finite(block)
            lost += len(block.ids) - len(own)
            target, said = self.loss.target(own, states[-1])
            words += said
            parts.append((states, target))
        states = [torch.cat([part[0][layer] for part in parts]) for layer in range(self.layers + 1)]
        target = Target(
            torch.cat([part[1].mean for part in parts]),
            torch.cat([part[1].level for part in parts]),
        )
        if not len(target):
            raise EmbtieError(
                "No state of the text is finite at every layer, so no lens can be trained.",
                "Load the model in float32 or bfloat16.",
            )
        return Window(states[:-1], states[-1], target, words / len(target), lost)


def _finite(block: Block) -> tuple[list[Tensor], Tensor]:
    # A sum is finite where all of its parts are, and is found in one pass.
    sums = [made.sum(-1) for made in (block.own, *block.states)]
    good = torch.stack(sums).isfinite().all(0)
    if bool(good.all()):
        return block.states, block.own
    return [state[good] for state in block.states], block.own[good]


def _grouped(runs: Sequence[Any], most: int) -> Iterator[list[Any]]:
    group: list[Any] = []
    for run in runs:
        if group and sum(map(len, group)) + len(run) > most:
            yield group
            group = []
        group.append(run)
    yield group


@dataclass(frozen=True, eq=False)
class Moments:
    """Means over n positions of the states x of each layer and of aims t.

    Aims are the last states, all of one length where a norm follows.

    centre  (L, d): the mean of x
    gram    (L, d, d): mean of (x - centre) (x - centre)^T
    cross   (L, d, d): mean of (x - centre) t^T
    aim     (d,): mean of t;  square: mean of |t - aim|^2
    words   (V,): mean of the model's distribution
    spread  (k, k): covariance of the rows U_v under that distribution, mean over the positions
    """

    n: int
    centre: Tensor
    gram: Tensor
    cross: Tensor
    aim: Tensor
    square: float
    spread: Tensor
    lost: int


def moments(text: Text, progress: Progress) -> Moments:
    """In one pass over the text."""
    loss, head = text.loss, text.loss.head
    L, d, k = text.layers, text.width, head.weight.shape[1]
    like = head.weight.new_zeros
    shift, sums = like(L, d), like(L, d)
    gram, cross, outer = like(L, d, d), like(L, d, d), like(k, k)
    aim, words, square, n, lost = like(d), like(len(head.weight)), 0.0, 0, 0
    length = 1.0
    for window in text.windows(progress):
        if n == 0:  # sums about a point near the mean keep their digits
            shift = torch.stack([state.mean(0) for state in window.states])
            length = float(torch.linalg.vector_norm(window.last, dim=-1).mean())
        t = window.last if head.norm is None else _of_length(window.last, length)
        for layer, state in enumerate(window.states):
            x = state - shift[layer]
            sums[layer] += x.sum(0)
            gram[layer].addmm_(x.T, x)
            cross[layer].addmm_(x.T, t)
            progress("adding up products", layer + 1, L)
        mean = loss.mean_rows(window.target)
        outer.addmm_(mean.T, mean)
        aim += t.sum(0)
        words += window.words * len(window)
        square += float(t.square().sum())
        n, lost = n + len(window), lost + window.lost
    off = sums / n
    aim = aim / n
    gram = gram / n - off[:, :, None] * off[:, None, :]
    cross = cross / n - off[:, :, None] * aim
    spread = (head.weight * (words / n)[:, None]).T @ head.weight - outer / n
    return Moments(
        n, shift + off, gram, cross, aim, square / n - float(aim.square().sum()), spread, lost
    )


def _of_length(states: Tensor, length: float) -> Tensor:
    # A norm follows, which forgets how long a state is; long ones would outweigh the others.
    lengths = torch.linalg.vector_norm(states, dim=-1, keepdim=True)
    scaled: Tensor = states * (length / lengths.clamp_min(1e-30))
    return scaled
