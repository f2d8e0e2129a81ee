"""One thing at a time touches the widgets of a panel, whatever thread it comes from."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Action = Callable[[], None]


class Turns:
    """A lock around a panel's widgets, and a queue for threads that must not wait for it.

    Clicks may arrive on any thread and while another is at work (JupyterLab sends them to a
    subshell), so they hold the lock.  A worker leaves its action in the queue: it is carried out
    at once where nobody holds the lock, else by whoever does, before letting go.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._waiting: deque[Action] = deque()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Take the turn, and afterwards carry out what has come in meanwhile."""
        try:
            with self._lock:
                yield
        finally:
            self._drain()

    def post(self, action: Action) -> None:
        """Have the action carried out in its turn, without waiting."""
        self._waiting.append(action)
        self._drain()

    def _drain(self) -> None:
        while self._waiting and self._lock.acquire(blocking=False):
            try:
                while self._waiting:
                    self._waiting.popleft()()
            finally:
                self._lock.release()
