"""What is slow to read is read once within one piece of work, though several ask for it."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_kept: ContextVar[dict[Hashable, Any] | None] = ContextVar("kept", default=None)


@contextmanager
def read_once() -> Iterator[None]:
    """Within it `once` keeps what it read; after the outermost nothing is kept."""
    kept = _kept.get()
    token = _kept.set({} if kept is None else kept)
    try:
        yield
    finally:
        _kept.reset(token)


def once(key: Hashable, read: Callable[[], Any]) -> Any:
    """What `read` gives, or gave before for an equal key."""
    kept = _kept.get()
    if kept is None:
        return read()
    if key not in kept:
        kept[key] = read()
    return kept[key]
