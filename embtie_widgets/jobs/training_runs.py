"""Runs that are trained here, once for all panels: found again, gone on with, or followed.

A run lies in `runs/` beside the kept results, under a name that its recipe, its text, the library
and the kind of device decide.  Who trains it holds the lock beside its folder; whoever else wants
it, in this process or another, follows what is written, and takes over where the first one stops.
Where nothing is kept, or nothing can be written, runs lie in a folder that goes with the kernel.
"""

import errno
import hashlib
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from embtie_widgets.errors import Cancelled, EmbtieError, Interrupted
from embtie_widgets.machine import pick_device
from embtie_widgets.progress import Progress, hand_on, silent
from embtie_widgets.sources.place import results_folder
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.run_store import RunStore
from embtie_widgets.training.runs import RunSpec, is_finished, train_run

if TYPE_CHECKING:
    from filelock import BaseFileLock

logger = logging.getLogger("embtie.runs")

Watch = Callable[[RunStore], None]

# Raise it whenever the engine gives other numbers than before.
ENGINE = 1
MOST_BYTES = 2**31
_POLL_SECONDS = 0.2
_PICTURE_SECONDS = 0.5
_WORTH = 5  # a picture takes at most one part in so many of the time
_GONE, _ARRIVING = ".gone", ".arriving"
_FULL, _LITTLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG), 2**26


def run_of(
    spec: RunSpec, corpus: Corpus, progress: Progress = silent, watch: Watch | None = None
) -> RunStore:
    """The finished run of a recipe on a text; what is not trained yet is trained now.

    `watch` is told whenever the run has grown, whoever trains it.  `progress` may raise `Cancelled`
    from either; then the run stays as far as it has come, and goes on when it is asked for again.
    """
    spec = _here(spec)
    folder = run_folder(spec, corpus)
    followed = _Followed(folder, spec.name, progress, watch)
    while True:
        store = finished(folder, spec.config)
        if store is not None:
            return store
        with _lock(folder) as lock:
            if not lock.is_locked:
                followed.look()
            elif (store := finished(folder, spec.config)) is None:
                return _trained(spec, corpus, folder, progress, watch)


def known_run(spec: RunSpec, corpus: Corpus) -> RunStore | None:
    """The run if it has been trained to its end, else None; nothing is waited for."""
    return finished(run_folder(spec, corpus), spec.config)


def take_in(
    key: str, spec: RunSpec, unpack: Callable[[Path], None], progress: Progress = silent
) -> RunStore:
    """A run that was finished elsewhere, whole under its name or not at all.

    `unpack` writes it into a folder that is not there yet; it is not called for a run that lies
    here already.
    """
    folder = runs_folder() / key
    while True:
        store = finished(folder, spec.config)
        if store is not None:
            return store
        with _lock(folder) as lock:
            if lock.is_locked:
                return _taken_in(folder, spec, unpack)
        progress(f"waiting for {spec.name}", 0, 1)


def _taken_in(folder: Path, spec: RunSpec, unpack: Callable[[Path], None]) -> RunStore:
    """The lock is held, which is that of the arriving folder too."""
    prune_runs(folder.parent, MOST_BYTES, folder)
    arriving = folder.with_suffix(_ARRIVING)
    try:
        shutil.rmtree(arriving, ignore_errors=True)
        unpack(arriving)
        if finished(arriving, spec.config) is None:
            raise EmbtieError(f"The run '{spec.name}' has arrived damaged.", "Run it again.")
        if folder.exists():
            _remove(folder)
        arriving.rename(folder)
    except OSError as error:
        raise _not_kept(spec.name, folder, error) from error
    finally:
        shutil.rmtree(arriving, ignore_errors=True)
    return RunStore.open(folder)


def run_folder(spec: RunSpec, corpus: Corpus) -> Path:
    """Where the run lies, or will."""
    return runs_folder() / run_key(spec, corpus)


def run_key(spec: RunSpec, corpus: Corpus) -> str:
    """The name of what decides every number of a run."""
    parts = [ENGINE, _here(spec).to_dict(), corpus.sha256, torch.__version__]
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:40]


def _here(spec: RunSpec) -> RunSpec:
    """With the device that is meant on this machine."""
    device = pick_device(spec.config.device).type
    return replace(spec, config=replace(spec.config, device=device))


def finished(folder: Path, config: TrainingConfig) -> RunStore | None:
    """The run in a folder if it is done, and nothing of it damaged; it then counts as used."""
    try:
        store = RunStore.open(folder)
    except EmbtieError:
        return None
    if not is_finished(store, config):
        return None
    _touch(folder)
    return store


def runs_folder() -> Path:
    """Where runs lie: kept, or for as long as this kernel lives."""
    kept = results_folder()
    if kept is not None:
        folder = kept / "runs"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return _passing()
        if os.access(folder, os.W_OK):
            return folder
    return _passing()


