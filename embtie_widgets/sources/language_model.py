"""Which class of transformers a checkpoint's configuration stands for; others than decoders with a
head are refused in words."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources import configuration
from embtie_widgets.sources.config_model import built_config, sensible
from embtie_widgets.sources.configuration import Config
from embtie_widgets.sources.library import transformers

_DECODERS = ("MODEL_FOR_CAUSAL_LM_MAPPING", "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING")
_WHICH = "Choose a decoder such as GPT-2, Llama or Pythia."
_MATRICES = "Its embedding matrices can be compared all the same."


@dataclass(frozen=True)
class Described:
    """A model as its configuration describes it: `kind(config)` builds it."""

    kind: Any
    config: Any

    @property
    def name(self) -> str:
        """Of the class."""
        return str(self.kind.__name__)


def described(config: Config, name: str) -> Described:
    """The class and the configuration of a decoder with a head."""
    if isinstance(config.get("quantization_config"), Mapping):
        raise quantised(name)
    if not config:
        raise EmbtieError(
            f"'{name}' has no configuration, so what its weights belong to is not known.",
            "Give the whole folder of the model, config.json included.",
        )
    built = built_config(config)
    with sensible(config):
        kind = decoder_class(built, configuration.named_class(config), name)
    return Described(kind, built)


def decoder_class(built: Any, named: str | None, name: str) -> Any:
    """The class with a language-model head that transformers has for this configuration."""
    refuse_others(built, name)
    known = [made for mapping in _DECODERS for made in _classes(transformers(), mapping, built)]
    if not known:
        raise EmbtieError(
            f"'{name}' is of type '{built.model_type}', which is no language model that "
            "transformers builds.",
            f"{_WHICH} {_MATRICES}",
        )
    return next((made for made in known if made.__name__ == named), known[0])


def refuse_others(built: Any, name: str) -> None:
    """An EmbtieError for what reads its text in another way than from left to right."""
    refuse_encoders(built, name)
    masked = type(built) in transformers().MODEL_FOR_MASKED_LM_MAPPING
    if masked and not any(getattr(built, word, False) for word in ("is_decoder", "causal")):
        raise EmbtieError(
            f"'{name}' is a masked language model: it sees the tokens on both sides, and says "
            "nothing about the next one.",
            f"{_WHICH} {_MATRICES}",
        )


def refuse_encoders(config: Any, name: str) -> None:
    """An EmbtieError for a model with two stacks of layers."""
    if getattr(config, "is_encoder_decoder", False):
        raise EmbtieError(
            f"'{name}' is an encoder-decoder model: it reads one text with its encoder and writes "
            "another with its decoder. What is measured on text here is defined for decoders, "
            "which go on with one text.",
            f"{_WHICH} {_MATRICES}",
        )


def headless(name: str) -> EmbtieError:
    """The refusal of a model without head."""
    return EmbtieError(
        f"'{name}' has no output matrix, stored or tied, so it gives no next tokens.",
        "Choose the checkpoint with its language-model head; where you know that the head is the "
        "input matrix, say so with treat_as_tied.",
    )


def quantised(name: str) -> EmbtieError:
    """The refusal of packed weights, which need code of their own to be computed with."""
    return EmbtieError(
        f"'{name}' is stored in a quantised or otherwise packed form that is not computed with.",
        "Choose the checkpoint in float32, bfloat16 or float16, or a GGUF file.",
    )


def _classes(library: Any, mapping: str, built: Any) -> tuple[Any, ...]:
    known = getattr(library, mapping, {})
    if type(built) not in known:
        return ()
    found = known[type(built)]
    return tuple(found) if isinstance(found, tuple | list) else (found,)
