"""A job's turn at its device: it waits in the line of its server, or for another's result.

What takes but a moment, or has been computed before, does not wait.  Who asks for what another
visitor's kernel is computing already follows that one, and finds its result in the cache; where it
fails or dies, the next of them does the work, in the place that its own arrival gives it.  Who
fetches something from the network leaves the device to others so long.  Where the line cannot be
kept, as on a full disk, the job goes on without it.

In one process one job works at a time too; those that wait keep nobody back.
"""

import hashlib
import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import Token
from typing import Any

from embtie_widgets.jobs import run as doors
from embtie_widgets.jobs.estimate import Estimate
from embtie_widgets.jobs.line import Place, enter, is_set, waiting
from embtie_widgets.jobs.places import CLUSTER, SPREAD_KINDS, place
from embtie_widgets.jobs.tickets import ARRIVED, AWAY, RUNNING, WAITING, Ticket
from embtie_widgets.machine import pick_device
from embtie_widgets.progress import Elsewhere, Progress, hand_on, leaves, wait_for
from embtie_widgets.requests import Request
from embtie_widgets.requests.reading import to_json
from embtie_widgets.sources.place import results_folder

logger = logging.getLogger("embtie")
SHORT_SECONDS = 1.0
FOLLOWING = "the same is under way for another visitor, and will be shown here too"
_WAIT_SECONDS = 0.25  # until a job that was called off leaves the line
_MOST_WAITS = 4  # of these, between two looks at the line from far behind
_SAID_SECONDS = 0.5
_working = threading.Lock()


def in_turn(request: Request, progress: Progress) -> Any:
    """The result of a request, carried out when it is its turn."""
    with Turn(request, progress) as turn:
        turn.take()
        return doors.run(request, progress=turn.progress)


def is_short(request: Request) -> bool:
    """Whether it is known to take but a moment."""
    return _is_short(doors.estimate(request))


def before(request: Request, cost: Estimate) -> int:
    """How many others a run that costs so much would have to wait for, had it to begin now."""
    if not is_set() or _is_short(cost):
        return 0
    # Which device "auto" is, only torch can tell, and nobody waits for it here.
    known = "torch" in sys.modules or getattr(request, "device", "cpu") != "auto"
    return waiting(_device(request) if known else "")


