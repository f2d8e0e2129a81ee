"""That no kernel stays for ever: whatever its page, its start and its end come to."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

from embtie_widgets.app.channels import ENDED, Channels
from embtie_widgets.app.kernels import Kernels
from embtie_widgets.app.lines import Line
from embtie_widgets.app.rooms import Room
from tests.aside import awaited

_PATIENCE = 20


class Manager:
    """Kernels that start when told, each a process, and end as the test says."""

    def __init__(self, ending: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.begun, self.may_start = asyncio.Event(), asyncio.Event()
        self.context = SimpleNamespace(setsockopt=lambda *_: None)
        self._kernel_buffers: dict[str, Any] = {}
        self._kernel_connections: dict[str, int] = {}
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._ending = ending

    def __contains__(self, kernel: str) -> bool:
        return kernel in self.running

    def get_kernel(self, kernel: str) -> Any:
        return SimpleNamespace(provisioner=SimpleNamespace(pid=self.running[kernel].pid))

    async def start_kernel(self, *, kernel_id: str, **_: Any) -> None:
        self.begun.set()
        await self.may_start.wait()
        self.running[kernel_id] = subprocess.Popen(
            [sys.executable, "-c", "input()"], stdin=subprocess.PIPE
        )

    async def shutdown_kernel(self, kernel: str, *, now: bool) -> None:
        if kernel not in self.running:
            raise KeyError(kernel)
        await self._ending()
        self.running[kernel].kill()


class House(Kernels):
    """Kernels whose pages are the tests' own."""

    def __init__(self, manager: Manager) -> None:
        super().__init__(SimpleNamespace(kernel_manager=manager, base_url="/", port=1))
        self.manager = manager
        self.initialized = asyncio.Event()
        self.initialized.set()

    async def settled(self) -> None:
        """Wait until all that was begun is done."""
        async with asyncio.timeout(_PATIENCE):
            while self._tasks:
                await asyncio.wait(self._tasks)

    def _renderer(self, path: str) -> Any:
        spec = SimpleNamespace(kernelspec=SimpleNamespace(name="python3"))

        async def generate(kernel: str, start: Any) -> Any:
            await start
            yield "page", None

        return SimpleNamespace(
            notebook=SimpleNamespace(metadata=spec),
            initialize=self.initialized.wait,
            generate_content_generator=generate,
        )


async def _well() -> None:
    """A kernel that ends when it is told to."""


async def _fails() -> None:
    raise RuntimeError("it would not")


async def _hangs() -> None:
    await asyncio.Event().wait()


def _is_over(manager: Manager) -> bool:
    return all(one.wait(_PATIENCE) is not None for one in manager.running.values())


def test_a_kernel_given_up_while_it_starts_ends_when_it_has_started() -> None:
    async def give_up() -> None:
        house, room = House(Manager(_well)), Room("a.ipynb", 0.0)
        house.start(room)
        await house.manager.begun.wait()
        room.finish(failed=True)  # as the doors do
        house.end(room)
        await asyncio.sleep(0)
        house.manager.may_start.set()
        await house.settled()
        assert house.manager.running
        assert _is_over(house.manager)

    awaited(give_up())


def test_a_kernel_given_up_before_it_was_begun_never_starts() -> None:
    async def give_up() -> None:
        house, room = House(Manager(_well)), Room("a.ipynb", 0.0)
        house.initialized.clear()
        house.manager.may_start.set()
        house.start(room)
        await asyncio.sleep(0)
        room.finish(failed=True)
        house.end(room)
        house.initialized.set()
        await house.settled()
        assert not house.manager.running

    awaited(give_up())


