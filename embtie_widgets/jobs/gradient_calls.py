"""The split of a gradient without requests: a model and a text in, a `GradientSplit` out."""

from collections.abc import Sequence
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.opened import of_model
from embtie_widgets.measures import gradient_split as measures
from embtie_widgets.measures.states import most_places
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import fields
from embtie_widgets.results.gradient import GradientSplit
from embtie_widgets.sources.models import OpenModel, open_model
from embtie_widgets.sources.passages import pieces_of_texts


def gradient_split(
    model: Any,
    input_ids: Any,
    labels: Any = None,
    *,
    tokenizer: Any = None,
    length: int = 512,
    device: str = "auto",
    precision: str = "auto",
    progress: Progress = silent,
) -> GradientSplit:
    """Who writes into the shared matrix: the gradient by the input's use and by the output's.

    `model` is a reference or a transformers model.  `input_ids` are token ids (B, T), rows of
    different lengths, or strings, which are cut into pieces of at most `length` tokens by the
    model's own `tokenizer`.  The loss is mean next-token cross-entropy; `labels`, shifted as
    transformers does, default to the ids, and -100 is left out.  Without training; the model is
    left as it was.
    """
    fields.whole("length", length, 2, 2**31 - 1)
    opened = open_model(model, device=device, precision=precision, progress=progress)
    input_ids, settings = cut_if_worded(opened, input_ids, labels, tokenizer, length)
    found = measures.gradient_split(opened.model, input_ids, labels, progress=progress)
    return of_model(found, opened, settings)


def cut_if_worded(
    opened: OpenModel, given: Any, labels: Any, tokenizer: Any, length: int
) -> tuple[Any, dict[str, Any]]:
    """Token ids as they are; strings in pieces, and how they were cut."""
    listed = isinstance(given, Sequence) and len(given) > 0 and isinstance(given[0], str)
    if not (isinstance(given, str) or listed):
        return given, {}
    if labels is not None:
        raise EmbtieError(
            "labels were given for a text; they belong to token ids.",
            "Give token ids, or leave the labels out.",
        )
    rows = int(opened.model.get_input_embeddings().weight.shape[0])
    most = min(length, most_places(opened.model) or length)
    pieces = pieces_of_texts(given, tokenizer or opened.tokenizer, length=most, rows=rows)
    return list(pieces.ids), {"text": pieces.settings}
