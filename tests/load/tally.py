"""What a soak has seen, and its verdict."""

import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import psutil

from embtie_widgets.app.channels import ENDED, GIVEN_UP
from tests.browser.servers import Running
from tests.load.wire import ClosedError

MIB = 2**20
# Longer without a turn than this, a client has not answered for itself.
STARVED_SECONDS = 20.0
# What everybody has done once is held for good; from then on no more than this comes on top.
WARM, MORE, SPARE_MIB = 1 / 3, 1.15, 12.0
_FEWEST_LOOKS = 6


def cause(lost: ClosedError, late: float, told: dict[str, Any]) -> str:
    """Why a line was lost, from what came over it, how late its client's own turn was meanwhile,
    and what the server says of the kernel."""
    if not told["there"]:
        return f"the kernel ended: {told['why']}"
    if late > STARVED_SECONDS:
        return "this client had no turn"
    if lost.code in (ENDED, GIVEN_UP):
        return f"the server hung up: {lost.reason}"
    return str(lost)


@dataclass
class Look:
    """MiB that the server, and each of its kernels by its number, hold for themselves alone."""

    server: float
    kernels: dict[int, float]

    @classmethod
    def at(cls, server: Running) -> "Look":
        """What they hold now."""
        found = {one.pid: _unique(one) for one in server.kernels()}
        own = _unique(psutil.Process(server.process.pid))
        return cls(own, {pid: held for pid, held in found.items() if held})


def _unique(process: psutil.Process) -> float:
    try:
        return float(process.memory_full_info().uss) / MIB
    except psutil.Error:
        return 0.0


@dataclass
class Tally:
    """What was measured: seconds of opening, seconds by kind of interaction, lines lost by cause,
    faults, and what was held from time to time."""

    pages: list[float] = field(default_factory=list)
    acts: dict[str, list[float]] = field(default_factory=dict)
    lost: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)

    async def time(self, name: str, act: Awaitable[Any]) -> None:
        """Carry an interaction out, and keep its seconds."""
        start = time.monotonic()
        await act
        self.acts.setdefault(name, []).append(time.monotonic() - start)

    def all_acts(self) -> list[float]:
        """The seconds of every interaction."""
        return [seconds for times in self.acts.values() for seconds in times]

    def wrongly_lost(self) -> Counter[str]:
        """The lines that were lost by no fault of their client's."""
        return Counter({why: n for why, n in self.lost.items() if "no turn" not in why})

    def growth(self) -> list[str]:
        """What of the server and of the kernels that stayed has grown for no reason, in words;
        nothing is said of a soak too short to tell."""
        if len(self.looks) < _FEWEST_LOOKS:
            return []
        first, last = self.looks[int(WARM * len(self.looks))], self.looks[-1]
        stayed = first.kernels.keys() & last.kernels.keys()
        told = {"the server": (first.server, last.server)}
        if stayed:
            before, after = (
                statistics.median(look.kernels[pid] for pid in stayed) for look in (first, last)
            )
            told[f"the {len(stayed)} kernels that stayed, in the middle,"] = (before, after)
        return [
            f"{who} held {before:.0f} MiB when all was warm, {after:.0f} at the end"
            for who, (before, after) in told.items()
            if after > MORE * before + SPARE_MIB
        ]

    def verdict(self, left: int) -> list[str]:
        """All that must not be."""
        lost = [f"{count} lines lost: {why}" for why, count in self.wrongly_lost().items()]
        kernels = [f"{left} kernels left over"] if left else []
        return [*lost, *kernels, *self.growth(), *self.faults]


def report(tally: Tally, left: int, say: Callable[[str], None]) -> None:
    """Say what came of it."""
    row("page", tally.pages, say)
    for name, times in tally.acts.items():
        row(name, times, say)
    row("any", tally.all_acts(), say)
    say(f"{len(tally.pages)} visits served, {len(tally.faults)} not")
    for why, count in tally.lost.items():
        say(f"{count} lines lost and come back: {why}")
    for name, look in zip(("begin", "end"), (tally.looks[:1], tally.looks[-1:]), strict=True):
        for one in look:
            sizes = sorted(one.kernels.values())
            say(
                f"at the {name}: server {one.server:.0f} MiB; {len(sizes)} kernels, "
                f"{middle(sizes):.0f} MiB in the middle, {max(sizes, default=0):.0f} at most"
            )
    say(f"{left} kernels left over")
    wrong = tally.verdict(left)
    say("wrong: " + "; ".join(wrong) if wrong else "all well")


def row(name: str, seconds: list[float], say: Callable[[str], None]) -> None:
    """One line of the report, where there is something to tell."""
    if seconds:
        late = sorted(seconds)[int(0.95 * (len(seconds) - 1))]
        say(f"{name:12} {middle(seconds):6.2f} s median, {late:6.2f} s at 95 %, n = {len(seconds)}")


def middle(values: list[float]) -> float:
    """The median, 0 of nothing."""
    return statistics.median(values) if values else 0.0
