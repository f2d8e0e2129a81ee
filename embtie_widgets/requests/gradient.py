"""The request behind the panel of the gradient's two paths."""

from dataclasses import dataclass
from typing import ClassVar

from embtie_widgets.requests import fields
from embtie_widgets.requests.mapping import checked_columns, checked_file
from embtie_widgets.requests.model import ModelRef
from embtie_widgets.requests.training import TrainingRequest

SOURCES = ("train", "text", "file", "run")
_TIED = ModelRef("nano-tied")


@dataclass(frozen=True)
class GradientFlowRequest(TrainingRequest):
    """Split the gradient of the shared matrix into what comes by its input and by its output use.

    `source` says of what: "train" twins here, the tied one first; a loaded `model` on a "text"
    without training, in `batches` of it; a recorded "file"; or the folder of a "run" that
    `RunRecorder` writes, followed while it grows.  `file` names either.  `columns` are pairs
    "name=header" for a file whose headers are not known by themselves.
    """

    source: str = "train"
    model: ModelRef = _TIED
    batches: int = 4
    file: str = ""
    columns: tuple[str, ...] = ()

    kind: ClassVar[str] = "gradient-flow"

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.choice("source", self.source, SOURCES)
        fields.whole("batches", self.batches, 1, 10_000)
        object.__setattr__(self, "columns", checked_columns(self.columns))
        checked_file(self.source, self.file)
