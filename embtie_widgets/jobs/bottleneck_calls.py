"""The gradient bottleneck without requests: a model and a text in, a `Bottleneck` out."""

from collections.abc import Sequence
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.gradient_calls import cut_if_worded
from embtie_widgets.jobs.opened import of_model
from embtie_widgets.measures import bottleneck as measures
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import fields
from embtie_widgets.results.bottleneck import Bottleneck
from embtie_widgets.sources.models import open_model


def bottleneck(
    model: Any,
    input_ids: Any,
    labels: Any = None,
    *,
    tokenizer: Any = None,
    length: int = 512,
    gram: int = 0,
    steps_at: Sequence[float] = (),
    device: str = "auto",
    precision: str = "auto",
    seed: int = 0,
    progress: Progress = silent,
) -> Bottleneck:
    """How much of the logit gradient the model's head transmits to the hidden state.

    `model` is a reference or a transformers model.  `input_ids` are token ids (B, T), rows of
    different lengths, or strings, which are cut into pieces of at most `length` tokens by the
    model's own `tokenizer`; `labels`, shifted as transformers does, default to the ids, and -100 is
    left out.  `gram` asks for the singular spectrum of the gradient at so many first positions, and
    `steps_at` for the loss after steps of these lengths there, in multiples of the gradient's root
    mean square length.  Without training; the model is left as it was.
    """
    fields.whole("length", length, 2, 2**31 - 1)
    fields.whole("gram", gram, 0, 2**31 - 1)
    fields.whole("seed", seed, 0, 2**31 - 1)
    steps_at = fields.numbers("steps_at", tuple(steps_at), 1e-6, 1e6, most=16)
    if steps_at and not gram:
        raise EmbtieError(
            "steps_at was given without gram, so at no position.",
            "Say by gram at how many first positions the steps are tried.",
        )
    opened = open_model(model, device=device, precision=precision, progress=progress)
    input_ids, settings = cut_if_worded(opened, input_ids, labels, tokenizer, length)
    found = measures.bottleneck(
        opened.model,
        input_ids,
        labels,
        gram=gram,
        steps_at=steps_at,
        seed=seed,
        progress=progress,
    )
    return of_model(found, opened, settings)
