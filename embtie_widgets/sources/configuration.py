"""What a config.json says: plain look-ups in the nested places where families keep things."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from embtie_widgets.sources import families
from embtie_widgets.sources.scales import listed_scales

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
_LONGEST = 24
_SIZE_KEYS = ("vocab_size", "padded_vocab_size", "n_vocab")
_LAYER_KEYS = (
    "num_decoder_layers",
    "decoder_layers",
    "num_hidden_layers",
    "n_layer",
    "n_layers",
    "num_layers",
)
_HEAD_CLASS = re.compile(
    r"CausalLM|LMHead|ConditionalGeneration|MaskedLM|ForPreTraining|Seq2Seq|MultimodalLM"
    r"|ImageTextToText|Vision2Seq|RWForCausal|GenerationModel|TextToText|SpeechToText|BlockDiffusion"
)


def levels(config: Config, deepest: int = 4) -> Iterator[Config]:
    """The language model's own part first, then what lies around it."""
    for key in _INNER if deepest else ():
        inner = config.get(key)
        if isinstance(inner, Mapping):
            yield from levels(inner, deepest - 1)
    yield config


def tie_flag(config: Config) -> bool | None:
    """The tie flag of the language model; None where no level has one."""
    return next((flag for flag in _flags(config)), None)


def says_tied(config: Config) -> bool | None:
    """What the configuration means: its flag, else the documented default of its model type.

    Configurations of most tied families carry no flag, since it would only repeat the default.
    None where there is no flag and no default is known.
    """
    flag = tie_flag(config)
    return flag if flag is not None else _default(config)[0]


def _default(config: Config) -> tuple[bool | None, str]:
    """The documented default of the innermost model type that has one, and that type."""
    known = ((families.tied_default(kind), kind) for kind in reversed(families_of(config)))
    return next((pair for pair in known if pair[0] is not None), (None, ""))


def tie_word(config: Config) -> str:
    """What the configuration says about tying, in words: tied, untied or nothing."""
    flag, (default, of) = tie_flag(config), _default(config)
    if flag is not None:
        return "tied" if flag else "untied"
    if default is None:
        return "nothing"
    return f"nothing (the default of {of} is {'tied' if default else 'untied'})"


def flags_disagree(config: Config) -> bool:
    """Whether two levels of the configuration carry different tie flags."""
    return len(set(_flags(config))) > 1


def odd_flags(config: Config) -> list[str]:
    """Tie flags that are neither true nor false, such as 1 or "true"; none of them is followed."""
    found = [
        f"{key} is {told(level[key])}"
        for level in levels(config)
        for key in _TIE_KEYS
        if not isinstance(level.get(key), bool | None)
    ]
    return list(dict.fromkeys(found))


def told(value: Any) -> str:
    """A value as the file has it, unless it is long or nested."""
    text = json.dumps(value) if isinstance(value, str | int | float) else ""
    return text if 0 < len(text) <= _LONGEST else "no short word or number"


def vocab_size(config: Config) -> int | None:
    """How many rows are meant to be tokens; None where the configuration does not say."""
    sizes = (level.get(key) for level in levels(config) for key in _SIZE_KEYS)
    return next((size for size in sizes if isinstance(size, int) and size > 0), None)


def layer_count(config: Config) -> int | None:
    """How many blocks the language model has; None where the configuration does not say."""
    counts = (level.get(key) for level in levels(config) for key in _LAYER_KEYS)
    return next((n for n in counts if isinstance(n, int) and n > 0), None)


def head_class(config: Config) -> bool | None:
    """Whether the named architecture has a language-model head; None where none is named."""
    named = _named_classes(config)
    return any(_HEAD_CLASS.search(name) for name in named) if named else None


def named_class(config: Config) -> str | None:
    """The first architecture that is named; None where none is."""
    return next(iter(_named_classes(config)), None)


def _named_classes(config: Config) -> list[str]:
    named = config.get("architectures")
    if isinstance(named, str):
        named = [named]
    return [str(name) for name in named] if isinstance(named, list | tuple) else []


def family(config: Config) -> str:
    """The model type, the language model's where the configuration is nested."""
    types = (level.get("model_type") for level in levels(config))
    return next((kind for kind in types if isinstance(kind, str)), "")


def families_of(config: Config) -> list[str]:
    """Every model type that the levels name, the outermost first."""
    types = (level.get("model_type") for level in reversed(list(levels(config))))
    return list(dict.fromkeys(kind for kind in types if isinstance(kind, str) and kind))


def wants_own_code(config: Config) -> bool:
    """Whether the repository asks for code of its own to be run; it never is."""
    return isinstance(config.get("auto_map"), Mapping)


def scales(config: Config) -> dict[str, Any]:
    """Multipliers around the matrices: listed beside the geometry, never applied to it."""
    rules = families.exception(*families_of(config)).scales
    return listed_scales(list(levels(config)), rules)


def _flags(config: Config) -> Iterator[bool]:
    for level in levels(config):
        for key in _TIE_KEYS:
            if isinstance(level.get(key), bool):
                yield level[key]