@pytest.mark.parametrize("ending", [_well, _fails, _hangs])
def test_a_kernel_that_its_manager_does_not_end_is_killed(
    ending: Callable[[], Coroutine[Any, Any, None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embtie_widgets.app.kernels._END_SECONDS", 0.2)

    async def end() -> None:
        house, room = House(Manager(ending)), Room("a.ipynb", 0.0)
        house.manager.may_start.set()
        house.start(room)
        await house.settled()
        assert (room.finished, room.failed) == (True, False)
        house.end(room)
        await house.settled()
        assert _is_over(house.manager)

    awaited(end())


def test_the_pages_of_a_kernel_that_is_ended_are_hung_up_on_so_that_they_ask_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[tuple[str, int]] = []
    monkeypatch.setattr(
        Channels, "close", lambda line, code, _: told.append((line.kernel_id, code))
    )
    monkeypatch.setattr(Channels, "_opened", set())

    async def end() -> None:
        house, room, other = House(Manager(_well)), Room("a.ipynb", 0.0), Room("a.ipynb", 0.0)
        for kernel in (room.kernel, other.kernel):
            line = Channels.__new__(Channels)
            line.kernel_id = kernel
            Channels._opened.add(line)
        house.end(room, now=True)
        assert told == [(room.kernel, ENDED)]
        await house.settled()

    awaited(end())


class _Stream:
    """A socket to a kernel."""

    is_closed = False

    def closed(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def on_recv(self, heard: Any) -> None:
        self.heard = heard


def test_what_was_kept_for_a_page_whose_kernel_died_is_kept_no_longer() -> None:
    async def die() -> None:
        house, room, stream = House(Manager(_well)), Room("a.ipynb", 0.0), _Stream()
        kept = {"buffer": [("iopub", [b"12"])], "channels": {"iopub": stream}}
        house.manager._kernel_buffers[room.kernel] = kept
        assert house.unread(room) == 2
        house.forget(room)  # the manager does not know it any more
        assert house.unread(room) == 0
        assert stream.is_closed

    awaited(die())


class _Kernels(AsyncMappingKernelManager):  # type: ignore[misc]
    """Jupyter's own counting and keeping, of a kernel that is a name."""

    def open(self) -> Line:
        """A line of a page to that kernel, without sockets."""
        kernel = self.kernel_manager_factory(parent=self)
        kernel.kernel_id = "a"
        self._kernels["a"] = kernel
        self._kernel_connections.setdefault("a", 0)
        self._kernel_ports["a"] = kernel.ports
        handler = Channels.__new__(Channels)
        line = _Line(parent=kernel, websocket_handler=handler)
        line.session_key = "a:page"
        return line

    @property
    def count(self) -> int:
        """How many pages reach it."""
        return int(self._kernel_connections["a"])


class _Line(Line):
    def create_stream(self) -> None:
        self._is_new = True
        self.channels = {"iopub": _Stream()}

    def nudge(self) -> Any:
        self.nudged = asyncio.get_running_loop().create_future()
        return self.nudged if self._is_new else super().nudge()


@pytest.fixture
def kernels() -> Iterator[_Kernels]:
    made = _Kernels()
    yield made
    made.context.term()


def test_a_page_that_goes_before_its_line_is_open_is_not_counted(kernels: _Kernels) -> None:
    async def go() -> None:
        early, line = kernels.open(), kernels.open()
        early.disconnect()
        assert kernels.count == 0
        line.connect()
        assert kernels.count == 1
        early.disconnect()
        for _ in range(2):  # as Jupyter does where a message comes meanwhile
            line.disconnect()
            assert kernels.count == 0

    awaited(go())


def test_what_is_kept_for_a_page_outlives_its_vain_tries_to_come_back(kernels: _Kernels) -> None:
    async def come_back() -> None:
        first, again, last = kernels.open(), kernels.open(), kernels.open()
        first.connect()
        stream = first.channels["iopub"]
        first.disconnect()
        stream.heard([b"message"])
        again.disconnect()
        assert kernels._kernel_buffers["a"]["buffer"] == [("iopub", [b"message"])]
        carried: list[list[bytes]] = []
        last.handle_outgoing_message = lambda _, parts: carried.append(parts)
        stream.on_recv_stream = lambda heard: setattr(stream, "heard", heard)
        opened = last.connect()
        assert stream.heard([b"late"]) is None  # before the line is whole: kept as well
        await opened
        await asyncio.sleep(0)
        assert carried == [[b"message"], [b"late"]]

    awaited(come_back())


def test_a_line_that_goes_while_its_kernel_is_waited_for_takes_nothing_from_what_is_kept(
    kernels: _Kernels,
) -> None:
    async def go() -> None:
        line = kernels.open()
        line.connect()
        stream = line.channels["iopub"]
        stream.on_recv_stream = lambda heard: setattr(stream, "heard", heard)
        line.disconnect()
        line.nudged.set_result(None)
        await asyncio.sleep(0)
        stream.heard([b"message"])
        assert kernels._kernel_buffers["a"]["buffer"] == [("iopub", [b"message"])]

    awaited(go())
