"""Several checkpoints of one training: which there are, and their matrices in order."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources import hub
from embtie_widgets.sources.load import find, load
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.named_models import BUNDLED, model_path
from embtie_widgets.sources.revisions import Revision, gaps, ordered, parse
from embtie_widgets.sources.snapshots import snapshots

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Repeat:
    """Checkpoints whose matrix in this role ("input" or "output") holds the very same bytes."""

    role: str
    hash: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Series:
    """The matrices of one training at several steps, in order.

    name       the model's
    revisions  what the names say: stage, step, tokens
    loaded     the model at each of them, its matrices mapped
    repeats    different checkpoints with equal matrices: one of them is not what its name says
    skipped    (name, reason) of those that could not be read
    """

    name: str
    revisions: tuple[Revision, ...]
    loaded: tuple[Loaded, ...]
    repeats: tuple[Repeat, ...]
    skipped: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        count = f"{len(self.loaded)} loaded, {len(self.skipped)} skipped"
        same = f", {len(self.repeats)} x the same bytes" if self.repeats else ""
        first, last = self.revisions[0].name, self.revisions[-1].name
        return f"Series({self.name!r}, {first} to {last}, {count}{same})"

    def __iter__(self) -> Iterator[tuple[Revision, Loaded]]:
        return iter(zip(self.revisions, self.loaded, strict=True))

    @property
    def notes(self) -> list[str]:
        """Sentences that belong beside every curve made from this."""
        return [
            *(_same_bytes(repeat) for repeat in self.repeats),
            *(f"{name} was left out: {reason}" for name, reason in self.skipped),
        ]

    def to_frame(self) -> "pd.DataFrame":
        """One row for each checkpoint: its place, the distance from the one before, hashes."""
        import pandas as pd

        distance = {gap.after.name: gap for gap in gaps(self.revisions)}
        rows = []
        for revision, loaded in self:
            gap = distance.get(revision.name)
            rows.append(
                {
                    "revision": revision.name,
                    "stage": revision.track[0],
                    "ingredient": revision.ingredient,
                    "step": revision.step,
                    "tokens": revision.tokens,
                    "steps since the one before": gap.steps if gap else None,
                    "tied": loaded.tied,
                    "input hash": loaded.hashes["input"],
                    "output hash": loaded.hashes.get("output"),
                }
            )
        return pd.DataFrame(rows)


def is_remote(ref: str) -> bool:
    """Whether a name stands for a model on the hub rather than one on this machine."""
    return ref not in BUNDLED and hub.is_hub_id(ref) and not model_path(ref).exists()


def list_revisions(ref: str) -> list[Revision]:
    """Every revision that a model can be loaded at, in order; a network is asked for a hub id
    only.  A local model without checkpoints has none."""
    if is_remote(ref):
        return ordered(hub.list_revisions(ref))
    place = find(ref)
    folder = None if isinstance(place, Path) else getattr(place.files, "folder", None)
    return [] if folder is None else [parse(snapshot.name) for snapshot in snapshots(folder)]


def load_series(
    ref: str | ModelRef, revisions: Sequence[str] | None = None, progress: Progress = silent
) -> Series:
    """The model at each of the revisions, at all of its checkpoints for None, in order.

    One that cannot be read is skipped with its reason; EmbtieError where none is left.
    """
    model = ModelRef.from_value(ref)
    if revisions is None:
        wanted = [revision for revision in list_revisions(model.ref) if revision.is_checkpoint]
    else:
        wanted = ordered(_texts(revisions))
    called = model.ref if is_remote(model.ref) else Path(model.ref).name
    if not wanted:
        raise EmbtieError(
            f"'{called}' has no checkpoints to load.",
            "Name a model whose revisions are called by steps, or give the revisions.",
        )
    read: list[tuple[Revision, Loaded]] = []
    skipped: list[tuple[str, str]] = []
    for revision, one in each(model, wanted, progress):
        if isinstance(one, EmbtieError):
            skipped.append((revision.name, one.message))
        else:
            read.append((revision, _sharing_tokens(one, read)))
    if not read:
        raise EmbtieError(
            f"None of the {len(wanted)} checkpoints of '{called}' could be read: {skipped[0][1]}",
            "Check the names of the revisions.",
        )
    kept, loaded = zip(*read, strict=True)
    return Series(model.ref, kept, loaded, repeats(read), tuple(skipped))


def each(
    model: ModelRef, wanted: Sequence[Revision], progress: Progress = silent
) -> Iterator[tuple[Revision, Loaded | EmbtieError]]:
    """Each checkpoint with its hashes known, or why it cannot be read; one at a time, so that
    a long series need not be held."""
    for done, revision in enumerate(wanted):
        progress("checkpoints", done, len(wanted))
        at = replace(model, revision=revision.name)
        try:
            one: Loaded | EmbtieError = _hashed(load(at, progress=_within(progress, done, wanted)))
        except Cancelled:
            raise
        except EmbtieError as error:
            one = error
        yield revision, one
    progress("checkpoints", len(wanted), len(wanted))


def _texts(revisions: Sequence[str]) -> Sequence[str]:
    if isinstance(revisions, str) or not all(isinstance(name, str) for name in revisions):
        raise EmbtieError(
            "The revisions are no list of names.", "For instance ['step1000', 'step2000']."
        )
    return revisions


def repeats(read: Iterable[tuple[Revision, Loaded]]) -> tuple[Repeat, ...]:
    """Which checkpoints hold the same bytes, by role; a tied matrix is told once."""
    found: dict[tuple[str, str], list[str]] = {}
    for revision, loaded in read:
        for role, value in loaded.hashes.items():
            if role == "input" or value != loaded.hashes["input"]:
                found.setdefault((role, value), []).append(revision.name)
    return tuple(
        Repeat(role, value, tuple(names)) for (role, value), names in found.items() if names[1:]
    )


def _within(progress: Progress, done: int, wanted: Sequence[Revision]) -> Progress:
    """What loading one of them tells, under its place in the series."""
    where = f"checkpoint {done + 1} of {len(wanted)}"
    return lambda stage, part, whole: progress(f"{where}, {stage}", part, whole)


def _sharing_tokens(loaded: Loaded, read: Sequence[tuple[Revision, Loaded]]) -> Loaded:
    """With the token list of the first, where it is equal: lists of all would be large."""
    if not read or loaded.tokens is None or loaded.tokens != read[0][1].tokens:
        return loaded
    shared = replace(loaded, tokens=read[0][1].tokens)
    shared.__dict__["hashes"] = loaded.hashes
    return shared


def _hashed(loaded: Loaded) -> Loaded:
    """The model with its hashes known; a file that cannot be read through is found out here."""
    _ = loaded.hashes
    return loaded


def _same_bytes(repeat: Repeat) -> str:
    return f"The {repeat.role} matrix is the same, byte for byte, at {', '.join(repeat.names)}."
