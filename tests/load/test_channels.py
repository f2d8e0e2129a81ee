"""The line of a page to its kernel, on a live server: what a hostile visitor sends over it."""

import asyncio
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jupyter_server.services.kernels.connection.base import serialize_msg_to_ws_v1
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect

from embtie_widgets.app.channels import PROTOCOL, is_whole
from tests.aside import awaited
from tests.browser.servers import running
from tests.load.visitor import Visitor

_PARTS = [b'{"msg_id": "1"}', b"{}", b"{}", b"{}"]
_HEAP = 2**29


@given(st.lists(st.binary(max_size=40), max_size=6))
def test_what_pages_send_is_whole_with_any_buffers(buffers: list[bytes]) -> None:
    message = serialize_msg_to_ws_v1([*_PARTS, *buffers], "shell")
    assert is_whole(message)
    assert not is_whole(message[: 8 * 3])
    assert not is_whole(b"\xff" * 8 + message[8:])
    assert not is_whole(message[:8] + b"\xff" * 8 + message[16:])


@given(st.binary(max_size=200))
def test_any_bytes_are_judged_without_counting_for_ever(message: bytes) -> None:
    if is_whole(message):
        assert int.from_bytes(message[:8], "little") <= len(message) // 8


async def _attack(address: str, protocols: list[str], sent: bytes) -> None:
    """Say a few bytes over the line to the visitor's own kernel, and wait until it is closed."""
    line = await websocket_connect(HTTPRequest(address), subprotocols=protocols)
    await line.write_message(sent, binary=True)
    while await line.read_message() is not None:
        pass
    assert line.close_code == 1007


async def _visit(address: str) -> None:
    visitor = Visitor(address)
    await visitor.open()
    line = visitor.channels()
    for protocols in ([], ["v2.kernel.websocket.jupyter.org"]):
        with pytest.raises(HTTPClientError, match="400"):
            await websocket_connect(HTTPRequest(line), subprotocols=protocols)
    for sent in (b"", b"\xff" * 8, b"\xff" * 8 + bytes(200), bytes(64)):
        await asyncio.wait_for(_attack(line, [PROTOCOL], sent), 60)
    assert "selected" in await visitor.lasso(b"\xff" + bytes(10_000))  # the other lines are whole
    await visitor.leave()


def test_a_line_in_another_protocol_or_broken_messages_harm_nobody(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        awaited(_visit(server.address))
        assert psutil.Process(server.process.pid).memory_info().rss < _HEAP
