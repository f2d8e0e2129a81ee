"""Tensors fetched from the hub, one file each, which every kernel of this machine maps.

An entry is a safetensors file with one tensor.  It is found by what the tensor is: its repository,
the hash of the file it comes from, its name and place in it; so equal files of two revisions are
fetched once.  It is written under another name, with a count of the bytes that are safely on the
disk, and gets its own name when it is whole: a break loses little, and no reader sees a part.
Where nothing can be written the tensor is read into memory.
"""

import errno
import hashlib
import json
import os
import shutil
import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import psutil
import torch
from filelock import FileLock, Timeout

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.progress import Progress
from embtie_widgets.sources.header import PREFIX, TORCH, Slot, header_length, parse_header
from embtie_widgets.sources.place import tensors_folder
from embtie_widgets.sources.reading import TensorFile

# A part is brought to the disk each time that it has grown by so much.
_SETTLE = 2**25
_UNREADABLE = (EmbtieError, OSError, LookupError, ValueError, TypeError)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_ELSEWHERE = "Free some space, or let EMBTIE_CACHE name a folder on another disk."


@dataclass(frozen=True)
class Wanted:
    """One tensor of one file of a repository; `identity` is the file's hash, or stands for it."""

    repository: str
    revision: str
    file: str
    identity: str
    tensor: str
    slot: Slot

    @property
    def key(self) -> str:
        """The entry's name: what the tensor is, whatever revision it was found at."""
        slot = self.slot
        parts = [self.identity, self.tensor, slot.dtype, slot.shape, slot.start, slot.end]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]


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
        if _is_sound(path):
            return TensorFile(path).read(wanted.tensor)
    except _UNREADABLE:
        pass
    with suppress(OSError):
        path.unlink(missing_ok=True)
    return None


def held(wanted: Wanted) -> int:
    """How many bytes of the tensor need not be fetched any more."""
    folder = repository_folder(wanted.repository)
    if folder is None:
        return 0
    with suppress(*_UNREADABLE):
        if _is_sound(folder / f"{wanted.key}.safetensors"):
            return wanted.slot.size
    with suppress(*_UNREADABLE), (folder / f"{wanted.key}.part").open("rb") as file:
        return _settled(file, wanted)[1]
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
    kept = recall(wanted)
    if kept is None:
        raise OSError(errno.EIO, "what was written is not what is read")
    return kept


@contextmanager
def _alone(path: Path, progress: Progress) -> Iterator[None]:
    """Hold the lock of an entry; another process may be fetching it just now."""
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


def _head(wanted: Wanted, fetched: int, digest: str = "", written: int = 0) -> bytes:
    """The start of an entry, as long for every count, hash and time."""
    metadata = {
        "format": "pt",
        "repository": wanted.repository,
        "revision": wanted.revision,
        "file": wanted.file,
        "identity": wanted.identity,
        "fetched": f"{fetched:020d}",
        "sha256": digest or "0" * 64,
        "written": f"{written:020d}",
    }
    slot = wanted.slot
    tensor = {"dtype": slot.dtype, "shape": slot.shape, "data_offsets": [0, slot.size]}
    text = json.dumps({"__metadata__": metadata, wanted.tensor: tensor}).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text


def _read_head(file: BinaryIO, size: int | None) -> tuple[Slot, Mapping[str, str]]:
    start = file.read(PREFIX)
    slots, metadata = parse_header(
        file.read(header_length(start, "the cached tensor", size)), "the cached tensor", size
    )
    [slot] = slots.values()
    return slot, metadata


def _is_sound(path: Path) -> bool:
    """Whether an entry is whole and holds what was written into it.

    It is read through only when the file was touched since: its time is written in it.
    """
    with path.open("rb") as file:
        known = os.fstat(file.fileno())
        slot, metadata = _read_head(file, known.st_size)
        if int(metadata["fetched"]) != slot.size:
            return False
        if int(known.st_mtime) == int(metadata["written"]):
            return True
        file.seek(slot.start)
        if hashlib.file_digest(file, "sha256").hexdigest() != metadata["sha256"]:
            return False
    with suppress(OSError):
        os.utime(path, (int(metadata["written"]),) * 2)
    return True


def _settled(file: BinaryIO, wanted: Wanted) -> tuple[int, int]:
    """Where the data of a part begin and how many bytes of it are sure; 0 where it is another's."""
    file.seek(0)
    slot, metadata = _read_head(file, None)
    fetched = int(metadata["fetched"])
    there = os.fstat(file.fileno()).st_size - slot.start
    same = (metadata["identity"], slot.size) == (wanted.identity, wanted.slot.size)
    return slot.start, fetched if same and 0 <= fetched <= there else 0


class _Part:
    """An entry that is being written."""

    def __init__(self, file: BinaryIO, wanted: Wanted) -> None:
        self._file, self._wanted = file, wanted
        self._begin = len(_head(wanted, 0))
        try:
            begin, self.done = _settled(file, wanted)
        except _UNREADABLE:
            begin, self.done = self._begin, 0
        self._start(self.done if begin == self._begin else 0)

    def _start(self, done: int) -> None:
        self.done = self._sure = done
        self._file.seek(0)
        self._file.write(_head(self._wanted, done))
        self._file.truncate(self._begin + done)
        self._file.seek(self._begin)
        self._digest = hashlib.sha256()
        while chunk := self._file.read(2**20):
            self._digest.update(chunk)

    def restart(self) -> None:
        self._start(0)

    def write(self, chunk: bytes) -> None:
        self._file.write(chunk)
        self._digest.update(chunk)
        self.done += len(chunk)
        if self.done - self._sure >= _SETTLE:
            self.settle()

    def settle(self) -> None:
        """Bring all to the disk, and only then count it."""
        self._sync()
        self._write_head(_head(self._wanted, self.done))
        self._sure = self.done

    def finish(self) -> int:
        """Write hash and time into the whole entry; the time is for the file to get."""
        self._sync()
        # Even seconds: the coarsest clock that a file system has.
        now = int(time.time()) // 2 * 2
        self._write_head(_head(self._wanted, self.done, self._digest.hexdigest(), now))
        self._sync()
        return now

    def _write_head(self, head: bytes) -> None:
        self._file.seek(0)
        self._file.write(head)
        self._file.flush()
        self._file.seek(0, os.SEEK_END)

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def _part(path: Path, wanted: Wanted) -> Iterator[_Part]:
    """The part of an entry, begun or gone on with; on a full disk it makes room again."""
    path.touch()
    try:
        with path.open("r+b") as file:
            part = _Part(file, wanted)
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


def spoken(size: float) -> str:
    """A number of bytes in words: 0 MB, 412 MB, 1.4 GB."""
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
