"""A model without weights, built from its configuration alone by transformers' own classes.

Configurations are pasted and uploaded by strangers: what would fetch anything or run foreign code
is dropped, and what would build a model without end is refused.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources import configuration
from embtie_widgets.sources.config_faults import unbuildable
from embtie_widgets.sources.configuration import Config
from embtie_widgets.sources.counting import Sized
from embtie_widgets.sources.library import transformers
from embtie_widgets.sources.live import matrices_of

_FOREIGN = re.compile(
    r"^(auto_map|custom_pipelines|_name_or_path|name_or_path|backbone\w*|use_\w*backbone"
    r"|\w*attn_implementation\w*|experts_implementation|quantization_config|compression_config"
    r"|dtype|torch_dtype|id2label|label2id|transformers_version|fusion_config|extra_files"
    r"|transformers_weights)$"
)
_REPEATED = re.compile(r"layer|block|expert|depth|stage|group|stack|codebook|level|branch")
_MOST_REPEATED, _LARGEST, _DEEPEST = 1024, 10**9, 6
_SIZES = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
)
_MAPPINGS = (
    "MODEL_FOR_CAUSAL_LM_MAPPING",
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING",
    "MODEL_FOR_MASKED_LM_MAPPING",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING",
    "MODEL_FOR_PRETRAINING_MAPPING",
)
_HINT = "Give the whole config.json of a language model that transformers knows."


def is_config(value: Any) -> bool:
    """Whether it is a configuration: a mapping, or an object of transformers."""
    return isinstance(value, Mapping) or (
        hasattr(value, "to_dict") and hasattr(value, "model_type")
    )


def sized_config(value: Any) -> Sized:
    """The size of the model that a configuration describes, and what was assumed for it."""
    config = _plain(value)
    model = meta_model(config)
    E, U = matrices_of(model)
    if E is None:
        raise EmbtieError(f"A {type(model).__name__} has no input matrix.", _HINT)
    shared = U is E
    assumed = _assumed(config, model)
    facts = {"source": "configuration", "class": type(model).__name__}
    return Sized(
        stored=sum(parameter.numel() for parameter in model.parameters()),
        input=tuple(E.shape),
        output=None if U is None or shared else tuple(U.shape),
        status="tied" if shared else "input only" if U is None else "untied",
        notes=(*_built(model), *_tie(config, shared), *_defaults(assumed), *_dropped(config)),
        model=facts | ({"assumed": list(assumed)} if assumed else {}),
    )


def meta_model(config: Config) -> Any:
    """The model on the meta device: every shape, no values; no repository code takes part."""
    import torch

    built = built_config(config)
    known = _class(transformers(), built, configuration.named_class(config))
    built._attn_implementation = "eager"
    with sensible(config), torch.device("meta"):
        return known(built)


def built_config(config: Config) -> Any:
    """The configuration as an object of transformers' own; what would fetch anything, or run
    foreign code, is dropped."""
    library, kind = transformers(), config.get("model_type")
    if not isinstance(kind, str) or kind not in library.CONFIG_MAPPING:
        raise _unknown(kind)
    _refuse_endless(config)
    own = {k: v for k, v in _cleaned(config).items() if k != "model_type"}
    with sensible(config):
        return library.AutoConfig.for_model(kind, **own)


@contextmanager
def sensible(config: Config) -> Iterator[None]:
    """Wrong values make the classes raise almost anything: one sentence for all of it."""
    try:
        yield
    except EmbtieError:
        raise
    except Exception as fault:
        raise unbuildable(config, fault) from None


def _plain(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    return dict(value.to_dict())


def _cleaned(config: Config) -> dict[str, Any]:
    return {
        str(key): _cleaned(value) if isinstance(value, Mapping) else value
        for key, value in config.items()
        if not _FOREIGN.match(str(key))
    }


def _class(library: Any, built: Any, named: str | None) -> Any:
    """The class that the configuration names, else the language model of this type."""
    own: Any = getattr(library, named, None) if named and named.isidentifier() else None
    ours = isinstance(own, type) and issubclass(own, library.PreTrainedModel)
    if ours and own.config_class is type(built):
        return own
    for name in _MAPPINGS:
        mapping = getattr(library, name, {})
        if type(built) in mapping:
            found = mapping[type(built)]
            return found[0] if isinstance(found, tuple | list) else found
    raise EmbtieError(f"'{built.model_type}' is no language model that transformers builds.", _HINT)


def _refuse_endless(config: Config) -> None:
    for path, number in _numbers(config):
        named = _REPEATED.search(path.rsplit(".", 1)[-1]) and not path.endswith("_size")
        limit = _MOST_REPEATED if named or path.endswith("[]") else _LARGEST
        if number > limit:
            raise EmbtieError(
                f"{path[:60]} is {number:,} there; more than {limit:,} are not built.".replace(
                    "[]", ""
                ),
                "Check the configuration.",
            )


def _numbers(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, int]]:
    """Every whole number with the path to it; one in a list ends in []."""
    if depth > _DEEPEST:
        raise EmbtieError("The configuration is nested too deeply.", _HINT)
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _numbers(inner, f"{path}.{key}".lstrip("."), depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _numbers(inner, f"{path}[]" if not path.endswith("[]") else path, depth + 1)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield path, value


def _unknown(kind: Any) -> EmbtieError:
    if not isinstance(kind, str):
        return EmbtieError("The configuration names no model_type.", _HINT)
    return EmbtieError(
        f"'{kind[:60]}' is no model type that the installed transformers knows.",
        "Update transformers, or name a checkpoint: its headers tell the sizes without the class.",
    )


def _built(model: Any) -> tuple[str, ...]:
    return (
        f"Counted from the configuration alone, built as {type(model).__name__} without weights; "
        "a checkpoint's files may hold more rows or other tensors.",
    )


def _tie(config: Config, shared: bool) -> tuple[str, ...]:
    word = "tied" if shared else "untied"
    if configuration.tie_flag(config) is None:
        return (f"The configuration has no tie flag; its type's own default, {word}, was taken.",)
    return (f"The configuration says {word}; only the files can tell.",)


def _assumed(config: Config, model: Any) -> dict[str, int]:
    """The sizes that the configuration leaves to its type."""
    inner = model.config.get_text_config()
    renamed = getattr(inner, "attribute_map", {})
    given = {key for level in configuration.levels(config) for key in level}
    return {
        name: getattr(inner, name)
        for name in _SIZES
        if not given & {name, renamed.get(name)} and isinstance(getattr(inner, name, None), int)
    }


def _defaults(assumed: Mapping[str, int]) -> tuple[str, ...]:
    taken = ", ".join(f"{name} {value:,}" for name, value in assumed.items())
    return (f"Not given, so the type's own default was taken: {taken}.",) * bool(assumed)


def _dropped(config: Config) -> tuple[str, ...]:
    notes = []
    if isinstance(config.get("quantization_config"), Mapping):
        notes.append("Quantisation was left aside: the numbers are of the unquantised model.")
    if configuration.wants_own_code(config):
        notes.append("The repository brings code of its own; it was not run.")
    return tuple(notes)


def config_of_file(path: Path) -> Any:
    """The configuration in a JSON file, for `sized_config`."""
    from embtie_widgets.sources.reading import read_json

    value = read_json(path)
    if not isinstance(value, Mapping):
        raise EmbtieError(f"'{path.name}' holds no configuration.", _HINT)
    return value