class Paced:
    """Does something with what has grown: at once, then every so many seconds, or less often where
    that takes long."""

    def __init__(self, act: Callable[[Any], None], seconds: float = _PICTURE_SECONDS) -> None:
        self._act, self._seconds, self._next = act, seconds, 0.0

    def __call__(self, grown: Any) -> None:
        """What has grown, a run say."""
        begun = time.monotonic()
        if begun < self._next:
            return
        self._act(grown)
        now = time.monotonic()
        self._next = now + max(self._seconds, _WORTH * (now - begun))


class Pictures(Paced):
    """Hands on the partial results that `make` makes of what has grown, as often as it is worth."""

    def __init__(self, progress: Progress, make: Callable[[Any], Any]) -> None:
        super().__init__(lambda grown: hand_on(progress, make(grown)))


@dataclass
class _Followed:
    """A run that somebody else trains."""

    folder: Path
    name: str
    progress: Progress
    watch: Watch | None
    store: RunStore | None = None
    done: int = 0

    def look(self) -> None:
        """Tell how far it has come."""
        try:
            self.store = self.store or RunStore.open(self.folder)
            done, of = self.store.done, self.store.manifest["of"] or 1
        except EmbtieError:  # not begun yet, or begun anew just now
            self.store, self.done = None, 0
            self.progress(f"waiting for {self.name}", 0, 1)
            return
        self.progress(f"following {self.name}", done, of)
        if done != self.done and self.watch is not None:
            self.watch(self.store)
        self.done = done


def _trained(
    spec: RunSpec, corpus: Corpus, folder: Path, progress: Progress, watch: Watch | None
) -> RunStore:
    """Trained to the end, from where it stands; the lock is held."""
    prune_runs(folder.parent, MOST_BYTES, folder)

    def grown(store: RunStore, _row: Any) -> None:
        if watch is not None:
            watch(store)

    progress(f"building {spec.name}", 0, 1)
    try:
        return train_run(spec, corpus, folder, watch=grown, resumable=True, progress=progress)
    except Cancelled:
        raise
    except (Interrupted, OSError) as error:
        # The name of a file says nothing to whoever did not choose its folder.
        raise _not_kept(spec.name, folder, error) from error


def _not_kept(name: str, folder: Path, error: BaseException | None) -> Interrupted:
    full = shutil.disk_usage(folder.parent).free < _LITTLE
    while error is not None:
        full = full or getattr(error, "errno", None) in _FULL
        error = error.__cause__
    what = "The disk is full" if full else "The folder of runs cannot be written"
    return Interrupted(
        f"{what}, so the run '{name}' could not go on.",
        "Free some disk, or let EMBTIE_CACHE name another folder, and run it again: it goes on "
        "from where it was kept last.",
    )


@contextmanager
def _lock(folder: Path) -> "Iterator[BaseFileLock]":
    """The lock of a run; not held where somebody else has it for longer than a moment.

    The system gives it back when a process dies.
    """
    from filelock import FileLock, SoftFileLock  # slow to import

    try:
        lock = _asked_for(FileLock(folder.with_suffix(".lock")))
    except NotImplementedError:  # a disk of the network that has no locks
        lock = _asked_for(SoftFileLock(folder.with_suffix(".held")))
    try:
        yield lock
    finally:
        lock.release()


def _asked_for(lock: "BaseFileLock") -> "BaseFileLock":
    from filelock import Timeout

    path = Path(lock.lock_file)
    try:
        lock.acquire(timeout=_POLL_SECONDS, poll_interval=_POLL_SECONDS / 4)
    except Timeout:
        pass
    except OSError as error:
        raise _not_kept(path.stem, path, error) from None
    return lock


def prune_runs(root: Path, limit: int, spared: Path) -> None:
    """Remove the runs that were not used for longest, down to so many bytes; none that is in use.

    A lock file stays, since somebody may be waiting for it.
    """
    folders = [path for path in root.iterdir() if path.is_dir() and path != spared]
    known = sorted((_used(path), path, _size(path)) for path in folders)
    excess = sum(size for _, _, size in known) - limit
    for _, path, size in known:
        if excess <= 0:
            return
        with _lock(path) as lock:
            if lock.is_locked:
                _remove(path)
                excess -= size


def _remove(folder: Path) -> None:
    """Gone at once for whoever looks for it."""
    away = folder.with_suffix(_GONE)
    try:
        shutil.rmtree(away, ignore_errors=True)
        folder.rename(away)
    except OSError:
        logger.info("a run could not be removed")
    shutil.rmtree(away, ignore_errors=True)


def _size(folder: Path) -> int:
    return sum(_stat(path, "st_size") for path in folder.rglob("*") if path.is_file())


def _used(folder: Path) -> int:
    return _stat(folder, "st_mtime_ns")


def _stat(path: Path, what: str) -> int:
    try:
        return int(getattr(path.stat(), what))
    except OSError:  # somebody else has removed it
        return 0


def _touch(folder: Path) -> None:
    try:
        os.utime(folder)
    except OSError:
        logger.info("the use of a run could not be noted")


@cache
def _passing() -> Path:
    return Path(_of_kernel().name)


@cache
def _of_kernel() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="embtie-runs-", ignore_cleanup_errors=True)
