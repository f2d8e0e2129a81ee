"""What a request will cost, said before it is run."""

from dataclasses import dataclass

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs import devices
from embtie_widgets.progress import spoken
from embtie_widgets.requests import AlignRequest, ModelRef

Shape = tuple[int, int]

# Multiply-adds of one 32-bit product a second, until the first runs of this kernel have shown it.
_FIRST_GUESS = 5e10
_OVERHEAD_SECONDS = 0.15
_TELLING = 1e10
# Measured as peaks above the inputs: d x d work in float64, blocks of rows of every matrix in the
# arithmetic's type and the stored one, and some vectors over all rows.
_SQUARES, _BLOCK_BYTES, _ROW_BYTES = 70 * 8, 4096 * 96, 1000


@dataclass(frozen=True)
class Estimate:
    """Seconds of work, and bytes beyond the matrices themselves."""

    seconds: float
    bytes: int


class Experience:
    """What earlier runs of this kernel have shown: shapes of models, speed of the machine."""

    def __init__(self) -> None:
        self._shapes: dict[ModelRef, Shape] = {}
        self._rate = _FIRST_GUESS

    def saw(self, ref: ModelRef, shape: Shape) -> None:
        """Remember how large a model's matrix is."""
        self._shapes[ref] = shape

    def took(self, request: AlignRequest, seconds: float) -> None:
        """Learn the speed from work that is large enough to tell: what is small, or forms no
        products, takes its time with other things."""
        operations = self._operations(request) if request.map != "identity" else None
        if operations and operations > _TELLING and seconds > 2 * _OVERHEAD_SECONDS:
            self._rate = operations / (seconds - _OVERHEAD_SECONDS)

    def estimate(self, request: AlignRequest) -> Estimate | None:
        """The cost of a request; None while its models are not known here."""
        operations = self._operations(request)
        if operations is None:
            return None
        rows, width = self._size(request)
        memory = _SQUARES * width * width if request.map != "identity" else 0
        memory += _BLOCK_BYTES * width + _ROW_BYTES * rows
        return Estimate(_OVERHEAD_SECONDS + operations / self._rate, memory)

    def _size(self, request: AlignRequest) -> Shape:
        (rows_a, width_a), (rows_b, width_b) = (self._shapes[request.a], self._shapes[request.b])
        return min(rows_a, rows_b), max(width_a, width_b)

    def _operations(self, request: AlignRequest) -> float | None:
        if not self._shapes.keys() >= {request.a, request.b}:
            return None
        rows, width = self._size(request)
        # Three comparisons, each with its floor and hold-out; identity forms no product.
        products = {"identity": 0.0, "orthogonal": 13.0, "linear": 18.0}[request.map]
        factorisations = {"identity": 0.0, "orthogonal": 9 * 30.0, "linear": 9 * 25.0}[request.map]
        return float(rows) * width * (products * width + 50) + factorisations * float(width) ** 3


experience = Experience()


def refuse_too_large(request: AlignRequest, gathered: int = 0) -> None:
    """An EmbtieError for a request that needs more memory than is free, before it takes any.

    `gathered` are the bytes of the matched rows that have to be copied out of their files.
    """
    cost = experience.estimate(request)
    needed = gathered + (0 if cost is None else cost.bytes)
    for place, free in devices.free_bytes(request.device).items():
        if needed > free:
            raise EmbtieError(
                f"This needs about {spoken(needed)} of memory, and {spoken(free)} are "
                f"free on {place}.",
                "Choose smaller models or the identity map, or close other work there.",
            )


def estimate_align(request: AlignRequest) -> Estimate | None:
    """The cost of a request as far as this kernel can tell; None for models not loaded yet."""
    return experience.estimate(request)
