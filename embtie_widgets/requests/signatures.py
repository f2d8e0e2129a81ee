"""The request behind the panel of signatures in language models."""

from dataclasses import dataclass
from typing import ClassVar

from embtie_widgets.requests import fields
from embtie_widgets.requests.checkpoints import MOST, revision_names, without_revision
from embtie_widgets.requests.mapping import checked_file
from embtie_widgets.requests.model import ModelRef, models_of, usual_other
from embtie_widgets.requests.training import TrainingRequest

SOURCES = ("model", "train", "run")
DIRECTIONS = ("next", "previous")
_UNTIED = ModelRef("nano-untied")


@dataclass(frozen=True)
class SignaturesRequest(TrainingRequest):
    """Say how far the embeddings of a language model follow what stands beside each token in text.

    `source` says of what: the checkpoints of a "model" and of the `other` beside it, as for drift
    (`revisions`, `count`; one that has a single checkpoint gives one point); twins "train"ed here;
    or the folder of a "run" that `RunRecorder` writes, named by `file`.

    anchors     how many of the most frequent tokens are compared with each other
    chosen      tokens by their text, instead of the most frequent ones
    kind_of     only tokens of a kind, as the panels' filter of groups names it; "" for all
    directions  what follows a token ("next"), and what stands before it ("previous")
    context     of order 1: the token follows, and another is present among the last `context`
                tokens before; 0 leaves order 1 out
    statistics  the text of the statistics is `corpus`, so many tokens of it at most
    """

    source: str = "model"
    model: ModelRef = _UNTIED
    other: ModelRef | None = None
    revisions: tuple[str, ...] = ()
    count: int = 12
    file: str = ""
    anchors: int = 80
    chosen: tuple[str, ...] = ()
    kind_of: str = ""
    directions: tuple[str, ...] = DIRECTIONS
    context: int = 0
    statistics: int = 1_000_000
    probe_steps: int = 300
    folds: int = 5

    kind: ClassVar[str] = "signatures"

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.choice("source", self.source, SOURCES)
        object.__setattr__(self, "other", usual_other(self.model, self.other))
        for model in self.models:
            without_revision(model)
        object.__setattr__(self, "revisions", revision_names(self.revisions))
        bounds = {
            "count": (1, MOST), "anchors": (3, 2_000), "context": (0, 4_096),
            "statistics": (100, 10**9), "probe_steps": (1, 10_000), "folds": (2, 20),
        }  # fmt: skip
        for name, (low, high) in bounds.items():
            fields.whole(name, getattr(self, name), low, high)
        chosen = fields.listed("chosen", self.chosen, 2_000)
        object.__setattr__(self, "chosen", tuple(fields.text("a token", one) for one in chosen))
        found = fields.some("directions", self.directions)
        for one in found:
            fields.choice("directions", one, DIRECTIONS)
        object.__setattr__(self, "directions", found)
        checked_file(self.source, self.file)

    @property
    def models(self) -> tuple[ModelRef, ...]:
        """Each model once."""
        return models_of(self.model, self.other)
