"""What an EvaluateRequest will cost."""

from embtie_widgets.jobs import lens_cost
from embtie_widgets.jobs.estimate import Estimate, Work, experience
from embtie_widgets.requests.evaluate import PERPLEXITY, EvaluateRequest

_LETTERS = 3.5  # of a token of English, about
_ITEM = 4 * 60.0  # tokens of an item with its choices, about; of a worked example 60
_ITEMS = 1_500  # of a whole task, about
_OPENING = 2_000.0  # multiply-adds that a number costs in being read and unpacked
_BLOCK_BYTES = 3 * 256e6
_SECONDS, _HARNESS_SECONDS = 0.5, 5.0


def work_of(request: EvaluateRequest) -> Work | None:
    """What the run consists of; None while its models are not known here."""
    sizes = [lens_cost.seen(ref) for ref in (request.a, request.b)]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    choices = [task for task in request.tasks if task != PERPLEXITY]
    read = len(choices) * (request.limit or _ITEMS) * (_ITEM + 4 * 60.0 * request.shots)
    if len(choices) < len(request.tasks):
        read += request.letters / _LETTERS * request.length / request.stride
    return Work(
        request.kind,
        request.device,
        sum((_OPENING + read) * size.parameters for size in known),
        round(max(4.0 * size.parameters for size in known) + _BLOCK_BYTES),
        seconds=_SECONDS + (_HARNESS_SECONDS if choices else 0.0),
    )


def estimate_evaluate(request: EvaluateRequest) -> Estimate | None:
    """The cost of a request as far as this kernel can tell; None for models not seen yet."""
    return experience.estimate(work_of(request))
