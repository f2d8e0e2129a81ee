"""How far what a lens reads is from what the model says in the end.

The logits of a lens are never held for a whole vocabulary: they are made for some rows of U at a
time, small enough to stay in the processor's cache, and only running sums are kept.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from embtie_widgets.measures.devices import has_float64
from embtie_widgets.measures.head import Head

BITS = 1 / math.log(2)
# Positions and logits at a time: what a processor's cache holds, and what fills a GPU.
_POSITIONS, _CACHED, _ON_GPU = 512, 1 << 20, 1 << 26
_ROWS_AT_ONCE = 64
# Two logits that differ by less than this share of the lengths of their vectors are equal.
_ROUNDING = 2e-7
_GROUP = 64
# Less than this below the highest logit nothing is lost; processors are slow where exp is denormal.
_NOTHING = -80.0


@dataclass(frozen=True, eq=False)
class Final:
    """What the model itself says, for n positions.

    probabilities  (n, V) float32
    negentropy     (n,) sum of p log p, in nats
    top            (n,) the likeliest token, the lowest of equal ones
    """

    probabilities: Tensor
    negentropy: Tensor
    top: Tensor

    @classmethod
    def of(cls, own: Tensor) -> "Final":
        """From the model's own logits (n, V) float32, in whose memory the probabilities go."""
        top, negentropy = own.argmax(-1), own.new_empty(len(own))
        for rows in slices(len(own), _ROWS_AT_ONCE):
            part = own[rows]
            shifted = part - part.amax(-1, keepdim=True)
            shares = shifted.exp()
            total = shares.sum(-1, keepdim=True)
            negentropy[rows] = (shares * shifted).sum(-1) / total[:, 0] - total[:, 0].log()
            torch.div(shares, total, out=part)
        return cls(own, negentropy, top)

    def __getitem__(self, rows: slice) -> "Final":
        return Final(self.probabilities[rows], self.negentropy[rows], self.top[rows])


class Point(NamedTuple):
    """What one layer says against the final distribution, for n positions.

    kl        (n,) KL(final || lens) in bits, not below 0; NaN where either is not finite
    entropy   (n,) of the lens, in bits
    rank      (n,) place of the model's likeliest token in the lens; 1 the first, equal ones
              share it
    agrees    (n,) whether it is the likeliest there too
    likeliest (n, k) the tokens that the lens finds likeliest, the likeliest first
    shares    (n, k) their probabilities
    """

    kl: Tensor
    entropy: Tensor
    rank: Tensor
    agrees: Tensor
    likeliest: Tensor
    shares: Tensor


def compare(
    head: Head,
    states: Tensor,
    final: Final,
    likeliest: int = 0,
    tell: Callable[[], None] = lambda: None,
) -> Point:
    """Read states (n, d) before the final norm as the model reads its last; no gradients.

    `likeliest` is how many tokens are listed for each; `tell` is called all the while.
    """
    with torch.no_grad():
        parts = [_one(head, states[at], final[at], likeliest, tell)
                 for at in spans(len(states), head.device)]  # fmt: skip
    return Point(*(torch.cat(column) for column in zip(*parts, strict=True)))


def spans(n: int, device: torch.device) -> Iterator[slice]:
    """Which of n positions are read together on that device."""
    return slices(n, _POSITIONS if device.type == "cpu" else max(1, n))


def _one(
    head: Head, states: Tensor, final: Final, likeliest: int, tell: Callable[[], None]
) -> Point:
    sums = _Sums(head, head.normed(states), final, min(likeliest, len(head.weight)))
    for rows in row_slices(head, len(states)):
        sums.add(rows)
        tell()
    return sums.point()


class Size(NamedTuple):
    """How large logits or their differences are: the largest, and the root of the mean square."""

    largest: float = 0.0
    typical: float = 0.0


class Apart(NamedTuple):
    """How far what a lens reads at the end is from the model's own logits.

    A number that all logits of a position share changes no probability: `apart` and `own` are
    what remains beside it.  `whole` are the model's logits as they are, which its rounding is
    relative to.
    """

    apart: Size = Size()
    own: Size = Size()
    whole: Size = Size()


