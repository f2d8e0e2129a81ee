"""One open line from a page to its kernel, counted once, and what is kept for a page cut off.

The doors end a kernel by how many pages reach it, and Jupyter keeps messages for a page when the
last one has gone.  Both rest on a count, which Jupyter lowers also for a page that goes before its
line is open, as one does that waits for a kernel that starts: such a kernel would be taken for
reached, and stay, for ever.
"""

import asyncio
from typing import Any

from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection

from embtie_widgets.app.channels import ENDED, ENDED_WORDS

_Jupyters: Any = ZMQChannelsWebsocketConnection  # its types are not those of what it does


class Line(_Jupyters):
    """Jupyter's connection, which is counted while it is open, and loses nothing on the way."""

    _is_open = _is_new = False

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        # It is meant for what people print.  A page that does not get all that its widgets say
        # shows something wrong, and what comes at once after a cut is more than this lets through.
        self.limit_rate = False

    def connect(self) -> "asyncio.Future[None]":
        """Open it."""
        self._is_open = True
        opened: asyncio.Future[None] | None = super().connect()
        if opened is None:  # the kernel has ended meanwhile
            self.websocket_handler.close(ENDED, ENDED_WORDS)
        return opened or _done()

    def create_stream(self) -> None:
        """Listen to the kernel for the first time."""
        self._is_new = True
        super().create_stream()

    def nudge(self) -> "asyncio.Future[None]":
        """Wait until the kernel is heard.  What was kept for a page shows that it is; to listen
        for a sign would take a message from the page."""
        if self._is_new:
            heard: asyncio.Future[None] = super().nudge()
            return heard
        return _done()

    def disconnect(self) -> None:
        """Close it, once."""
        if self._is_open:
            self._is_open = False
            super().disconnect()
        else:
            self._give_up()
        # Who keeps messages has them now, and nothing of it goes here any more.
        self.channels: dict[str, Any] = {}

    def _give_up(self) -> None:
        """Leave the count, and what is kept for the page, as they were."""
        kernels = self.multi_kernel_manager
        for _ in range(2):  # its own, and one by which it is not the last to go
            kernels.notify_connect(self.kernel_id)
        super().disconnect()
        kernels.notify_disconnect(self.kernel_id)


def _done() -> "asyncio.Future[None]":
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    done.set_result(None)
    return done
