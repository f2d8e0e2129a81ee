"""Many visitors at once, for as long as is asked, and what that costs.

    python tests/load/soak.py [--visitors 20] [--browsers 3] [--minutes 0] [--keep 60]

Everyone opens the page at once, goes through the maps, draws lassos and opens two other panels;
`--browsers` of them are real Chromiums.  With `--minutes` they go on for so long: every other one
stays, the rest leave and come again.  A line a minute says what the kernels hold; at the end all
leave, and the kernels have to be gone `--keep` seconds later.  It says who was served, which lines
were lost and why, and what server and kernels held; it ends with 1 where somebody was not served,
a line was lost by no fault of its client's, a kernel was left over, or something grew.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.browser.servers import Running, running
from tests.load.pulse import Pulse
from tests.load.tally import Look, Tally, cause, middle, report
from tests.load.visitor import Visitor
from tests.load.wire import ClosedError

MAPS = ("Orthogonal", "Linear", "Identity")
TABS = ("Lens", "Norm-frequency", "Alignment")
STAY_SECONDS = 120  # of those who come and go
THINK_SECONDS = 1.0  # between two things that somebody does
LOOK_SECONDS = 60
LOST_SECONDS = 150  # so long ago may be what a line that is given up now is given up for
SPARE_SECONDS = 15  # in which kernels end that are told to


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


async def visits(
    make: Callable[[], Any], tally: Tally, pulse: Pulse, until: float, stay: float
) -> None:
    """Come, do everything again and again, and leave; come again as long as there is time."""
    while True:
        one = make()
        try:
            tally.pages.append(await one.open())
            leaves = min(until, time.monotonic() + stay)
            await act_through(one, tally, pulse)
            while time.monotonic() < leaves:
                await act_through(one, tally, pulse)
        finally:  # a page that was not served is left too: what stays then, stays for no reason
            await one.leave()
        if time.monotonic() >= until:
            return


async def act_through(one: Any, tally: Tally, pulse: Pulse) -> None:
    """Go through everything; where the line is lost, come back as a page does."""
    try:
        await act_all(one, tally)
    except ClosedError as lost:
        late = pulse.worst(LOST_SECONDS)
        tally.lost[cause(lost, late, await one.why())] += 1
        await one.come_back()


async def watch(server: Running, tally: Tally) -> None:
    """Say from time to time how the kernels and the server are."""
    start = time.monotonic()
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        look = await asyncio.to_thread(Look.at, server)
        tally.looks.append(look)
        sizes = list(look.kernels.values())
        say(
            f"{time.monotonic() - start:5.0f} s: {len(sizes)} kernels, "
            f"{middle(sizes):.0f} MiB in the middle, {max(sizes, default=0):.0f} at most; "
            f"server {look.server:.0f} MiB; {len(tally.all_acts())} interactions"
        )


async def soak(server: Running, asked: argparse.Namespace) -> Tally:
    """Let everyone in, and wait until all have left."""
    tally, pulse = Tally(), Pulse()
    pulse.start()
    watcher = asyncio.create_task(watch(server, tally))
    until = time.monotonic() + 60 * asked.minutes
    async with browsers(asked.browsers) as opened:
        makers: list[Callable[[], Any]] = [
            lambda place=place: opened(place, server.address) for place in range(asked.browsers)
        ]
        makers += [lambda: Visitor(server.address)] * (asked.visitors - asked.browsers)
        stays = [(asked.minutes * 60 if i % 2 else STAY_SECONDS) for i in range(len(makers))]
        tasks = [
            visits(make, tally, pulse, until, stay)
            for make, stay in zip(makers, stays, strict=True)
        ]
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, BaseException):
                tally.faults.append(f"{type(ended).__name__}: {ended}"[:500])
        tally.looks.append(await asyncio.to_thread(Look.at, server))
    watcher.cancel()
    await pulse.stop()
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


def say(words: str) -> None:
    print(f"{words}  [load {os.getloadavg()[0]:.1f}]", flush=True)


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
            report(tally, left, say)
    return 1 if tally.verdict(left) else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
