"""Files that grow or are replaced while others read them."""

import errno
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from embtie_widgets.errors import Interrupted
from embtie_widgets.sources.reading import sentences

MOST_STEPS = 2**53
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Lines:
    """The rows of a growing file by step; what was read once is not read again.

    damaged  how many lines are no rows
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._start_again(0)

    def _start_again(self, file: int) -> None:
        self.damaged, self._file, self._to = 0, file, 0
        self._rows: dict[int, dict[str, Any]] = {}

    def all(self) -> dict[int, dict[str, Any]]:
        """Those that are whole by now; of a step that is there twice, the last."""
        try:
            known = self.path.stat()
        except FileNotFoundError:
            self._start_again(0)
            return {}
        if known.st_ino != self._file or known.st_size < self._to:
            self._start_again(known.st_ino)
        if known.st_size > self._to:
            self._go_on()
        return self._rows

    def _go_on(self) -> None:
        with sentences(self.path), self.path.open("rb") as file:
            file.seek(self._to)
            read = file.read()
        whole = read[: read.rfind(b"\n") + 1]  # the rest is a line that is being written
        self._to += len(whole)
        for line in whole.splitlines():
            row = _row_of(line)
            if row is None:
                self.damaged += 1
            else:
                self._rows[row["step"]] = row

    def mend(self) -> None:
        """Drop what stands behind the last whole line."""
        self.all()
        if self.path.is_file() and self.path.stat().st_size > self._to:
            with writing(self.path):
                os.truncate(self.path, self._to)


def _row_of(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    step = row.get("step") if isinstance(row, dict) else None
    return row if isinstance(step, int) and 0 <= step < MOST_STEPS else None


def replaced(path: Path, write: Callable[[Path], Any]) -> None:
    """What stood there stays whole until the new file is."""
    part = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.part")
    try:
        with writing(path):
            write(part)
            os.replace(part, path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Faults of the disk, in words; the libraries that write have types of their own for them."""
    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        full = "No space left" in str(error) or getattr(error, "errno", None) in _FULL
        what = "the disk is full" if full else "its folder cannot be written to"
        raise Interrupted(
            f"'{path.name}' of the run in '{path.parent.name}' is not written: {what}.",
            "What was written before is kept.  Make room, or name another folder.",
        ) from error
