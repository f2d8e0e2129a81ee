"""What a request will cost, said before it is run.

Here is what is known of models and machine, whatever is measured.  A kind of request says what its
work is made of, in a module of its own beside its job that loads no torch (`jobs/align_cost.py`):
`work_of(request)` as a `Work`, which its job hands to `timed`, and the estimate itself.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs import devices
from embtie_widgets.progress import spoken
from embtie_widgets.requests import ModelRef, PairRequest

Shape = tuple[int, int]

# Multiply-adds of one 32-bit product a second, until the first runs of this kernel have shown it.
_FIRST_GUESS = 5e10
_OVERHEAD_SECONDS = 0.15
_TELLING = 1e10
# Seconds for each number of a matrix whose mean row is found and taken off.
_CENTRING = 5e-8
_HINT = "Choose smaller models, or close other work there."


@dataclass(frozen=True)
class Estimate:
    """Seconds of work, and bytes beyond the matrices themselves."""

    seconds: float
    bytes: int


@dataclass(frozen=True)
class Work:
    """What a run consists of.

    kind, device  of the request: the speed is learnt for each
    operations    multiply-adds of 32-bit products, with all else counted as so many of these
    bytes         of memory beyond the matrices, at their peak
    seconds       beside the operations
    telling       whether its time says how fast products are
    """

    kind: str
    device: str
    operations: float
    bytes: int
    seconds: float = _OVERHEAD_SECONDS
    telling: bool = True


class Experience:
    """What earlier runs of this kernel have shown: shapes of models, speed of the machine."""

    def __init__(self) -> None:
        self._shapes: dict[ModelRef, Shape] = {}
        self._rates: dict[tuple[str, str], float] = {}

    def saw(self, ref: ModelRef, shape: Shape) -> None:
        """Remember how large a model's matrix is."""
        self._shapes[ref] = shape

    def size(self, request: PairRequest) -> Shape | None:
        """Common rows, at most, and width of a pair; None while its models are not known here."""
        if not self._shapes.keys() >= {request.a, request.b}:
            return None
        (rows_a, width_a), (rows_b, width_b) = (self._shapes[request.a], self._shapes[request.b])
        return min(rows_a, rows_b), max(width_a, width_b)

    def took(self, work: Work, seconds: float) -> None:
        """Learn the speed from work that is large enough to tell: what is small, or forms no
        products, takes its time with other things."""
        if work.telling and work.operations > _TELLING and seconds > 2 * work.seconds:
            self._rates[work.kind, work.device] = work.operations / (seconds - work.seconds)

    def estimate(self, work: Work | None) -> Estimate | None:
        """The cost of some work, None where it is not known."""
        if work is None:
            return None
        return Estimate(work.seconds + work.operations / self._rate(work), work.bytes)

    def estimate_pair(self, request: PairRequest, work: Work | None) -> Estimate | None:
        """The same for a pair, with the centred copies of two matrices where it asks for them."""
        cost, size = self.estimate(work), self.size(request)
        if cost is None or size is None or not request.mu_centered:
            return cost
        numbers = 2 * size[0] * size[1]
        return Estimate(cost.seconds + _CENTRING * numbers, cost.bytes + 4 * numbers)

    def _rate(self, work: Work) -> float:
        """As this kind of work has gone on this device, else as another kind has."""
        here = {kind: rate for (kind, device), rate in self._rates.items() if device == work.device}
        return here.get(work.kind) or next(iter(here.values()), _FIRST_GUESS)


experience = Experience()


def timed(
    work: Work | None,
    make: Callable[[], Any],
    *,
    gathered: int = 0,
    hint: str = _HINT,
    tells: Callable[[], bool] = lambda: True,
) -> Any:
    """What `make` gives, unless the work needs more memory than is free; its time is learnt from.

    `gathered` are the bytes of the matched rows that have to be copied out of their files; `hint`
    says what can be done where memory is too small; `tells` is asked in the end whether all of the
    work was done, and nothing of it found from an earlier run.
    """
    if work is None:
        return make()
    refuse_too_large(work.device, gathered + work.bytes, hint)
    started = time.monotonic()
    result = make()
    if tells():
        experience.took(work, time.monotonic() - started)
    return result


def refuse_too_large(device: str, needed: int, hint: str = _HINT) -> None:
    """An EmbtieError for work that needs more bytes than are free, before it takes any."""
    for place, free in devices.free_bytes(device).items():
        if needed > free:
            raise EmbtieError(
                f"This needs about {spoken(needed)} of memory, and {spoken(free)} are "
                f"free on {place}.",
                hint,
            )
