"""How long work says where it is.

Every measure takes `progress` and calls it between blocks: `progress(stage, done, total)`.  The
caller may raise `Cancelled` from it; that is the only way work is stopped.

Long work that has something to show before it is whole hands that on: `hand_on(progress, result)`.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import Any

_MANY = 2**24  # bytes
_UNITS = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))

Progress = Callable[[str, int, int], None]


def spoken(size: float) -> str:
    """A number of bytes in words: 0 MB, 66 kB, 412 MB, 1.4 GB."""
    if size < 1:
        return "0 MB"
    unit, name = next(pair for pair in _UNITS if size >= pair[0] or pair[0] == 1e3)
    return f"{size / unit:.{1 if unit == 1e9 else 0}f} {name}"


def hand_on(progress: Progress, result: Any) -> None:
    """Show what there is of a result already, as often as it is worth it; nobody need look.

    Who does has a `partial` on its `progress`, and may raise `Cancelled` from it too.
    """
    show = getattr(progress, "partial", None)
    if show is not None:
        show(result)


def silent(stage: str, done: int, total: int) -> None:
    """Report to nobody."""


def wait_for(progress: Progress, words: str, left: float | None) -> None:
    """Say what the work waits for, and how many seconds that will take, None if unknown.

    Who shows times has a `waiting` on its `progress`; it may raise `Cancelled` from it too.
    """
    show = getattr(progress, "waiting", None)
    if show is None:
        progress(words, 0, 1)
    else:
        show(words, left)


Elsewhere = Callable[[], AbstractContextManager[None]]
leaves: ContextVar[Elsewhere] = ContextVar("leaves", default=nullcontext)
"""What is done where work leaves its device to others for a while."""


def elsewhere(size: int) -> AbstractContextManager[None]:
    """Inside, so many bytes come over the network, and others may have the device so long where
    they are many; to come back may take its time, so hold nothing that others could wait for."""
    return leaves.get()() if size >= _MANY else nullcontext()
