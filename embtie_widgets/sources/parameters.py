"""How many parameters a model has, tied and untied, counted from headers or a configuration."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import ModelRef
from embtie_widgets.results import Parameters
from embtie_widgets.sources import architecture, config_model, configuration, live
from embtie_widgets.sources.architecture import Layout
from embtie_widgets.sources.checkpoint import Checkpoint
from embtie_widgets.sources.configuration import Config
from embtie_widgets.sources.counting import Shape, Sized, count, packed, trained
from embtie_widgets.sources.files import optional_json
from embtie_widgets.sources.folder import odd_flag_notes
from embtie_widgets.sources.load import Place, find
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.sourced import plain_config

__all__ = ["Parameters", "parameters"]

_WEIGHTS = (".safetensors", ".bin")
_EITHER = "untied, or tied and stored twice"
_TWICE = (
    "Both matrices are stored, with equal shapes: whether their values differ, so whether the "
    "model is untied or tied and stored twice, is not in the headers; the numbers are the same."
)
_FROM_CONFIG = "Its files are {why}, so its configuration was counted instead."


def parameters(model: Any, *, progress: Progress = silent) -> Parameters:
    """Count the parameters of a model or a configuration; no weights are read for it.

    `model` is a transformers model, a bundled name, a folder, a GGUF file, a hub id, a `ModelRef`,
    or what `load` made of one of these names, which is counted where it was loaded from;
    or a configuration: the path of a config.json, a mapping, or an object of transformers.
    """
    if config_model.is_config(model):
        return count(config_model.sized_config(model))
    if live.is_model(model):
        return count(_sized_model(model))
    if isinstance(model, Loaded):
        return _counted(_origin(model), progress)
    if isinstance(model, str | Path | ModelRef):
        ref = model if isinstance(model, ModelRef) else ModelRef(str(model))
        return _counted(ref, progress)
    raise EmbtieError(
        f"The parameters of a {type(model).__name__} cannot be counted.",
        "Give a model in memory, the name of a checkpoint, or a configuration.",
    )


def _origin(loaded: Loaded) -> ModelRef:
    """Where it was loaded from, at the commit that was found then: it has no body itself."""
    if loaded.origin is None:
        raise EmbtieError(
            f"'{loaded.name}' holds matrices alone, and was not loaded from a named checkpoint.",
            "Give the model in memory itself, or the name of a checkpoint, or a configuration.",
        )
    return replace(loaded.origin, revision=loaded.revision or loaded.origin.revision)


def _sized_model(model: Any) -> Sized:
    E, U = live.matrices_of(model)
    if E is None:
        raise EmbtieError(
            f"The {type(model).__name__} object gives no input matrix, so nothing can be counted.",
            "Give the folder or the files that it was loaded from.",
        )
    shared = U is E
    return Sized(
        stored=sum(parameter.numel() for parameter in model.parameters()),
        input=tuple(E.shape),
        output=None if U is None or shared else tuple(U.shape),
        status="tied" if shared else "input only" if U is None else _EITHER,
        notes=(_TWICE,) if U is not None and not shared and U.shape == E.shape else (),
        model={"source": "model", "name": type(model).__name__},
    )


def _counted(ref: ModelRef, progress: Progress) -> Parameters:
    place = None if ref.output_file else find(ref.ref, ref.revision, progress)
    if isinstance(place, Place):
        sized = _sized_place(place, ref)
    elif place is not None and place.suffix == ".json":
        sized = config_model.sized_config(config_model.config_of_file(place))
    elif place is not None and _is_gguf(place):
        sized = _sized_gguf(place)
    else:
        raise EmbtieError(
            f"{Path(ref.ref).name} is no whole model, so its parameters cannot be counted.",
            "Name a bundled model, a folder, a GGUF file or a hub id.",
        )
    known = {"name": Path(ref.ref).name if not isinstance(place, Place) else place.files.name}
    return count(replace(sized, model=known | sized.model))


def _sized_place(place: Place, ref: ModelRef) -> Sized:
    names = place.files.names()
    config = plain_config(optional_json(place.files, "config.json"))
    facts = {"source": place.kind, "name": place.files.name, "revision": place.revision}
    why = _no_headers(place.kind, names)
    if not why:
        checkpoint = Checkpoint(place.files)
        why = "quantised" if packed(checkpoint) else ""
    if why:
        if not config:
            raise EmbtieError(
                f"The parameters of {place.files.name} cannot be counted: its files are {why}, "
                "and it has no configuration.",
                "Choose the checkpoint in float32, bfloat16 or float16.",
            )
        sized = config_model.sized_config(config)
        notes = (_FROM_CONFIG.format(why=why), *sized.notes)
    else:
        sized = _sized_headers(checkpoint, config, place.files.name, ref.treat_as_tied)
        notes = (*checkpoint.notes, *odd_flag_notes(config), *sized.notes)
    return replace(
        sized, notes=(*place.notes, *notes, *place.files.notes), model=facts | sized.model
    )


def _no_headers(kind: str, names: frozenset[str]) -> str:
    """Why the files have no headers that could be read alone; empty where they have."""
    if not any(name.endswith(_WEIGHTS) for name in names):
        return "without weights" if "config.json" in names else ""
    if kind == "hub" and not any(name.endswith(".safetensors") for name in names):
        return "pickles, which have no header to be read alone"
    return ""


def _sized_headers(
    checkpoint: Mapping[str, "Shape | None"], config: Config, name: str, as_tied: bool
) -> Sized:
    missing = next((tensor for tensor, shape in checkpoint.items() if shape is None), None)
    if missing is not None:
        raise EmbtieError(
            f"The parameters of {name} cannot be counted: the file of {missing} is missing or "
            "broken.",
            "Complete the download first.",
        )
    layout = architecture.resolve(config, checkpoint)
    shapes = trained(checkpoint)
    says = configuration.says_tied(config)
    return _sized_shapes(shapes, layout, tied=bool(says and layout.has_head), as_tied=as_tied)


def _sized_shapes(shapes: Mapping[str, Shape], layout: Layout, tied: bool, as_tied: bool) -> Sized:
    E, U = (shapes.get(name or "") for name in (layout.input, layout.output))
    notes = []
    if E is not None and U is not None:
        status = _EITHER if E == U else "untied"
        notes += [_TWICE] * (E == U)
    else:
        status = "tied" if tied else "treated as tied" if as_tied else "input only"
    first, second = (E, U) if E is not None else (U, None)
    if first is None or len(first) != 2 or (second is not None and len(second) != 2):
        raise EmbtieError(
            f"{layout.input or layout.output} is no matrix with one row per token.",
            "Choose the checkpoint of a language model.",
        )
    stored = sum(_size(shape) for shape in shapes.values())
    return Sized(stored, first, second, status=status, notes=tuple(notes))


def _size(shape: Shape) -> int:
    size = 1
    for side in shape:
        size *= side
    return size


def _is_gguf(path: Path) -> bool:
    from embtie_widgets.sources.reading import sentences

    with sentences(path), path.open("rb") as file:
        return file.read(4) == b"GGUF"


def _sized_gguf(path: Path) -> Sized:
    from embtie_widgets.sources.gguf_file import gguf_shapes

    listed, has_head = gguf_shapes(path)
    # Frequencies of the rotary embedding follow from the configuration.
    shapes = {name: shape for name, shape in listed.items() if not name.startswith("rope_")}
    if "token_embd.weight" not in shapes:
        raise EmbtieError(
            f"{path.name} has no token_embd.weight.", "Choose the GGUF file of a language model."
        )
    head = "output.weight" if "output.weight" in shapes else None
    layout = Layout("token_embd.weight", head)
    sized = _sized_shapes(shapes, layout, tied=has_head, as_tied=False)
    return replace(sized, model={"source": "gguf"})
