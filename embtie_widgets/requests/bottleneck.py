"""The request behind the panel of the gradient bottleneck."""

from dataclasses import dataclass, field
from typing import ClassVar

from embtie_widgets.requests import fields
from embtie_widgets.requests.mapping import checked_file
from embtie_widgets.requests.model import ModelRef, models_of, usual_other
from embtie_widgets.requests.passage import checked_text
from embtie_widgets.requests.training import TrainingRequest

SOURCES = ("text", "train", "run")
HELD = ("auto", "float32", "bfloat16", "float16")
_UNTIED = ModelRef("nano-untied")


@dataclass(frozen=True)
class BottleneckRequest(TrainingRequest):
    """Say how much of the logits' gradient reaches the hidden state, and how much the head cannot
    transmit because its columns span d directions of V.

    `source` says of what: a loaded `model` on a "text"; twins "train"ed here, while they learn; or
    the folder of a "run" that `RunRecorder` writes, which `file` names, followed while it grows.

    other      of a text: a model to stand beside the first, as for drift
    text       what is pasted; without it the text is `corpus`
    positions  of a text: about how many predicted tokens are measured
    gram       of a text: so many of them at most enter the singular spectrum of the gradient
    steps_at   of a text: lengths of the equal steps in logit space, as multiples of the root mean
               square length of the gradient at a position; their losses are compared
    held       of a text: the precision in which the model is held
    """

    source: str = "text"
    model: ModelRef = _UNTIED
    other: ModelRef | None = None
    text: str = ""
    positions: int = 1_000
    gram: int = 1_000
    steps_at: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0)
    held: str = "auto"
    file: str = ""
    length: int = field(default=128, kw_only=True)

    kind: ClassVar[str] = "bottleneck"

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.choice("source", self.source, SOURCES)
        object.__setattr__(self, "other", usual_other(self.model, self.other))
        checked_text(self.text)
        fields.whole("positions", self.positions, 2, 1_000_000)
        fields.whole("gram", self.gram, 2, 20_000)
        fields.some("steps_at", self.steps_at)
        sizes = fields.numbers("steps_at", self.steps_at, 1e-6, 1e6, most=16)
        object.__setattr__(self, "steps_at", sizes)
        fields.choice("held", self.held, HELD)
        checked_file(self.source, self.file)

    @property
    def models(self) -> tuple[ModelRef, ...]:
        """Each model once."""
        return models_of(self.model, self.other)
