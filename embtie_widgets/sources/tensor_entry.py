"""The file that keeps one tensor fetched from the hub, while it grows and when it is whole.

It is a safetensors file with one tensor.  Its header, of one length for ever, also says where the
tensor comes from, how many of its bytes are safely on the disk, their hash, and when it was whole.
"""

import hashlib
import json
import os
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.header import PREFIX, Slot, header_length, parse_header

# A part is brought to the disk each time that it has grown by so much.
SETTLE = 2**25
# What comes of reading a file that is no entry.
UNREADABLE = (EmbtieError, OSError, LookupError, ValueError, TypeError)
_NAME = "the cached tensor"


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
    slots, metadata = parse_header(file.read(header_length(start, _NAME, size)), _NAME, size)
    [slot] = slots.values()
    return slot, metadata


def is_sound(path: Path) -> bool:
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


def settled(file: BinaryIO, wanted: Wanted) -> tuple[int, int]:
    """Where the data of a part begin and how many bytes of it are sure; 0 where it is another's."""
    file.seek(0)
    slot, metadata = _read_head(file, None)
    fetched = int(metadata["fetched"])
    there = os.fstat(file.fileno()).st_size - slot.start
    same = (metadata["identity"], slot.size) == (wanted.identity, wanted.slot.size)
    return slot.start, fetched if same and 0 <= fetched <= there else 0


class Part:
    """An entry that is being written."""

    def __init__(self, file: BinaryIO, wanted: Wanted) -> None:
        self._file, self._wanted = file, wanted
        self._begin = len(_head(wanted, 0))
        try:
            begin, self.done = settled(file, wanted)
        except UNREADABLE:
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
        """Forget all bytes so far."""
        self._start(0)

    def write(self, chunk: bytes) -> None:
        """Add the next bytes."""
        self._file.write(chunk)
        self._digest.update(chunk)
        self.done += len(chunk)
        if self.done - self._sure >= SETTLE:
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
