"""What a config.json says: plain look-ups in the nested places where families keep things."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

Config = Mapping[str, Any]

_INNER = (
    "text_config",
    "llm_config",
    "language_config",
    "thinker_config",
    "lm_config",
    "llm",
    "decoder",
)
_TIE_KEYS = ("tie_word_embeddings", "weight_tying", "tie_embeddings", "share_input_output_embed")
_SIZE_KEYS = ("vocab_size", "padded_vocab_size", "n_vocab")
_HEAD_CLASS = re.compile(
    r"CausalLM|LMHead|ConditionalGeneration|MaskedLM|ForPreTraining|Seq2Seq|MultimodalLM"
    r"|ImageTextToText|Vision2Seq|RWForCausal|GenerationModel"
)
_SCALE_KEYS = (
    "embedding_multiplier",
    "embedding_scale",
    "scale_emb",
    "scale_embedding",
    "logit_scale",
    "logits_scaling",
    "lm_head_multiplier",
    "final_logit_softcapping",
    "dim_model_base",
)
_SQRT_FAMILIES = ("gemma", "recurrent_gemma", "t5gemma")


def levels(config: Config, deepest: int = 4) -> Iterator[Config]:
    """The language model's own part first, then what lies around it."""
    for key in _INNER if deepest else ():
        inner = config.get(key)
        if isinstance(inner, Mapping):
            yield from levels(inner, deepest - 1)
    yield config


def says_tied(config: Config) -> bool | None:
    """The tie flag of the language model; None where no level has one."""
    return next((flag for flag in _flags(config)), None)


def flags_disagree(config: Config) -> bool:
    """Whether two levels of the configuration carry different tie flags."""
    return len(set(_flags(config))) > 1


def vocab_size(config: Config) -> int | None:
    """How many rows are meant to be tokens; None where the configuration does not say."""
    sizes = (level.get(key) for level in levels(config) for key in _SIZE_KEYS)
    return next((size for size in sizes if isinstance(size, int) and size > 0), None)


def head_class(config: Config) -> bool | None:
    """Whether the named architecture has a language-model head; None where none is named."""
    named = config.get("architectures")
    if isinstance(named, str):
        named = [named]
    if not isinstance(named, list | tuple) or not named:
        return None
    return any(_HEAD_CLASS.search(str(name)) for name in named)


def family(config: Config) -> str:
    """The model type, the language model's where the configuration is nested."""
    types = (level.get("model_type") for level in levels(config))
    return next((kind for kind in types if isinstance(kind, str)), "")


def wants_own_code(config: Config) -> bool:
    """Whether the repository asks for code of its own to be run; it never is."""
    return isinstance(config.get("auto_map"), Mapping)


def scales(config: Config) -> dict[str, Any]:
    """Multipliers around the matrices: listed beside the geometry, never applied to it."""
    found: dict[str, Any] = {}
    for level in levels(config):
        for key in _SCALE_KEYS:
            if isinstance(level.get(key), int | float) and key not in found:
                found[key] = level[key]
        width = level.get("hidden_size")
        kind = str(level.get("model_type", ""))
        if kind.startswith(_SQRT_FAMILIES) and isinstance(width, int) and width > 0:
            found.setdefault("embedding multiplier sqrt(d)", math.sqrt(width))
    return found


def _flags(config: Config) -> Iterator[bool]:
    for level in levels(config):
        for key in _TIE_KEYS:
            if isinstance(level.get(key), bool):
                yield level[key]
