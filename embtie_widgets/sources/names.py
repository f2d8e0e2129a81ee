"""Tensor names as module paths: what belongs to the language model, and what is packed."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

Modules = Mapping[str, set[str]]
Shapes = Mapping[str, tuple[int, ...] | None]

INPUT_LEAVES = {
    "embed_tokens", "wte", "embed_in", "word_embeddings", "word_embedding", "tok_embeddings",
    "token_embedding", "token_embeddings", "tokens_embed", "embeddings", "embedding", "embed",
    "emb", "shared", "token_embd", "input_embedding",
}  # fmt: skip
HEAD_ENDS = (
    "lm_head", "lm_head.decoder", "lm_head.linear", "embed_out", "output_layer",
    "output_projection", "generator_lm_head", "predictions.decoder", "vocab_projector",
    "pred_layer.proj", "lm_loss", "lm_proj", "head.decoder",
)  # fmt: skip
PLAIN_HEADS = ("head", "output", "unembed", "proj_out", "decoder", "cls")

# Parts that are not the language model's own, tables that are not by token, heads that guess
# ahead, and second copies of the weights.
_FOREIGN = re.compile(
    r"(^|_)(vision|visual|image|img|audio|speech|codec|vqmodel|quantizer?|codebook\w*|patch|pixel"
    r"|pos|positions?|wpe|type|lang|langs|relative|segment|project|projector|per|ngram"
    r"|mtp|nextn|medusa|eagle|draft|speculator|talker|token2wav|depth|depformer"
    r"|ema|teacher|momentum|optimizer|reward|critic|original_module)(_|$)"
)
_LORA = re.compile(r"^lora_(A|B|embedding_A|embedding_B|magnitude_vector)$")
_QUANTISED = re.compile(
    r"^(q_?weight\w*|q_\w+|qzeros|g_idx|scales?|scale_weight|biases|zeros"
    r"|weight_(packed|scale|scale_\w+|scales|zero_point|shape|format|g_idx|global_scale|qdata|bits)"
    r"|(input|output)_scale\w*|input_global_scale|SCB|absmax|quant_map|quant_state|codes"
    r"|codebooks|Qidxs\w*|SU|SV|W_q|trellis|suh|svh|indices|centroids|blocks|weight\..+)$"
)
# What training tools put around a module; the module itself stays what it is.
_WRAPPERS = {
    "_orig_mod", "module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module",
    "_forward_module", "base_model", "base_layer", "modules_to_save", "parametrizations",
}  # fmt: skip


def modules_of(names: Iterable[str]) -> dict[str, set[str]]:
    """Parameters by module path: {"lm_head": {"weight", "bias"}}; repeated blocks left out.

    A tensor that goes by the name of a module itself has the parameter "".
    """
    modules: dict[str, set[str]] = {}
    for name in names:
        # Large models have a hundred thousand tensors in blocks; a name's end has at most 3 parts.
        if any(map(str.isdigit, name.split(".")[:-3])):
            continue
        path, parameter = _split(name)
        if not any(part.isdigit() for part in path.split(".")):
            modules.setdefault(path, set()).add(parameter)
    return modules


def _split(name: str) -> tuple[str, str]:
    packed = re.search(r"\.weight\.[^.]+(\.[^.]+)?$", name)
    if packed and not name.endswith((".weight", ".bias")):
        return name[: packed.start()], name[packed.start() + 1 :]
    path, _, parameter = name.rpartition(".")
    named = parameter in INPUT_LEAVES or ends_with(name, HEAD_ENDS)
    return (path, parameter) if path and not named else (name, "")


def plain(path: str) -> str:
    """The path without what training tools put around modules."""
    parts = path.split(".")
    kept = [part for i, part in enumerate(parts) if not _wraps(parts, i)]
    return ".".join(kept)


def _wraps(parts: list[str], i: int) -> bool:
    return parts[i] in _WRAPPERS or (i > 0 and parts[i - 1] == "modules_to_save")


def ends_with(path: str, endings: Iterable[str]) -> bool:
    """Whether the path, without wrappers, ends in one of these module names."""
    own = plain(path)
    return any(own == end or own.endswith("." + end) for end in endings)


def own(modules: Modules) -> list[str]:
    """The modules of the language model itself."""
    return [path for path in modules if not is_foreign(path)]


def heads(modules: Modules) -> list[str]:
    """The modules whose name says that they are heads, of the language model itself."""
    named = (path for path in modules if ends_with(path, HEAD_ENDS))
    return [path for path in named if not is_foreign(path.rpartition(".")[0])]


@lru_cache(maxsize=4096)
def is_foreign(path: str) -> bool:
    """Whether a part of the path says that it is not the language model's own."""
    return any(_FOREIGN.search(part) for part in path.split("."))


def is_adapted(path: str, names: Iterable[str]) -> bool:
    """Whether an adapter that is not merged stands beside this module."""
    around = path.removesuffix(".base_layer") + "."
    inside = (name[len(around) :].split(".", 1)[0] for name in names if name.startswith(around))
    return any(_LORA.match(part) for part in inside)


def is_packed(parameters: set[str]) -> bool:
    """Whether a module's parameters are those of a quantised or otherwise packed matrix."""
    return any(_QUANTISED.match(parameter) for parameter in parameters)


def holds_matrix(parameters: set[str]) -> bool:
    """Whether a module's parameters are a matrix at all, packed or plain."""
    return bool(parameters & {"weight", ""}) or is_packed(parameters)


def weight_name(modules: Modules, path: str | None) -> str | None:
    """The tensor that holds the module's matrix."""
    if path is None:
        return None
    held = modules[path]
    for parameter in ("weight", "qweight", "weight_packed"):
        if parameter in held:
            return f"{path}.{parameter}"
    return path if "" in held else f"{path}.{min(held)}"


def shape_of(shapes: Shapes, modules: Modules, path: str | None) -> tuple[int, ...] | None:
    """The shape of the module's matrix; None where it has none, or none that can be known."""
    name = weight_name(modules, path)
    return None if name is None else shapes.get(name)
