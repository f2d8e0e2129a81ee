"""What a recorder is to record, how often, and where it goes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import fields

DOUBLING = "doubling"
Checkpoints = str | int | Sequence[int]


@dataclass(frozen=True)
class Plan:
    """What is to be recorded, and where; fields as `RunRecorder` takes them."""

    folder: Path
    every: int
    checkpoints: Checkpoints
    name: str
    tokens: Any = None
    counts: Any = None

    def with_tokens(self, tokens: Any) -> Self:
        """With these, where none were given."""
        return self if self.tokens is not None else replace(self, tokens=tokens)

    def logs(self, step: int, first: int, of: int | None) -> bool:
        """Whether the step, counted from 1, is recorded."""
        return step in (first, of) or step % self.every == 0

    def keeps(self, done: int) -> bool:
        """Whether the matrices after so many steps are kept."""
        if isinstance(self.checkpoints, str):
            many, rest = divmod(done, self.every)
            return rest == 0 and many.bit_count() <= 1
        if isinstance(self.checkpoints, int):
            return done % self.checkpoints == 0
        return done in self.checkpoints


def checked_checkpoints(value: Any) -> Checkpoints:
    """As they were given, if that is what they are."""
    if value == DOUBLING:
        return DOUBLING
    if isinstance(value, int) and not isinstance(value, bool):
        fields.whole("checkpoints", value, 1, 10**9)
        return value
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise EmbtieError(
            f"checkpoints is a {type(value).__name__}; expected a number, steps or '{DOUBLING}'.",
            "Give 500 for each 500th step, or a list such as [0, 100, 1000].",
        )
    for step in value:
        fields.whole("checkpoints", step, 0, 10**9)
    return tuple(value)
