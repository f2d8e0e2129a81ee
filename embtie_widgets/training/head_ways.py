"""Plug-ins whose head lets less of the gradient through: the three ways of the dispute on it.

A head U (V, d) passes G U on to the hidden state, G (n, V) being the gradient of the logits.  A
"factorised" head of lower rank passes on less, and can say less; with the "backward" pass alone
restricted it says as much as before; "head-update" takes from the head itself what the hidden state
does not see.  Sources: Lost in Backpropagation, and the reply arXiv 2608.16671.
"""

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.head_factor import HeadFactor
from embtie_widgets.requests.fields import whole
from embtie_widgets.requests.trials import FULL
from embtie_widgets.training.interventions import Intervention, Step, registered


@registered("factorised-head")
@dataclass
class FactorisedHead(Intervention):
    """The head is a product of two trained matrices, through `rank` directions of the state.

    At the start it is the head's best approximation of that rank, made as long as the head was;
    with the rank of the head it is the head.  The head of a tied model reads the shared matrix W
    (V, d) behind a trained map of the state, U = W M with M (d, d) of that rank, so that the input
    stays as it is.  Stored are both matrices as they are used, the product as one.
    """

    rank: int

    def __post_init__(self) -> None:
        whole("rank", self.rank, 1, 2**20)

    def on_build(self, model: Any, run: str) -> None:
        """Put the product in place of the head."""
        head = model.get_output_embeddings()
        _check_rank(self.rank, head.weight)
        shared = head.weight is model.get_input_embeddings().weight
        model.set_output_embeddings(LowRankHead(head, self.rank, shared))

    def finished(self, model: Any) -> Any:
        """A model whose head is one matrix (V, d), as transformers knows it."""
        made = copy.deepcopy(model)
        product = made.get_output_embeddings()
        if product.shared:  # what is read in is not what is read out any more
            made.config.tie_word_embeddings = False
            made.all_tied_weights_keys = {}
        made.set_output_embeddings(product.multiplied())
        return made


class LowRankHead(nn.Module):
    """Logits of states by way of `rank` numbers each: `down` (rank, d), then `up`.

    up      (V, rank), or (d, rank) where the rows behind it are those of a shared matrix
    shared  whether they are
    """

    def __init__(self, head: Any, rank: int, shared: bool) -> None:
        super().__init__()
        matrix = head.weight.detach()
        directions = _leading(matrix, rank, centred=False)
        size = torch.linalg.vector_norm(matrix) / torch.linalg.vector_norm(matrix @ directions)
        self.shared = shared
        self.down = nn.Parameter(directions.T.contiguous())
        self.up = nn.Parameter((directions if shared else matrix @ directions) * size)
        self.matrix = head.weight if shared else None
        self.bias = head.bias

    @property
    def weight(self) -> Tensor:
        """(V, d) the product."""
        product = self.up @ self.down
        return product if self.matrix is None else self.matrix @ product

    def forward(self, states: Tensor) -> Tensor:
        """(..., V) logits of states (..., d)."""
        passed = functional.linear(functional.linear(states, self.down), self.up)
        if self.matrix is not None:
            return functional.linear(passed, self.matrix, self.bias)
        return passed if self.bias is None else passed + self.bias

    def multiplied(self) -> nn.Linear:
        """The same head as one matrix."""
        rows, width = self.weight.shape
        made = nn.Linear(width, rows, bias=self.bias is not None, device=self.weight.device)
        made.weight = nn.Parameter(self.weight.detach())
        if self.bias is not None:
            made.bias = self.bias
        return made


