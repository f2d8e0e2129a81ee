"""The runs of a sweep on the workers of a Dask cluster.

Dask decides which worker does which run, starts one anew whose worker has died, and lets new
workers take part.  Whatever it does, each cell ends once here, its run in this machine's store.
"""

import asyncio
import logging
import os
import queue
from collections.abc import Iterator
from concurrent import futures
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from distributed import Client, Future, Security
from distributed.scheduler import KilledWorker

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.jobs.cells import HERE, CellTask, Listener
from embtie_widgets.jobs.cluster_local import local_workers
from embtie_widgets.jobs.cluster_parcels import Refusal, pack_texts, unpack_run
from embtie_widgets.jobs.cluster_versions import check_versions
from embtie_widgets.jobs.cluster_worker import TOPIC, names_of, train_cell
from embtie_widgets.jobs.places import LOCAL, Place
from embtie_widgets.jobs.runner import told
from embtie_widgets.jobs.training_runs import finished, runs_folder
from embtie_widgets.progress import Progress
from embtie_widgets.sources.permission import is_served
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.run_store import RunStore

RETRIES = 2
CONNECT_SECONDS = 10
_CLOSE_SECONDS, _FETCH_SECONDS, _POLL_SECONDS = 5, 60, 0.2
_CALLED_OFF = (asyncio.CancelledError, futures.CancelledError)
_KEPT = "Finished runs are kept: run it again, and it goes on with the others."

logger = logging.getLogger("embtie.cluster")


def on_cluster(
    tasks: list[CellTask],
    corpus: Corpus,
    held: Corpus,
    listener: Listener,
    progress: Progress,
    place: Place,
) -> None:
    """Carry the cells out on the workers of a place, as `cells.here` does in this process.

    One that fails leaves the others be.  An EmbtieError where the cluster cannot be reached, is of
    another version, or is lost; what has ended by then is kept.
    """
    if not tasks:
        return
    with _connected(place, progress) as client:
        try:
            _Sweep(client, tasks, listener, progress, place).carry_out(corpus, held)
        except EmbtieError:
            raise
        except (Exception, *_CALLED_OFF):  # what a call fails with that breaks is up to the call
            if client.status == "running":
                raise
            raise _lost() from None


@contextmanager
def _connected(place: Place, progress: Progress) -> Iterator[Client]:
    """A client that does not take the place of one that the user has."""
    with ExitStack() as stack:
        try:
            _check_certificates(place)
            where: Any = place.address
            if place.kind == LOCAL:
                progress(f"starting {place.words}", 0, 1)
                where = stack.enter_context(local_workers(place.workers))
            progress(f"connecting to {place.words}", 0, 1)
            client = Client(where, timeout=CONNECT_SECONDS, set_as_default=False)
        except EmbtieError:
            raise
        except Exception as error:  # who answers may be anybody, and say anything
            raise _unreachable(place, error) from None
        stack.callback(_close, client)
        yield client


def _close(client: Client) -> None:
    with suppress(OSError, RuntimeError, *_CALLED_OFF):
        client.close(timeout=_CLOSE_SECONDS)


def _check_certificates(place: Place) -> None:
    """An EmbtieError where a connection is to be encrypted, and nothing is there to do so with."""
    wanted = place.address.startswith("tls:")
    if wanted and Security().get_connection_args("client").get("ssl_context") is None:
        raise EmbtieError(
            "The cluster's address begins with tls://, and Dask knows no certificates here.",
            "Name them in Dask's configuration (distributed.comm.tls), as for its other clients.",
        )


def _unreachable(place: Place, error: BaseException) -> EmbtieError:
    logger.info("no cluster (%s)", type(error).__name__)
    if place.kind == LOCAL:
        return EmbtieError(
            f"{place.words} could not be started.",
            "In a script, call it below `if __name__ == '__main__':`, since each process reads the "
            "script; else ask for fewer, or run it here.",
        )
    at = "" if is_served() else f" at {place.address}"
    return EmbtieError(
        f"No Dask scheduler that fits answers{at}.",
        "Check that it runs and can be reached from here, and that its Dask is of this version; or "
        "run it here.",
    )


def _lost() -> Interrupted:
    return Interrupted("The cluster's scheduler was lost, or started anew.", _KEPT)


@dataclass
class _Cell:
    """One that has not ended."""

    task: CellTask
    future: "Future[Any]"
    attempt: str = ""
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    done: int = 0