# How far the last state may be from the model's own logits, the furthest of them and the typical
# one: in steps of the type that the model computes in, relative to its logits as they are, and at
# least what float32 products in another order differ by, relative to what makes them differ.
# Rounding leaves some 1.6 and 0.4 steps; a wrong head is off everywhere, so the second tells it.
_STEPS, _LEAST = Size(6, 1.5), Size(1e-4, 2e-5)


def furthest(head: Head, states: Tensor, own: Tensor, *, normed: bool = False) -> Apart:
    """The logits of `states` (n, d), `normed` already or not, against `own` (n, V).

    Positions with a number that is not finite take no part.
    """
    with torch.no_grad():
        known = torch.isfinite(own.sum(-1)) & torch.isfinite(states).all(-1)
        sizes = [_Size() for _ in Apart._fields]
        for at in slices(len(own), _POSITIONS):
            rows = slice(None) if known[at].all() else known[at]
            if known[at].any():
                some = states[at][rows]
                _add_sizes(sizes, head, some if normed else head.normed(some), own[at][rows])
    return Apart(*(size.found() for size in sizes))


def explained(found: Apart, head: Head) -> Size:
    """What rounding explains of the differences."""
    step = torch.finfo(head.precision).eps
    sizes = zip(_STEPS, _LEAST, found.whole, found.own, strict=True)
    return Size(*(max(steps * step * whole, least * own) for steps, least, whole, own in sizes))


def _add_sizes(sizes: "list[_Size]", head: Head, normed: Tensor, own: Tensor) -> None:
    mean = own.mean(-1, keepdim=True)
    parts = list(row_slices(head, len(own)))
    # The mean of some differences is near that of all: what is summed is small.
    shift = torch.zeros_like(mean)
    for words in parts:
        mine = own[:, words]
        apart = head.read(normed, words).sub_(mine)
        if words.start == 0:
            shift = apart.mean(-1, keepdim=True)
        for size, values in zip(sizes, (apart.sub_(shift), mine - mean, mine), strict=True):
            size.add(values)
    for size in sizes[:2]:
        size.center()
    for size in sizes:
        size.close()


class _Size:
    """Running numbers of each position, over the rows of U, and of the positions that are done."""

    def __init__(self) -> None:
        self.largest, self.squares, self.count = 0.0, 0.0, 0
        self._clear()

    def _clear(self) -> None:
        self.parts: list[Tensor] = []
        self.width = 0

    def add(self, values: Tensor) -> None:
        low, high = torch.aminmax(values, dim=-1)
        self.parts.append(torch.stack([low, high, values.sum(-1), values.square().sum(-1)]).cpu())
        self.width += values.shape[1]

    def center(self) -> None:
        """Take each position's mean off."""
        parts = torch.stack(self.parts).double()
        mean = parts[:, 2].sum(0) / self.width
        low, high = parts[:, 0].amin(0) - mean, parts[:, 1].amax(0) - mean
        squares = (parts[:, 3].sum(0) - self.width * mean.square()).clamp_min(0)
        self.parts = [torch.stack([low, high, mean, squares])]

    def close(self) -> None:
        """These positions are done."""
        parts = torch.stack(self.parts).double()
        largest = torch.maximum(parts[:, 1], -parts[:, 0]).max()
        self.largest = max(self.largest, float(largest))
        self.squares += float(parts[:, 3].sum())
        self.count += self.width * parts.shape[2]
        self._clear()

    def found(self) -> Size:
        return Size(self.largest, math.sqrt(self.squares / max(1, self.count)))


