"""Widgets that are made together go to the page together, each once and as it then is.

What a kernel sends beyond about a thousand messages in one go is dropped without a word where the
server is slow to take it, and a page that misses one stands still.  A panel of a hundred controls
makes that many, if each of them is sent when it is made, and again for every class, text and
tooltip that it is given.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import Signature, signature
from typing import Any
from uuid import uuid4

import comm
import ipywidgets as w

_REFERENCE = "IPY_MODEL_"
_AT_ONCE = 400  # so many go to the page before the server is given time to take them
_PAUSE, _QUIET = 0.1, 2.0  # seconds: that time, and how long after the last one it needs none


class Gathering(type(w.VBox)):  # type: ignore[misc]
    """The class of widgets that are made with all that they hold before the page has any of it."""

    def __call__(cls, *given: Any, **named: Any) -> Any:
        """Make one."""
        with gathered():
            return super().__call__(*given, **named)

    @property
    def __signature__(cls) -> Signature:
        """What one is made of, not what the call above says."""
        made = signature(getattr(cls, "__init__"))  # noqa: B009 - mypy takes a class for a thing
        return made.replace(parameters=list(made.parameters.values())[1:])


@contextmanager
def gathered() -> Iterator[None]:
    """Keep the widgets that this thread makes until the end, then open them at the page.

    A widget that the page has already must not be given one of them before.
    """
    usual = comm.create_comm
    if isinstance(usual, _Gatherer):
        yield  # whoever began sees to the end
        return
    comm.create_comm = gatherer = _Gatherer(usual)
    try:
        yield
    finally:
        comm.create_comm = usual
        gatherer.open_all()


class _Gatherer:
    """Takes the place of `comm.create_comm`, which makes a line to the page."""

    def __init__(self, usual: Callable[..., Any]) -> None:
        self._usual, self._thread = usual, threading.get_ident()
        self._waiting: dict[str, _Waiting] = {}

    def __call__(self, *given: Any, **named: Any) -> Any:
        if threading.get_ident() != self._thread or given or "data" not in named:
            return self._usual(*given, **named)
        waiting = _Waiting(named)
        self._waiting[waiting.comm_id] = waiting
        return waiting

    def open_all(self) -> None:
        """Open what was made, each after all that it refers to."""
        for name in list(self._waiting):
            self._open(name)

    def _open(self, name: str) -> None:
        waiting = self._waiting.pop(name, None)
        if waiting is None or waiting.closed:
            return
        for other in waiting.references():
            self._open(other)
        line = waiting.open(self._usual)
        if hasattr(line, "kernel"):  # else nobody listens
            _pace.count()


class _Pace:
    """Halts whoever opens one after another, panels of a whole report among them."""

    def __init__(self) -> None:
        self._sent, self._last = 0, 0.0

    def count(self) -> None:
        """Another one was opened."""
        if time.monotonic() - self._last > _QUIET:
            self._sent = 0
        self._sent += 1
        if self._sent % _AT_ONCE == 0:
            time.sleep(_PAUSE)
        self._last = time.monotonic()


_pace = _Pace()


class _Waiting:
    """A line to the page that is not open yet: what it would have said is in what it opens with."""

    def __init__(self, named: dict[str, Any]) -> None:
        self.comm_id = named.get("comm_id") or uuid4().hex
        self.closed = False
        self._named = named
        self._state = dict(named["data"]["state"])
        self._buffers: dict[tuple[Any, ...], Any] = {}
        self._take_buffers(named["data"], named.get("buffers"))
        self._said: list[dict[str, Any]] = []
        self._lock = threading.RLock()
        self._line: Any = None
        self._widget: Any = None

    def send(self, data: Any = None, metadata: Any = None, buffers: Any = None) -> None:
        """Keep what is said until there is somebody to hear it."""
        with self._lock:
            if self._line is not None:
                self._line.send(data=data, metadata=metadata, buffers=buffers)
            elif data.get("method") == "update":
                self._state.update(data["state"])
                self._take_buffers(data, buffers)
            else:
                self._said.append({"data": data, "metadata": metadata, "buffers": buffers})

    def on_msg(self, callback: Any) -> None:
        """Remember whose this is; the widget will say so again to the line itself."""
        self._widget = callback.__self__

    def close(self, *_: Any, **__: Any) -> None:
        """The page never hears of it."""
        self.closed = True

    def references(self) -> list[str]:
        """The names of the widgets that its state refers to."""
        found = [one for value in self._state.values() for one in _strings(value)]
        return [one.removeprefix(_REFERENCE) for one in found if one.startswith(_REFERENCE)]

    def open(self, create: Callable[..., Any]) -> Any:
        """Open the line for good, hand it to the widget, and return it."""
        paths = [list(path) for path in self._buffers]
        data = {"state": self._state, "buffer_paths": paths}
        told = {"data": data, "buffers": list(self._buffers.values()), "comm_id": self.comm_id}
        with self._lock:
            line = create(**(self._named | told))
            self._widget.comm = self._line = line
            for said in self._said:
                line.send(**said)
        return line

    def _take_buffers(self, data: dict[str, Any], buffers: Any) -> None:
        kept = {path: one for path, one in self._buffers.items() if path[0] not in data["state"]}
        # Without its buffers, a key is not in the state that is sent, but in the paths to them.
        now = dict(zip(map(tuple, data["buffer_paths"]), buffers or (), strict=True))
        named = {path[0] for path in now}
        self._buffers = {p: one for p, one in kept.items() if p[0] not in named} | now


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        yield from (one for one in value if isinstance(one, str))
    elif isinstance(value, dict):
        yield from (one for one in value.values() if isinstance(one, str))