@registered("backward-rank")
@dataclass
class BackwardRank(Intervention):
    """The gradient at the hidden states has `rank` directions left; nothing else changes.

    It is what the head's best approximation of that rank would pass on, scaled to the length that
    it had over all positions of the batch.  So the logits stay those of the head, and so does its
    own gradient.  The approximation is of the rows about their mean: what all rows share moves no
    probability, and G U does not hold it.
    """

    rank: int

    def __post_init__(self) -> None:
        whole("rank", self.rank, 1, 2**20)

    def on_build(self, model: Any, run: str) -> None:
        """Check that the head has so many directions."""
        _check_rank(self.rank, model.get_output_embeddings().weight)

    def on_embeddings(self, embeddings: Tensor, step: Step) -> Tensor:
        """Wait for the state that the head reads in this step."""
        head = step.model.get_output_embeddings()
        directions = _leading(head.weight.detach(), self.rank, centred=True)

        def read(module: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
            hook.remove()
            states = arguments[0].view_as(arguments[0])  # other uses of the state keep theirs
            states.register_hook(lambda gradient: _restricted(gradient, directions))
            return (states, *arguments[1:])

        hook = head.register_forward_pre_hook(read)
        return embeddings


@registered("visible-head-update")
@dataclass
class VisibleHeadUpdate(Intervention):
    """The head's own gradient G' H keeps only what lies in the columns of U, as G U does.

    A tied matrix keeps its input part whole.  Adam divides each entry by a measure of its own, and
    by that puts some of the rest back; the columns so still turn, if slowly.
    """

    splits = True

    def on_gradients(self, step: Step) -> None:
        """Take the rest off."""
        matrix = step.model.get_output_embeddings().weight
        if step.parts is None:
            raise EmbtieError(
                "The gradient of this model's head cannot be told from that of its embedding.",
                "Choose an architecture that ties its matrices as transformers does.",
            )
        with torch.no_grad():
            part = step.parts.output
            matrix.grad -= part - _in_columns(matrix, part)


def head_plugs(way: str, rank: int | None = None) -> tuple[Intervention, ...]:
    """The plug-ins of one of `requests.trials.WAYS`; `rank` of those that have one."""
    if way == FULL:
        return ()
    if way == "head-update":
        return (VisibleHeadUpdate(),)
    made = {"factorised": FactorisedHead, "backward": BackwardRank}.get(way)
    if made is None or rank is None:
        raise EmbtieError(
            f"There is no way {way!r} of a head of rank {rank}.",
            'Choose "full" or "head-update", or "factorised" or "backward" with a rank.',
        )
    return (made(rank),)


def _check_rank(rank: int, matrix: Tensor) -> None:
    most = min(matrix.shape)
    if rank > most:
        raise EmbtieError(
            f"The rank is {rank}; the head ({matrix.shape[0]:,} by {matrix.shape[1]:,}) has at "
            f"most {most:,}.",
            f"Choose a rank from 1 to {most:,}.",
        )


def _leading(matrix: Tensor, rank: int, *, centred: bool) -> Tensor:
    """(d, rank) the directions in which the rows of `matrix` (V, d) are longest, orthonormal."""
    rows = _exact(matrix)
    if centred:
        rows = rows - rows.mean(0)
    vectors = torch.linalg.eigh(rows.T @ rows).eigenvectors  # the longest last
    leading: Tensor = vectors[:, -rank:].flip(1)
    return leading.to(matrix)


def _restricted(gradient: Tensor, directions: Tensor) -> Tensor:
    """`gradient` (..., d) in the span of directions, as long as it was; 0 where none is left."""
    wide = gradient.to(directions.dtype)
    kept = wide @ directions @ directions.T
    size, left = torch.linalg.vector_norm(wide), torch.linalg.vector_norm(kept)
    return (kept * torch.where(left > 0, size / left, 0.0)).to(gradient.dtype)


def _in_columns(matrix: Tensor, part: Tensor) -> Tensor:
    """What of `part` (V, d) lies in the column space of `matrix` (V, d)."""
    rows = _exact(matrix.detach())
    across = HeadFactor.of(matrix).combination(part.to(rows).T @ rows)
    return (rows @ across.T).to(part)


def _exact(matrix: Tensor) -> Tensor:
    """In float64, on the CPU where the device has none."""
    return matrix.to("cpu" if matrix.device.type == "mps" else matrix.device).double()
