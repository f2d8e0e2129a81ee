"""What a ScalingRequest will cost."""

from dataclasses import replace

from embtie_widgets.jobs.estimate import Estimate, Work, experience
from embtie_widgets.jobs.training_cost import WIDTH, rows_of, training_work
from embtie_widgets.requests import ScalingRequest

# Products of rows and width that two comparisons with floor and hold-out form; see `align_cost`.
_PRODUCTS = 12.0


def work_of(request: ScalingRequest) -> Work | None:
    """An untied run, a tied one, one for each factor, and as many alignments; None where nothing
    can be said."""
    tied = 1 + len(request.factors)
    trained = training_work(request, tied=tied, untied=1)
    rows = rows_of(request)
    if trained is None or rows is None:
        return None
    aligned = tied * _PRODUCTS * rows * WIDTH * WIDTH
    return replace(trained, operations=trained.operations + aligned)


def estimate_scaling(request: ScalingRequest) -> Estimate | None:
    """The cost where nothing of it has been trained yet; None for a tokenizer not seen yet."""
    return experience.estimate(work_of(request))
