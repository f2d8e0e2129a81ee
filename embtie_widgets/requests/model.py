"""Which model, and which of its files."""

from dataclasses import dataclass
from typing import Any, ClassVar

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import fields
from embtie_widgets.requests.reference import Reference


@dataclass(frozen=True)
class ModelRef(Reference):
    """A reference to a model's embedding matrices.

    `ref` is a bundled name ("nano-tied", "nano-untied"), a Hugging Face folder, a GGUF file, a
    hub id, or the file of the input matrix (.npy or .safetensors); in the last case
    `output_file` and `tokens_file` name its companions.  `treat_as_tied` takes the input matrix
    for the output too where none is stored, and is then written on every result.
    """

    revision: str | None = None
    output_file: str | None = None
    tokens_file: str | None = None
    treat_as_tied: bool = False

    what: ClassVar[str] = "model"

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

    @property
    def written(self) -> str:
        """`reference` or `reference@revision`, as the command line takes it."""
        return f"{self.ref}@{self.revision}" if self.revision else self.ref


_UNTIED, _TIED = ModelRef("nano-untied"), ModelRef("nano-tied")


def usual_other(model: ModelRef, other: Any) -> ModelRef | None:
    """What a request says of the model beside its first one: None for the usual one, which is the
    twin of the bundled untied model, and none beside any other."""
    named = None if other is None else ModelRef.from_value(other)
    return None if named == _beside(model) else named


def models_of(model: ModelRef, other: ModelRef | None) -> tuple[ModelRef, ...]:
    """Both of them, each once."""
    return tuple(dict.fromkeys((model, other or _beside(model))))


def _beside(model: ModelRef) -> ModelRef:
    return _TIED if model == _UNTIED else model
