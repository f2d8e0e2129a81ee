"""Tickets of the jobs under way in the kernels of one server: files that all of them see.

A ticket is drawn with the next number, and says in a file how far its job is.  Beside that lies a
lock that its process holds: the system lets go of it when the process dies, however that comes, and
whoever sees a ticket without a holder removes it.  Numbers, not clocks, say who came first.
"""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from filelock import BaseFileLock

ARRIVED, AWAY, WAITING, RUNNING = "arrived", "away", "waiting", "running"
_SUFFIX, _LOCK = ".ticket", ".lock"
_MOST_SECONDS = 5.0  # for the order of arrival, which is held for milliseconds


@dataclass(frozen=True)
class Ticket:
    """What is known of a job.

    number   its place in the order of arrival
    pid      the process that carries it out
    kind     of its request
    key      the same for equal requests; "" where nobody can take over its result
    state    "arrived", and about to see what it needs; "away", since it fetches something, or waits
             for the result of another; "waiting" for its device; or "running"
    device   the one that it waits for or has; "" for none, as for what takes but a moment
    bytes    of memory that it will take, as far as can be said
    left     seconds that it will still take from its start on, None where that is not known
    stage, done, total   where its work is
    """

    number: int
    pid: int
    kind: str
    key: str = ""
    state: str = ARRIVED
    device: str = ""
    bytes: int = 0
    left: float | None = None
    stage: str = "starting"
    done: int = 0
    total: int = 1


class Drawn:
    """A ticket of this process, until it is given back."""

    def __init__(self, ticket: Ticket, path: Path) -> None:
        self.ticket, self._path = ticket, path
        self._lock = _lock(path.with_suffix(_LOCK))

    def say(self, **known: Any) -> None:
        """Change what the ticket says; an OSError where it cannot be written."""
        from embtie_widgets.jobs.cache import write_whole  # not for the server, which only reads

        self.ticket = replace(self.ticket, **known)
        write_whole(self._path, json.dumps(asdict(self.ticket)).encode())

    def hold(self) -> None:
        """Take the lock that says that somebody is here."""
        self._lock.acquire(timeout=0)

    def give_back(self) -> None:
        """Be gone for everybody."""
        self._lock.release()
        _remove(self._path)


class Tickets:
    """All tickets in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def draw(self, pid: int, kind: str, key: str) -> Drawn:
        """A ticket behind all others; an OSError where none can be written."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self.order():
            last = max((_number(path) for path in self._paths()), default=0)
            name = f"{last + 1:08d}-{secrets.token_hex(4)}{_SUFFIX}"
            drawn = Drawn(Ticket(last + 1, pid, kind, key), self._folder / name)
            drawn.hold()
            try:
                drawn.say()
            except OSError:
                drawn.give_back()
                raise
            return drawn

    @contextmanager
    def order(self) -> Iterator[None]:
        """Inside, nobody else draws a ticket or goes to a device; an OSError after a while."""
        lock = _lock(self._folder / "order.lock")
        lock.acquire(timeout=_MOST_SECONDS, poll_interval=0.005)
        try:
            yield
        finally:
            lock.release()

    def all(self) -> list[Ticket]:
        """Those whose process is there, in the order of arrival; others are removed."""
        return [ticket for path in sorted(self._paths()) if (ticket := _read(path)) is not None]

    def _paths(self) -> list[Path]:
        try:
            return list(self._folder.glob(f"*{_SUFFIX}"))
        except OSError:
            return []


def _number(path: Path) -> int:
    digits = path.name.partition("-")[0]
    return int(digits) if digits.isdecimal() else 0


def _read(path: Path) -> Ticket | None:
    """The ticket of a process that is there; one that was left behind is removed."""
    if not _is_held(path.with_suffix(_LOCK)):
        _remove(path)
        return None
    try:
        return Ticket(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):  # given back just now, or damaged
        return None


def _is_held(path: Path) -> bool:
    """Whether a process holds the lock; where that cannot be told, it may."""
    lock = _lock(path)
    try:
        lock.acquire(timeout=0)
    except TimeoutError:
        return True
    except OSError:
        return path.exists()
    lock.release()
    return False


def _lock(path: Path) -> "BaseFileLock":
    from filelock import FileLock  # slow to import

    return FileLock(path, thread_local=False)


def _remove(path: Path) -> None:
    for one in (path, path.with_suffix(_LOCK)):
        with suppress(OSError):
            one.unlink(missing_ok=True)
