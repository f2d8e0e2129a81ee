"""Voila with doors of our own: what it serves, and to whom."""

import os
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

from jupyter_server.utils import url_path_join
from tornado.ioloop import PeriodicCallback
from voila.app import _kernel_id_regex
from voila.shutdown_kernel_handler import VoilaShutdownKernelHandler
from voila.tornado.handler import TornadoVoilaHandler

from embtie_widgets.app.doors import Doors
from embtie_widgets.app.hardened import Hardened
from embtie_widgets.app.health import Health
from embtie_widgets.app.kernels import Kernels
from embtie_widgets.app.memory import Watch
from embtie_widgets.app.pages import Door, Leave, Page, Why
from embtie_widgets.app.rooms import Room
from embtie_widgets.app.settings import ServeSettings
from embtie_widgets.jobs import line

_TEND_MS = 1000


class Server(Hardened):
    """Voila over the notebook of the dashboard; `known` is what was set."""

    known: ServeSettings
    doors: Doors

    def shown(self) -> Path:
        """The notebook, or the folder of notebooks, that it serves."""
        from embtie_widgets.app.serve import notebook

        return notebook()

    def home(self) -> str:
        """The notebook at the address itself, from the folder that is served."""
        return os.path.relpath(self.notebook_path, self.root_dir)

    def init_handlers(self) -> list[Any]:
        """Voila's handlers, with ours in place of some of them."""
        kernels = Kernels(self)
        self.doors = Doors(self.known, kernels, self.home(), lambda rooms: _at_work(kernels, rooms))
        self._watch = Watch(self.doors, kernels)
        at = {"doors": self.doors}
        ours = [
            ("/health", Health, {**at, "since": time.monotonic()}),
            ("/api/embtie/door", Door, {**at, "home": self.home()}),
            (f"/api/embtie/leave/{_kernel_id_regex}", Leave, at),
            (f"/api/embtie/kernel/{_kernel_id_regex}", Why, at),
        ]
        voilas = [self._replaced(one) for one in super().init_handlers()]
        return [*((url_path_join(self.server_url, to), *rest) for to, *rest in ours), *voilas]

    def listen(self) -> None:
        """Serve, and look after the rooms meanwhile."""
        tasks = (PeriodicCallback(self.doors.tend, _TEND_MS), self._watch.callback())
        for task in tasks:
            task.start()
        super().listen()

    def _replaced(self, handler: tuple[Any, ...]) -> tuple[Any, ...]:
        if handler[1] is VoilaShutdownKernelHandler:
            return (handler[0], Leave, {"doors": self.doors})
        if handler[1] is TornadoVoilaHandler:
            notebook = self.home() if self.notebook_path else ""
            told = {"voila_configuration": self.voila_configuration}
            return (handler[0], Page, {"doors": self.doors, "notebook": notebook, **told})
        return handler


def _at_work(kernels: Kernels, rooms: Collection[Room]) -> set[str]:
    """The kernels that have a job under way, as the tickets in the line say."""
    working = line.running(Path(os.environ[line.LINE]))
    return {room.kernel for room in rooms if kernels.process(room) in working}
