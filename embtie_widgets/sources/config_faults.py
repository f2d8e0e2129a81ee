"""Which entry of a configuration keeps transformers from building or running its model, in words.

The library's own messages may hold anything, paths included; of them only the name of a field is
taken, and what is told of it comes from the configuration itself.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources import configuration
from embtie_widgets.sources.configuration import Config
from embtie_widgets.sources.library import transformers

_WIDTH = ("hidden_size", "n_embd", "d_model")
_HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
_SHARED = ("num_key_value_heads", "num_kv_heads", "n_head_kv")
_SIZES = (
    *_WIDTH,
    *_HEADS,
    *_SHARED,
    *(
        "head_dim",
        "vocab_size",
        "intermediate_size",
        "ffn_hidden_size",
        "ffn_dim",
        "n_inner",
        "word_embed_proj_dim",
    ),
    *("attention_hidden_size", "state_size", "conv_kernel", "expand", "expansion_ratio"),
    *("num_hidden_layers", "n_layer", "n_layers", "rotary_dim", "time_step_rank"),
    *("max_position_embeddings", "n_positions", "max_seq_len"),
)
_ZERO_IS_NONE = ("num_hidden_layers", "n_layer", "n_layers")
_SHARE = re.compile(r"dropout$|_pdrop$|^layerdrop$|^partial_rotary_factor$|^rotary_pct$")
_EPSILON = re.compile(r"_eps(ilon)?$")
_ACTIVATION = re.compile(r"^activation(_function)?$|^hidden_act(ivation)?$")
_NAMED = re.compile(r"^Validation error for field '(\w+)'")
_EXPECTED = re.compile(r"expected (.+?), got ")
_KINDS = {
    "int": "a whole number",
    "float": "a number with a point",
    "str": "a word",
    "bool": "true or false",
}
_HINT = "Compare it with the original config.json; what that leaves out has its type's own default."


def unbuildable(config: Config, fault: Exception) -> EmbtieError:
    """What is told where no model can be built from a configuration."""
    said = fault_in(_whole(config), fault)
    why = f": {said}" if said else f" ({type(fault).__name__})."
    return EmbtieError(
        f"No model of type '{config.get('model_type')}' can be built from this configuration{why}",
        _HINT,
    )


def unrunnable(config: Config, called: str, name: str, fault: Exception) -> EmbtieError:
    """What is told where a model was built and cannot read a few tokens."""
    why = fault_in(config, fault) or f"it stumbles ({type(fault).__name__})."
    return EmbtieError(
        f"'{name}' as its configuration describes it, a {called}, cannot read a text: {why}", _HINT
    )


def unfilled(config: Config, called: str, name: str, fault: Exception) -> EmbtieError:
    """What is told where the weights cannot be put into the model, damaged ones among them."""
    why = next(_known_faults(config), "")
    if why:
        return EmbtieError(f"transformers cannot make a {called} of '{name}': {why}", _HINT)
    return EmbtieError(
        f"transformers cannot make a {called} of the weights of '{name}' ({type(fault).__name__}).",
        "Update transformers, or choose another checkpoint of the model.",
    )


def fault_in(config: Config, fault: Exception) -> str:
    """A sentence on the entry at fault; of its sizes where none can be named, and "" without."""
    found = [*_field(config, fault), *_known_faults(config), *_unknown_word(config, fault)]
    return found[0] if found else _sizes(config)


def _whole(config: Config) -> Config:
    """With the defaults of its type, which count where it says nothing."""
    kind = config.get("model_type")
    known = transformers().CONFIG_MAPPING
    if not isinstance(kind, str) or kind not in known:
        return config
    try:
        default = known[kind]().to_dict()
    except Exception:  # some types have no default of their own
        return config
    return {**default, **config}


def _field(config: Config, fault: Exception) -> Iterator[str]:
    """The field that the library's check of types names."""
    named = _NAMED.match(str(fault))
    if named is None:
        return
    expected = _EXPECTED.search(str(fault))
    kinds = re.findall(r"\b(?:int|float|str|bool)\b", expected[1] if expected else "")
    words = " or ".join(_KINDS[kind] for kind in dict.fromkeys(kinds)) or "something else"
    value = next((level[named[1]] for level in _levels(config) if named[1] in level), None)
    yield f"{named[1]} is {_told(value)}, where {words} is expected."


def _known_faults(config: Config) -> Iterator[str]:
    for level in _levels(config):
        yield from _not_counts(level)
        yield from _uneven(level)
        yield from _no_shares(level)
        yield from _no_activation(level)


def _not_counts(level: Config) -> Iterator[str]:
    for name in _SIZES:
        value, least = level.get(name, 1), 0 if name in _ZERO_IS_NONE else 1
        if isinstance(value, int | float) and value < least:
            yield f"{name} is {_told(value)}, where {least} or more is expected."
        elif not isinstance(value, int | float | list | None):
            yield f"{name} is {_told(value)}, where a number is expected."


def _uneven(level: Config) -> Iterator[str]:
    """The width is shared among the heads, these among the pairs of key and value."""
    pairs = (_WIDTH, _HEADS, "head_dim" not in level), (_HEADS, _SHARED, True)
    for wholes, parts, counts in pairs:
        (whole, number), (part, count) = _given(level, wholes), _given(level, parts)
        if counts and number and count and number % count:
            yield f"{whole} is {number:,}, which is no multiple of {part}, {count:,}."


def _given(level: Config, names: tuple[str, ...]) -> tuple[str, int]:
    found = ((name, level[name]) for name in names if isinstance(level.get(name), int))
    return next(found, ("", 0))


def _no_shares(level: Config) -> Iterator[str]:
    for name, value in level.items():
        number = isinstance(value, int | float)
        if _EPSILON.search(str(name)) and not number:
            yield f"{name} is {_told(value)}, where a number is expected."
        if _SHARE.search(str(name)) and not (number and 0 <= value <= 1):
            yield f"{name} is {_told(value)}, where a number from 0 to 1 is expected."


def _no_activation(level: Config) -> Iterator[str]:
    from transformers.activations import ACT2FN

    for name, value in level.items():
        if _ACTIVATION.match(str(name)) and isinstance(value, str) and value not in ACT2FN:
            yield f"{name} is {_told(value)}, which is no activation that transformers knows."


def _unknown_word(config: Config, fault: Exception) -> Iterator[str]:
    """A word that the library looked up in vain, such as the name of an activation."""
    asked = fault.args[0] if isinstance(fault, KeyError) and fault.args else None
    for level in _levels(config):
        for name, value in level.items():
            if isinstance(asked, str | int) and value == asked and type(value) is type(asked):
                yield f"{name} is {_told(value)}, which transformers does not know."


def _sizes(config: Config) -> str:
    level = next(iter(_levels(config)))
    given = [f"{n} {_told(level[n])}" for n in _SIZES if isinstance(level.get(n), int)]
    return f"no entry stands out; its sizes are {', '.join(given)}." if given else ""


def _levels(config: Config) -> Iterator[Config]:
    for level in configuration.levels(config):
        yield level
        yield from (inner for key, inner in level.items() if key == "attn_config" and _held(inner))


def _held(value: Any) -> bool:
    return isinstance(value, Mapping)


def _told(value: Any) -> str:
    return "null" if value is None else configuration.told(value)