class Turn:
    """The place of one job from its arrival to its end; its work reports to `progress`."""

    def __init__(self, request: Request, progress: Progress) -> None:
        self.progress = _Told(self, progress)
        self._request, self._progress = request, progress
        self._place: Place | None = None
        self._cost: Estimate | None = None
        self._works = self._logged = False
        self._token: Token[Elsewhere] | None = None
        self._since = self._said = time.monotonic()
        self._stage = ("", 0, self._since)

    def __enter__(self) -> "Turn":
        # Without a cache there is no result of another's to be had.
        key = "" if results_folder() is None else _key(self._request)
        try:
            self._place = enter(self._request.kind, key)
        except OSError as error:
            self._log(error)
        self._token = leaves.set(self._elsewhere)
        return self

    def __exit__(self, *_error: object) -> None:
        if self._token is not None:
            leaves.reset(self._token)
        self._rest()
        if self._place is not None:
            self._place.leave()

    def take(self) -> None:
        """Wait until the work may begin; called again, nothing more."""
        if self._place is None or self._works:
            return
        short = is_short(self._request)
        if not short:
            self._follow(self._place)
            # This opens models where they are at hand, and the cost is known from then on.
            short = doors.look(self._request) is not None
        self._cost = doors.estimate(self._request)
        if short or _is_short(self._cost):
            self._say(self._place, state=RUNNING)
        else:
            self._queue(self._place)
        self._work()

    @contextmanager
    def briefly(self) -> Iterator[None]:
        """Work that takes but a moment, before the turn."""
        began = self._place is not None and not self._works
        if began:
            self._work()
        try:
            yield
        finally:
            if began:
                self._rest()

    def told(self, stage: str, done: int, total: int) -> None:
        """Let others know how far the work is, now and then."""
        now = time.monotonic()
        if stage != self._stage[0]:
            self._stage = (stage, done, now)
        if self._place is None or now - self._said < _SAID_SECONDS:
            return
        self._said = now
        self._say(self._place, stage=stage, done=done, total=total, left=self._left(done, total))

    def _left(self, done: int, total: int) -> float | None:
        """Seconds until the work ends: as was estimated, or what this stage takes if that is more;
        None where neither is known."""
        now, (_, before, since) = time.monotonic(), self._stage
        known = [] if self._cost is None else [self._cost.seconds - (now - self._since)]
        if done > before:
            known.append((now - since) * (total - done) / (done - before))
        left = max(known, default=0.0)
        return left if left > 0 else None

    def _follow(self, here: Place) -> None:
        """Wait while another is at the same request."""
        leader = here.leader()
        if leader is None or not self._say(here, state=AWAY):
            return
        while leader is not None:
            if leader.state == WAITING:
                self._say_waiting(here.before(leader))
            else:
                self._progress(f"{FOLLOWING}: {leader.stage}", leader.done, leader.total)
            time.sleep(_WAIT_SECONDS)
            leader = here.leader()
        self._say(here, state=ARRIVED)

    def _queue(self, here: Place) -> None:
        """Wait for the device."""
        left, size = (self._cost.seconds, self._cost.bytes) if self._cost else (None, 0)
        device = _device(self._request)
        if not self._say(here, state=WAITING, device=device, bytes=size, left=left):
            return
        while not self._goes(here):
            before = here.before()
            for _ in range(min(max(len(before), 1), _MOST_WAITS)):
                self._say_waiting(before)
                time.sleep(_WAIT_SECONDS)

    def _goes(self, here: Place) -> bool:
        try:
            return here.goes()
        except OSError as error:
            self._log(error)
            return True

    @contextmanager
    def _elsewhere(self) -> Iterator[None]:
        here = self._place
        if here is None or not here.at_device:
            yield
            return
        self._say(here, state=AWAY, device="")
        self._rest()
        yield
        self._queue(here)
        self._work()

    def _work(self) -> None:
        """From here on this is the one job of the process that works."""
        while not _working.acquire(timeout=_WAIT_SECONDS):
            wait_for(self._progress, "waiting for another panel", None)
        self._works, self._since = True, time.monotonic()
        self._progress("starting", 0, 1)

    def _rest(self) -> None:
        if self._works:
            self._works = False
            _working.release()

    def _say(self, here: Place, **known: Any) -> bool:
        """Let the others know; whether that was possible."""
        try:
            here.say(**known)
        except OSError as error:
            self._log(error)
            return False
        return True

    def _log(self, error: OSError) -> None:
        """Say it in the log, once."""
        why = error.strerror or "too slow"
        logger.log(
            logging.DEBUG if self._logged else logging.WARNING,
            "a job goes on without the line at the device: %s", why,
        )  # fmt: skip
        self._logged = True

    def _say_waiting(self, before: list[Ticket]) -> None:
        left = [ticket.left for ticket in before]
        seconds = sum(filter(None, left)) if before and all(left) else None
        words = f"waiting for the device, {len(before):,} before you"
        wait_for(self._progress, words if before else "waiting for memory", seconds)


class _Told:
    """The `progress` of a job, which its ticket hears of too."""

    def __init__(self, turn: Turn, progress: Progress) -> None:
        self._turn, self._progress = turn, progress

    def __call__(self, stage: str, done: int, total: int) -> None:
        """The work has come so far."""
        self._progress(stage, done, total)
        self._turn.told(stage, done, total)

    def partial(self, result: Any) -> None:
        """There is something of the result to show."""
        hand_on(self._progress, result)


def _is_short(cost: Estimate | None) -> bool:
    return cost is not None and cost.seconds < SHORT_SECONDS


def _key(request: Request) -> str:
    return hashlib.sha256(to_json(request).encode()).hexdigest()


def _device(request: Any) -> str:
    """Where the work is done; a cluster is a device of its own."""
    if request.kind in SPREAD_KINDS and place().kind == CLUSTER:
        return CLUSTER
    chosen: str = getattr(request, "device", "cpu")
    return pick_device().type if chosen == "auto" else chosen
