"""What a NormFrequencyRequest will cost."""

import sys

from embtie_widgets.jobs.estimate import Estimate, Work, experience
from embtie_widgets.requests.corpus import OWN
from embtie_widgets.requests.norms import NormFrequencyRequest

# Three matrices are read whole; sorting, windows and correlations were measured per token.
_READING, _ROW_SECONDS = 4.0, 1.5e-5
_ROW_BYTES, _BLOCK_BYTES = 600, 4096 * 16


def work_of(request: NormFrequencyRequest) -> Work | None:
    """What the run consists of, without the counting; None while its models are not known here."""
    size = experience.size(request)
    if size is None:
        return None
    rows, width = size
    return Work(
        request.kind,
        "cpu",
        operations=_READING * 3 * rows * width,
        bytes=_ROW_BYTES * rows + _BLOCK_BYTES * width,
        seconds=0.15 + _ROW_SECONDS * rows,
        telling=False,
    )


def estimate_norms(request: NormFrequencyRequest) -> Estimate | None:
    """The cost of a request, of its counting too; None while nothing can be said.

    A text is looked at only where torch is loaded: that import would take longer than the answer
    is worth.
    """
    cost = experience.estimate_pair(request, work_of(request))
    if cost is None or request.corpus.ref == OWN:
        return cost
    if "torch" not in sys.modules:
        return None
    from embtie_widgets.jobs.counting import estimate_counting

    counting = estimate_counting(request.corpus)
    if counting is None:
        return None
    return Estimate(cost.seconds + counting.seconds, max(cost.bytes, counting.bytes))
