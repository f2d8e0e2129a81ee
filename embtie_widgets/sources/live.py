"""A model object that is already in memory, judged by its parameters."""

from collections.abc import Mapping
from dataclasses import replace
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
    names, layout = _named(model), _layout(model)
    if layout is None:
        return E, U
    table, head = (names.get(name or "") for name in (layout.input, layout.output))
    both = getattr(getattr(model, "config", None), "is_encoder_decoder", False)
    # Beside a decoder the getter may give the encoder's table, and where it gives the table for
    # the head, the head that stands apart is the one that the logits come from.
    if table is not None and (E is None or both):
        E = table
    if head is not None and (U is None or (U is table and head is not table)):
        U = head
    return E, U


def layout_of(model: Any) -> Layout:
    """The names of a loaded model's matrices, head bias, final norm and blocks.

    They are names of its own parameters and modules; a saved file may prefix them otherwise.
    An EmbtieError where the layout is not known.
    """
    tensors = _named(model) | dict(getattr(model, "named_buffers", dict)())
    modules: Any = getattr(model, "named_modules", tuple)()
    weightless = [n for n, m in modules if next(m.parameters(), None) is None]
    return resolve(_config(model), {n: tuple(t.shape) for n, t in tensors.items()}, weightless)


def _sourced(
    model: Any, config: Config, E: torch.Tensor, U: torch.Tensor | None, fault: str | None
) -> Sourced:
    found = Found(
        input=E,
        output=U,
        head_fault=fault,
        says_tied=configuration.says_tied(config),
        has_head=U is not None,
        word=configuration.tie_word(config),
        # One shared tensor is one stored matrix, whatever the flag says.
        shared=U is not None and U.data_ptr() == E.data_ptr() and _same_layout(U, E),
    )
    if found.shared:
        found = replace(found, output=None)
    names = _tensor_names(model, found)
    bias = {"head bias": names["output_bias"]} if "output_bias" in names else {}
    return Sourced(
        kind="model",
        name=str(config.get("_name_or_path") or type(model).__name__).rsplit("/", 1)[-1],
        found=found,
        names=names,
        vocab_size=configuration.vocab_size(config),
        scales=configuration.scales(config) | bias,
    )


def _same_layout(a: torch.Tensor, b: torch.Tensor) -> bool:
    # A transposed view begins at the same place too.
    return (a.shape, a.stride(), a.dtype) == (b.shape, b.stride(), b.dtype)


def _tensor_names(model: Any, found: Found) -> dict[str, str]:
    """Names by role, of what was found; the rest by the layout, where that is known."""
    layout, held = _layout(model), _named(model)
    named = {"output_bias": _head_bias(model, held)}
    if layout is not None:
        named |= {
            "output_bias": layout.output_bias or named["output_bias"],
            "final_norm": layout.final_norm,
        }
    for role, matrix in (("input", found.input), ("output", found.output)):
        pointers = ((n, p.data_ptr()) for n, p in held.items() if p.layout is torch.strided)
        own = [n for n, at in pointers if matrix is not None and at == matrix.data_ptr()]
        usual = getattr(layout, role, None)
        named[role] = usual if usual in own else next(iter(own), None)
    return {role: name for role, name in named.items() if name is not None}


def _head_bias(model: Any, held: Mapping[str, torch.Tensor]) -> str | None:
    bias = getattr(_call(model, "get_output_embeddings"), "bias", None)
    return next((name for name, tensor in held.items() if tensor is bias), None)


def _call(model: Any, getter: str) -> Any:
    """What the getter gives; None where the model has none, or only says that it should."""
    try:
        return getattr(model, getter)()
    except (AttributeError, NotImplementedError, TypeError):
        return None


def _weight(model: Any, getter: str) -> torch.Tensor | None:
    module = _call(model, getter)
    weight = module if isinstance(module, torch.Tensor) else getattr(module, "weight", None)
    return weight if isinstance(weight, torch.Tensor) else None


def _layout(model: Any) -> Layout | None:
    try:
        return layout_of(model)
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
