"""From a CenteringRequest to the recipe of each of its cells.

Equal cells of different requests get equal recipes, and so are the same run.
"""

from dataclasses import replace

from embtie_widgets.jobs.cells import CellTask
from embtie_widgets.jobs.training_plan import TIED, UNTIED, Plan
from embtie_widgets.requests import CenteringRequest
from embtie_widgets.requests.centering import Cell
from embtie_widgets.training.centering import method_plugs
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.logit_recorder import LogitRecorder
from embtie_widgets.training.presets import preset
from embtie_widgets.training.runs import RunSpec


def tasks_of(request: CenteringRequest, plan: Plan) -> list[CellTask]:
    """Every cell with its recipe, in the order of the request."""
    return [
        CellTask(number, cell, spec_of(request, plan, cell))
        for number, cell in enumerate(request.cells)
    ]


def spec_of(request: CenteringRequest, plan: Plan, cell: Cell) -> RunSpec:
    """The recipe of one cell.  The recorder comes first, so that it sees logits before any cap."""
    plugs = method_plugs(
        cell.method, cell.coefficient, request.cap, request.interval, mean_rows(request, plan)
    )
    return RunSpec(
        name=name_of(cell),
        config=_config(request, plan, cell),
        tied=cell.tied,
        share_start=request.share_start,
        interventions=(LogitRecorder(real_rows(plan)), *plugs),
    )


def name_of(cell: Cell) -> str:
    """What a run is called while it goes on."""
    weight = "" if cell.coefficient is None else f" {cell.coefficient:g}"
    size = "" if cell.size == "nano" else f"{cell.size} "
    tying = TIED if cell.tied else UNTIED
    return f"{size}{tying} {cell.method}{weight} at {cell.lr:g}, seed {cell.seed}"


def real_rows(plan: Plan) -> int:
    """How many rows of the matrices have a token; they come first."""
    return len(plan.rows.tokens)


def mean_rows(request: CenteringRequest, plan: Plan) -> int | None:
    """How many leading rows give the mean; None for all, as it is where all have a token."""
    some = request.rows == "tokens" and request.extra_rows > 0
    return real_rows(plan) if some else None


def _config(request: CenteringRequest, plan: Plan, cell: Cell) -> TrainingConfig:
    rows = real_rows(plan) + request.extra_rows
    return replace(
        plan.config,
        model=preset(request.preset, rows, request.length, cell.size),
        lr=cell.lr,
        seed=cell.seed,
        weight_decay=request.weight_decay,
        clip=request.clip,
        eps=request.eps,
        checkpoints=(0,),
    )
