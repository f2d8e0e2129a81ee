"""A model object that is already in memory, judged by its parameters."""

from collections.abc import Mapping
from typing import Any

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources import configuration
from embtie_widgets.sources.architecture import Layout, resolve
from embtie_widgets.sources.configuration import Config
from embtie_widgets.sources.sourced import Sourced, checked
from embtie_widgets.sources.status import Found


def is_model(value: Any) -> bool:
    """Whether it looks like a model of transformers or of torch."""
    return hasattr(value, "get_input_embeddings") or isinstance(value, torch.nn.Module)


def read_model(model: Any) -> Sourced:
    """The matrices of a loaded model; a shared tensor is tied, equal values are too."""
    config, names = _config(model), _named(model)
    E, U = matrices_of(model)
    if E is None:
        raise EmbtieError(
            f"The {type(model).__name__} object gives no input matrix.",
            "Give the folder or the files that it was loaded from.",
        )
    _refuse_placeholders({"input": E, "output": U}, names)
    E = checked(E.detach(), _name_of(E, names, "input"), "input")
    fault = None
    if U is not None:
        try:
            U = checked(U.detach(), _name_of(U, names, "output"), "output")
        except EmbtieError as error:
            U, fault = None, error.message
    return _sourced(model, config, E, U, fault)


def matrices_of(model: Any) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    """The model's own input and output matrix, whatever they hold; None where there is none."""
    E, U = _weight(model, "get_input_embeddings"), _weight(model, "get_output_embeddings")
    if E is not None and U is not None:
        return E, U
    names = _named(model)
    layout = _layout(_config(model), names)
    if layout is not None:
        E = names[layout.input] if E is None and layout.input is not None else E
        U = names[layout.output] if U is None and layout.output is not None else U
    return E, U


def _sourced(
    model: Any, config: Config, E: torch.Tensor, U: torch.Tensor | None, fault: str | None
) -> Sourced:
    shared = U is not None and U.data_ptr() == E.data_ptr() and U.shape == E.shape
    # One shared tensor is one stored matrix: the parameters say tied, whatever the flag does.
    says = True if shared else configuration.says_tied(config)
    found = Found(E, None if shared else U, fault, says_tied=says, has_head=U is not None)
    bias = getattr(_call(model, "get_output_embeddings"), "bias", None)
    scales = configuration.scales(config)
    notes = []
    if shared and configuration.says_tied(config) is False:
        notes.append("The configuration says untied, but the model shares one matrix.")
    return Sourced(
        kind="model",
        name=str(config.get("_name_or_path") or type(model).__name__).rsplit("/", 1)[-1],
        found=found,
        vocab_size=configuration.vocab_size(config),
        scales=scales | ({"head bias": "in the output layer"} if bias is not None else {}),
        notes=notes,
    )


def _call(model: Any, getter: str) -> Any:
    try:
        return getattr(model, getter)()
    except (AttributeError, NotImplementedError, TypeError):
        return None


def _weight(model: Any, getter: str) -> torch.Tensor | None:
    module = _call(model, getter)
    weight = module if isinstance(module, torch.Tensor) else getattr(module, "weight", None)
    return weight if isinstance(weight, torch.Tensor) else None


def _layout(config: Config, names: Mapping[str, torch.Tensor]) -> Layout | None:
    try:
        return resolve(config, {name: tuple(held.shape) for name, held in names.items()})
    except EmbtieError:
        return None


def _named(model: Any) -> dict[str, torch.Tensor]:
    named = getattr(model, "named_parameters", None)
    if not callable(named):
        return {}
    try:
        return dict(named(remove_duplicate=False))
    except TypeError:
        return dict(named())


def _config(model: Any) -> Config:
    config = getattr(model, "config", None)
    to_dict = getattr(config, "to_dict", None)
    value = to_dict() if callable(to_dict) else config
    config = dict(value) if isinstance(value, Mapping) else {}
    return config | {"architectures": config.get("architectures") or [type(model).__name__]}


def _name_of(matrix: torch.Tensor, names: Mapping[str, torch.Tensor], role: str) -> str:
    return next((name for name, held in names.items() if held is matrix), f"the {role} matrix")


def _refuse_placeholders(
    matrices: Mapping[str, torch.Tensor | None], names: Mapping[str, torch.Tensor]
) -> None:
    # Placeholders all have data pointer 0, so they must be refused before pointers are compared.
    meta = [_name_of(m, names, r) for r, m in matrices.items() if m is not None and m.is_meta]
    if meta:
        unique = list(dict.fromkeys(meta))
        verb = "is a placeholder" if len(unique) == 1 else "are placeholders"
        raise EmbtieError(
            f"The weights are not loaded: {' and '.join(unique)} {verb} without values.",
            "Load the weights into the model, or give its folder instead.",
        )
