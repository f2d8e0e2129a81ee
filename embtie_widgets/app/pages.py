"""The handlers of the doors: the page, the landing page, leaving, why a kernel ended."""

import asyncio
from http import HTTPStatus
from typing import Any

from jupyter_server.base.handlers import APIHandler
from jupyter_server.utils import ensure_async
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError, authenticated
from voila.handler import BaseVoilaHandler

from embtie_widgets.app.doors import Doors
from embtie_widgets.app.identity import TOKEN
from embtie_widgets.app.landing import words
from embtie_widgets.app.rooms import Room
from embtie_widgets.app.visitors import COOKIE, known_name, new_name, own_query

_ASK_AGAIN_SECONDS = "5"
_WORD_SECONDS, _STEPS = 0.4, 8  # how long a reload waits for the word that its page was left
_FAILED = '<p role="alert"><strong>This page could not be made.</strong> Reload it, please.</p>'


class _AtDoors:
    """What the handlers share: the doors, and by whom they are asked."""

    def comes_again(self: Any) -> bool:
        """Whether the browser has a name from us.  Only such a one gets a number in the queue: one
        that keeps no cookies, as a robot, would be another at every question."""
        return known_name(self.get_cookie(COOKIE)) is not None

    def visitor(self: Any) -> str:
        """The name of the browser that asks, given to it if it has none; behind a hub each of its
        users has names of their own."""
        name = known_name(self.get_cookie(COOKIE))
        if name is None:
            name = new_name()
            secure = self.request.protocol == "https"
            framed = secure and self.doors.known.framed_by
            self.set_cookie(
                COOKIE,
                name,
                path=self.base_url,
                httponly=True,
                samesite="None" if framed else "Lax",
                secure=secure,
            )
        user = self.current_user.username if self.doors.known.sign_in == "jupyterhub" else ""
        return f"{user}:{name}"


class Page(_AtDoors, BaseVoilaHandler):
    """A page with a kernel of its own; where there is none to give, the landing page."""

    def initialize(self, doors: Doors, notebook: str = "", **kwargs: Any) -> None:
        """The doors, and the notebook that is shown where there is but one."""
        super().initialize(**kwargs)
        self.doors, self.notebook = doors, notebook
        self.room: Room | None = None

    @authenticated
    async def get(self, path: str = "") -> None:
        """Send the page, piece by piece as it is made."""
        if self.doors.known.sign_in == TOKEN and self.get_query_argument("token", ""):
            clean = own_query(self.request.query, without=("token",))
            self.redirect(f"{self.request.path}?{clean}".rstrip("?"))  # a cookie has it now
            return
        notebook = await self._notebook(path)
        visitor = self.visitor()
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "no-store")
        self.set_header("X-Accel-Buffering", "no")  # a proxy shall not hold the first pieces back
        await self._word_of_leaving(visitor, notebook)
        self.room = self.doors.enter(
            visitor, notebook, self.request.query, waits=self.comes_again()
        )
        if self.room is None:
            self._land(visitor, notebook)
            return
        await self._send(self.room)

    def on_connection_close(self) -> None:
        """The visitor went before the page had come."""
        super().on_connection_close()
        if self.room is not None:
            self.doors.lost(self.room)

    async def _notebook(self, path: str) -> str:
        if self.notebook and not path:
            return self.notebook
        files = self.contents_manager
        if (
            self.notebook
            or not path.endswith(".ipynb")
            or "\0" in path
            or await ensure_async(files.is_hidden(path))
            or not await ensure_async(files.file_exists(path))
        ):
            raise HTTPError(HTTPStatus.NOT_FOUND)
        return path

    async def _word_of_leaving(self, visitor: str, path: str) -> None:
        """A page that is reloaded says that it is left, by another connection: wait for that."""
        query = self.request.query
        for _ in range(_STEPS):
            if not self.doors.may_return(visitor, path, query):
                return
            await asyncio.sleep(_WORD_SECONDS / _STEPS)

    async def _send(self, room: Room) -> None:
        try:
            async for piece in room.page():
                self.write(piece)
                await self.flush()
            if room.failed:
                self.write(_FAILED)
        except StreamClosedError:
            self.doors.lost(room)

    def _land(self, visitor: str, path: str) -> None:
        look = self.doors.look(visitor, path, waits=self.comes_again())
        self.set_header("Retry-After", _ASK_AGAIN_SECONDS)
        asked = self.get_query_argument("theme", "")
        scheme = asked if asked in ("light", "dark") else "light dark"
        self.write(self.render_template("landing.html", said=words(look), scheme=scheme, path=path))


class Door(_AtDoors, APIHandler):
    """What the landing page asks again and again: is the door open, how many wait before."""

    def initialize(self, doors: Doors, home: str) -> None:
        """The doors, and the page that is meant where none is named."""
        self.doors, self.home = doors, home

    @authenticated
    def get(self) -> None:
        """How it stands, in words."""
        path = self.get_query_argument("path", self.home)
        look = self.doors.look(self.visitor(), path, waits=self.comes_again())
        self.set_header("Cache-Control", "no-store")
        self.finish({**vars(look), **words(look)._asdict()})


class Leave(APIHandler):
    """A page says that its reader leaves; its kernel is kept for a while."""

    def initialize(self, doors: Doors) -> None:
        """The doors."""
        self.doors = doors

    def check_xsrf_cookie(self) -> None:
        """Ask for no token, which a page cannot send while it closes: the kernel's name, which
        nobody else knows, is one."""

    @authenticated
    def post(self, kernel_id: str) -> None:
        """Voila's own word of it says no address and leaves the one that is known."""
        query = self.get_body_argument("query", None, strip=False)
        self.doors.leave(kernel_id, query, self.get_body_argument("how", "left"))
        self.set_status(HTTPStatus.NO_CONTENT)
        self.finish()


class Why(APIHandler):
    """What became of a kernel, for the page that misses it."""

    def initialize(self, doors: Doors) -> None:
        """The doors."""
        self.doors = doors

    @authenticated
    def get(self, kernel_id: str) -> None:
        """Whether it is there, reached by a page, and that has missed nothing; if not, why, in
        words."""
        told = self.doors.why(kernel_id)
        self.set_header("Cache-Control", "no-store")
        if told is None:
            reached, missed = self.doors.is_reached(kernel_id), self.doors.has_missed(kernel_id)
            self.finish({"there": True, "reached": reached, "missed": missed})
        else:
            self.finish({"there": False, **vars(told)})
