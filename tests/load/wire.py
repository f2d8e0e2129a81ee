"""The line between a page and its kernel: Jupyter's messages on a websocket, as pages send them."""

import asyncio
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from jupyter_server.services.kernels.connection.base import (
    deserialize_msg_from_ws_v1,
    serialize_msg_to_ws_v1,
)
from tornado.httpclient import HTTPRequest
from tornado.websocket import (
    WebSocketClientConnection,
    WebSocketClosedError,
    websocket_connect,
)

Message = Mapping[str, Any]
_LARGEST = 256 * 2**20
_PROTOCOL = "v1.kernel.websocket.jupyter.org"
_PARTS = ("header", "parent_header", "metadata", "content")


class ClosedError(Exception):
    """The line was closed by the other side: with which number and reason, if it said any."""

    def __init__(self, code: int | None = None, reason: str | None = None) -> None:
        super().__init__(code, reason)
        self.code, self.reason = code, reason

    def __str__(self) -> str:
        said = f"{self.code} {self.reason or ''}".rstrip() if self.code else "without a word"
        return f"the line was closed: {said}"


class Wire:
    """One websocket to one kernel; `heard` is called with every message that comes, `ended` when
    none will come any more; then `lost` says how it was closed."""

    def __init__(
        self, heard: Callable[[Message], None], ended: Callable[[], None] = lambda: None
    ) -> None:
        self._heard, self._ended = heard, ended
        self.lost: ClosedError | None = None
        self._session = uuid.uuid4().hex
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._line: WebSocketClientConnection | None = None
        self._reader: asyncio.Task[None] | None = None
        self.received = 0

    async def open(self, address: str, headers: Mapping[str, str]) -> None:
        """Connect to the channels of a kernel."""
        asked = HTTPRequest(f"{address}?session_id={self._session}", headers=dict(headers))
        self._line = await websocket_connect(
            asked, max_message_size=_LARGEST, subprotocols=[_PROTOCOL]
        )
        self._reader = asyncio.create_task(self._read(self._line))

    async def ask(
        self, kind: str, content: Mapping[str, Any], buffers: Sequence[bytes] = (), **more: Any
    ) -> None:
        """Send a message, and wait until the kernel has done all that it does in answer."""
        if self._line is None or self.lost is not None:
            raise self.lost or ClosedError
        header = self._header(kind)
        done = asyncio.get_running_loop().create_future()
        self._waiting[header["msg_id"]] = done
        parts = [json.dumps(part).encode() for part in (header, {}, more, content)]
        data = serialize_msg_to_ws_v1([*parts, *buffers], "shell")
        with suppress(WebSocketClosedError):  # the reader tells
            await self._line.write_message(data, binary=True)
        await done

    def close(self) -> None:
        """Hang up."""
        if self._line is not None:
            self._line.close()

    async def closed(self) -> None:
        """Wait until the line is closed."""
        if self._reader is not None:
            await self._reader

    def _header(self, kind: str) -> dict[str, str]:
        return {
            "msg_id": uuid.uuid4().hex,
            "msg_type": kind,
            "session": self._session,
            "username": "",
            "version": "5.3",
            "date": datetime.now(UTC).isoformat(),
        }

    async def _read(self, line: WebSocketClientConnection) -> None:
        try:
            while (data := await line.read_message()) is not None:
                self.received += len(data)
                _, parts = deserialize_msg_from_ws_v1(data)
                told = [json.loads(part) for part in parts[: len(_PARTS)]]
                buffers = parts[len(_PARTS) :]
                self._take({**dict(zip(_PARTS, told, strict=True)), "buffers": buffers})
        finally:
            self.lost = ClosedError(line.close_code, line.close_reason)
            for waiting in self._waiting.values():
                with suppress(asyncio.InvalidStateError):
                    waiting.set_exception(self.lost)
                    waiting.exception()  # looked at: not all of them are waited for
            self._ended()

    def _take(self, message: Message) -> None:
        self._heard(message)
        rests = message["content"].get("execution_state") == "idle"
        if message["header"]["msg_type"] == "status" and rests:
            waiting = self._waiting.pop(message["parent_header"].get("msg_id", ""), None)
            if waiting is not None and not waiting.done():
                waiting.set_result(None)
