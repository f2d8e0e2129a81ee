"""A model computes for one thread at a time: hooks hear whatever runs through it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

_WAITING = 0.5
_locks: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_lock = threading.Lock()


@contextmanager
def alone_with(model: Any, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """The calling thread has the model to itself; `waiting` is called until it has, and may
    raise."""
    with _lock:
        own = _locks.setdefault(model, threading.RLock())
    while not own.acquire(timeout=_WAITING):
        waiting()
    try:
        yield
    finally:
        own.release()
