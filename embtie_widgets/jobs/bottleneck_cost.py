"""What a BottleneckRequest will cost."""

from embtie_widgets.jobs.estimate import Estimate, Work, experience
from embtie_widgets.jobs.training_cost import sizes_seen, training_work
from embtie_widgets.requests import BottleneckRequest

# Multiply-adds that a number of a model costs in being read, a logit in its passes, and one number
# in float64 over one in float32.
_OPENING, _PASSES, _FINE = 2_000.0, 60.0, 2.0
# Of eigenvalues, over their number cubed; of all halves together.
_EIGEN = 4.0
_SECONDS, _BLOCK_BYTES = 0.5, 256e6


def work_of(request: BottleneckRequest) -> Work | None:
    """What the run consists of; None where nothing can be said."""
    if request.source == "train":
        return training_work(request, tied=1, untied=1)
    sizes = [sizes_seen(ref) for ref in request.models] if request.source == "text" else []
    known = [size for size in sizes if size is not None]
    if not known or len(known) < len(sizes):
        return None
    return Work(
        request.kind,
        request.device,
        operations=sum(_operations(request, size) for size in known),
        bytes=round(max(_bytes(request, size) for size in known)),
        seconds=_SECONDS * len(known),
    )


def estimate_bottleneck(request: BottleneckRequest) -> Estimate | None:
    """The cost of a request; None for a model or tokenizer not seen yet, and for a run that
    somebody else writes."""
    return experience.estimate(work_of(request))


def _operations(request: BottleneckRequest, size: dict[str, int]) -> float:
    """The model opened and read, G U by position, the factor and the leverages, the spectrum, and
    three directions at each length."""
    rows, width = float(size["rows"]), float(size["width"])
    n, m = float(request.positions), float(min(request.gram, request.positions))
    tried = 3 * len(request.steps_at)
    return (
        (_OPENING + n) * size["parameters"]
        + n * rows * (2 * width + _PASSES)
        + 1.5 * _FINE * rows * width**2
        + _FINE * (m * m * rows + _EIGEN * m**3)
        + m * rows * (4 * width + _PASSES * tried)
    )


def _bytes(request: BottleneckRequest, size: dict[str, int]) -> float:
    """The model and its head in float32, the factor, the products of rows of G, and what is held
    of the vocabulary at a time."""
    m = min(request.gram, request.positions)
    numbers = size["parameters"] + size["rows"] * size["width"] + m * size["width"]
    return 4.0 * numbers + 8.0 * (4 * size["width"] ** 2 + 2 * m**2) + _BLOCK_BYTES
