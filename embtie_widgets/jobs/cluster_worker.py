"""What a worker of a cluster does: one run of a sweep, told of while it grows.

Dask calls these by name, so a worker needs the same embtie as the kernel that sends them.
"""

import time
from typing import TYPE_CHECKING
from uuid import uuid4

from embtie_widgets.errors import Cancelled, EmbtieError, Interrupted
from embtie_widgets.jobs.course import STEPS
from embtie_widgets.jobs.processors import share_processors

if TYPE_CHECKING:
    from embtie_widgets.jobs.cells import CellTask
    from embtie_widgets.jobs.cluster_parcels import Parcel, Refusal
    from embtie_widgets.training.corpus import Corpus
    from embtie_widgets.training.run_store import RunStore
    from embtie_widgets.training.runs import RunSpec

TOPIC = "embtie-runs"
_TOLD_SECONDS = 0.5
_WANTED = ("executing", "long-running")


def names_of(specs: "list[RunSpec]", texts: bytes) -> list[str]:
    """The names that runs have on a machine like this one, whose device and torch decide too; ""
    for what it cannot train."""
    share_processors()
    from embtie_widgets.jobs.cluster_parcels import open_texts

    corpus, _ = open_texts(texts)
    return [_name_of(spec, corpus) for spec in specs]


def _name_of(spec: "RunSpec", corpus: "Corpus") -> str:
    from embtie_widgets.jobs.training_runs import run_key

    try:
        return run_key(spec, corpus)
    except EmbtieError:  # told when the run is begun
        return ""


def train_cell(task: "CellTask", texts: bytes, sweep: str) -> "Parcel | Refusal":
    """The finished run of a cell.  What is at fault in the cell itself is told as a Refusal; what
    another worker may do better is raised, and Dask tries again."""
    share_processors()
    from embtie_widgets.jobs.cells import carry_out
    from embtie_widgets.jobs.cluster_parcels import Refusal, open_texts, pack_run
    from embtie_widgets.jobs.training_runs import run_key

    telling = _Telling(task, sweep)
    telling.send()
    try:
        corpus, held = open_texts(texts)
        store = carry_out(task, corpus, held, telling.progress, telling.watch)
    except Interrupted:
        raise
    except EmbtieError as error:
        return Refusal(error.message, error.hint)
    telling.send(store)
    return pack_run(run_key(task.spec, corpus), store)


class _Telling:
    """Sends what a run has logged to whoever wants it, and stops it once nobody does."""

    def __init__(self, task: "CellTask", sweep: str) -> None:
        from distributed import Status, get_worker

        self._at_work = (Status.running, Status.paused)
        self._worker, self._sweep, self._number = get_worker(), sweep, task.number
        self._key = self._worker.get_current_task()
        self._attempt = uuid4().hex
        self._store: RunStore | None = None
        self._sent, self._done, self._next = 0, 0, 0.0

    def progress(self, stage: str, done: int, total: int) -> None:
        """A `Progress`."""
        if not self._is_wanted():
            raise Cancelled
        if stage.partition(" ")[0] in STEPS:
            self._done = done
        self._send_in_time()

    def watch(self, store: "RunStore") -> None:
        """The run has logged something."""
        self._store = store
        self._send_in_time()

    def _send_in_time(self) -> None:
        if time.monotonic() >= self._next:
            self.send(self._store)

    def send(self, store: "RunStore | None" = None) -> None:
        """Tell how far the run is, and its rows that are new."""
        rows = [] if store is None else [row for row in store.rows() if row["step"] > self._sent]
        self._sent = rows[-1]["step"] if rows else self._sent
        self._done = max(self._done, self._sent)
        told = {
            "sweep": self._sweep, "number": self._number, "attempt": self._attempt,
            "worker": self._worker.address, "rows": rows, "done": self._done,
        }  # fmt: skip
        self._worker.log_event(TOPIC, told)
        self._next = time.monotonic() + _TOLD_SECONDS

    def _is_wanted(self) -> bool:
        """Dask cannot stop a thread: a task that was called off, or whose client is gone, is merely
        no longer executed in the worker's books; those of a worker that closes are not kept."""
        task = self._worker.state.tasks.get(self._key)
        return task is not None and task.state in _WANTED and self._worker.status in self._at_work
