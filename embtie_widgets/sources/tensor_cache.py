"""Tensors fetched from the hub, one file each, which every kernel of this machine maps.

An entry is found by what the tensor is: its repository, the hash of the file it comes from, its
name and place in it; so equal files of two revisions are fetched once.  It is written under another
name, with a count of the bytes that are safely on the disk, and gets its own name when it is whole:
a break loses little, and no reader sees a part.  Entries unused for longest go when all of them
take more than half of what the disk has for them.  Where nothing can be written the tensor is read
into memory.
"""

import errno
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import psutil
import torch

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.progress import Progress, spoken
from embtie_widgets.sources.header import TORCH
from embtie_widgets.sources.place import tensors_folder
from embtie_widgets.sources.reading import TensorFile
from embtie_widgets.sources.tensor_entry import UNREADABLE, Part, Wanted, is_sound, settled

_FULL = (errno.ENOSPC, errno.EDQUOT)
_ELSEWHERE = "Free some space, or let EMBTIE_CACHE name a folder on another disk."


class Sink(Protocol):
    """What a tensor's bytes are written to, in order; `done` of them are there."""

    done: int

    def write(self, chunk: bytes) -> None:
        """Add the next bytes."""

    def restart(self) -> None:
        """Forget all bytes so far."""


Fill = Callable[[Sink], None]


def obtain(wanted: Wanted, fill: Fill, progress: Progress) -> tuple[torch.Tensor, str]:
    """The tensor, mapped from its entry, which `fill` completes where it is not whole; and a note
    where nothing could be kept."""
    _check_known(wanted)
    folder = repository_folder(wanted.repository)
    if folder is None or wanted.slot.size == 0:
        return _in_memory(wanted, fill), ""
    kept = recall(wanted)
    if kept is None:
        try:
            kept = _fetched(folder, wanted, fill, progress)
        # NotImplementedError: the file system knows no locks.
        except (OSError, NotImplementedError) as error:
            if isinstance(error, OSError) and error.errno in _FULL:
                raise _full(wanted) from None
            note = "The local cache of tensors cannot be written, so nothing is kept of this model."
            return _in_memory(wanted, fill), note
    return kept, ""


def recall(wanted: Wanted) -> torch.Tensor | None:
    """The tensor from its whole entry, or None; a damaged entry is removed."""
    folder = repository_folder(wanted.repository)
    if folder is None:
        return None
    path = folder / f"{wanted.key}.safetensors"
    try:
        if is_sound(path):
            _mark_used(path)
            return TensorFile(path).read(wanted.tensor)
    except UNREADABLE:
        pass
    with suppress(OSError):
        path.unlink(missing_ok=True)
    return None


def held(wanted: Wanted) -> int:
    """How many bytes of the tensor need not be fetched any more."""
    folder = repository_folder(wanted.repository)
    if folder is None:
        return 0
    with suppress(*UNREADABLE):
        if is_sound(folder / f"{wanted.key}.safetensors"):
            return wanted.slot.size
    with suppress(*UNREADABLE), (folder / f"{wanted.key}.part").open("rb") as file:
        return settled(file, wanted)[1]
    return 0


def repository_folder(repository: str) -> Path | None:
    """Where the entries of a repository are, named as the hub library names its own."""
    folder = tensors_folder()
    return None if folder is None else folder / f"models--{repository.replace('/', '--')}"


def remember(repository: str, name: str, value: Any) -> None:
    """Keep a small fact about a repository, as JSON; where that is not possible, do not."""
    folder = repository_folder(repository)
    if folder is None:
        return
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".part", delete=False) as file:
            json.dump(value, file)
        Path(file.name).replace(_fact(folder, name))


