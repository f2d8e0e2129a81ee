"""Which tensors of a checkpoint are E, U, the head's bias and the final norm, and its blocks.

One generic rule on names and shapes, and a registry of families that it would get wrong (see
`families`); what neither knows is refused with the names that came closest.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources import blocks, configuration, families, names
from embtie_widgets.sources.configuration import Config
from embtie_widgets.sources.families import Family
from embtie_widgets.sources.names import Modules, Shapes, ends_with, shape_of
from embtie_widgets.sources.scales import Scales, read_scales
from embtie_widgets.sources.unknown import unknown

_TRANSFORM = re.compile(r"(predictions|head)(\.transform)?\.dense$|(^|\.)vocab_transform$")
_SAVE = "Save the one you mean as a .npy or .safetensors file and load that."


@dataclass(frozen=True)
class Layout:
    """Names of a checkpoint's language model; None where there is none.

    input, output     tensors that hold E and U, as stored
    output_bias       tensor that holds the head's bias
    final_norm        tensor that holds the final norm's weight
    norm              module path of the final norm, also where it has no weights of its own
    projection        module path of what narrows the state between norm and head
    layers            the list of blocks: "model.layers" for "model.layers.0.mlp.weight"
    layer_count       how many blocks there are
    scales            factors around the matrices, as the configuration names them
    quantised         roles ("input", "output") whose matrix is stored in a packed form
    adapted           roles whose matrix has an adapter beside it that is not merged
    has_head          whether it is a language model, with or without a matrix for the output
    note              what the readout does beside norm, head, scale and cap
    """

    input: str | None
    output: str | None = None
    output_bias: str | None = None
    final_norm: str | None = None
    norm: str | None = None
    projection: str | None = None
    layers: str | None = None
    layer_count: int = 0
    scales: Scales = field(default_factory=Scales)
    quantised: frozenset[str] = frozenset()
    adapted: frozenset[str] = frozenset()
    has_head: bool = False
    note: str = ""


def resolve(config: Config, shapes: Shapes, weightless: Iterable[str] = ()) -> Layout:
    """The names of E, U, head bias, final norm and blocks.

    `shapes` maps tensor names to shapes, None where a shape cannot be known; shapes are asked
    for candidates only, so it may be lazy.  `weightless` are modules that hold no tensor, which
    only a model in memory knows.  An EmbtieError where no E, or more than one, fits.
    """
    modules = names.modules_of(shapes)
    family = families.exception(*configuration.families_of(config))
    size = configuration.vocab_size(config)
    E = _choose_input(family, modules, shapes, size)
    U = _choose_output(family, modules, shapes, E, size)
    if E is None and U is None:
        raise unknown(config, modules, shapes, size)
    chosen = {role: path for role, path in (("input", E), ("output", U)) if path is not None}
    bias = _bias(family, modules, shapes, U)
    layers, count = blocks.find(shapes, family, E, configuration.layer_count(config))
    norm = blocks.final_norm([*modules, *weightless], family, layers, E)
    return Layout(
        input=names.weight_name(modules, E),
        output=names.weight_name(modules, U),
        output_bias=bias,
        final_norm=f"{norm}.weight" if norm and "weight" in modules.get(norm, ()) else None,
        norm=norm,
        projection=blocks.projection(modules, layers),
        layers=layers,
        layer_count=count,
        scales=read_scales(list(configuration.levels(config)), family.scales),
        quantised=frozenset(r for r, p in chosen.items() if names.is_packed(modules[p])),
        adapted=frozenset(r for r, p in chosen.items() if names.is_adapted(p, shapes)),
        has_head=_has_head(config, family, E, U or bias),
        note=family.note or _transform_note(modules),
    )


def _choose_input(family: Family, modules: Modules, shapes: Shapes, size: int | None) -> str | None:
    held = [path for path in modules if names.holds_matrix(modules[path])]
    if family.input is not None:
        candidates = [path for path in held if ends_with(path, (family.input,))]
    else:
        candidates = [p for p in held if _is_input(p) and not names.is_foreign(p)]
    fitting: dict[str, tuple[int, ...]] = {}
    for path in candidates:
        shape = shape_of(shapes, modules, path)
        if shape is None or len(shape) == 2 or names.is_packed(modules[path]):
            fitting[path] = _input_score(path, shape, size)
    best = max(fitting.values(), default=())
    return _only([path for path, score in fitting.items() if score == best], "input")


def _is_input(path: str) -> bool:
    return names.plain(path).rsplit(".", 1)[-1] in names.INPUT_LEAVES


def _input_score(path: str, shape: tuple[int, ...] | None, size: int | None) -> tuple[int, ...]:
    parts = path.split(".")
    return (
        size is not None and shape is not None and shape[0] >= size,
        # A decoder's own table before the shared one, which may stand unused beside it.
        2 if {"decoder", "text_decoder"} & {*parts} else parts[-1] == "shared",
        "encoder" not in parts,
        any(part in ("language_model", "text_model", "llm", "thinker") for part in parts),
        "modules_to_save" in parts,
    )


def _choose_output(
    family: Family, modules: Modules, shapes: Shapes, E: str | None, size: int | None
) -> str | None:
    own = [p for p in names.own(modules) if names.holds_matrix(modules[p]) and p != E]
    if family.output is not None:
        return _only([p for p in own if ends_with(p, (family.output,))], "output")
    found = [p for p in names.heads(modules) if names.holds_matrix(modules[p])]
    if not found:
        plain = [p for p in own if ends_with(p, names.PLAIN_HEADS)]
        found = [p for p in plain if _fits_input(p, modules, shapes, E, size)]
    if len(found) > 1 and E is not None:
        found = _nearest(found, E)
    return _only(found, "output")


def _nearest(paths: list[str], E: str) -> list[str]:
    """Those beside the input matrix rather than in another part of the model."""
    root = E.split(".", 1)[0]
    near = [path for path in paths if path.split(".", 1)[0] == root] or paths
    return [path for path in near if "modules_to_save" in path.split(".")] or near


def _only(paths: list[str], role: str) -> str | None:
    if len(paths) > 1:
        listed = ", ".join(sorted(paths)[:6])
        raise EmbtieError(f"Several tensors could be the {role} matrix: {listed}.", _SAVE)
    return paths[0] if paths else None


def _fits_input(
    path: str, modules: Modules, shapes: Shapes, E: str | None, size: int | None
) -> bool:
    """Whether a head with an everyday name has the height and width of the token matrix."""
    head, table = shape_of(shapes, modules, path), shape_of(shapes, modules, E)
    if head is None:
        return True
    tall = len(head) == 2 and head[0] >= (size or (table[0] if table else 0))
    return tall and (table is None or head[1] == table[1])


def _bias(family: Family, modules: Modules, shapes: Shapes, U: str | None) -> str | None:
    """The tensor of the head's bias; a head without matrix of its own may still have one."""
    if U is not None and "bias" in modules[U]:
        return f"{U}.bias"
    endings = (family.output,) if family.output else ("predictions",)
    own = [p for p in names.own(modules) if "bias" in modules[p]]
    close = [p for p in names.heads(modules) if "bias" in modules[p] and not family.output]
    found = [f"{p}.bias" for p in (*close, *(p for p in own if ends_with(p, endings)))]
    found += [name for name in shapes if name.rsplit(".", 1)[-1] == "final_logits_bias"]
    if not found:
        found = [f"{p}.bias" for p in own if p == "decoder"]
    return found[0] if found else None


def _transform_note(modules: Modules) -> str:
    found = any(_TRANSFORM.search(path) for path in modules)
    between = "A dense layer, an activation and a norm stand between the last state and the head."
    return between if found else ""


def _has_head(config: Config, family: Family, E: str | None, head: str | None) -> bool:
    if head is not None:
        return True
    if family.has_head is not None:
        return family.has_head
    named = configuration.head_class(config)
    if named is not None or E is None:
        return bool(named)
    # A base model is saved without the prefix that a class with a head puts before it.
    root, *rest = names.plain(E).split(".")
    return bool(rest) and root not in names.INPUT_LEAVES | {"encoder", "decoder"}
