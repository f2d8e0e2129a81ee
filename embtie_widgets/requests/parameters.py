"""The request behind the panel of parameter counts."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import fields
from embtie_widgets.requests.model import ModelRef
from embtie_widgets.requests.request import Request

SOURCES = ("auto", "headers")
# In a link a character may take three.
CONFIG_LIMIT = 5_000
_NO_SIZES = {"id2label", "label2id", "task_specific_params"}
_FIRST = ModelRef("nano-untied")
_HINT = "Paste the whole text of a config.json."


@dataclass(frozen=True)
class ParametersRequest(Request):
    """Count the parameters of a model, or of the configuration `config` (JSON text) if given.

    With the source "auto" the models of the catalogue are counted from facts that ship with
    embtie; with "headers" their files are asked too.
    """

    model: ModelRef = _FIRST
    config: str = ""
    source: str = "auto"

    kind: ClassVar[str] = "parameters"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "config", config_text(self.config))
        fields.choice("source", self.source, SOURCES)


def config_text(value: Any) -> str:
    """What of a configuration has a bearing on sizes, as compact JSON with sorted names.

    `value` is its text, empty for none, or a mapping; an EmbtieError where it is no JSON object.
    """
    if isinstance(value, str):
        if not value.strip():
            return ""
        value = _parsed(value)
    if not isinstance(value, Mapping):
        raise EmbtieError("The configuration is no JSON object with named fields.", _HINT)
    try:
        text = json.dumps(_of_sizes(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise EmbtieError("The configuration holds values that JSON has not.", _HINT) from None
    if len(text) > CONFIG_LIMIT:
        raise EmbtieError(
            f"The configuration has {len(text):,} characters; at most {CONFIG_LIMIT:,} are read.",
            "Leave out what has no bearing on sizes, such as label names.",
        )
    return text


def _of_sizes(value: Mapping[str, Any]) -> dict[str, Any]:
    """Without long lists that have no bearing on sizes."""
    kept = {key: inner for key, inner in value.items() if key not in _NO_SIZES}
    quantised = kept.get("quantization_config")
    if isinstance(quantised, Mapping):
        kept["quantization_config"] = {"quant_method": quantised.get("quant_method")}
    return kept


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise EmbtieError(
            f"The configuration is no valid JSON (line {error.lineno}).", _HINT
        ) from None
    except (ValueError, RecursionError):
        raise EmbtieError("The configuration is no valid JSON.", _HINT) from None
