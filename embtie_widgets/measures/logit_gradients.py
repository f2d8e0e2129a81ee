"""The gradient of next-token cross-entropy in logit space, without ever being held whole.

Row t of G is p_t - e_y, at the product of head and hidden state: before a cap, so that its slope is
in G, and with the model's factor on the logits, which is one for all.  A position passes over the
vocabulary once, some rows of U at a time; running sums give |G|^2 and G U.

A row is kept as `exp(scale)` times a direction, -1 (or as much as the cap leaves) times the mass of
all other tokens at the target and their shares elsewhere, so that nothing cancels where the model
is all but certain.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from embtie_widgets.measures.devices import has_float64
from embtie_widgets.measures.divergence import row_slices
from embtie_widgets.measures.head import Head

_POSITIONS = 512
# Less than this below the highest logit nothing is lost; processors are slow where exp is denormal.
NOTHING = -80.0

Tell = Callable[[], None]


@dataclass(frozen=True, eq=False)
class GradientRows:
    """What is known of n rows of G, float64 all.

    scale       (n,) logarithm of what the two that follow are multiplied with
    squared     (n,) |G|^2 / exp(scale)^2, at least 1 where there is a gradient
    at_hidden   (n, d) G U / exp(scale)
    loss        (n,) -log p_y in nats
    log_total   (n,) logarithm of the sum of exponentials of the logits
    """

    scale: Tensor
    squared: Tensor
    at_hidden: Tensor
    loss: Tensor
    log_total: Tensor

    def __getitem__(self, rows: slice) -> "GradientRows":
        return GradientRows(*(part[rows] for part in vars(self).values()))

    @classmethod
    def joined(cls, parts: "Iterable[GradientRows]") -> "GradientRows":
        """Those of several blocks, one after the other."""
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return cls(*(torch.cat(column) for column in columns))


def gradient_rows(
    head: Head, hidden: Tensor, targets: Tensor, tell: Tell = lambda: None
) -> GradientRows:
    """The rows of G at states (n, d), as the head is given them, for targets (n,)."""
    with torch.no_grad():
        blocks = zip(hidden.split(_POSITIONS), targets.split(_POSITIONS), strict=True)
        return GradientRows.joined(_block(head, states, some, tell) for states, some in blocks)


def gradient_of(
    head: Head, logits: Tensor, targets: Tensor, known: GradientRows, rows: slice
) -> Tensor:
    """G itself (n, some rows of U) in float32, from the logits there and from what is `known`."""
    made = (logits - known.log_total[:, None].to(logits)).exp_()
    at, column = inside(targets, rows)
    made[at, column] = torch.expm1(-known.loss)[at.to(known.loss.device)].to(made)
    cap = head.readout.cap
    return made if cap is None else made.mul_(slope(cap, logits))


def _block(head: Head, hidden: Tensor, targets: Tensor, tell: Tell) -> GradientRows:
    sums = _Sums(head, hidden, targets.to(hidden.device))
    for rows in row_slices(head, len(hidden)):
        sums.add(rows)
        tell()
    return sums.rows()


class _Sums:
    """Running sums over the rows of U, relative to the highest logit but the target's."""

    def __init__(self, head: Head, hidden: Tensor, targets: Tensor) -> None:
        self.head, self.hidden, self.targets = head, hidden, targets
        self.fine = torch.float64 if has_float64(hidden.device) else torch.float32
        n, width = len(hidden), head.weight.shape[1]
        self.highest = hidden.new_full((n,), -torch.inf, dtype=self.fine)
        self.likely, self.mass, self.squares = hidden.new_zeros(3, n, dtype=self.fine)
        self.slope = torch.ones_like(self.mass)
        self.into = hidden.new_zeros(n, width, dtype=self.fine)

    def add(self, rows: slice) -> None:
        """The logits of these rows of U."""
        logits = self.head.read(self.hidden, rows)
        cap = self.head.readout.cap
        bend = None if cap is None else slope(cap, logits)
        at, column = inside(self.targets, rows)
        self.likely[at] = logits[at, column].to(self.fine)
        if bend is not None:
            self.slope[at] = bend[at, column].to(self.fine)
        logits[at, column] = -torch.inf
        highest = torch.maximum(logits.amax(-1).to(self.fine), self.highest)
        shrunk = (self.highest - highest).exp().nan_to_num(0.0)
        share = logits.sub_(highest[:, None].to(logits)).clamp_min_(NOTHING).exp_()
        self.mass = self.mass * shrunk + share.sum(-1)
        share = share if bend is None else share.mul_(bend)
        self.squares = self.squares * shrunk.square() + share.square().sum(-1)
        self.into.mul_(shrunk[:, None]).add_(share @ self.head.weight[rows])
        self.highest = highest

    def rows(self) -> GradientRows:
        """With the target's own part."""
        own = self.mass * self.slope
        toward = self.head.weight[self.targets].to(self.fine)
        others = self.highest + self.mass.log()
        total = torch.logaddexp(others, self.likely)
        found = (
            self.highest - total,
            self.squares + own.square(),
            self.into - own[:, None] * toward,
            torch.nn.functional.softplus(others - self.likely),
            total,
        )
        exact = has_float64(total.device)
        return GradientRows(*(t.double() if exact else t.cpu().double() for t in found))


def slope(cap: float, logits: Tensor) -> Tensor:
    """Of a cap, at what it gave."""
    return 1 - (logits / cap).square()


def inside(targets: Tensor, rows: slice) -> tuple[Tensor, Tensor]:
    """Which positions have their target among these rows, and at which of them."""
    at = ((targets >= rows.start) & (targets < rows.stop)).nonzero()[:, 0]
    return at, targets[at] - rows.start
