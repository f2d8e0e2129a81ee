"""Who stands before the door: each browser has a name of its own, and those who wait a number."""

import re
import secrets
from collections.abc import Callable, Collection
from urllib.parse import parse_qsl, urlencode

COOKIE = "embtie-visitor"
_NAME = re.compile(r"[A-Za-z0-9_-]{22}")
# What of an address says how a page looks or who may see it, not what it shows.
_HOST = ("theme", "template", "voila-theme", "voila-template", "token")
# Who has not asked for so long stands aside, and has then given up.
_PRESENT_SECONDS, _WAITING_SECONDS = 8.0, 90.0
_LONGEST = 1000


def new_name() -> str:
    """A name for a browser, that nobody can guess."""
    return secrets.token_urlsafe(16)


def known_name(told: str | None) -> str | None:
    """The name that a browser tells, if it is one that could be ours."""
    return told if told and _NAME.fullmatch(told) else None


def own_query(query: str, without: Collection[str] = _HOST) -> str:
    """What an address says of the page's content, written one way."""
    try:
        pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=True)
    except ValueError:
        return query
    return urlencode([(name, value) for name, value in pairs if name not in without])


class Queue:
    """Those who wait before the door, in the order of their arrival.

    Who has closed the page stops asking: such a visitor stands aside, and no longer waits after a
    while, so that nobody waits behind somebody who is not there.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._asked: dict[str, float] = {}  # in the order of arrival

    def ask(self, visitor: str) -> int:
        """How many wait before this visitor, who takes the last place if new."""
        now = self._clock()
        self._asked = {v: at for v, at in self._asked.items() if now - at < _WAITING_SECONDS}
        if visitor in self._asked or len(self._asked) < _LONGEST:
            self._asked[visitor] = now
        present = self._present(now)
        return present.index(visitor) if visitor in present else len(present)

    def go(self, visitor: str) -> None:
        """This one waits no longer."""
        self._asked.pop(visitor, None)

    def __len__(self) -> int:
        return len(self._present(self._clock()))

    def _present(self, now: float) -> list[str]:
        return [v for v, at in self._asked.items() if now - at < _PRESENT_SECONDS]
