"""What a BottleneckTrialsRequest will cost."""

from dataclasses import replace

from embtie_widgets.jobs.estimate import Estimate, Work, experience
from embtie_widgets.jobs.places import CLUSTER, place
from embtie_widgets.jobs.training_cost import training_work, work_of_runs
from embtie_widgets.requests import BottleneckTrialsRequest
from embtie_widgets.requests.trials import Trial

_HELD_SECONDS = 1.0  # the loss of a run on what is held out


def work_of(request: BottleneckTrialsRequest) -> Work | None:
    """All runs one after the other; None where nothing can be said."""
    works = [_work(request, one) for one in request.trials]
    known = [work for work in works if work is not None]
    if not known or len(known) < len(works):
        return None
    return replace(
        known[0],
        operations=sum(work.operations for work in known),
        bytes=max(work.bytes for work in known),
        seconds=sum(work.seconds + _HELD_SECONDS for work in known),
    )


def estimate_trials(request: BottleneckTrialsRequest) -> Estimate | None:
    """The cost where nothing of it has been trained yet; None for a tokenizer not seen yet, and
    for machines that are not known."""
    return None if place().kind == CLUSTER else experience.estimate(work_of(request))


def _work(request: BottleneckTrialsRequest, one: Trial) -> Work | None:
    if one.symbols is None:
        return training_work(request, int(one.tied), int(not one.tied), request.size)
    draws, width = request.draws(one), one.width or 1
    return work_of_runs(
        request.device,
        rows=one.symbols + (one.extra or 0),
        shape=(request.layers, width, 4 * width),
        batch=draws.batch,
        length=draws.length,
        steps=draws.steps,
        tied=int(one.tied),
        untied=int(not one.tied),
    )
