"""The neighbours of one token in the matrices that were trained, for its card."""

from collections.abc import Callable
from functools import partial
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.lookup import Card, ask
from embtie_widgets.requests import ScalingRequest
from embtie_widgets.results.scaling import named


def neighbours(request: ScalingRequest, place: int, factor: float, k: int = 10) -> Card:
    """The k nearest rows by cosine to the one at `place`: in the two matrices of the untied model,
    in the plain tied one, and in that of the factor."""
    from embtie_widgets.measures.neighbours import nearest

    matrices = _matrices(request, factor)
    found = {name: nearest(matrix, place, k) for name, matrix in matrices.items()}
    lists = {
        name: list(zip(near.rows.tolist(), near.values.tolist(), strict=True))
        for name, near in found.items()
    }
    return Card(place, lists)


def ask_neighbours(
    request: ScalingRequest,
    place: int,
    factor: float,
    answer: Callable[[Card], None],
    failed: Callable[[EmbtieError], None],
) -> None:
    """Find them off the main thread and hand them to `answer`, or what went wrong to `failed`."""
    ask(partial(neighbours, request, place, factor), answer, failed)


def _matrices(request: ScalingRequest, factor: float) -> dict[str, Any]:
    """By name, as the runs have kept them last."""
    from embtie_widgets.jobs.scaling import PLAIN, specs
    from embtie_widgets.jobs.training_plan import open_plan

    plan = open_plan(request)
    known = {key: plan.known(spec) for key, spec in specs(request, plan).items()}
    stores = [known.get(key) for key in (None, PLAIN, factor)]
    if any(store is None for store in stores):
        raise EmbtieError(
            "The matrices are not at hand: these models were not trained on this machine.",
            "Press Run to train them here.",
        )
    untied, plain, scaled = (store.checkpoints()[-1] for store in stores if store is not None)
    return {
        "In": untied.input,
        "Out": untied.output,
        f"Tied {named(PLAIN)}": plain.input,
        f"Tied {named(factor)}": scaled.input,
    }
