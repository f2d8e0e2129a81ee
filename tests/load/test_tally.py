"""The verdict of a soak: by whose fault a line was lost, and what has grown."""

import asyncio
import time

import pytest

from embtie_widgets.app.channels import ENDED, GIVEN_UP
from tests.aside import awaited
from tests.load.pulse import Pulse
from tests.load.tally import Look, Tally, cause
from tests.load.wire import ClosedError

THERE = {"there": True}


@pytest.mark.parametrize(
    ("lost", "late", "told", "why"),
    [
        (ClosedError(ENDED), 99, {"there": False, "why": "memory"}, "the kernel ended: memory"),
        (ClosedError(GIVEN_UP, "no answer"), 60, THERE, "this client had no turn"),
        (ClosedError(GIVEN_UP, "no answer"), 2, THERE, "the server hung up: no answer"),
        (ClosedError(), 2, THERE, "the line was closed: without a word"),
        (ClosedError(1009, "too big"), 0, THERE, "the line was closed: 1009 too big"),
    ],
)
def test_a_lost_line_is_told_by_its_cause(
    lost: ClosedError, late: float, told: dict[str, object], why: str
) -> None:
    assert cause(lost, late, told) == why
    tally = Tally()
    tally.lost[why] += 1
    assert tally.verdict(0) == ([] if late == 60 else [f"1 lines lost: {why}"])


def looks(server: list[float], kernel: list[float]) -> Tally:
    one_more = [{2: 900.0} if place % 2 else {} for place in range(len(kernel))]
    pairs = zip(server, kernel, one_more, strict=True)
    return Tally(looks=[Look(held, {1: size} | more) for held, size, more in pairs])


def test_what_grows_after_it_is_warm_is_told_and_what_comes_and_goes_is_not() -> None:
    warm = [70.0, 200, 210, 211, 209, 212]
    assert looks(warm, warm).verdict(0) == []
    [told] = looks([*warm[:5], 260.0], warm).verdict(0)
    assert told == "the server held 210 MiB when all was warm, 260 at the end"
    [told] = looks(warm, [*warm[:5], 260.0]).verdict(0)
    assert "1 kernels that stayed" in told
    assert looks(warm[:5], [1, 1, 1, 1, 900]).verdict(0) == []  # too short to tell
    assert Tally(faults=["a"]).verdict(2) == ["2 kernels left over", "a"]


def test_a_process_knows_when_it_had_no_turn() -> None:
    async def beat() -> tuple[float, float]:
        pulse = Pulse()
        pulse.start()
        await asyncio.sleep(0.05)
        calm = pulse.worst(60)
        time.sleep(1.5)
        while not pulse.worst(60):
            await asyncio.sleep(0.01)
        await pulse.stop()
        return calm, pulse.worst(60)

    calm, late = awaited(beat())
    assert calm == 0
    assert late > 0.3
