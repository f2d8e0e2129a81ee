"""The line at the devices of a server: heavy jobs of all its kernels go one after another.

The variable EMBTIE_LINE names the folder of its tickets; where it is not set there is no line.
"""

import math
import os
from collections.abc import Iterable
from pathlib import Path

from embtie_widgets.jobs.tickets import ARRIVED, RUNNING, WAITING, Drawn, Ticket, Tickets
from embtie_widgets.machine import HERE, free_bytes

LINE = "EMBTIE_LINE"


def running(folder: "str | Path") -> dict[int, Ticket]:
    """The kernels that have a job under way, be it in the line, by their process number."""
    return {ticket.pid: ticket for ticket in reversed(Tickets(Path(folder)).all())}


def counts(folder: "str | Path") -> dict[str, int]:
    """How many jobs are under way, and how many others wait for a device."""
    known = Tickets(Path(folder)).all()
    waits = sum(ticket.state == WAITING for ticket in known)
    return {"running": len(known) - waits, "waiting": waits}


def is_set() -> bool:
    """Whether there is a line."""
    return bool(os.environ.get(LINE))


def waiting(device: str = "") -> int:
    """How many have this device, or any, or wait for it; 0 where there is no line."""
    known = Tickets(Path(os.environ[LINE])).all() if is_set() else []
    return sum(ticket.device == device if device else ticket.device != "" for ticket in known)


def enter(kind: str, key: str) -> "Place | None":
    """A place behind all others, None where there is no line; an OSError where none can be had."""
    if not is_set():
        return None
    known = Tickets(Path(os.environ[LINE]))
    return Place(known, known.draw(os.getpid(), kind, key))


class Place:
    """A place in the line; an OSError where it cannot be said to the others."""

    def __init__(self, known: Tickets, drawn: Drawn) -> None:
        self._known, self._drawn = known, drawn
        self.say, self.leave = drawn.say, drawn.give_back

    @property
    def at_device(self) -> bool:
        """Whether a device is held."""
        mine = self._drawn.ticket
        return mine.state == RUNNING and mine.device != ""

    def goes(self) -> bool:
        """Whether it is its turn; from then on it has its device, even where an OSError says that
        the others could not be told: to them it is the next still."""
        if not self._may_go():
            return False
        try:
            with self._known.order():
                if not self._may_go():
                    return False
                self.say(state=RUNNING)
        except TimeoutError:  # somebody holds the order for long
            return False
        return True

    def before(self, ticket: Ticket | None = None) -> list[Ticket]:
        """Those that have the device, or come to it earlier than this, or another, ticket."""
        mine = ticket or self._drawn.ticket
        return [other for other in self._known.all() if _is_before(other, mine)]

    def leader(self) -> Ticket | None:
        """Who came first with the same request, and earlier."""
        mine = self._drawn.ticket
        known = self._known.all() if mine.key else []
        same = (other for other in known if other.key == mine.key and other.number < mine.number)
        return next(same, None)

    def _may_go(self) -> bool:
        mine, known = self._drawn.ticket.number, self._known.all()
        if all(ticket.number != mine for ticket in known):
            return True  # somebody has swept it away
        # How much memory is free is asked last, since the answer takes its time.
        if mine not in next_to_go(known, math.inf):
            return False
        return mine in next_to_go(known, free_bytes("cpu")[HERE])


def _is_before(other: Ticket, mine: Ticket) -> bool:
    """Whether another job has the device of this one, or comes to it earlier."""
    if other.state == RUNNING:
        return other.device == mine.device
    comes = other.state == ARRIVED or (other.state == WAITING and other.device == mine.device)
    return comes and other.number < mine.number


def next_to_go(known: Iterable[Ticket], free: float) -> set[int]:
    """The numbers of those waiting that may go to their device now.

    One at a time on each device, and together within `free` bytes of memory, where only one that
    has the machine to itself may need more.  Who waits for memory is overtaken by nobody, nor is
    who has just arrived and may need any device.
    """
    order = sorted(known, key=lambda ticket: ticket.number)
    going = [ticket for ticket in order if ticket.state == RUNNING]
    chosen = set()
    for ticket in order:
        busy = {other.device for other in going}
        if ticket.state == ARRIVED:
            break
        if ticket.state != WAITING or ticket.device in busy:
            continue
        if going and sum(other.bytes for other in going) + ticket.bytes > free:
            break
        going.append(ticket)
        chosen.add(ticket.number)
    return chosen
