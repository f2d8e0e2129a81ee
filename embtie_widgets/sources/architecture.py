"""Which tensors of a checkpoint are E, U, the head's bias and the final norm.

One generic rule on names and shapes, and a small registry of families that it would get wrong;
what neither knows is refused with the names that came closest.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources import configuration
from embtie_widgets.sources.configuration import Config

Shapes = Mapping[str, tuple[int, ...] | None]

_INPUT_LEAVES = {
    "embed_tokens", "wte", "embed_in", "word_embeddings", "word_embedding", "tok_embeddings",
    "token_embedding", "token_embeddings", "embeddings", "embedding", "embed", "emb", "shared",
    "token_embd",
}  # fmt: skip
_HEAD_ENDS = (
    "lm_head", "lm_head.decoder", "lm_head.linear", "embed_out", "output_layer",
    "output_projection", "generator_lm_head", "predictions.decoder", "vocab_projector",
    "pred_layer.proj",
)  # fmt: skip
_PLAIN_HEADS = ("head", "output", "unembed", "proj_out")
_NORM_ENDS = (
    "norm", "ln_f", "norm_f", "ln_out", "final_layer_norm", "final_layernorm", "final_norm",
    "output_norm",
)  # fmt: skip
# Parts that are not the language model's own, and tables that are not by token.
_FOREIGN = re.compile(
    r"(^|_)(vision|visual|image|img|audio|speech|patch|pixel|pos|position|positions|wpe|type"
    r"|relative|segment|project|projector|mtp|per)(_|$)"
)
_QUANTISED = re.compile(
    r"^(qweight|qzeros|g_idx|scales|biases|weight_packed|weight_scale\w*|weight_zero_point"
    r"|weight_shape|SCB|weight\..+)$"
)
_PARAMETER = re.compile(
    r"\.(weight|bias|qweight|qzeros|g_idx|scales|biases|weight_packed|weight_scale\w*"
    r"|weight_zero_point|weight_shape|weight_format|SCB)(\..+)?$"
)


@dataclass(frozen=True)
class Layout:
    """Tensor names of a checkpoint's language model; None where there is none.

    `quantised` names the roles ("input", "output") whose matrix is stored in a packed form.
    """

    input: str | None
    output: str | None = None
    output_bias: str | None = None
    final_norm: str | None = None
    quantised: frozenset[str] = frozenset()
    has_head: bool = False


@dataclass(frozen=True)
class Family:
    """Module endings that replace the generic rule for one model type."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    has_head: bool | None = None


EXCEPTIONS: dict[str, Family] = {
    "hf_olmo": Family(("transformer.wte",), ("transformer.ff_out",), has_head=True),
    "whisper": Family(("decoder.embed_tokens",), ("proj_out",)),
    "xlm": Family(("embeddings",), ("pred_layer.proj",)),
}


def resolve(config: Config, shapes: Shapes) -> Layout:
    """The names of E, U, head bias and final norm.

    `shapes` maps tensor names to shapes, None where a shape cannot be known; shapes are asked
    for candidates only, so it may be lazy.  An EmbtieError where no E, or more than one, fits.
    """
    modules = _modules(shapes)
    exception = EXCEPTIONS.get(configuration.family(config))
    inputs = _by_ending(modules, exception.inputs) if exception else _input_modules(modules)
    size = configuration.vocab_size(config)
    E = _choose_input(inputs, shapes, modules, size)
    U = _choose_output(exception, modules, shapes, E, size)
    if E is None and U is None:
        raise _unknown(shapes)
    bias = _bias(exception, modules, U)
    head = _has_head(config, exception, modules, E, U or bias)
    quantised = {role for role, m in (("input", E), ("output", U)) if m and _packed(modules[m])}
    return Layout(
        input=_weight(modules, E),
        output=_weight(modules, U),
        output_bias=f"{bias}.bias" if bias else None,
        final_norm=_final_norm(modules),
        quantised=frozenset(quantised),
        has_head=head,
    )


def _modules(names: Iterable[str]) -> dict[str, set[str]]:
    """Parameters by module path: {"lm_head": {"weight", "bias"}}; repeated blocks left out."""
    modules: dict[str, set[str]] = {}
    for name in names:
        found = _PARAMETER.search(name)
        path = name[: found.start()] if found else name
        parameter = name[len(path) + 1 :]
        if not any(part.isdigit() for part in path.split(".")):
            modules.setdefault(path, set()).add(parameter)
    return modules


def _input_modules(modules: Mapping[str, set[str]]) -> list[str]:
    return [path for path in _own(modules) if path.rsplit(".", 1)[-1] in _INPUT_LEAVES]


def _own(modules: Mapping[str, set[str]]) -> list[str]:
    return [p for p in modules if not any(_FOREIGN.search(part) for part in p.split("."))]


def _by_ending(modules: Iterable[str], endings: tuple[str, ...]) -> list[str]:
    return [p for p in modules if any(p == end or p.endswith("." + end) for end in endings)]


