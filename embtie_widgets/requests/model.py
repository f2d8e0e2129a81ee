"""Which model, and which of its files."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import fields


@dataclass(frozen=True)
class ModelRef:
    """A reference to a model's embedding matrices.

    `ref` is a bundled name ("nano-tied", "nano-untied"), a Hugging Face folder, a GGUF file, a
    hub id, or the file of the input matrix (.npy or .safetensors); in the last case
    `output_file` and `tokens_file` name its companions.  `treat_as_tied` takes the input matrix
    for the output too where none is stored, and is then written on every result.
    """

    ref: str
    revision: str | None = None
    output_file: str | None = None
    tokens_file: str | None = None
    treat_as_tied: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.ref, str) and not self.ref.strip():
            raise EmbtieError(
                "No model is named.",
                "Give a bundled name, a hub id such as EleutherAI/pythia-70m, a folder or a file.",
            )
        fields.text("ref", self.ref)
        for name in ("revision", "output_file", "tokens_file"):
            fields.optional_text(name, getattr(self, name))
        fields.flag("treat_as_tied", self.treat_as_tied)

    def to_dict(self) -> dict[str, Any]:
        """The fields that differ from their defaults."""
        return {k: v for k, v in asdict(self).items() if k == "ref" or v}

    @classmethod
    def from_value(cls, value: Any) -> Self:
        """From a plain reference, a string or path, or an object with the fields above."""
        if isinstance(value, cls):
            return value
        if isinstance(value, str | Path):
            return cls(str(value))
        given: Mapping[str, Any] = fields.mapping("model", value, fields.names_of(cls))
        return cls(**{"ref": None, **given})