class _Sweep:
    """The cells on their way; everything is heard and told in the thread that carries it out."""

    def __init__(
        self,
        client: Client,
        tasks: list[CellTask],
        listener: Listener,
        progress: Progress,
        place: Place,
    ) -> None:
        self._client, self._tasks, self._listener = client, tasks, listener
        self._progress, self._place = progress, place
        self._name = uuid4().hex
        self._open: dict[int, _Cell] = {}
        self._workers: list[str] = []
        self._news: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._steps = sum(task.spec.config.steps for task in tasks)
        self._ended_steps = 0

    def carry_out(self, corpus: Corpus, held: Corpus) -> None:
        """Every cell to its end."""
        # Waiting work is also what a cluster grows for that starts workers as they are needed.
        self._awaited(self._client.submit(os.getpid, pure=False), "waiting for a worker")
        check_versions(self._client)
        # Made by a task, so that Dask makes it again should the worker die that has it.
        texts = self._client.submit(bytes, pack_texts(corpus, held), key=f"embtie-{self._name}")
        missing = self._without_known(texts, held)
        self._client.subscribe_topic(TOPIC, lambda event: self._news.put(event[1]))
        try:
            for place, task in enumerate(missing):
                self._open[task.number] = _Cell(task, self._submitted(task, texts, -place))
            while self._open:
                self._turn()
        finally:
            self._call_off()

    def _submitted(self, task: CellTask, texts: "Future[Any]", priority: int) -> "Future[Any]":
        key = (f"embtie-run-{self._name}", task.number)
        return self._client.submit(
            train_cell, task, texts, self._name, key=key, retries=RETRIES, priority=priority
        )

    def _without_known(self, texts: "Future[Any]", held: Corpus) -> list[CellTask]:
        """The tasks that are still to be done.  What a run is called depends on the machine that
        it is trained on, so a worker is asked."""
        asked = self._client.submit(
            names_of, [task.spec for task in self._tasks], texts, pure=False, retries=RETRIES
        )
        missing = []
        for task, name in zip(self._tasks, self._awaited(asked, "asking a worker"), strict=True):
            store = finished(runs_folder() / name, task.spec.config) if name else None
            if store is None:
                missing.append(task)
                continue
            task.measure(task.spec, store, held, self._progress)
            self._listener.started(task.number, HERE)
            self._ended_steps += task.spec.config.steps
            self._listener.ended(task.number, store, None)
        return missing

    def _awaited(self, future: "Future[Any]", stage: str) -> Any:
        """What a task gives that is nothing but asked for."""
        while not future.done() or (found := self._fetched(future)) is None:
            self._tell(stage)
            with suppress(queue.Empty):
                self._news.get(timeout=_POLL_SECONDS)
        return found

    def _fetched(self, future: "Future[Any]") -> Any:
        """What a task gave that is done; None where it was lost on its way, and is done again."""
        if future.status == "error":
            raise _words(future.exception())
        try:
            return future.result(timeout=_FETCH_SECONDS)
        except OSError:
            return None
        except _CALLED_OFF:
            raise _lost() from None

    def _turn(self) -> None:
        """Hear what there is, and take in what has ended."""
        self._tell(f"training {len(self._tasks):,} models on {self._place.words}")
        with suppress(queue.Empty):
            self._heed(self._news.get(timeout=_POLL_SECONDS))
            while True:
                self._heed(self._news.get_nowait())
        for cell in [cell for cell in self._open.values() if cell.future.done()]:
            self._end(cell)

    def _tell(self, stage: str) -> None:
        if self._client.status != "running":
            raise _lost()
        done = self._ended_steps + sum(cell.done for cell in self._open.values())
        self._progress(stage, done, self._steps)

    def _heed(self, news: dict[str, Any]) -> None:
        cell = self._open.get(news["number"]) if news["sweep"] == self._name else None
        if cell is None:
            return
        number = cell.task.number
        if news["attempt"] != cell.attempt:
            cell.attempt, cell.rows, cell.done = news["attempt"], {}, 0
            self._listener.started(number, self._worker(news["worker"]))
        grown = {row["step"]: row for row in news["rows"]}
        if grown or news["done"] != cell.done:
            cell.rows |= grown
            cell.done = news["done"]
            self._listener.grown(number, list(cell.rows.values()), cell.done)

    def _worker(self, address: str) -> str:
        """A worker in words, the same for as long as it lives."""
        if address not in self._workers:
            self._workers.append(address)
        return f"worker {self._workers.index(address) + 1}"

    def _end(self, cell: _Cell) -> None:
        try:
            store, error = self._taken_in(cell), None
        except Interrupted:  # this machine cannot go on
            raise
        except EmbtieError as fault:
            store, error = None, fault
        if store is None and error is None:
            return
        del self._open[cell.task.number]
        self._ended_steps += cell.task.spec.config.steps
        self._listener.ended(cell.task.number, store, error)

    def _taken_in(self, cell: _Cell) -> RunStore | None:
        """The run of a task that is done; None where it has to be done again."""
        parcel = self._fetched(cell.future)
        if isinstance(parcel, Refusal):
            raise EmbtieError(parcel.message, parcel.hint)
        return None if parcel is None else unpack_run(parcel, cell.task.spec, self._progress)

    def _call_off(self) -> None:
        """Workers stop at their next step what nobody waits for."""
        wanted = [cell.future for cell in self._open.values()]
        with suppress(OSError, RuntimeError, *_CALLED_OFF):
            if wanted:
                self._client.cancel(wanted)


def _words(fault: BaseException | None) -> EmbtieError:
    """What the user is told of a task that Dask has given up; it concerns that task alone."""
    if isinstance(fault, KilledWorker):
        return EmbtieError(
            f"{fault.allowed_failures + 1} workers died over this run, most often for want of "
            "memory.",
            "Give the workers more memory, or choose a smaller model or batch.",
        )
    known = told(fault if isinstance(fault, Exception) else RuntimeError(str(fault)))
    return EmbtieError(known.message, known.hint)
