"""What a kernel says in one go: little enough for any server, and all of it kept by ours."""

import asyncio
from collections import Counter
from types import SimpleNamespace
from typing import Any

import comm
import pytest
from comm.base_comm import BaseComm
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

from embtie_widgets.app.dashboard import TABS, Dashboard
from embtie_widgets.app.kernels import Kernels
from tests.aside import awaited

_DROPPED_FROM = 1_000  # messages: the queue that zmq gives a kernel for each server
_FLOOD = 12_000
_SAY = f"""
import time
from IPython import get_ipython
kernel = get_ipython().kernel
for number in range({_FLOOD}):
    said = {{"data": {{"text/plain": "x" * 2_000}}, "metadata": {{}}}}
    kernel.session.send(kernel.iopub_socket, "display_data", content=said)
    if number % 400 == 0:  # at the speed at which our widgets are opened
        time.sleep(0.1)
"""


def test_no_tab_says_so_much_at_once_that_a_server_may_drop_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said: list[str] = []

    class Line(BaseComm):
        def publish_msg(self, msg_type: str, *_: Any, **__: Any) -> None:
            said.append(msg_type)

    monkeypatch.setattr(comm, "create_comm", Line)
    board = Dashboard()
    counts = {TABS[0].name: Counter(said)}
    for tab in TABS[1:]:
        said.clear()
        board.tabs.value = tab.name
        counts[tab.name] = Counter(said)
    assert min(one["comm_open"] for one in counts.values()) > 100
    assert max(one.total() for one in counts.values()) < 0.7 * _DROPPED_FROM
    assert max(one["comm_msg"] for one in counts.values()) < 20


def test_what_a_kernel_says_while_the_server_is_busy_is_not_dropped() -> None:
    async def listen() -> int:
        manager = AsyncMappingKernelManager()
        Kernels(SimpleNamespace(kernel_manager=manager))
        kernel = manager.get_kernel(await manager.start_kernel())
        client = kernel.client()
        client.start_channels()
        await client.wait_for_ready(timeout=60)
        stream = kernel.connect_iopub()
        heard: list[Any] = []
        await asyncio.sleep(0.5)  # for the kernel to know who listens
        await client.execute(_SAY, reply=True, timeout=60)
        stream.on_recv(heard.append)
        before = -1
        while before < len(heard) < _FLOOD:
            before = len(heard)
            await asyncio.sleep(2)
        stream.close()
        client.stop_channels()
        await manager.shutdown_all(now=True)
        return len(heard)

    assert awaited(listen()) >= _FLOOD
