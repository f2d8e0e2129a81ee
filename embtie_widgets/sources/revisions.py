"""Names of checkpoints: what they say about stage, step and tokens, and the order that follows."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_STAGE = re.compile(r"stage[-_ ]?(\d{1,18})", re.IGNORECASE)
_INGREDIENT = re.compile(r"ingredient[-_ ]?(\d{1,18})", re.IGNORECASE)
_STEP = re.compile(
    r"(?:steps?|iter(?:ation)?s?|checkpoint|ckpt)[-_ ]?0*"
    r"(\d{1,18}(?:\.\d{1,18})?)([km]?)(?![a-z0-9.])",
    re.IGNORECASE,
)
_TOKENS = re.compile(
    r"tokens?[-_ ]?(\d{1,18}(?:\.\d{1,18})?)([kmbt]?)(?![a-z0-9.])"
    r"|(?<![a-z0-9.])(\d{1,18}(?:\.\d{1,18})?)([kmbt]?)[-_ ]?tokens?",
    re.IGNORECASE,
)
# A count right after the step, as in intermediate-step-1431k-3T.
_TRAILING_TOKENS = re.compile(r"(?<=[-_])(\d{1,18}(?:\.\d{1,18})?)([bt])$", re.IGNORECASE)
_TIMES = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
MAIN = ("main", "master")


@dataclass(frozen=True)
class Revision:
    """A revision's name and what it says; None where it says nothing.

    name        as the hub or the folder spells it
    stage       of the training, from 1
    ingredient  of a stage that is trained several times over
    step        optimiser steps, counted within the stage
    tokens      seen until then, a number and not in billions
    """

    name: str
    stage: int | None = None
    ingredient: int | None = None
    step: int | None = None
    tokens: int | None = None

    @property
    def track(self) -> tuple[int, int]:
        """Steps can be compared within one track: (stage, ingredient), (1, 0) where unnamed."""
        return (1 if self.stage is None else self.stage, self.ingredient or 0)

    @property
    def is_main(self) -> bool:
        """Whether it is the branch that a model is had from where none is named."""
        return self.name in MAIN

    @property
    def is_checkpoint(self) -> bool:
        """Whether the name gives a place in the training."""
        return self.step is not None or self.tokens is not None


@dataclass(frozen=True)
class Gap:
    """The distance from one checkpoint to the next of the same track, in steps and tokens."""

    before: Revision
    after: Revision
    steps: int | None
    tokens: int | None


def parse(name: str) -> Revision:
    """What a revision's name says."""
    step, tokens = _STEP.search(name), _TOKENS.search(name)
    last = _TRAILING_TOKENS.search(name) if step and not tokens else None
    return Revision(
        name,
        stage=_whole(_STAGE.search(name)),
        ingredient=_whole(_INGREDIENT.search(name)),
        step=None if step is None else _number(step[1], step[2]),
        tokens=_tokens(tokens or last),
    )


def ordered(names: Iterable[str]) -> list[Revision]:
    """Every name once, by stage, ingredient and step; `main` last, as the end of the training,
    and after it what gives no place in it, by name."""
    return sorted(map(parse, dict.fromkeys(names)), key=_key)


def checkpoints(names: Iterable[str]) -> list[Revision]:
    """Those of the names that give a place in the training, in order."""
    return [revision for revision in ordered(names) if revision.is_checkpoint]


def gaps(revisions: Iterable[Revision]) -> list[Gap]:
    """From each checkpoint to the next of its track, in the order given."""
    last: dict[tuple[int, int], Revision] = {}
    found = []
    for revision in revisions:
        before = last.get(revision.track)
        if before is not None:
            steps = _difference(before.step, revision.step)
            found.append(Gap(before, revision, steps, _difference(before.tokens, revision.tokens)))
        last[revision.track] = revision
    return found


def spread(revisions: list[Revision], count: int) -> list[Revision]:
    """At most `count` of them, first and last among them, spread evenly over the list."""
    if len(revisions) <= count:
        return list(revisions)
    if count == 1:
        return revisions[-1:]
    last = len(revisions) - 1
    return [revisions[round(i * last / (count - 1))] for i in range(count)]


def _key(revision: Revision) -> tuple[int, tuple[int, int], bool, int, int, str]:
    kind = 0 if revision.is_checkpoint else 1 if revision.is_main else 2
    # A track is counted in steps or, where names give no step, in tokens.
    by_tokens = revision.step is None
    step, tokens = revision.step or 0, revision.tokens or 0
    return (kind, revision.track, by_tokens, step, tokens, revision.name)


def _difference(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else b - a


def _tokens(found: re.Match[str] | None) -> int | None:
    if found is None:
        return None
    number, unit = [part for part in found.groups() if part is not None][:2]
    return _number(number, unit)


def _number(text: str, unit: str) -> int:
    whole, _, fraction = text.partition(".")
    digits = int(whole + fraction) * _TIMES[unit.lower()]
    return int(digits // 10 ** len(fraction))


def _whole(found: re.Match[str] | None) -> int | None:
    return None if found is None else int(found[1])
