"""The server's kernels: started and ended for rooms, and asked how they are."""

import asyncio
import logging
import os
from contextlib import suppress
from typing import Any

import psutil
import zmq

from embtie_widgets.app.channels import hang_up
from embtie_widgets.app.rooms import Room

_LOG = logging.getLogger("embtie.doors")
# Of what runs in a kernel nothing is typed by anybody: it is kept in no file of the owner's, and a
# kernel needs no disk for it.
_NO_HISTORY = ["--HistoryManager.enabled=False"]
# Named, a cell is not named after a folder for temporary files, without which no kernel would run.
_CELL = {"IPYKERNEL_CELL_NAME": "<embtie>"}
_WAITING = 100_000  # messages
_END_SECONDS = 60.0  # a kernel that has been asked to end, and was then told to, has ended by then


class _LeftError(Exception):
    """A page was given up before its kernel was begun."""


class Kernels:
    """What the doors need of Voila's kernel manager, and nothing else of it."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self._manager = server.kernel_manager
        # What a kernel says in one go waits here; beyond the usual thousand it would be dropped.
        self._manager.context.setsockopt(zmq.RCVHWM, _WAITING)
        self._tasks: set[asyncio.Task[None]] = set()
        self._starts: dict[str, asyncio.Future[Any]] = {}

    def start(self, room: Room) -> None:
        """Start a room's kernel and render its page, piece by piece."""
        self._keep(self._render(room))

    def end(self, room: Room, *, now: bool = False) -> None:
        """End a room's kernel, which may still be starting; `now` without asking it to."""
        hang_up(room.kernel)
        self._keep(self._shut(room.kernel, now))

    def is_alive(self, room: Room) -> bool:
        """Whether its kernel, once started, has not ended by itself."""
        return room.kernel in self._manager

    def pages(self, room: Room) -> int:
        """How many open pages reach its kernel."""
        return int(self._manager._kernel_connections.get(room.kernel, 0))

    def unread(self, room: Room) -> int:
        """How many bytes the server keeps for a page that was cut off, until it is back."""
        kept = self._manager._kernel_buffers.get(room.kernel, {"buffer": ()})
        return sum(len(part) for _, parts in kept["buffer"] for part in parts)

    def forget(self, room: Room) -> None:
        """Keep nothing of that any more, also where the kernel has ended by itself."""
        kept = self._manager._kernel_buffers.pop(room.kernel, {"channels": {}})
        for stream in kept["channels"].values():
            if not stream.closed():
                stream.on_recv(None)
                stream.close()

    def process(self, room: Room) -> int | None:
        """The number of its process, as soon as there is one."""
        return self._pid(room.kernel)

    def _keep(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _render(self, room: Room) -> None:
        failed = False
        try:
            renderer = self._renderer(room.path)
            await renderer.initialize()
            kernel = self._begin(room, renderer)
            pages = renderer.generate_content_generator(room.kernel, kernel)
            async for piece, _ in pages:
                room.add(piece)
        except Exception:
            failed = True
            if not room.failed:  # else it was given up
                _LOG.exception("a page could not be made")
        room.finish(failed=failed or room.failed)

    def _begin(self, room: Room, renderer: Any) -> "asyncio.Future[Any]":
        if room.failed:
            raise _LeftError
        start = asyncio.ensure_future(self._started(room, renderer))
        self._starts[room.kernel] = start
        start.add_done_callback(lambda _: self._starts.pop(room.kernel, None))
        return start

    async def _started(self, room: Room, renderer: Any) -> Any:
        await self._manager.start_kernel(
            kernel_id=room.kernel,
            kernel_name=renderer.notebook.metadata.kernelspec.name,
            path=os.path.dirname(room.path),
            env=_variables(self._server.base_url, self._server.port),
            extra_arguments=_NO_HISTORY,
        )
        return self._manager.get_kernel(room.kernel)

    async def _shut(self, kernel: str, now: bool) -> None:
        """End it; the manager knows none that is starting, so that this is waited for."""
        if kernel in self._starts:
            await asyncio.wait([self._starts[kernel]])
        pid = self._pid(kernel)
        process = psutil.Process(pid) if pid and psutil.pid_exists(pid) else None
        try:
            await asyncio.wait_for(self._manager.shutdown_kernel(kernel, now=now), _END_SECONDS)
        except Exception:  # it has ended by itself meanwhile, or would not
            _LOG.debug("a kernel was not ended by its manager", exc_info=True)
            with suppress(psutil.Error):
                if process is not None:
                    process.kill()

    def _pid(self, kernel: str) -> int | None:
        if kernel not in self._manager:
            return None
        return getattr(self._manager.get_kernel(kernel).provisioner, "pid", None)

    def _renderer(self, path: str) -> Any:
        from voila.notebook_renderer import NotebookRenderer
        from voila.utils import get_page_config

        server = self._server
        common = {
            "base_url": server.base_url,
            "voila_configuration": server.voila_configuration,
        }
        known = server.app.settings
        return NotebookRenderer(
            **common,
            page_config=get_page_config(**common, settings=known, log=server.log),
            traitlet_config=server.config,
            notebook_path=path,
            template_paths=server.template_paths,
            config_manager=server.config_manager,
            contents_manager=server.contents_manager,
            kernel_spec_manager=server.kernel_spec_manager,
            mathjax_config=known.get("mathjax_config"),
            mathjax_url=known.get("mathjax_url"),
        )


def _variables(base_url: str, port: int) -> dict[str, str]:
    """The environment of a kernel: the server's, and what tells it that Voila serves it."""
    return {
        **os.environ,
        **_CELL,
        "VOILA_PREHEAT": "False",
        "VOILA_BASE_URL": base_url,
        "VOILA_SERVER_URL": base_url,
        "VOILA_APP_PORT": str(port),
    }
