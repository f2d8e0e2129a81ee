"""The results that ship with the package: a real figure before anything is computed.

`python -m embtie_widgets.jobs.first` makes them anew, or those of the kinds that are named; a test
holds them to what is computed now.
"""

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs import lens_cost, training_cost
from embtie_widgets.jobs.estimate import experience
from embtie_widgets.requests import BottleneckRequest, LensRequest, PairRequest, Request
from embtie_widgets.requests.evaluate import EvaluateRequest
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.results.storage import from_bytes, to_bytes

_DATA = Path(__file__).parents[1] / "data"
# Of these kinds of request, the one with every default is answered.
FILES = {
    "align": "first_result.npz",
    "bottleneck": "first_bottleneck.npz",
    "bottleneck-trials": "first_trials.npz",
    "centering": "first_centering.npz",
    "checkpoints": "first_checkpoints.npz",
    "drift": "first_drift.npz",
    "evaluate": "first_evaluate.npz",
    "geometry": "first_geometry.npz",
    "gradient-flow": "first_flow.npz",
    "input-scaling": "first_scaling.npz",
    "lens": "first_lens.npz",
    "norm-frequency": "first_norms.npz",
    "paper-tables": "first_papers.npz",
    "signatures": "first_signatures.npz",
    "staircase": "first_staircase.npz",
}


def first_result(request: Request) -> Any | None:
    """The stored answer, if this is a request that is answered so; torch is not needed."""
    if request.kind not in FILES or request != type(request)():
        return None
    try:
        result = from_bytes((_DATA / FILES[request.kind]).read_bytes())
    except (OSError, EmbtieError):
        return None
    if isinstance(request, PairRequest):
        for ref, facts in zip((request.a, request.b), result.models.values(), strict=True):
            experience.saw(ref, (facts["rows"], facts["width"]))
    if isinstance(request, LensRequest | EvaluateRequest):
        for ref, facts in zip((request.a, request.b), result.models.values(), strict=True):
            lens_cost.saw(ref, facts)
    if isinstance(request, BottleneckRequest):
        for ref, one in zip(request.models, result.models.values(), strict=True):
            sizes = {name: one.about[name] for name in training_cost.SIZES_SEEN}
            training_cost.saw_sizes(ref, sizes)
    # A field that a pair's request has been given since has its default there.
    asked = request.to_dict() if isinstance(request, PairRequest) else {}
    return replace(result, settings=asked | result.settings | {"cached": True})


def make(kinds: Iterable[str]) -> None:
    """Compute these results anew and put them where they ship from."""
    from embtie_widgets.jobs.run import run

    for kind in kinds:
        result = run(KINDS[kind].request())
        (_DATA / FILES[kind]).write_bytes(to_bytes(result))


if __name__ == "__main__":
    make(sys.argv[1:] or FILES)
