"""Toy models of the context staircase: the label of a sequence, from embeddings of its tokens.

Each has an embedding (X, d) and an unembedding (classes, d), never tied, and no bias anywhere.
Every entry begins as N(0, d^(-2 gamma)), d being the width, or the numbers that an inner matrix
reads.
"""

import math
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from embtie_widgets.measures.signatures import signature
from embtie_widgets.requests.staircase import StaircaseRequest
from embtie_widgets.training.toy_tasks import ToyTask

Activation = Callable[[Tensor], Tensor]


class ToyModel(nn.Module):
    """What all have in common.

    `rows` are the embeddings as the model uses them (X, d), `attended` says how much the last
    position attends to each, layer by layer.  What it reads, `inputs` make of token ids once.
    """

    def __init__(self, request: StaircaseRequest, task: ToyTask, draw: torch.Generator) -> None:
        super().__init__()
        self._gamma, self._draw = request.gamma, draw
        self.embedding = self._begun(len(task.tokens), request.width)
        self.unembedding = self._begun(len(task.answers), request.width)

    @property
    def rows(self) -> Tensor:
        """(X, d)."""
        return self.embedding

    def inputs(self, ids: Tensor) -> Tensor:
        """Of sequences (n, L), a row each."""
        return ids

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits (n, classes)."""
        return self.state(inputs) @ self.unembedding.T

    def state(self, inputs: Tensor) -> Tensor:
        """(n, d) before the unembedding."""
        raise NotImplementedError

    def attended(self, inputs: Tensor) -> list[Tensor]:
        """Attention (n, L) of the last position in each layer; none without attention."""
        return []

    def _begun(self, count: int, width: int) -> nn.Parameter:
        """A matrix (count, width) of vectors in a space of that width."""
        drawn = torch.randn(count, width, generator=self._draw)
        return nn.Parameter(drawn * width**-self._gamma)


class FeedForward(ToyModel):
    """The activation of the sum of a sequence's embeddings: it knows no order of tokens."""

    def __init__(self, request: StaircaseRequest, task: ToyTask, draw: torch.Generator) -> None:
        super().__init__(request, task, draw)
        self._activation = _activation(request)

    def inputs(self, ids: Tensor) -> Tensor:
        """(n, X) how often each token stands in a sequence."""
        counts = torch.zeros(len(ids), len(self.embedding), device=ids.device)
        return counts.scatter_add_(1, ids, torch.ones_like(ids, dtype=counts.dtype))

    def state(self, inputs: Tensor) -> Tensor:
        """(n, d)."""
        return self._activation(inputs @ self.rows)


class FixedEmbedding(FeedForward):
    """The same with embeddings that stay: lambda R phi_a v, of the order-1 signature phi_a
    (classes, X) of each token, drawn once (R, v); of all this only lambda and the unembedding are
    trained.

    Entries of R are N(0, 1), and v is as long as makes those of phi v about 1: the paper says
    nothing of it, and rows much shorter than that learn no faster than trained ones do.
    """

    def __init__(self, request: StaircaseRequest, task: ToyTask, draw: torch.Generator) -> None:
        super().__init__(request, task, draw)
        self.embedding.requires_grad_(False)
        self.embedding.copy_(self._projected(request, task))
        self.scale = nn.Parameter(torch.ones(()))

    @property
    def rows(self) -> Tensor:
        """(X, d)."""
        return self.scale * self.embedding

    def _projected(self, request: StaircaseRequest, task: ToyTask) -> Tensor:
        order = min(1, request.length - 1)
        known = signature(task.sequences, task.labels, order, anchors=task.anchors).values
        seen = torch.from_numpy(known).float()
        if order:
            seen = seen @ torch.randn(seen.shape[2], generator=self._draw)
        seen /= seen.square().mean().sqrt().clamp_min(1e-30)
        found = torch.zeros_like(self.embedding)  # a token that does not occur stays there
        turned = torch.randn(seen.shape[1], request.width, generator=self._draw)
        found[torch.from_numpy(task.anchors)] = seen @ turned
        return found


