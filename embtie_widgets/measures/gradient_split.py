"""The gradient of a shared matrix of a loaded model, split by the two uses that it has.

The model's own forward pass runs as it is, and every use of its matrices in it is heard: where rows
are looked up, and where states are multiplied into logits.  What comes back through a use is added
to the part it belongs to.  So scales, caps and biases of any family are the model's own, and no
matrix is held beside the parts.  Source: weight-tying
paper, figure 4.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from embtie_widgets.errors import EmbtieError
from embtie_widgets.hashing import tensor_hash
from embtie_widgets.measures.devices import full_float32
from embtie_widgets.measures.foresight import refuse_foresight
from embtie_widgets.measures.gradient import flow_numbers, row_products
from embtie_widgets.measures.head import refuse_others
from embtie_widgets.measures.matrix_uses import Part, Uses, slots
from embtie_widgets.measures.predicted import IGNORED, predicted
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.gradient import GradientSplit
from embtie_widgets.sources.alone import alone_with
from embtie_widgets.sources.live import matrices_of
from embtie_widgets.sources.offloaded import input_device

STAGE = "splitting the gradient"
_FLOATS = 2**24  # logits of the rows that go together: 64 MB in float32
# How far the parts may be from products that were made in another order.
_TOLERANCE = {torch.float64: 1e-9, torch.float32: 1e-3}


def gradient_split(
    model: Any, ids: Any, labels: Any = None, *, progress: Progress = silent
) -> GradientSplit:
    """The gradient of mean next-token cross-entropy in the input and the output matrix.

    ids     (B, T) token ids, or rows of different lengths, which are filled up behind
    labels  likewise what stands at each place, predicted from the place before as in transformers;
            IGNORED where nothing is to be predicted; the ids themselves where none are given

    The model computes in evaluation mode and is left as it was.  Rows of the batch go through it
    so many at a time that their logits take 64 MB; a long row has all of its own.  Parts are in
    float32, or in float64 where the model is.  The row of a `padding_idx` learns nothing by the
    input, as in training.  An EmbtieError where the model is no decoder with a head, has matrices
    of unequal size, uses them in a third way, or where the check of the parts fails.
    """
    refuse_others(model)
    E, U = _matrices(model)
    known, targets = predicted(model, ids, labels)
    places, parts = (slots(model, E), slots(model, U)), (Part(E), Part(U))
    rows, done, loss = max(1, _FLOATS // (len(U) * known.shape[1])), 0, 0.0

    def tell() -> None:
        progress(STAGE, done, len(known))

    with alone_with(model, tell), _computing(model, E, U):
        refuse_foresight(model)
        for some, follow in zip(known.split(rows), targets.split(rows), strict=True):
            tell()
            loss += _backward(model, some, follow, Uses(places, parts, tell))
            done += len(some)
    tell()
    return _result(parts, loss, known, targets, E.dtype)


def _backward(model: Any, ids: Tensor, targets: Tensor, uses: Uses) -> float:
    """The summed loss of some rows of the batch; its gradient goes into the parts."""
    with uses:
        logits = model(input_ids=ids.to(input_device(model)), use_cache=False).logits
    wide = logits if logits.dtype == torch.float64 else logits.float()
    follow = targets.flatten().to(logits.device)
    # The sum and not the mean: in float16 a small part of one position would vanish.
    loss = functional.cross_entropy(
        wide.flatten(0, 1), follow, ignore_index=IGNORED, reduction="sum"
    )
    uses.come_back(loss)
    return float(loss.detach())


def _result(
    parts: tuple[Part, Part], loss: float, known: Tensor, targets: Tensor, dtype: torch.dtype
) -> GradientSplit:
    predicted = int((targets != IGNORED).sum())
    g_in, g_out = (part.mean(predicted) for part in parts)
    check = max(part.check() for part in parts)
    total = g_in + g_out.to(g_in.device)
    proxy = math.sqrt(parts[0].squares) / predicted
    numbers = flow_numbers(row_products(g_in, g_out), proxy)
    if not math.isfinite(loss * numbers["total_norm"]):
        raise EmbtieError(
            "The gradient is not finite.",
            "Load the model in float32: in half precision its numbers may be too large.",
        )
    if not check <= _TOLERANCE[total.dtype]:
        raise EmbtieError(
            f"The parts of the gradient are off by {check:.2g} of their size from products that "
            "were made another way, so they are not shown.",
            "Try another device, or float32.",
        )
    return GradientSplit(
        g_in,
        g_out,
        total,
        output_share=numbers["output_share"],
        norm_share=numbers["norm_share"],
        cosine=numbers["cosine"],
        proxy_norm=numbers["proxy_norm"],
        proxy_share=numbers["proxy_share"],
        loss=loss / predicted,
        check=check,
        settings={
            "sequences": len(targets),
            "length": targets.shape[1],
            "predicted": predicted,
            "dtype": str(dtype).removeprefix("torch."),
            "added up in": str(total.dtype).removeprefix("torch."),
        },
        hashes={"text": tensor_hash(torch.stack([known, targets]).flatten(0, 1))},
    )


def _matrices(model: Any) -> tuple[Tensor, Tensor]:
    E, U = matrices_of(model)
    if E is None or U is None or E.shape != U.shape:
        raise EmbtieError(
            f"The input and the output matrix of this {type(model).__name__} differ in size, so "
            "their gradients have no sum.",
            "Choose a model in which both could be one.",
        )
    return E, U


@contextmanager
def _computing(model: Any, *matrices: Tensor) -> Iterator[None]:
    """The model in evaluation mode, with gradients on; afterwards all is as it was."""
    # Some keep states of the last forward pass, with all of its graph.
    before = [(m, dict(m.__dict__), dict(m._buffers)) for m in model.modules()]
    learning = [matrix.requires_grad for matrix in matrices]
    try:
        model.eval()
        for matrix in matrices:  # so that every use of theirs shows
            matrix.requires_grad_(True)
        with full_float32(), torch.inference_mode(False), torch.enable_grad():
            yield
    finally:
        for matrix, learns in zip(matrices, learning, strict=True):
            matrix.requires_grad_(learns)
        for module, own, buffers in before:
            for held, kept in ((module.__dict__, own), (module._buffers, buffers)):
                held.clear()
                held.update(kept)
