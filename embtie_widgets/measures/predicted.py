"""Token ids and labels as somebody gives them: what is read, and what is predicted where."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.states import check_pieces

IGNORED = -100  # the label of a position that is not predicted, as everywhere in transformers
_IDS = "Give token ids (B, T), whole numbers from 0 on."


def predicted(model: Any, ids: Any, labels: Any) -> tuple[Tensor, Tensor]:
    """Ids (B, T), and what is to be predicted at each of their places, IGNORED where nothing is.

    ids     (B, T) token ids, or rows of different lengths, which are filled up behind
    labels  likewise what stands at each place, predicted from the place before as in transformers;
            IGNORED where nothing is to be predicted; the ids themselves where none are given

    An EmbtieError for what is no such thing, and for ids that the model has no row for.
    """
    known = _whole("ids", ids, fill=0)
    check_pieces(model, list(known.numpy()))
    own = _whole("labels", ids if labels is None else labels, fill=IGNORED)
    rows = len(model.get_output_embeddings().weight)
    if own.shape != known.shape:
        raise EmbtieError(
            f"labels are {tuple(own.shape)}; the ids are {tuple(known.shape)}.",
            "Give one label for each id, the token that stands there or -100.",
        )
    if bool(((own != IGNORED) & ((own < 0) | (own >= rows))).any()):
        raise EmbtieError(
            f"labels hold other numbers than 0 to {rows - 1:,} and {IGNORED}.",
            f"Set {IGNORED} where nothing is to be predicted.",
        )
    targets = functional.pad(own[:, 1:], (0, 1), value=IGNORED)
    if not bool((targets != IGNORED).any()):
        raise EmbtieError(
            "There is no next token to predict.",
            "Give at least two tokens in a row, and a label that is not -100 behind the first.",
        )
    return known, targets


def _whole(name: str, given: Any, fill: int) -> Tensor:
    """(B, T) whole numbers, rows of different lengths filled up."""
    try:
        made = _rectangular(given, fill).detach().cpu()
    except (TypeError, ValueError, RuntimeError):
        raise EmbtieError(
            f"{name} is a {type(given).__name__}, but not of numbers.", _IDS
        ) from None
    made = made[None] if made.ndim == 1 else made
    made = made if made.numel() else made.long()
    if made.ndim != 2 or made.is_floating_point() or made.is_complex() or made.dtype == torch.bool:
        raise EmbtieError(
            f"{name} is an array {tuple(made.shape)} of {str(made.dtype).removeprefix('torch.')}.",
            _IDS,
        )
    return made.long()


def _rectangular(given: Any, fill: int) -> Tensor:
    if isinstance(given, Tensor | np.ndarray):
        return torch.as_tensor(given)
    try:
        return torch.as_tensor(np.asarray(given))
    except (TypeError, ValueError):  # of different lengths, or each a tensor
        rows = [torch.as_tensor(row) for row in given]
        return pad_sequence(rows, batch_first=True, padding_value=fill)


def filled(pieces: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """Ids (B, T) of pieces of a text, the shorter ones filled up behind, and labels that leave out
    what fills."""
    ids = torch.zeros(len(pieces), max(map(len, pieces)), dtype=torch.int64)
    labels = torch.full_like(ids, IGNORED)
    for place, piece in enumerate(pieces):
        ids[place, : len(piece)] = labels[place, : len(piece)] = torch.as_tensor(piece)
    return ids, labels
