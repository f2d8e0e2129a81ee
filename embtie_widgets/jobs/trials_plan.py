"""From a BottleneckTrialsRequest to the recipe of each of its runs.

Equal trials of different requests get equal recipes, and so are the same run.
"""

from dataclasses import replace

from embtie_widgets.jobs.cells import CellTask
from embtie_widgets.jobs.training_plan import TIED, UNTIED, Plan, open_plan
from embtie_widgets.jobs.trials_held import spam_held
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import BottleneckTrialsRequest
from embtie_widgets.requests.trials import Trial
from embtie_widgets.training.bottleneck_recorder import BottleneckRecorder
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.head_ways import head_plugs
from embtie_widgets.training.presets import preset
from embtie_widgets.training.runs import RunSpec
from embtie_widgets.training.spamlang import SpamLang, spam_config
from embtie_widgets.training.trial_recorder import TrialRecorder

RANKS, SPAMLANG = "ranks", "spamlang"
_MEASURED = 256  # positions of a logged step, of which what is transmitted is taken


def plan_of(request: BottleneckTrialsRequest, progress: Progress = silent) -> Plan | None:
    """The text and what is known of it; None for SpamLang, which needs none."""
    return open_plan(request, progress) if request.experiment == RANKS else None


def tasks_of(request: BottleneckTrialsRequest, plan: Plan | None) -> list[CellTask]:
    """Every trial with its recipe, in the order of the request."""
    return [
        CellTask(number, one, spam_spec(request, one), spam_held)
        if plan is None
        else CellTask(number, one, rank_spec(request, plan, one))
        for number, one in enumerate(request.trials)
    ]


def rank_spec(request: BottleneckTrialsRequest, plan: Plan, one: Trial) -> RunSpec:
    """The recipe of a run on a text.  What records comes before the way of the head, which may
    leave no gradient as it was."""
    rows = len(plan.rows.tokens)
    config = replace(
        plan.config,
        model=preset(request.preset, rows, request.length, request.size),
        lr=one.lr,
        seed=one.seed,
        checkpoints=(0,),
    )
    plugs = head_plugs(one.way, one.rank)
    recorders = TrialRecorder(), BottleneckRecorder(_MEASURED)
    return RunSpec(name_of(one), config, one.tied, request.share_start, (*recorders, *plugs))


def spam_spec(request: BottleneckTrialsRequest, one: Trial) -> RunSpec:
    """The recipe of a run on SpamLang; without weight decay, which would forget a symbol between
    its few draws."""
    config = TrainingConfig(
        lr=one.lr,
        warmup=request.warmup,
        seed=one.seed,
        device=request.device,
        precision=request.precision,
        checkpoints=(0,),
        log_every=request.every,
        weight_decay=0.0,
    )
    rows, draws = rows_of_trial(one), request.draws(one)
    made = spam_config(config, draws, request.preset, rows, request.layers, one.width or 1)
    recorders = TrialRecorder(draws=True), BottleneckRecorder(_MEASURED)
    return RunSpec(name_of(one), made, one.tied, request.share_start, recorders)


def rows_of_trial(one: Trial) -> int:
    """Of a model of SpamLang: symbols, and classes that never occur."""
    return (one.symbols or 0) + (one.extra or 0)


def language_of(one: Trial) -> SpamLang:
    """What a run of SpamLang learns."""
    return SpamLang(one.symbols or 1)


def name_of(one: Trial) -> str:
    """What a run is called while it goes on."""
    tying = TIED if one.tied else UNTIED
    if one.symbols is None:
        rank = "" if one.rank is None else f" {one.rank}"
        return f"{tying} {one.way}{rank} at {one.lr:g}, seed {one.seed}"
    beside = f" and {one.extra}" if one.extra else ""
    return (
        f"{tying} {one.symbols}{beside} symbols, width {one.width}, length {one.length} at "
        f"{one.lr:g}, seed {one.seed}"
    )
