"""The request behind the panel of drift."""

from dataclasses import dataclass
from typing import ClassVar

from embtie_widgets.requests import fields
from embtie_widgets.requests.checkpoints import MOST, revision_names, without_revision
from embtie_widgets.requests.mapping import checked_columns, checked_file
from embtie_widgets.requests.model import ModelRef, models_of, usual_other
from embtie_widgets.requests.training import TrainingRequest

SOURCES = ("model", "train", "file", "run")
_UNTIED = ModelRef("nano-untied")


@dataclass(frozen=True)
class DriftRequest(TrainingRequest):
    """Say how far the rows of input and output have turned since step 0, and since the checkpoint
    before.

    `source` says of what: the checkpoints of a "model", those named in `revisions` or `count`
    spread over all; twins "train"ed here; a recorded "file"; or the folder of a "run" that
    `RunRecorder` writes.  `other` is a model to stand beside the first one; without it that is the
    bundled untied model's twin, and none beside any other; the model itself for none.  `file` names
    file or folder, and `columns` are pairs "name=header" for a file whose headers are not known by
    themselves.
    """

    source: str = "model"
    model: ModelRef = _UNTIED
    other: ModelRef | None = None
    revisions: tuple[str, ...] = ()
    count: int = 12
    file: str = ""
    columns: tuple[str, ...] = ()

    kind: ClassVar[str] = "drift"

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.choice("source", self.source, SOURCES)
        object.__setattr__(self, "other", usual_other(self.model, self.other))
        for model in self.models:
            without_revision(model)
        object.__setattr__(self, "revisions", revision_names(self.revisions))
        fields.whole("count", self.count, 2, MOST)
        object.__setattr__(self, "columns", checked_columns(self.columns))
        checked_file(self.source, self.file)

    @property
    def models(self) -> tuple[ModelRef, ...]:
        """Each model once."""
        return models_of(self.model, self.other)
