"""What a model's head is given, position by position, without the logits that it would make.

The forward pass runs as it is, but its head is handed the last place of each row alone: those few
logits are the model's own, and say whether the head is read rightly.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.devices import full_float32
from embtie_widgets.measures.divergence import explained, furthest
from embtie_widgets.measures.head import Head
from embtie_widgets.measures.predicted import IGNORED
from embtie_widgets.progress import Progress, silent
from embtie_widgets.sources.alone import alone_with
from embtie_widgets.sources.live import layout_of
from embtie_widgets.sources.offloaded import input_device

STAGE = "reading the text"
_TOKENS, _ROWS = 1_024, 32  # that go through the model together, padding included


@dataclass(frozen=True, eq=False)
class HeadInputs:
    """The positions of some rows of the text that predict a token, in the order of the text.

    hidden   (n, width of U) float32, on the head's device: what U is multiplied with
    ids      (n,) the token there, and `targets` the one to be predicted
    row      (n,) of the text, and `place` within it
    """

    hidden: Tensor
    ids: Tensor
    targets: Tensor
    row: Tensor
    place: Tensor


def head_inputs(
    model: Any, head: Head, ids: Tensor, targets: Tensor, progress: Progress = silent
) -> Iterator[HeadInputs]:
    """All positions of ids (B, T) that predict one of `targets` (B, T), some rows at a time.

    The model computes in evaluation mode and is left as it was.  An EmbtieError where the head,
    read in float32, does not give the model's own logits.
    """
    rows = max(1, min(_ROWS, _TOKENS // ids.shape[1]))
    for start in range(0, len(ids), rows):
        some, wanted = ids[start : start + rows], targets[start : start + rows] != IGNORED
        progress(STAGE, start, len(ids))
        hidden, last = _through(model, some, partial(progress, STAGE, start, len(ids)))
        _refuse_other(model, head, hidden[:, -1].to(head.weight), last.to(head.weight))
        row, place = wanted.nonzero(as_tuple=True)
        if len(row):
            follow = targets[start : start + rows][row, place]
            yield HeadInputs(
                hidden[row.to(hidden.device), place.to(hidden.device)].to(head.weight),
                some[row, place],
                follow,
                row + start,
                place,
            )
    progress(STAGE, len(ids), len(ids))


def _through(model: Any, ids: Tensor, tell: Callable[[], None]) -> tuple[Tensor, Tensor]:
    """What the head is given (B, T, d), and the model's own logits (B, V) at the last place."""
    heard: list[Tensor] = []

    def narrow(_module: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if heard or not args or args[0].shape[:-1] != ids.shape:
            raise _other(model, "its head is not run once over all places")
        heard.append(args[0].detach())
        return (args[0][:, -1:], *args[1:])

    with alone_with(model, tell), evaluating(model), ExitStack() as hooks:
        head = model.get_output_embeddings()
        hooks.callback(head.register_forward_pre_hook(narrow).remove)
        for block in _blocks(model):  # where a long pass can be stopped
            hooks.callback(block.register_forward_pre_hook(lambda *_: tell()).remove)
        made = model(input_ids=ids.to(input_device(model)), use_cache=False).logits
    if not heard or made.shape[:-1] != (len(ids), 1):
        raise _other(model, "its logits are not those of its head")
    return heard[0], made[:, 0]


def _blocks(model: Any) -> list[Any]:
    """As far as they are found."""
    modules, layout = dict(model.named_modules()), layout_of(model)
    paths = (f"{layout.layers}.{i}" for i in range(layout.layer_count))
    return [modules[path] for path in paths if path in modules]


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Without dropout, gradients or coarse products; afterwards every part is as it was."""
    before = {module: module.training for module in model.modules()}
    try:
        model.eval()
        with torch.no_grad(), full_float32():
            yield
    finally:
        for module, training in before.items():
            module.training = training


def _refuse_other(model: Any, head: Head, hidden: Tensor, own: Tensor) -> None:
    found = furthest(head, hidden, own, normed=True)
    if any(a > most for a, most in zip(found.apart, explained(found, head), strict=True)):
        raise _other(model, f"read in float32 it is off by {found.apart.largest:.2g}")


def _other(model: Any, why: str) -> EmbtieError:
    return EmbtieError(
        f"The head of this {type(model).__name__} does not give the model's own logits: {why}. "
        "What it lets through would be measured wrongly, so it is not shown.",
        "Choose a decoder such as GPT-2, Llama or Pythia. Its embedding matrices can be compared "
        "all the same.",
    )