class _Sums:
    """Running sums over the rows of U, relative to the logit of the model's likeliest token."""

    def __init__(self, head: Head, normed: Tensor, final: Final, likeliest: int) -> None:
        self.head, self.normed, self.final = head, normed, final
        n, width = len(normed), min(_width(len(normed), head.device), len(head.weight))
        kind = torch.float64 if has_float64(head.device) else torch.float32
        self.logits, self.spare = normed.new_empty(2, n * width)
        self.top = head.read_one(normed, final.top)[:, None]
        lengths = normed.norm(dim=-1) * head.weight[final.top].norm(dim=-1)
        self.equal = (_ROUNDING * abs(head.readout.logits) * lengths)[:, None]
        self.mass, self.moment, self.cross, self.above = normed.new_zeros(4, n, dtype=kind)
        self.highest, self.best = normed.new_full((n,), -torch.inf), torch.zeros_like(final.top)
        self.values = normed.new_empty(n, 0)
        self.tokens, self.likeliest = final.top.new_empty(n, 0), likeliest

    def add(self, rows: slice) -> None:
        """The logits of these rows of U."""
        shape = (len(self.normed), rows.stop - rows.start)
        z, spare = (buffer[: math.prod(shape)].view(shape) for buffer in (self.logits, self.spare))
        self.head.read(self.normed, rows, out=z)
        z -= self.top
        if self.likeliest:
            self._list(z, rows.start)
        self.cross += torch.mul(self.final.probabilities[:, rows], z, out=spare).sum(-1)
        self.above += torch.gt(z, self.equal, out=spare).sum(-1)
        self._raise_to(z, rows.start)
        z.sub_(self.highest[:, None]).clamp_min_(_NOTHING)
        shares = torch.exp(z, out=spare)
        self.mass += shares.sum(-1)
        self.moment += z.mul_(shares).sum(-1)

    def _raise_to(self, z: Tensor, start: int) -> None:
        """Both sums of shares are relative to the highest logit so far."""
        high = z.amax(-1)
        above = (high > self.highest).nonzero()[:, 0]
        if len(above):  # to look for the place takes longer than for the value
            self.best[above] = z[above].argmax(-1) + start
        highest = torch.maximum(high, self.highest)
        lower = (self.highest - highest).to(self.mass.dtype)
        shrunk = lower.exp()
        # Where there was none so far there is nothing to shrink.
        self.moment = (self.moment + lower.clamp_min(-1e30) * self.mass) * shrunk
        self.mass, self.highest = self.mass * shrunk, highest

    def _list(self, z: Tensor, start: int) -> None:
        values, at = highest(z, min(self.likeliest, z.shape[1]))
        values, tokens = (
            torch.cat([self.values, values], 1),
            torch.cat([self.tokens, at + start], 1),
        )
        self.values, kept = values.topk(min(self.likeliest, values.shape[1]))
        self.tokens = tokens.gather(1, kept)

    def point(self) -> Point:
        log_total = self.mass.log()
        kl = self.final.negentropy - self.cross + self.highest + log_total
        entropy = log_total - self.moment / self.mass
        agrees = self.best == self.final.top
        rank = torch.where(agrees, 1, self.above + 1)
        shares = (self.values - (self.highest + log_total)[:, None]).exp()
        return Point(kl.clamp_min(0) * BITS, entropy * BITS, rank, agrees, self.tokens, shares)


def highest(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """(n, m) -> the k highest of each row, the highest first, and where they stand, (n, k)."""
    n, m = values.shape
    if m % _GROUP or m < 2 * k * _GROUP:
        return values.topk(k)
    # They stand in the k groups with the highest maxima: far fewer numbers to sort.
    _, group = values.view(n, -1, _GROUP).amax(-1).topk(k)
    at = (group[:, :, None] * _GROUP + torch.arange(_GROUP, device=values.device)).flatten(1)
    found, chosen = values.gather(1, at).topk(k)
    return found, at.gather(1, chosen)


def row_slices(head: Head, n: int) -> Iterator[slice]:
    """All rows of U, so many at a time as suits the logits of n states."""
    return slices(len(head.weight), _width(n, head.device))


def _width(n: int, device: torch.device) -> int:
    """How many rows of U are read at a time for n states."""
    room = (_CACHED if device.type == "cpu" else _ON_GPU) // max(1, n)
    return max(_GROUP, room // _GROUP * _GROUP)


def slices(total: int, step: int) -> Iterator[slice]:
    """0 to `total` in parts of at most `step`."""
    for start in range(0, total, step):
        yield slice(start, min(start + step, total))
