"""The doors of a served page: who comes in, who finds what was left, whose kernel ends and when.

The rules are here, and nothing of how kernels are started; a clock is given, so that tests have
their own.
"""

import logging
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from embtie_widgets.app.endings import Ending, Endings, ending
from embtie_widgets.app.rooms import Room
from embtie_widgets.app.settings import ServeSettings
from embtie_widgets.app.visitors import Queue, own_query

_LOG = logging.getLogger("embtie.doors")
_MINUTE = 60
_REFILL_SECONDS = 3.0  # the next kernel starts when who took the last has seen a figure
_SETTLE_SECONDS = 5.0  # within which a page that is reloaded comes back for sure
_ASLEEP_SECONDS = 60.0  # cut off for so long, a page may never come back, as of a closed browser
_ABSENT_SECONDS = 10.0  # without a word: not on its way any more, but gone
_START_SECONDS = 180.0
_UNREAD_BYTES = 32 << 20  # more than this is not kept for a page that was cut off
_MEET_SECONDS = 120.0  # a page that has not found its kernel by then is not on its way


class Keeper(Protocol):
    """What starts and ends kernels, and knows how they are; see `kernels.Kernels`."""

    def start(self, room: Room) -> None:
        """Start its kernel and render its page."""

    def end(self, room: Room, *, now: bool = False) -> None:
        """End its kernel."""

    def is_alive(self, room: Room) -> bool:
        """Whether its kernel is there."""

    def pages(self, room: Room) -> int:
        """How many pages reach its kernel."""

    def unread(self, room: Room) -> int:
        """How many bytes are kept for a page that was cut off."""

    def forget(self, room: Room) -> None:
        """Keep them no longer."""


@dataclass(frozen=True)
class Look:
    """What a visitor before the door sees.

    open      whether this visitor may come in now
    before    how many wait before
    taken     how many places are taken, of all `places`
    reason    what is waited for: "starting", "places" or "memory"; "pages": that this visitor
              closes one of as many as one may have
    pages     how many that is
    """

    open: bool
    before: int
    taken: int
    places: int
    reason: str
    pages: int


