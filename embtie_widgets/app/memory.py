"""How much memory the kernels hold, looked at from time to time."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping
from typing import Protocol

import psutil
from tornado.ioloop import PeriodicCallback

from embtie_widgets.app.doors import Doors
from embtie_widgets.app.rooms import Room

_LOOK_MS = 5000
_OF_FREE = 0.9


class Processes(Protocol):
    """What knows the process of a room's kernel; see `kernels.Kernels`."""

    def process(self, room: Room) -> int | None:
        """Its number."""


class Watch:
    """Tells the doors what each kernel holds; `limit` is what all may hold together, in bytes."""

    def __init__(self, doors: Doors, kernels: Processes) -> None:
        self._doors, self._kernels = doors, kernels
        said = doors.known.memory << 20
        self.limit = said or int(_OF_FREE * psutil.virtual_memory().available)

    def callback(self) -> PeriodicCallback:
        """Looks every few seconds."""
        return PeriodicCallback(self.look, _LOOK_MS)

    async def look(self) -> None:
        """Weigh every kernel; the reading, which takes a while, is done beside the serving."""
        found = {room.kernel: self._kernels.process(room) for room in self._doors.rooms.values()}
        processes = {kernel: pid for kernel, pid in found.items() if pid is not None}
        held = await asyncio.to_thread(held_bytes, processes)
        self._doors.weigh(held, self.limit)


def held_bytes(processes: dict[str, int]) -> dict[str, int]:
    """What each process and those that it has started hold for themselves alone; one that has
    ended, nothing."""
    children = defaultdict(list)  # of all at once: a look at every process of the machine is dear
    for pid, parent in _parents().items():
        children[parent].append(pid)
    return {name: sum(map(_unique, _family(pid, children))) for name, pid in processes.items()}


def _parents() -> dict[int, int]:
    return {one.pid: one.info["ppid"] for one in psutil.process_iter(["ppid"])}


def _family(pid: int, children: Mapping[int, list[int]]) -> list[int]:
    found = [pid]
    for one in found:
        found.extend(children.get(one, ()))
    return found


def _unique(pid: int) -> int:
    try:
        return int(psutil.Process(pid).memory_full_info().uss)
    except psutil.Error:
        return 0
