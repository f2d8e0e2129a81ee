"""What breaks while people are at work: nothing is lost, nothing wrong is shown, others go on."""

import asyncio
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from embtie_widgets.app.channels import PROTOCOL
from embtie_widgets.app.serve import check_port
from tests.aside import awaited
from tests.browser.servers import Running, is_kernel, running
from tests.load.visitor import Visitor

_PATIENCE = 120
_MAP = "Orthogonal"
# In the kernels alone: no file may grow beyond a few bytes, which is what a full disk comes to.  A
# few, since Python takes a folder for temporary files only where it could write four bytes.
_FEW = 16
_HANDSHAKE = (
    "GET {path}?session_id=a HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\n"
    f"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: {PROTOCOL}\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
_FULL_DISK = f"""
import sys

if "ipykernel_launcher" in sys.orig_argv:
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, ({_FEW}, {_FEW}))
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def server(cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    told = {"EMBTIE_CACHE": str(cache)}
    with running(tmp_path_factory.mktemp("served"), told=told) as found:
        yield found


@pytest.fixture
def empty(cache: Path) -> Path:
    """The cache without any result."""
    for file in cache.glob("*.*"):
        file.unlink()
    return cache


async def until(fits: Callable[[], Any]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(_PATIENCE):
        while not fits():
            await asyncio.sleep(0.2)


def kernel_of(server: Running, visitor: Visitor) -> psutil.Process:
    """The process behind a visitor's page."""
    [found] = [one for one in server.kernels() if visitor.kernel in " ".join(one.cmdline())]
    return found


async def at_work(server: Running) -> tuple[Visitor, psutil.Process]:
    """A visitor whose kernel has begun a run, and that kernel, which is held still in it."""
    visitor = Visitor(server.address)
    await visitor.open()
    await visitor.choose_map(_MAP)
    await visitor.until(lambda: re.search("starting|gone", visitor.status()))
    kernel = kernel_of(server, visitor)
    kernel.suspend()
    return visitor, kernel


async def shown(visitor: Visitor) -> str:
    """What the page says of the map, asked for by a visitor who has just come."""
    await visitor.open()
    await visitor.switch_map(_MAP)
    caption = visitor.text("ep-caption")
    await visitor.leave()
    return caption


@pytest.fixture(scope="module")
def caption(server: Running) -> str:
    """What the page says when nothing breaks."""
    return awaited(shown(Visitor(server.address)))


def test_a_reload_in_mid_job_finds_the_job_again(
    server: Running, caption: str, empty: Path
) -> None:
    async def reload() -> None:
        visitor, kernel = await at_work(server)
        before = visitor.kernel
        await visitor.leave()
        page = await visitor.page()
        kernel.resume()
        await visitor.connect_again(page)
        assert visitor.kernel == before
        assert len([one for one in server.kernels() if one.pid == kernel.pid]) == 1
        await visitor.answered("orthogonal map")
        assert visitor.text("ep-caption") == caption
        await visitor.leave()

    awaited(reload())


def test_a_kernel_killed_in_mid_job_is_told_and_keeps_nobody_waiting(
    server: Running, caption: str, empty: Path
) -> None:
    async def kill() -> None:
        visitor, kernel = await at_work(server)
        assert (await visitor.why())["there"]
        kernel.kill()
        told = await visitor.why()
        async with asyncio.timeout(_PATIENCE):
            while told["there"]:
                await asyncio.sleep(0.2)
                told = await visitor.why()
        assert told["why"] == "died"
        assert await shown(Visitor(server.address)) == caption
        before = visitor.kernel
        await visitor.connect_again(await visitor.page())
        assert visitor.kernel != before
        await visitor.switch_map(_MAP)
        assert visitor.text("ep-caption") == caption
        await visitor.leave()

    awaited(kill())


async def knock(visitor: Visitor) -> None:
    """Ask for a line to the kernel, and go before there is an answer."""
    at = urlsplit(visitor.channels())
    _, writer = await asyncio.open_connection(at.hostname, at.port)
    writer.write(_HANDSHAKE.format(path=at.path, host=at.netloc).encode())
    await asyncio.sleep(0.5)
    writer.transport.abort()


def test_who_goes_before_the_line_to_a_kernel_is_open_counts_for_nobody(server: Running) -> None:
    async def go() -> None:
        visitor = Visitor(server.address)
        page = await visitor.page()
        kernel = kernel_of(server, visitor)
        kernel.suspend()
        for _ in range(3):
            await knock(visitor)
        kernel.resume()
        await visitor.connect(page)
        assert (await visitor.why())["reached"]
        visitor.wire.close()
        async with asyncio.timeout(_PATIENCE):
            while (await visitor.why())["reached"]:
                await asyncio.sleep(0.2)
        await visitor.leave()

    awaited(go())


def test_a_damaged_entry_of_the_cache_is_not_shown(
    server: Running, caption: str, empty: Path
) -> None:
    assert awaited(shown(Visitor(server.address))) == caption
    entries = list(empty.glob("*.npz"))
    assert entries
    for entry in entries:
        whole = entry.read_bytes()
        entry.write_bytes(whole[: len(whole) // 2] + bytes(len(whole) - len(whole) // 2))
    assert awaited(shown(Visitor(server.address))) == caption
    assert all(b"\0" * 10_000 not in entry.read_bytes() for entry in empty.glob("*.npz"))


def test_a_full_disk_keeps_no_result_and_loses_none(tmp_path: Path, caption: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(_FULL_DISK)
    kept = tmp_path / "cache"
    told = {"EMBTIE_CACHE": str(kept), "PYTHONPATH": str(tmp_path)}

    async def work(server: Running) -> None:
        visitor = Visitor(server.address)
        await visitor.open()
        assert kernel_of(server, visitor).rlimit(psutil.RLIMIT_FSIZE) == (_FEW, _FEW)
        await visitor.switch_map(_MAP)
        assert visitor.text("ep-caption") == caption
        assert await shown(Visitor(server.address)) == caption
        await visitor.leave()

    with running(tmp_path, told=told) as server:
        awaited(work(server))
    assert not [one for one in kept.rglob("*") if one.suffix in (".npz", ".latest")]


def test_a_server_killed_leaves_no_kernel_and_the_next_one_lets_everybody_in(
    tmp_path: Path, cache: Path, caption: str
) -> None:
    port, told = check_port(0), {"EMBTIE_CACHE": str(cache)}

    async def come(server: Running) -> Visitor:
        visitor = Visitor(server.address)
        await visitor.open()
        return visitor

    with running(tmp_path, told=told, port=port) as server:
        visitor = awaited(come(server))
        kernels = server.kernels()
        server.process.kill()
    awaited(until(lambda: not any(map(is_kernel, kernels))))

    async def come_back() -> None:
        assert (await visitor.why())["why"] == "unknown"
        await visitor.connect_again(await visitor.page())
        await visitor.switch_map(_MAP)
        assert visitor.text("ep-caption") == caption
        await visitor.leave()

    with running(tmp_path, told=told, port=port):
        awaited(come_back())
