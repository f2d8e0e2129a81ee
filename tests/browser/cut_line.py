"""A line from browser to server that can be cut and mended, as by a proxy or a sleeping laptop."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit


class Line:
    """Carries bytes from `port` to the server's while it is whole."""

    def __init__(self, server: int) -> None:
        self._server, self.port = server, 0
        self._loop = asyncio.new_event_loop()
        self._open: set[asyncio.StreamWriter] = set()
        self._kernels: dict[asyncio.StreamWriter, asyncio.StreamWriter] = {}
        self._silent: set[asyncio.StreamWriter] = set()
        self._listening: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.mend()

    def cut(self) -> None:
        """End what is open, and let nothing new through."""
        self._do(self._cut())

    def mend(self) -> None:
        """Carry again, on the same port."""
        self._do(self._listen())

    def lose(self) -> None:
        """End what leads to kernels at the server alone: the browser hears nothing of it, as one
        that slept meanwhile.  What is opened from now on is carried."""
        self._do(self._lose())

    def end(self) -> None:
        """Stop for good."""
        self.cut()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _do(self, work: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _listen(self) -> None:
        self._listening = await asyncio.start_server(self._carry, "127.0.0.1", self.port)
        self.port = self._listening.sockets[0].getsockname()[1]

    async def _cut(self) -> None:
        if self._listening is not None:
            self._listening.close()
        for writer in self._open:
            writer.transport.abort()
        self._open.clear()

    async def _lose(self) -> None:
        for far, near in self._kernels.items():
            self._silent.add(near)
            far.transport.abort()
        self._kernels.clear()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far = await asyncio.open_connection("127.0.0.1", self._server)
        except OSError:
            writer.transport.abort()
            return
        self._open |= {writer, far}
        begun = await reader.read(65_536)
        if b"/channels" in begun.partition(b"\r\n")[0]:
            self._kernels[far] = writer
        far.write(begun)
        await asyncio.gather(self._pour(reader, far), self._pour(far_reader, writer))

    async def _pour(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        if writer not in self._silent:
            writer.close()


@contextmanager
def line_to(address: str) -> Iterator[tuple[Line, str]]:
    """Such a line to a server, and the address at its near end."""
    port = urlsplit(address).port
    assert port is not None
    line = Line(port)
    try:
        yield line, address.replace(f":{port}", f":{line.port}")
    finally:
        line.end()
