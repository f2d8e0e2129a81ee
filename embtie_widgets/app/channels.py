"""The line of a page to its kernel, held to the one protocol that our pages speak.

Voila reads whatever goes to a page as that protocol, and Jupyter believes the first number of
whatever comes from one: by an older protocol, or eight bytes that are no count, a single visitor
would have the server count for ever, and fill its memory meanwhile.
"""

from http import HTTPStatus
from typing import Any, ClassVar
from weakref import WeakSet

from tornado.ioloop import IOLoop
from tornado.web import Finish, HTTPError
from voila.tornado.kernel_websocket_handler import VoilaKernelWebsocketHandler

PROTOCOL = "v1.kernel.websocket.jupyter.org"
_NUMBER = 8  # bytes
_FEWEST = 6  # places: of the channel, header, parent, metadata and content, and the end
_BAD_DATA = 1007
# Numbers of our own: the kernel has ended; the server has given the page up.
ENDED, GIVEN_UP = 4001, 4002
ENDED_WORDS = "the kernel has ended"


class Channels(VoilaKernelWebsocketHandler):
    """Voila's handler of this line, which no other protocol and no broken message gets through."""

    connection: Any = None
    _opened: ClassVar[WeakSet["Channels"]] = WeakSet()

    async def get(self, kernel_id: str) -> None:
        """Open the line to a page that speaks the protocol."""
        offered = self.request.headers.get("Sec-WebSocket-Protocol", "").split(",")
        if PROTOCOL not in map(str.strip, offered):
            raise HTTPError(HTTPStatus.BAD_REQUEST)
        await super().get(kernel_id)

    async def pre_get(self) -> None:
        """Wait for the kernel; the page may go meanwhile."""
        await super().pre_get()
        if self.connection is None:
            raise Finish

    async def open(self, kernel_id: str) -> None:
        """Carry messages from now on."""
        self._opened.add(self)
        await super().open(kernel_id)

    def close(self, code: int | None = None, reason: str | None = None) -> None:
        """Hang up; Jupyter does so without a word on who answers no ping, or comes anew."""
        silent = IOLoop.current().time() - self.last_pong
        word = f"no answer to a ping for {silent:.0f} s, or a newer line of this page"
        super().close(code or GIVEN_UP, reason or word)

    def on_close(self) -> None:
        """The page has gone, maybe before its line was asked for at the kernel."""
        self._opened.discard(self)
        if self.connection is not None:
            super().on_close()

    def on_message(self, ws_message: str | bytes) -> None:
        """Hand a message on; who sends what is none is hung up on."""
        if isinstance(ws_message, bytes) and is_whole(ws_message):
            super().on_message(ws_message)
        else:
            self.close(_BAD_DATA, "no message of this protocol")


def hang_up(kernel: str) -> None:
    """Close every line to a kernel that has ended, so that its page asks why."""
    for line in [one for one in Channels._opened if one.kernel_id == kernel]:
        line.close(ENDED, ENDED_WORDS)


def is_whole(message: bytes) -> bool:
    """Whether a message has the parts that its beginning announces: how many places, and they."""
    count = int.from_bytes(message[:_NUMBER], "little")
    head = _NUMBER * (count + 1)
    if count < _FEWEST or head > len(message):
        return False
    starts = range(_NUMBER, head, _NUMBER)
    places = [int.from_bytes(message[start : start + _NUMBER], "little") for start in starts]
    return head <= places[0] and places == sorted(places) and places[-1] <= len(message)