def _weight(modules: Mapping[str, set[str]], path: str | None) -> str | None:
    if path is None:
        return None
    held = modules[path]
    for parameter in ("weight", "qweight", "weight_packed"):
        if parameter in held:
            return f"{path}.{parameter}"
    return path if "" in held else f"{path}.{min(held)}"


def _packed(parameters: set[str]) -> bool:
    return any(_QUANTISED.match(parameter) for parameter in parameters)


def _shape(shapes: Shapes, modules: Mapping[str, set[str]], path: str) -> tuple[int, ...] | None:
    name = _weight(modules, path)
    return None if name is None else shapes.get(name)


def _choose_input(
    candidates: list[str], shapes: Shapes, modules: Mapping[str, set[str]], size: int | None
) -> str | None:
    fitting: dict[str, tuple[int, ...]] = {}
    for path in candidates:
        shape = _shape(shapes, modules, path)
        if shape is None or len(shape) == 2 or _packed(modules[path]):
            rows = size is not None and shape is not None and shape[0] >= size
            parts = path.split(".")
            fitting[path] = (
                rows,
                parts[-1] == "shared" or "decoder" in parts,
                "encoder" not in parts,
                any(part in ("language_model", "text_model", "llm") for part in parts),
            )
    if not fitting:
        return None
    best = max(fitting.values())
    chosen = [path for path, score in fitting.items() if score == best]
    if len(chosen) > 1:
        raise EmbtieError(
            f"Several tensors could be the input matrix: {_listed(chosen)}.",
            "Save the one you mean as a .npy or .safetensors file and load that.",
        )
    return chosen[0]


def _choose_output(
    exception: Family | None,
    modules: Mapping[str, set[str]],
    shapes: Shapes,
    E: str | None,
    size: int | None,
) -> str | None:
    own = _own(modules)
    sure = _by_ending(own, exception.outputs if exception else _HEAD_ENDS)
    found = [path for path in sure if modules[path] - {"bias"}]
    if not found and exception is None:
        plain = [p for p in _by_ending(own, _PLAIN_HEADS) if modules[p] - {"bias"}]
        found = [p for p in plain if _fits_input(p, modules, shapes, E, size)]
    if len(found) > 1 and E is not None:
        root = E.split(".", 1)[0]
        found = [path for path in found if path.split(".", 1)[0] == root] or found
    if len(found) > 1:
        raise EmbtieError(
            f"Several tensors could be the output matrix: {_listed(found)}.",
            "Save the one you mean as a .npy or .safetensors file and load that.",
        )
    return found[0] if found else None


def _fits_input(
    path: str, modules: Mapping[str, set[str]], shapes: Shapes, E: str | None, size: int | None
) -> bool:
    """Whether a head with an everyday name has the height and width of the token matrix."""
    head = _shape(shapes, modules, path)
    table = _shape(shapes, modules, E) if E else None
    if head is None:
        return True
    tall = len(head) == 2 and head[0] >= (size or (table[0] if table else 0))
    return tall and (table is None or head[1] == table[1])


def _bias(exception: Family | None, modules: Mapping[str, set[str]], U: str | None) -> str | None:
    if U is not None:
        return U if "bias" in modules[U] else None
    endings = exception.outputs if exception else (*_HEAD_ENDS, "predictions")
    found = [p for p in _by_ending(_own(modules), endings) if "bias" in modules[p]]
    return found[0] if found else None


def _has_head(
    config: Config,
    exception: Family | None,
    modules: Mapping[str, set[str]],
    E: str | None,
    head: str | None,
) -> bool:
    if head is not None:
        return True
    if exception is not None and exception.has_head is not None:
        return exception.has_head
    named = configuration.head_class(config)
    if named is not None or E is None:
        return bool(named)
    # A base model is saved without the prefix that a class with a head puts before it.
    root, *rest = E.split(".")
    return bool(rest) and root not in _INPUT_LEAVES | {"encoder", "decoder"}


def _final_norm(modules: Mapping[str, set[str]]) -> str | None:
    found = [p for p in _by_ending(_own(modules), _NORM_ENDS) if "weight" in modules[p]]
    found = [p for p in found if "encoder" not in p.split(".")] or found
    return f"{found[0]}.weight" if len(found) == 1 else None


def _unknown(shapes: Shapes) -> EmbtieError:
    modules = _modules(shapes)
    own = [path for path in _own(modules) if modules[path] != {"bias"}]
    close = [p for p in own if re.search(r"emb|tok|vocab|wte|head|out", p.rsplit(".", 1)[-1])]
    named = [name for p in close[:5] if (name := _weight(modules, p)) is not None]
    what = f"the closest names are {_listed(named)}" if named else "no name comes close"
    return EmbtieError(
        f"This checkpoint's layout is not known: no tensor is clearly the token matrix; {what}.",
        "Save the matrix you mean as a .npy or .safetensors file and load that.",
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)[:6])
