"""Many visitors at once, for as long as is asked, and what that costs.

    python tests/load/soak.py [--visitors 20] [--browsers 3] [--minutes 0] [--keep 60]

Everyone opens the page at once, goes through the maps, draws lassos and opens two other panels;
`--browsers` of them are real Chromiums.  With `--minutes` they go on for so long: every other one
stays, the rest leave and come again.  A line a minute says what the kernels hold; at the end all
leave, and the kernels have to be gone `--keep` seconds later.  It ends with 1 where somebody was
not served, or something was left over.
"""

import argparse
import asyncio
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.browser.servers import Running, running
from tests.load.visitor import Visitor

MIB = 2**20
MAPS = ("Orthogonal", "Linear", "Identity")
TABS = ("Lens", "Norm-frequency", "Alignment")
STAY_SECONDS = 120  # of those who come and go
THINK_SECONDS = 1.0  # between two things that somebody does
LOOK_SECONDS = 60
SPARE_SECONDS = 15  # in which kernels end that are told to


@dataclass
class Tally:
    """What was measured: seconds of opening, seconds by kind of interaction, and faults."""

    pages: list[float] = field(default_factory=list)
    acts: dict[str, list[float]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    uss: list[list[float]] = field(default_factory=list)

    async def time(self, name: str, act: Awaitable[Any]) -> None:
        """Carry an interaction out, and keep its seconds."""
        start = time.monotonic()
        await act
        self.acts.setdefault(name, []).append(time.monotonic() - start)

    def all_acts(self) -> list[float]:
        """The seconds of every interaction."""
        return [seconds for times in self.acts.values() for seconds in times]


async def act_all(one: Any, tally: Tally) -> None:
    """Go through everything once, with time to think."""
    for place, label in enumerate(MAPS):
        await tally.time("map", one.switch_map(label))
        await asyncio.sleep(THINK_SECONDS)
        bits = bytes(8 * place) + b"\xff" * 32 + bytes(10_000)
        await tally.time("lasso", one.lasso(bits))
        await asyncio.sleep(THINK_SECONDS)
    for name in TABS:
        await tally.time("tab", one.open_tab(name))
        await asyncio.sleep(THINK_SECONDS)


async def visits(make: Callable[[], Any], tally: Tally, until: float, stay: float) -> None:
    """Come, do everything again and again, and leave; come again as long as there is time."""
    while True:
        one = make()
        tally.pages.append(await one.open())
        leaves = min(until, time.monotonic() + stay)
        await act_all(one, tally)
        while time.monotonic() < leaves:
            await act_all(one, tally)
        await one.leave()
        if time.monotonic() >= until:
            return


def held(server: Running) -> list[float]:
    """MiB that each kernel holds for itself alone."""
    found = []
    for kernel in server.kernels():
        try:
            found.append(kernel.memory_full_info().uss / MIB)
        except psutil.Error:
            continue
    return sorted(found)


async def watch(server: Running, tally: Tally) -> None:
    """Say from time to time how the kernels and the server are."""
    start = time.monotonic()
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        sizes = await asyncio.to_thread(held, server)
        tally.uss.append(sizes)
        own = psutil.Process(server.process.pid).memory_full_info().uss / MIB
        say(
            f"{time.monotonic() - start:5.0f} s: {len(sizes)} kernels, "
            f"{middle(sizes):.0f} MiB in the middle, {max(sizes, default=0):.0f} at most; "
            f"server {own:.0f} MiB; {len(tally.all_acts())} interactions"
        )


async def soak(server: Running, asked: argparse.Namespace) -> Tally:
    """Let everyone in, and wait until all have left."""
    tally = Tally()
    watcher = asyncio.create_task(watch(server, tally))
    until = time.monotonic() + 60 * asked.minutes
    async with browsers(asked.browsers) as opened:
        makers: list[Callable[[], Any]] = [
            lambda place=place: opened(place, server.address) for place in range(asked.browsers)
        ]
        makers += [lambda: Visitor(server.address)] * (asked.visitors - asked.browsers)
        stays = [(asked.minutes * 60 if i % 2 else STAY_SECONDS) for i in range(len(makers))]
        tasks = [visits(make, tally, until, stay) for make, stay in zip(makers, stays, strict=True)]
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, BaseException):
                tally.faults.append(f"{type(ended).__name__}: {ended}"[:500])
        tally.uss.append(await asyncio.to_thread(held, server))
    watcher.cancel()
    return tally


async def left_over(server: Running, keep: float, ready: int) -> int:
    """How many kernels too many there are when all pages were left so long ago."""
    end = time.monotonic() + keep + SPARE_SECONDS
    while time.monotonic() < end and len(server.kernels()) > ready:
        await asyncio.sleep(1)
    return max(0, len(server.kernels()) - ready)


def browsers(count: int) -> Any:
    """As many real browsers as are asked for; nothing is loaded for none."""
    from tests.load.browsers import Browsers

    return Browsers(count)


def middle(values: list[float]) -> float:
    return statistics.median(values) if values else 0.0


def row(name: str, seconds: list[float]) -> None:
    if seconds:
        late = sorted(seconds)[int(0.95 * (len(seconds) - 1))]
        say(f"{name:12} {middle(seconds):6.2f} s median, {late:6.2f} s at 95 %, n = {len(seconds)}")


def say(words: str) -> None:
    print(f"{words}  [load {os.getloadavg()[0]:.1f}]", flush=True)


def report(tally: Tally, left: int) -> None:
    """Print what came of it."""
    row("page", tally.pages)
    for name, times in tally.acts.items():
        row(name, times)
    row("any", tally.all_acts())
    last = tally.uss[-1] if tally.uss else []
    say(f"unique memory {middle(last):.0f} MiB in the middle, {max(last, default=0):.0f} at most")
    say(f"{left} kernels left over; {len(tally.faults)} visitors not served")
    for fault in tally.faults:
        say(fault)


async def main() -> int:
    """Serve, soak, report."""
    parser = argparse.ArgumentParser(description="Many visitors at once, and what that costs.")
    parser.add_argument("--visitors", type=int, default=20)
    parser.add_argument("--browsers", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--keep", type=float, default=60)
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the server is to end with it
    with tempfile.TemporaryDirectory() as name:
        told = {"EMBTIE_CACHE": str(Path(name) / "cache")}
        with running(Path(name), told=told, keep_seconds=asked.keep, ready=1) as server:
            tally = await soak(server, asked)
            left = await left_over(server, asked.keep, 1)
            report(tally, left)
    return 1 if tally.faults or left else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
