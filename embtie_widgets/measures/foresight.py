"""Whether a model reads from left to right: asked is what it knows before the next token."""

from typing import Any

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.offloaded import input_device

_TOKENS = 6
# Rounding, in steps of the type that the model computes in: of two texts in one batch it is the
# same nearly always.
_STEPS, _LEAST = 16, 1e-3


def refuse_foresight(model: Any) -> None:
    """An EmbtieError for a model whose answer at a token depends on tokens that come later."""
    rows = int(model.config.get_text_config().vocab_size)
    ids = torch.arange(3, 3 + _TOKENS).repeat(2, 1) % rows
    ids[1, -1] = (ids[0, -1] + 1) % rows
    training = model.training
    try:
        with torch.no_grad():
            made = model.eval()(input_ids=ids.to(input_device(model)), use_cache=False).logits
    finally:
        model.train(training)
    step = torch.finfo(made.dtype).eps
    one, other = made[:, :-1].float()
    known = one.isfinite() & other.isfinite()
    if not known.any():
        return
    apart, largest = (float(x[known].abs().max()) for x in (one - other, one))
    if apart > max(_LEAST, _STEPS * step) * largest:
        raise EmbtieError(
            f"A {type(model).__name__} looks ahead: what it says at a token depends on tokens that "
            "come later. What is measured on text here is defined for decoders, which read from "
            "left to right.",
            "Choose a decoder such as GPT-2, Llama or Pythia. Its embedding matrices can be "
            "compared all the same.",
        )
