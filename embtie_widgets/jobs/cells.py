"""The runs of a sweep, one cell after the other, on this machine.

Who carries them out elsewhere takes the same tasks and tells the same listener.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.jobs.held_loss import held_loss
from embtie_widgets.jobs.runner import told
from embtie_widgets.jobs.training_runs import Paced, Watch, run_folder, run_of
from embtie_widgets.progress import Progress, silent
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.run_store import RunStore
from embtie_widgets.training.runs import RunSpec

HERE = "this machine"
_TOLD_SECONDS = 0.25


Measure = Callable[[RunSpec, RunStore, Corpus, Progress], Any]
"""Says how a finished run does on what is held out, and keeps that in its manifest."""


@dataclass(frozen=True)
class CellTask:
    """One run to be carried out: the `number` of its cell in the request, what the request says of
    it (a `Cell` of output centering, a `Trial` of the bottleneck), and its recipe."""

    number: int
    cell: Any
    spec: RunSpec
    measure: Measure = held_loss


class Listener(Protocol):
    """Who is told how the cells come along, each by its number; from one thread at a time."""

    def started(self, number: int, where: str) -> None:
        """It is being carried out, on a machine that `where` says in words; told again where it
        had to begin anew."""

    def grown(self, number: int, rows: list[dict[str, Any]], done: int) -> None:
        """All rows that it has logged so far, and how many steps it has done; a few times a second
        at most."""

    def ended(self, number: int, store: RunStore | None, error: EmbtieError | None) -> None:
        """Its finished run in this machine's store, or why there is none; once for each cell."""


def here(
    tasks: list[CellTask],
    corpus: Corpus,
    held: Corpus,
    listener: Listener,
    progress: Progress = silent,
) -> None:
    """Carry the cells out in this process.  One that fails leaves the others be; what breaks the
    work off from outside ends it."""
    for task in tasks:
        listener.started(task.number, HERE)
        store, error = None, None
        try:
            store = carry_out(task, corpus, held, progress, _watch(task.number, listener))
        except Interrupted:
            raise
        except Exception as fault:
            error = told(fault)
        listener.ended(task.number, store, error)


def carry_out(
    task: CellTask,
    corpus: Corpus,
    held: Corpus,
    progress: Progress = silent,
    watch: Watch | None = None,
) -> RunStore:
    """The finished run of one cell, how it does on what is held out in its manifest."""
    begun, fresh = time.monotonic(), not run_folder(task.spec, corpus).exists()
    store = run_of(task.spec, corpus, progress, watch)
    if fresh:  # of a run that went on nobody knows how long its beginning took
        manifest, seconds = store.manifest, round(time.monotonic() - begun, 3)
        store.set_state(manifest["state"], manifest["done"], seconds=seconds)
    task.measure(task.spec, store, held, progress)
    return store


def _watch(number: int, listener: Listener) -> Watch:
    return Paced(lambda store: listener.grown(number, store.rows(), store.done), _TOLD_SECONDS)
