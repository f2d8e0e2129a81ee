"""What a DriftRequest will cost, as far as can be said without a network or a model."""

from embtie_widgets.jobs.estimate import Estimate, experience
from embtie_widgets.jobs.training_cost import READ, training_work
from embtie_widgets.requests import DriftRequest
from embtie_widgets.sources.named_models import BUNDLED

_SHIPPED = Estimate(0.9, 40_000_000)


def estimate_drift(request: DriftRequest) -> Estimate | None:
    """Little for what is bundled, next to nothing for a file; None for models whose size is not
    known here, and for a run that somebody else writes."""
    if request.source == "train":
        return experience.estimate(training_work(request, tied=1, untied=1))
    if request.source == "file":
        return READ
    bundled = all(model.ref in BUNDLED for model in request.models)
    return _SHIPPED if request.source == "model" and bundled else None
