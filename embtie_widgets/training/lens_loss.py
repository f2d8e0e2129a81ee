"""KL(final || lens) and its gradient, without the model's distribution over the vocabulary.

Where the logits are linear in what the head is given, the cross term sum_v p_v logit_v needs of
the model's distribution p only its mean row U^T p, which is d numbers a position instead of V.
"""

from dataclasses import dataclass, fields
from functools import partial
from typing import Self

import torch
from torch import Tensor

from embtie_widgets.measures.head import Head

# Logits held at once: what stays in a processor's cache, what keeps a GPU busy.
_FLOATS = {"cpu": 2**19}
_MANY = 2**26
# Fewer positions at once leave a product waiting for the rows of U.
_LEAST = 128


@dataclass(frozen=True, eq=False)
class Target:
    """What of the model's own distribution p at n positions is needed.

    mean   (n, width of U): sum_v p_v U_v; where the logits are capped, the last state (n, d)
    level  (n,): sum_v p_v (log p_v - bias_v); where they are capped, sum_v p_v log p_v
    """

    mean: Tensor
    level: Tensor

    def __len__(self) -> int:
        return len(self.level)

    def rows(self, numbers: Tensor | slice) -> Self:
        """Those positions alone."""
        return type(self)(*(getattr(self, f.name)[numbers] for f in fields(self)))


@dataclass(frozen=True, eq=False)
class Words:
    """The part of the vocabulary that a step looks at.

    weight  (m, width of U), its rows of U
    bias    (m,) what is added to their logits: the model's bias, and the logarithm of how many
            rows each stands for; None for zeros
    """

    weight: Tensor
    bias: Tensor | None


class Divergence:
    """KL(final || softmax(head(state))) in nats at each position."""

    def __init__(self, head: Head) -> None:
        self.head, readout = head, head.readout
        self.cap = readout.cap
        self.factor = readout.logits
        self.bias = None if head.bias is None else head.bias * readout.logits
        self.all = Words(head.weight, self.bias)

    def chunk(self, rows: int) -> int:
        """How many positions at once, where each has so many logits."""
        return max(_LEAST, _FLOATS.get(self.head.device.type, _MANY) // rows)

    def target(self, own: Tensor, last: Tensor) -> tuple[Target, Tensor]:
        """From the model's own logits (n, V) and last states (n, d); and the sum of p, (V,)."""
        means, levels, total = [], [], own.new_zeros(own.shape[1])
        for logits in own.split(self.chunk(own.shape[1])):
            log_p = logits.log_softmax(-1)
            p = log_p.exp()
            total += p.sum(0)
            plain = self.bias is None or self.cap is not None
            against = log_p if plain else log_p - self.bias
            levels.append((p * against).sum(-1))
            means.append(p @ self.head.weight)
        mean = torch.cat(means) if self.cap is None else last
        return Target(mean, torch.cat(levels)), total

    def __call__(
        self, states: Tensor, target: Target, words: Words | None = None, gradient: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """(n,) nats for states (n, d); and the gradient (n, d) of their sum where it is wanted."""
        states = states.detach().requires_grad_(gradient)
        with torch.enable_grad():
            narrow = self.head.normed(states)
        found = self._of_narrow(narrow.detach(), target, words or self.all, gradient)
        if not gradient:
            return found[0], None
        (made,) = torch.autograd.grad(narrow, states, found[1])
        return found[0], made

    def back(self, states: Tensor, vectors: Tensor) -> Tensor:
        """(n, d): the gradient at states that `vectors` at the head's input come from."""
        states = states.detach().requires_grad_()
        with torch.enable_grad():
            narrow = self.head.normed(states)
        (made,) = torch.autograd.grad(narrow, states, vectors)
        return made

    @torch.no_grad()
    def _of_narrow(
        self, narrow: Tensor, target: Target, words: Words, gradient: bool
    ) -> tuple[Tensor, Tensor]:
        one = self._linear if self.cap is None else partial(self._capped, self.cap)
        size = self.chunk(len(words.weight))
        spans = [slice(i, i + size) for i in range(0, len(target), size)]
        parts = [one(narrow[span], target.rows(span), words, gradient) for span in spans]
        return torch.cat([kl for kl, _ in parts]), torch.cat([g for _, g in parts])

    def _linear(
        self, x: Tensor, target: Target, words: Words, gradient: bool
    ) -> tuple[Tensor, Tensor]:
        z, factor = x @ words.weight.T, self.factor
        if factor != 1:
            z *= factor
        if words.bias is not None:
            z += words.bias
        top = z.amax(-1, keepdim=True)
        total = z.sub_(top).exp_().sum(-1, keepdim=True)
        said = factor * (x * target.mean).sum(-1)
        kl = target.level - said + (top + total.log())[:, 0]
        if not gradient:
            return kl, x[:0]
        return kl, factor * ((z @ words.weight) / total - target.mean)

    def _capped(
        self, cap: float, x: Tensor, target: Target, words: Words, gradient: bool
    ) -> tuple[Tensor, Tensor]:
        # A cap bends the logits, so p itself is needed: once more through the head.
        log_p = self.head.logits(target.mean).log_softmax(-1)
        p = log_p.exp()
        z = self.factor * (x @ words.weight.T)
        bent = torch.tanh((z if words.bias is None else z + words.bias) / cap)
        log_q = (bent * cap).log_softmax(-1)
        kl = (p * (log_p - log_q)).sum(-1)
        if not gradient:
            return kl, x[:0]
        return kl, ((log_q.exp() - p) * (1 - bent**2) * self.factor) @ words.weight

    def mean_rows(self, target: Target) -> Tensor:
        """(n, width of U): sum_v p_v U_v at each position."""
        if self.cap is None:
            return target.mean
        parts = target.mean.split(self.chunk(len(self.head.weight)))
        return torch.cat([self.head.logits(part).softmax(-1) @ self.head.weight for part in parts])
