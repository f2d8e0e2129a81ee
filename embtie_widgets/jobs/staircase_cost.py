"""What a StaircaseRequest will cost."""

from embtie_widgets.jobs.estimate import Estimate, Work, experience
from embtie_widgets.requests import StaircaseRequest

_STEP_SECONDS, _BEGIN_SECONDS = 0.0015, 0.5
_CURVE = 300  # passes forward for the points of curves
# Multiply-adds that all else costs for a number of a state or of a logit.
_PASSES = 40.0
_FLOAT = 4


def orders_of(request: StaircaseRequest) -> tuple[int, ...]:
    """Those of the orders asked for that a sequence is long enough for."""
    return tuple(order for order in request.orders if order < request.length)


def work_of(request: StaircaseRequest) -> Work:
    """Training, and a probe for each order, fold and snapshot."""
    count = _count(request)
    steps = request.epochs * (-(-count // request.batch) if request.batch else 1)
    passes = 3.0 * request.epochs + min(_CURVE, request.epochs)
    each, held = _sequence(request)
    table = max([_entries(request, order) for order in orders_of(request)], default=0)
    return Work(
        kind=request.kind,
        device=request.device,
        operations=passes * count * each + _probes(request),
        bytes=int(_FLOAT * (5 * (min(request.batch, count) or count) * held + 6 * table)),
        seconds=_BEGIN_SECONDS + _STEP_SECONDS * steps,
    )


def estimate_staircase(request: StaircaseRequest) -> Estimate | None:
    """The cost where nothing of it is known yet."""
    return experience.estimate(work_of(request))


def labels_of(request: StaircaseRequest) -> int:
    """How many labels there are, at most."""
    tokens, length = request.tokens, request.length
    most: int = {
        "sum": length * (tokens - 1) + 1,
        "anchored-sum": (length - 1) * (request.anchors - 1) + tokens,
        "product": tokens**length,
        "parity": 2,
    }.get(request.operation, tokens)
    return min(most, _count(request), request.modulus or most)


def _count(request: StaircaseRequest) -> int:
    """How many sequences there are to learn from."""
    return min(request.samples or request.sequences, request.sequences)


def _sequence(request: StaircaseRequest) -> tuple[float, float]:
    """Multiply-adds of a pass over a sequence, and numbers that are held for it."""
    width, labels = request.width, labels_of(request)
    tokens, length = request.tokens + request.anchors, request.length
    if request.model in ("ffn", "fixed"):
        return width * (tokens + labels) + _PASSES * (width + labels), tokens + 2 * width + labels
    inner = 8 * width if request.model == "transformer" else 0
    layer = length * width * (2 * width + inner + length + _PASSES)
    states = length * request.layers * (4 * width + inner + 2 * length)
    return request.layers * layer + width * labels + _PASSES * labels, states + labels


def _entries(request: StaircaseRequest, order: int) -> float:
    """Numbers of a signature."""
    tokens = request.tokens + request.anchors
    anchors = request.anchors if request.operation == "anchored-sum" else tokens
    return float(anchors * labels_of(request) * tokens**order)


def _probes(request: StaircaseRequest) -> float:
    """Multiply-adds of all fits: three on each fold, and one on all pairs."""
    fits = request.snapshots * (3 * request.folds + 1) * request.probe_steps
    return sum(2.0 * fits * _entries(request, order) for order in orders_of(request) if order)
