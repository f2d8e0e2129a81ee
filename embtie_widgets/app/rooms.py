"""A visitor's room: one kernel and the page that was rendered with it.

The page is kept as it was sent, so that a reload shows the same one: it names its kernel, and the
kernel still holds every tab, result and running job.
"""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

_HEARTBEAT_SECONDS = 20.0  # a proxy takes a page that is silent for longer for a dead one


class Room:
    """A kernel, its page as far as it is rendered, and who is in it.

    path        the notebook that it shows
    visitor     whose it is; "" as long as it stands ready for anybody
    query       what the page's address carries, as far as the server has heard
    taken       since when it is that visitor's
    nameless    whether its visitor had no cookie when it was given; a browser has one from then on
    met         whether a page has ever reached its kernel
    away        since when no page reaches it; None while one does
    left        since when its page says that it was left; None if it does not
    works       whether its kernel has a job under way, as last seen
    worked      when its kernel was last seen with a job under way
    missed      whether what its kernel said to a page that was cut off is lost: that page is to be
                loaded again, and then shows everything
    """

    def __init__(self, path: str, now: float) -> None:
        self.kernel = str(uuid4())
        self.path = path
        self.begun = now
        self.finished = self.failed = False
        self.visitor = self.query = ""
        self.taken = now
        self.met = self.nameless = self.works = False
        self.away: float | None = now
        self.left: float | None = None
        self.worked: float | None = None
        self.missed = False
        self._pieces: list[str] = []
        self._news = asyncio.Event()

    def add(self, piece: str) -> None:
        """One more piece of the page."""
        self._pieces.append(piece)
        self._tell()

    def finish(self, *, failed: bool = False) -> None:
        """The page is whole, or will never be."""
        self.finished, self.failed = True, failed
        self._tell()

    def take(self, visitor: str, query: str, now: float) -> None:
        """Give it to a visitor, or back to the one whose it is."""
        self.visitor, self.query = visitor, query
        self.taken = self.away = now
        self.left, self.missed = None, False

    async def page(self) -> AsyncIterator[str]:
        """The page from its beginning, and on until it is whole."""
        sent = 0
        while sent < len(self._pieces) or not self.finished:
            if sent < len(self._pieces):
                pieces, sent = self._pieces[sent:], len(self._pieces)
                yield "".join(pieces)
            else:
                yield await self._next()

    async def _next(self) -> str:
        """Wait for news; a line break, which changes nothing, where they take long."""
        try:
            await asyncio.wait_for(self._news.wait(), _HEARTBEAT_SECONDS)
        except TimeoutError:
            return "\n"
        return ""

    def _tell(self) -> None:
        self._news.set()
        if not self.finished:
            self._news = asyncio.Event()