class Doors:
    """All rooms of a server, and the queue before it.

    home      the page that `ready` kernels stand ready for
    working   the rooms of a collection that have a job under way
    """

    def __init__(
        self,
        known: ServeSettings,
        keeper: Keeper,
        home: str,
        working: Callable[[Collection[Room]], set[str]] = lambda rooms: set(),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.known = known
        self.rooms: dict[str, Room] = {}
        self.queue = Queue(clock)
        self.endings = Endings()
        self.full_memory = False
        self._keeper, self._home, self._working, self._clock = keeper, home, working, clock
        self._last_taken = -_REFILL_SECONDS
        # When the latest kernel began that came to be, and the latest that did not.
        self._began = self._failed = -1.0

    def enter(self, visitor: str, path: str, query: str, *, waits: bool = True) -> Room | None:
        """This visitor's own room of that address, or one that is free; None: to wait.

        `waits`: the visitor is known by a cookie and has a number in the queue; else it may be a
        program that will never open the page, and such hold few places.
        """
        asked, now = own_query(query), self._clock()
        room = self._own(visitor, path, asked)
        if room is None and self.look(visitor, path, waits=waits).open:
            if self._has_all(visitor):
                self._end(self._spare(visitor)[0], "pages")
            room = next(iter(self._ready(path)), None) or self._begin(path)
            self._last_taken = now
        if room is not None:
            self.queue.go(visitor)
            room.take(visitor, asked, now)
            room.nameless = not waits
        return room

    def may_return(self, visitor: str, path: str, query: str) -> bool:
        """Whether it may be a reload whose word of leaving is still on its way: a page of this
        visitor is open, and none was left at this address."""
        mine = any(r.visitor == visitor and r.path == path for r in self.rooms.values())
        return mine and self._own(visitor, path, own_query(query)) is None

    def look(self, visitor: str, path: str, *, waits: bool = True) -> Look:
        """How it stands for a visitor, who waits from now on; not `waits`: behind all who do."""
        if self._has_all(visitor) and not self._spare(visitor):
            self.queue.go(visitor)
            return self._seen(False, 0, "pages", path)
        if not waits and self._nameless_are_enough():
            return self._seen(False, len(self.queue), "starting", path)
        before = self.queue.ask(visitor) if waits else len(self.queue)
        ready = 0 if self.full_memory else len(self._ready(path))
        reason = "memory" if self.full_memory else "starting" if self._free() else "places"
        return self._seen(before < ready + self._may_start(), before, reason, path)

    def leave(self, kernel: str, query: str | None, how: str = "left") -> None:
        """A page says that it was left, at this address.

        "late": it may say so after its reload was answered, and then it was not left.
        "hidden": nobody looks at it, so that it may be gone without another word; it stays open.
        """
        room, now = self.rooms.get(kernel), self._clock()
        if room is None or not room.visitor:
            return
        if how == "late" and now - room.taken < _SETTLE_SECONDS:
            return
        if query is not None:
            room.query = own_query(query)
        if how != "hidden":
            room.left = now

    def lost(self, room: Room) -> None:
        """The visitor went before the page had come: as if it had been left."""
        self.leave(room.kernel, None)

    def tend(self) -> None:
        """Look after everything; to be called about every second."""
        working = self._working(self.rooms.values())
        for room in list(self.rooms.values()):
            self._note(room, room.kernel in working)
            why = self._reason_to_end(room)
            if why:
                self._end(room, why)
        self._make_room()
        self._refill()

    def weigh(self, held: dict[str, int], limit: int) -> None:
        """Act on how many bytes each kernel holds, where all together may hold `limit`."""
        for kernel, size in held.items():
            if size > self.known.visitor_memory << 20 and kernel in self.rooms:
                self._end(self.rooms[kernel], "memory", now=True)
        held = {kernel: size for kernel, size in held.items() if kernel in self.rooms}
        self.full_memory = sum(held.values()) > limit
        if self.full_memory:
            for room in self._unused():
                self._end(room, _why_unused(room))

    def why(self, kernel: str) -> Ending | None:
        """Why a kernel ended; None if it has not."""
        return None if kernel in self.rooms else self.endings.of(kernel)

    def is_reached(self, kernel: str) -> bool:
        """Whether a page reaches it, as far as the server knows."""
        return kernel in self.rooms and self._keeper.pages(self.rooms[kernel]) > 0

    def has_missed(self, kernel: str) -> bool:
        """Whether a page that was cut off has to be loaded again to show everything."""
        return kernel in self.rooms and self.rooms[kernel].missed

    def ready(self) -> int:
        """How many kernels stand ready, their page rendered."""
        return sum(room.finished for room in self._ready(self._home))

    @property
    def failing(self) -> bool:
        """Whether the kernel that began last could not be started."""
        return self._failed > self._began

    def _own(self, visitor: str, path: str, query: str) -> Room | None:
        """The visitor's room of that address that no page of theirs is in."""
        now = self._clock()
        mine = [
            room
            for room in self.rooms.values()
            if (room.visitor, room.path, room.query) == (visitor, path, query)
            and not room.failed
            and (room.left is not None or self._is_absent(room, now))
        ]
        return max(mine, key=lambda room: room.taken, default=None)

    def _is_absent(self, room: Room, now: float) -> bool:
        return (
            room.finished
            and room.away is not None
            and now - room.away > _ABSENT_SECONDS
            and not self._keeper.pages(room)
        )

    def _seen(self, inside: bool, before: int, reason: str, path: str) -> Look:
        taken = len(self.rooms) - len(self._ready(path))
        return Look(inside, before, taken, self.known.visitors, reason, self.known.pages)

    def _of(self, visitor: str) -> list[Room]:
        """The rooms of that browser; of a user of the hub those in all browsers."""
        user = visitor.rpartition(":")[0]
        return [
            room
            for room in self.rooms.values()
            if room.visitor == visitor or (user and room.visitor.rpartition(":")[0] == user)
        ]

    def _has_all(self, visitor: str) -> bool:
        """Whether this visitor has as many rooms as one may; who is alone here takes nobody's."""
        return not self.known.is_own and len(self._of(visitor)) >= self.known.pages

    def _nameless_are_enough(self) -> bool:
        """Whether as many places as may be are held for who has shown neither cookie nor page."""
        held = sum(room.nameless and not room.met for room in self.rooms.values())
        most = max(1, min(self.known.starting, self.known.visitors // 2))
        return not self.known.is_own and held >= most

    def _spare(self, visitor: str) -> list[Room]:
        """Those of this visitor that no page is in, without a job; first those that were left."""
        now, mine = self._clock(), self._of(visitor)
        left = [room for room in self._unused() if room in mine]
        quiet = [room for room in mine if now - self._last_sign(room) > _ABSENT_SECONDS]
        gone = [room for room in quiet if self._is_absent(room, now) and room not in left]
        return left + sorted(gone, key=self._last_sign)

    def _ready(self, path: str) -> list[Room]:
        """Those that belong to nobody, the first rendered first."""
        found = [r for r in self.rooms.values() if not r.visitor and r.path == path]
        return sorted((r for r in found if not r.failed), key=lambda r: not r.finished)

    def _free(self) -> int:
        return max(0, self.known.visitors - len(self.rooms))

    def _may_start(self) -> int:
        starting = sum(not room.finished for room in self.rooms.values())
        return 0 if self.full_memory else max(0, min(self._free(), self.known.starting - starting))

    def _begin(self, path: str) -> Room:
        room = Room(path, self._clock())
        self.rooms[room.kernel] = room
        self._keeper.start(room)
        _LOG.info("kernel started", extra={"event": "kernel-started", "kernel": room.kernel})
        return room

    def _end(self, room: Room, why: str, *, now: bool = False) -> None:
        del self.rooms[room.kernel]
        if not room.finished:
            room.finish(failed=True)
        if why == "start":
            self._failed = max(self._failed, room.begun)
        self.endings.keep(room.kernel, ending(why, self.known))
        if why == "died":
            self._keeper.forget(room)
        else:
            self._keeper.end(room, now=now)
        told = {"event": "kernel-ended", "kernel": room.kernel, "why": why}
        level = (
            logging.INFO if why in ("left", "asleep", "away", "pages", "job") else logging.WARNING
        )
        _LOG.log(level, "a kernel ended: %s", why, extra=told)

    def _note(self, room: Room, works: bool) -> None:
        """What can be seen of a room from outside."""
        now = self._clock()
        room.works, room.worked = works, now if works else room.worked
        if room.finished and not room.failed:
            self._began = max(self._began, room.begun)
        if not self._keeper.pages(room):
            room.away = now if room.away is None else room.away
            self._forget_unread(room)
            return
        room.met, room.away = True, None
        if room.left is not None and now - room.left > _SETTLE_SECONDS:
            room.left = None  # it said so and stayed

    def _forget_unread(self, room: Room) -> None:
        """A page that was left reads nothing more; one that was cut off finds a bounded lot."""
        if room.left is not None:
            self._keeper.forget(room)
        elif self._keeper.unread(room) > _UNREAD_BYTES:
            self._keeper.forget(room)
            room.missed = True

    def _reason_to_end(self, room: Room) -> str:
        now = self._clock()
        if room.failed or (not room.finished and now - room.begun > _START_SECONDS):
            return "start"
        if room.finished and not self._keeper.is_alive(room):
            return "died"
        if not room.visitor or not room.finished or room.away is None:
            return ""
        if now - room.away > self.known.idle_minutes * _MINUTE:
            return "away"
        if self._works_for_nobody(room, now):
            return "job"
        since = now - self._last_sign(room)
        if room.left is not None and since > self.known.keep_seconds:
            return "left"
        return "left" if not room.met and since > _MEET_SECONDS else ""

    def _works_for_nobody(self, room: Room, now: float) -> bool:
        """Whether its job is for a page that was closed, and others want their turn."""
        if room.left is None or not room.works or self.known.is_own:
            return False
        return now - room.left > self.known.job_minutes * _MINUTE

    def _last_sign(self, room: Room) -> float:
        return max(at for at in (room.away, room.left, room.worked, room.taken) if at is not None)

    def _unused(self) -> list[Room]:
        """Those without a page and a job: that were left, and not for a reload, the longest left
        first, then those whose page was cut off a while ago."""
        now = self._clock()

        def is_unused(room: Room) -> bool:
            quiet = _ASLEEP_SECONDS if room.left is None else _SETTLE_SECONDS
            return room.away is not None and now - self._last_sign(room) > quiet

        unused = filter(is_unused, self.rooms.values())
        return sorted(unused, key=lambda room: (room.left is None, self._last_sign(room)))

    def _make_room(self) -> None:
        """Those who wait for a place come before those who may come back to theirs."""
        wanted = len(self.queue) - self._free() - len(self._ready(self._home))
        for room in self._unused()[: max(0, wanted)]:
            self._end(room, _why_unused(room))

    def _refill(self) -> None:
        """Start what shall stand ready, when the one who came last has been served."""
        if self._clock() - self._last_taken < _REFILL_SECONDS:
            return
        missing = self.known.ready - len(self._ready(self._home))
        for _ in range(min(missing, self._may_start())):
            self._begin(self._home)


def _why_unused(room: Room) -> str:
    return "asleep" if room.left is None else "left"