def remembered(repository: str, name: str) -> Any:
    """That fact, or None."""
    folder = repository_folder(repository)
    if folder is None:
        return None
    try:
        return json.loads(_fact(folder, name).read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def _fact(folder: Path, name: str) -> Path:
    return folder / f"{hashlib.sha256(name.encode()).hexdigest()[:40]}.json"


def _check_known(wanted: Wanted) -> None:
    if wanted.slot.dtype not in TORCH:
        raise EmbtieError(
            f"{wanted.tensor} in {wanted.file} is stored as {wanted.slot.dtype}, a form that is "
            "not read.",
            "Choose the checkpoint in float32, bfloat16 or float16.",
        )


def _fetched(folder: Path, wanted: Wanted, fill: Fill, progress: Progress) -> torch.Tensor:
    """The tensor after it was fetched here, or by another process meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{wanted.key}.safetensors"
    with _alone(path.with_suffix(".lock"), progress):
        kept = recall(wanted)
        if kept is not None:
            return kept
        _check_space(folder, wanted)
        with _part(path.with_suffix(".part"), wanted) as part:
            fill(part)
            written = part.finish()
        os.utime(path.with_suffix(".part"), (written, written))
        path.with_suffix(".part").replace(path)
        _make_room(folder.parent, path)
    kept = recall(wanted)
    if kept is None:
        raise OSError(errno.EIO, "what was written is not what is read")
    return kept


def _mark_used(path: Path) -> None:
    """By the time of access, which not every disk keeps by itself; the other time stays."""
    with suppress(OSError):
        os.utime(path, ns=(time.time_ns(), path.stat().st_mtime_ns))


def _make_room(root: Path, new: Path) -> None:
    """Remove what was unused for longest, never the newest entry.

    Who has one of them mapped keeps it until it is let go.
    """
    known = [(path, path.stat()) for path in root.glob("*/*.safetensors") if path != new]
    size = new.stat().st_size + sum(stat.st_size for _, stat in known)
    excess = size - (size + shutil.disk_usage(root).free) // 2
    for path, stat in sorted(known, key=lambda entry: entry[1].st_atime):
        if excess <= 0:
            return
        with suppress(OSError):
            path.unlink()
            excess -= stat.st_size


@contextmanager
def _alone(path: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock of an entry; another process may be fetching it just now."""
    # Slow to import, and most kernels fetch nothing.
    from filelock import FileLock, Timeout

    lock = FileLock(path)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=0.5)
        except Timeout:
            progress("another kernel fetches the same matrix", 0, 1)
    try:
        yield
    finally:
        lock.release()


def _check_space(folder: Path, wanted: Wanted) -> None:
    need, free = wanted.slot.size - held(wanted), shutil.disk_usage(folder).free
    if need > free:
        raise Interrupted(
            f"{wanted.tensor} of '{wanted.repository}' needs {spoken(need)}, and the disk of the "
            f"local cache has {spoken(free)} free.",
            _ELSEWHERE,
        )


def _full(wanted: Wanted) -> Interrupted:
    return Interrupted(
        f"The disk is full, so {wanted.tensor} of '{wanted.repository}' could not be kept.",
        _ELSEWHERE,
    )


class _Memory:
    """Bytes that are kept nowhere else."""

    def __init__(self, size: int) -> None:
        self.buffer = bytearray(size)
        self.done = 0

    def write(self, chunk: bytes) -> None:
        self.buffer[self.done : self.done + len(chunk)] = chunk
        self.done += len(chunk)

    def restart(self) -> None:
        self.done = 0


def _in_memory(wanted: Wanted, fill: Fill) -> torch.Tensor:
    slot, free = wanted.slot, psutil.virtual_memory().available
    dtype = TORCH[slot.dtype]
    if slot.size == 0:
        return torch.empty(slot.shape, dtype=dtype)
    if slot.size > free:
        raise Interrupted(
            f"{wanted.tensor} of '{wanted.repository}' needs {spoken(slot.size)}, and "
            f"{spoken(free)} of memory are free.",
            "Let EMBTIE_CACHE name a folder that can be written: from there it is mapped.",
        )
    memory = _Memory(slot.size)
    fill(memory)
    return torch.frombuffer(memory.buffer, dtype=dtype).reshape(slot.shape)


@contextmanager
def _part(path: Path, wanted: Wanted) -> Iterator[Part]:
    """The part of an entry, begun or gone on with; on a full disk it makes room again."""
    path.touch()
    try:
        with path.open("r+b") as file:
            part = Part(file, wanted)
            try:
                yield part
            except BaseException:
                with suppress(OSError):
                    part.settle()
                raise
    except OSError as error:
        if error.errno in _FULL:
            with suppress(OSError):
                path.unlink()
        raise
