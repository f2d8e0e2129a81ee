"""How many parameters a model has, tied and untied, counted from file headers."""

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources import hub, live
from embtie_widgets.sources.architecture import Shapes
from embtie_widgets.sources.checkpoint import Checkpoint
from embtie_widgets.sources.load import find, load
from embtie_widgets.sources.loaded import HEAD_UNAVAILABLE, Loaded

if TYPE_CHECKING:
    import pandas as pd

# Tables that some releases store although they are made from the configuration.
_NOT_TRAINED = re.compile(r"(\.attn\.bias|\.attention\.bias|masked_bias|rotary_emb\.inv_freq)$")

_PACKED = re.compile(r"\.(qweight|weight_packed|SCB|absmax|weight_scale\w*)$")


@dataclass(frozen=True)
class Parameters:
    """Numbers of parameters of one model, as it would be untied and tied.

    untied     with a matrix of its own for input and output
    tied       with one matrix for both
    saved      what tying saves, one V x d matrix
    embedding  both matrices of the untied form, 2 V d
    share      embedding / untied, in [0, 1]
    settings   model, V, d, and how the model is stored
    """

    untied: int
    tied: int
    saved: int
    embedding: int
    share: float
    settings: dict[str, Any] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    def to_frame(self) -> "pd.DataFrame":
        """One row with the five numbers."""
        import pandas as pd

        names = ("untied", "tied", "saved", "embedding", "share")
        return pd.DataFrame([{name: getattr(self, name) for name in names}])


def parameters(model: Any) -> Parameters:
    """Count the parameters of a model in memory or of a checkpoint; no weights are read for it.

    `model` is a transformers model, a bundled name, a folder, a hub id or a `ModelRef`.
    """
    if not live.is_model(model) and not isinstance(model, str | Path | ModelRef):
        raise EmbtieError(
            f"The parameters of a {type(model).__name__} cannot be counted.",
            "Give a model in memory, or the name of a checkpoint.",
        )
    loaded = load(model)
    E = loaded.input
    one = E.numel()
    total = sum(_sizes(model, loaded).values())
    stored = total - loaded.stored_parameters
    height, width = E.shape
    # A head of another height counts as it is stored: the untied form is the model itself.
    both = loaded.unique_parameters if loaded.tied == "untied" else 2 * one
    return Parameters(
        untied=stored + both,
        tied=stored + one,
        saved=both - one,
        embedding=both,
        share=both / (stored + both),
        settings={"model": loaded.settings, "rows": height, "width": width, "stored": total},
    )


def _sizes(model: Any, loaded: Loaded) -> dict[str, int]:
    if live.is_model(model):
        return {name: p.numel() for name, p in model.named_parameters()}
    shapes = _shapes(model, loaded)
    if any(_PACKED.search(name) for name in shapes) or loaded.tied == HEAD_UNAVAILABLE:
        raise EmbtieError(
            f"The parameters of {loaded.name} cannot be counted: it is quantised or incomplete.",
            "Choose the whole checkpoint in float32, bfloat16 or float16.",
        )
    return {
        name: math.prod(shape)
        for name, shape in shapes.items()
        if shape is not None and not _NOT_TRAINED.search(name)
    }


def _shapes(model: Any, loaded: Loaded) -> Shapes:
    ref = model if isinstance(model, ModelRef) else ModelRef(str(model))
    if loaded.settings["source"] == "hub":
        return hub.header_shapes(ref.ref, loaded.revision)
    place = find(ref.ref)
    if isinstance(place, Path):
        if loaded.settings["source"] != "gguf":
            raise EmbtieError(
                f"{loaded.name} is no whole model, so its parameters cannot be counted.",
                "Name a bundled model, a folder, a GGUF file or a hub id.",
            )
        from embtie_widgets.sources.gguf_file import gguf_shapes

        return gguf_shapes(place)
    return _all_known(Checkpoint(place.files), loaded.name)


def _all_known(checkpoint: Checkpoint, name: str) -> Shapes:
    missing = next((tensor for tensor, shape in checkpoint.items() if shape is None), None)
    if missing is not None:
        raise EmbtieError(
            f"The parameters of {name} cannot be counted: the file of {missing} is missing or "
            "broken.",
            "Complete the download first.",
        )
    return checkpoint
