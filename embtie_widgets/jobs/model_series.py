"""The checkpoints of the models that a request names, loaded one at a time."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.jobs.checkpoints import chosen_of, fetching, listed_for, saying
from embtie_widgets.progress import Progress
from embtie_widgets.requests import CheckpointsRequest, ModelRef
from embtie_widgets.results.checkpoints import Checkpoint
from embtie_widgets.sources.load import last_step, load
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.revisions import Revision
from embtie_widgets.sources.series import each, is_remote


def named(models: tuple[ModelRef, ...]) -> dict[str, ModelRef]:
    """By name; of a path its last part alone, with a number where two have the same."""
    found: dict[str, ModelRef] = {}
    for model in models:
        name = model.ref if is_remote(model.ref) else PurePath(model.ref.rstrip("\\/")).name
        found[name if name not in found else f"{name} (2)"] = model
    return found


@dataclass
class ModelSeries:
    """Chosen checkpoints of a model; `notes` say what is to be known of them.

    alone  whether a model without checkpoints is taken as it is, else it is refused
    """

    name: str
    model: ModelRef
    revisions: tuple[str, ...]
    count: int
    alone: bool = False
    notes: list[str] = field(default_factory=list)

    def loaded(self, progress: Progress) -> Iterator[tuple[Checkpoint, Loaded | EmbtieError]]:
        """In order, each or why it cannot be read; a bundled model ends with itself."""
        progress(f"listing checkpoints of {self.name}", 0, 1)
        asked = CheckpointsRequest(self.model, self.revisions, self.count)
        remote = is_remote(self.model.ref)
        listed, names, notes = listed_for(asked, remote)
        self.notes += [f"{self.name}: {note}" for note in notes]
        if self.alone and not names and not any(one.is_checkpoint for one in listed):
            yield Checkpoint("as it is"), load(self.model, progress=progress)
            return
        chosen = chosen_of(listed, names, asked)
        cost, _ = fetching(asked, chosen) if remote else ("", [])
        for revision, loaded in each(self.model, chosen, saying(cost, progress)):
            yield place(revision), loaded
        end = last_step(self.model.ref)
        if end is not None and not self.revisions:
            yield Checkpoint(f"step-{end:06d}", step=end), load(self.model, progress=progress)

    def follow(self, take: Callable[[Checkpoint, Loaded], None], progress: Progress) -> None:
        """`take` is given each in order; those that cannot be read or taken are left out and told.
        An EmbtieError where none is left."""
        taken, why = 0, ""
        for at, loaded in self.loaded(progress):
            try:
                if isinstance(loaded, EmbtieError):
                    raise loaded
                take(at, loaded)
                taken += 1
            except Interrupted:
                raise
            except EmbtieError as error:
                why = why or error.message
                self.notes.append(f"{self.name}: {at.name} was left out: {error.message}")
        if not taken:
            raise EmbtieError(
                f"None of the checkpoints of '{self.name}' could be read: {why}",
                "Check the names of the revisions.",
            )


def place(revision: Revision) -> Checkpoint:
    """Where a checkpoint stands."""
    return Checkpoint(**vars(revision))
