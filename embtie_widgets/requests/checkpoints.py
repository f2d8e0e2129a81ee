"""The request behind the panel of checkpoints."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import fields
from embtie_widgets.requests.model import ModelRef
from embtie_widgets.requests.request import Request

DEPTHS = ("names", "files", "matrices")
MOST = 256
_UNTIED = ModelRef("nano-untied")


@dataclass(frozen=True)
class CheckpointsRequest(Request):
    """Look at the checkpoints of a training: those named, or `count` spread over all there are.

    `depth` says how far to look: at their "names" alone; at the hashes that the hub has of their
    "files", before anything is downloaded; or at the "matrices" themselves, which are loaded.
    """

    model: ModelRef = _UNTIED
    revisions: tuple[str, ...] = ()
    count: int = 12
    depth: str = "matrices"

    kind: ClassVar[str] = "checkpoints"

    def __post_init__(self) -> None:
        super().__post_init__()
        without_revision(self.model)
        object.__setattr__(self, "revisions", revision_names(self.revisions))
        fields.whole("count", self.count, 1, MOST)
        fields.choice("depth", self.depth, DEPTHS)


def without_revision(model: ModelRef) -> None:
    """An EmbtieError for a model of a series that has one revision already."""
    if model.revision is not None:
        raise EmbtieError(
            "The model of a series has one revision, but checkpoints are many of them.",
            "Leave it out of the model, and give the checkpoints as `revisions`.",
        )


def revision_names(value: Any) -> tuple[str, ...]:
    """Each name once; a lone string is refused, its letters are no names."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | dict):
        raise EmbtieError("revisions is no list of names.", 'Give them as ["step0", "step1000"].')
    names = tuple(dict.fromkeys(fields.text("a revision", name) for name in value))
    if len(names) > MOST:
        raise EmbtieError(
            f"{len(names)} revisions are given; at most {MOST} are looked at in one request.",
            "Leave some out, or ask for a number of them spread over all.",
        )
    return names
