"""What a CenteringRequest will cost."""

from collections import Counter
from dataclasses import replace

from embtie_widgets.jobs.estimate import Estimate, Work, experience
from embtie_widgets.jobs.places import CLUSTER, place
from embtie_widgets.jobs.training_cost import READ, training_work
from embtie_widgets.requests import CenteringRequest

_HELD_SECONDS = 1.0  # the loss of a run on text held out


def work_of(request: CenteringRequest) -> Work | None:
    """All cells one after the other; None where nothing can be said."""
    counts = Counter((cell.size, cell.tied) for cell in request.cells)
    works = [
        training_work(request, counts[size, True], counts[size, False], size, request.extra_rows)
        for size in request.sizes
    ]
    known = [work for work in works if work is not None]
    if len(known) < len(works):
        return None
    return replace(
        known[0],
        operations=sum(work.operations for work in known),
        bytes=max(work.bytes for work in known),
        seconds=sum(work.seconds for work in known) + _HELD_SECONDS * len(request.cells),
    )


def estimate_centering(request: CenteringRequest) -> Estimate | None:
    """The cost where nothing of it has been trained yet, next to nothing for a file; None for a
    tokenizer not seen yet, a run that somebody else writes, and machines that are not known."""
    if request.source == "file":
        return READ
    if request.source == "run" or place().kind == CLUSTER:
        return None
    return experience.estimate(work_of(request))