class Attention(nn.Module):
    """One causal head of half the width, without a bias."""

    def __init__(self, width: int, begun: Callable[[int, int], nn.Parameter]) -> None:
        super().__init__()
        inner = max(1, width // 2)
        self.query, self.key, self.value = (begun(inner, width) for _ in range(3))
        self.out = begun(width, inner)

    def weights(self, x: Tensor) -> Tensor:
        """(n, L, L), each row sums to 1."""
        query, key = functional.linear(x, self.query), functional.linear(x, self.key)
        scores = query @ key.transpose(1, 2) / math.sqrt(query.shape[-1])
        later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool, device=x.device).triu(1)
        return scores.masked_fill(later, -torch.inf).softmax(-1)

    def forward(self, x: Tensor, weights: Tensor) -> Tensor:
        """(n, L, d) of (n, L, d)."""
        return functional.linear(weights @ functional.linear(x, self.value), self.out)


class AttentionOnly(ToyModel):
    """Learned positions and layers of attention, without a residual stream: what the last position
    ends with is read."""

    def __init__(self, request: StaircaseRequest, task: ToyTask, draw: torch.Generator) -> None:
        super().__init__(request, task, draw)
        self.positions = self._begun(request.length, request.width)
        self.heads = nn.ModuleList(
            Attention(request.width, self._begun) for _ in range(request.layers)
        )

    def state(self, inputs: Tensor) -> Tensor:
        """(n, d)."""
        return self._through(inputs)[0]

    def attended(self, inputs: Tensor) -> list[Tensor]:
        """(n, L) a layer."""
        return self._through(inputs)[1]

    def _through(self, ids: Tensor) -> tuple[Tensor, list[Tensor]]:
        x = functional.embedding(ids, self.rows) + self.positions
        seen = []
        for number, head in enumerate(self.heads):
            weights: Tensor = cast(Attention, head).weights(self._read(x))
            seen.append(weights[:, -1])
            x = self._layer(number, x, head, weights)
        return x[:, -1], seen

    def _read(self, x: Tensor) -> Tensor:
        return x

    def _layer(self, number: int, x: Tensor, head: Any, weights: Tensor) -> Tensor:
        updated: Tensor = head(x, weights)
        return updated


class Transformer(AttentionOnly):
    """Attention and a feed-forward part of four times the width on a residual stream, each behind
    an RMS norm without gain, and one more before the unembedding."""

    def __init__(self, request: StaircaseRequest, task: ToyTask, draw: torch.Generator) -> None:
        super().__init__(request, task, draw)
        self._activation = _activation(request)
        width, layers = request.width, range(request.layers)
        self.up = nn.ParameterList(self._begun(4 * width, width) for _ in layers)
        self.down = nn.ParameterList(self._begun(width, 4 * width) for _ in layers)

    def state(self, inputs: Tensor) -> Tensor:
        """(n, d)."""
        return self._read(super().state(inputs))

    def _read(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, x.shape[-1:])

    def _layer(self, number: int, x: Tensor, head: Any, weights: Tensor) -> Tensor:
        x = x + head(self._read(x), weights)
        inner = self._activation(functional.linear(self._read(x), self.up[number]))
        return x + functional.linear(inner, self.down[number])


MODELS: dict[str, type[ToyModel]] = {
    "ffn": FeedForward,
    "fixed": FixedEmbedding,
    "attention": AttentionOnly,
    "transformer": Transformer,
}


def build_toy(request: StaircaseRequest, task: ToyTask) -> ToyModel:
    """A fresh model, the same for the same request and task, on the CPU."""
    draw = torch.Generator().manual_seed(request.seed)
    with torch.no_grad():
        return MODELS[request.model](request, task, draw)


def _activation(request: StaircaseRequest) -> Activation:
    known: dict[str, Activation] = {
        "relu": torch.relu,
        "gelu": functional.gelu,
        "tanh": torch.tanh,
        "linear": lambda z: z,
        "power": lambda z: z**request.power,
    }
    return known[request.activation]
