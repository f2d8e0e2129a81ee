"""What can be said of a model's checkpoints without loading them, and mostly without torch."""

from collections.abc import Callable
from functools import partial

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.estimate import Estimate
from embtie_widgets.jobs.local_copies import on_disk
from embtie_widgets.jobs.lookup import ask
from embtie_widgets.requests import ModelRef
from embtie_widgets.requests.checkpoints import CheckpointsRequest
from embtie_widgets.results.checkpoints import CheckpointReport
from embtie_widgets.sources.named_models import BUNDLED


def ask_listing(
    ref: str,
    answer: Callable[[CheckpointReport], None],
    failed: Callable[[EmbtieError], None],
) -> None:
    """List a model's checkpoints off the main thread and hand them to `answer` there, or what
    went wrong to `failed`.  For a model on the hub that asks the hub, so only on a click."""
    ask(partial(_listed, ref), answer, failed)


def estimate_checkpoints(request: CheckpointsRequest) -> Estimate | None:
    """Next to nothing for what is bundled or only listed here; None for the hub, and for files
    on this machine whose size is not known."""
    ref = request.model.ref
    listed_here = request.depth != "matrices" and on_disk(ref)
    return Estimate(0.3, 0) if ref in BUNDLED or listed_here else None


def _listed(ref: str) -> CheckpointReport:
    from embtie_widgets.jobs.run import run

    report: CheckpointReport = run(CheckpointsRequest(ModelRef(ref), depth="names"))
    return report
