"""From a ScalingRequest to a ScalingReport: an untied run, a tied one, and the scaled ones.

They are trained one after the other, each aligned with the untied one as soon as it has come to
its end.  The runs are those of `jobs/training_runs.py`: what another panel or an earlier request
has trained is taken from there, so that another map or a further factor costs no more than it must.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from embtie_widgets.jobs.cache import entry_key, kept_or_made, recall
from embtie_widgets.jobs.estimate import timed
from embtie_widgets.jobs.held_loss import held_loss, too_short
from embtie_widgets.jobs.scaling_cost import work_of
from embtie_widgets.jobs.training_plan import TIED, UNTIED, Plan, open_plan
from embtie_widgets.jobs.training_runs import Pictures
from embtie_widgets.measures.alignment import align_many
from embtie_widgets.measures.plan import Settings
from embtie_widgets.measures.statistics import group_means
from embtie_widgets.progress import Progress, hand_on, silent
from embtie_widgets.requests import ScalingRequest
from embtie_widgets.requests.corpus import BUNDLED, OWN
from embtie_widgets.results import Alignment
from embtie_widgets.results.groups import groups_of
from embtie_widgets.results.scaling import Nearness, ScaledRun, ScalingReport, named
from embtie_widgets.training.interventions import InputScaling
from embtie_widgets.training.run_store import Checkpoint, RunStore
from embtie_widgets.training.runs import RunSpec

PLAIN = 1.0
_SMALLER = "Choose a smaller batch, a shorter length or a smaller vocabulary."
_CENTERED = True  # as the paper does


def run_scaling(request: ScalingRequest, progress: Progress = silent) -> ScalingReport:
    """Train what is not trained yet, and say how near each tied matrix has come to either side."""
    plan = open_plan(request, progress)
    growing = _Growing(request, plan, progress)
    found: ScalingReport = kept_or_made(
        request,
        plan.hashes,
        lambda: timed(work_of(request), growing.trained, hint=_SMALLER, tells=growing.all_trained),
    )
    return found


def look_up(request: ScalingRequest) -> ScalingReport | None:
    """What an earlier run has left, where the text ships with embtie; where every model has been
    trained before, they are aligned anew, which is quick."""
    if request.corpus.ref not in (OWN, BUNDLED) or request.tokenizer:
        return None
    plan = open_plan(request)
    kept: ScalingReport | None = recall(entry_key(request, plan.hashes))
    if kept is not None:
        return kept
    known = all(plan.known(spec) is not None for spec in specs(request, plan).values())
    return run_scaling(request) if known else None


def specs(request: ScalingRequest, plan: Plan) -> dict[float | None, RunSpec]:
    """The runs by factor, None for the untied one, in the order of their training."""
    until = request.early if request.schedule == "early" else None
    scaled: dict[float | None, RunSpec] = {
        factor: plan.spec(f"{TIED} {named(factor)}", InputScaling(factor, until))
        for factor in request.factors
    }
    return {None: plan.spec(UNTIED), PLAIN: plan.spec(TIED), **scaled}


class _Growing:
    """The result as it grows."""

    def __init__(self, request: ScalingRequest, plan: Plan, progress: Progress) -> None:
        self._request, self._plan, self._progress = request, plan, progress
        self._specs = specs(request, plan)
        self._course = plan.course(self._specs.values(), progress)
        self._runs: dict[float, ScaledRun] = {}
        self._untied: dict[str, Any] = {}
        self._hashes: dict[str, str] = {}
        self._notes: list[str] = []
        self._found = 0
        self._size: tuple[int, ...] = ()

    def trained(self) -> ScalingReport:
        """The untied run, the plain tied one, then the scaled ones."""
        untied: Checkpoint | None = None
        for factor, spec in self._specs.items():
            store = self._run(factor, spec)
            last = store.checkpoints()[-1]
            self._notes += store.notes()
            loss = self._held_loss(spec, store)
            if untied is None or factor is None:
                self._untied = _untied_of(store, loss)
                untied, self._size = last, tuple(last.input.shape)
                continue
            near = self._nearness(factor, untied, last)
            self._runs[factor] = self._scaled(factor, store, near, loss)
            hand_on(self._progress, self._so_far(f"{len(self._runs)} of {self._tied} tied models"))
        return self._so_far("")

    def all_trained(self) -> bool:
        """Whether nothing of it was found from earlier runs."""
        return not self._found

    @property
    def _tied(self) -> int:
        return len(self._specs) - 1

    def _run(self, factor: float | None, spec: RunSpec) -> RunStore:
        known = self._plan.known(spec)
        if known is not None:
            self._found += 1
            return known
        show = Pictures(self._progress, lambda store: self._in_training(factor, spec.name, store))
        return self._plan.run(spec, self._course, show)

    def _in_training(self, factor: float | None, name: str, store: RunStore) -> ScalingReport:
        if factor is None:
            self._untied = _untied_of(store, None)
        else:
            self._runs[factor] = self._scaled(factor, store)
        return self._so_far(f"{store.done:,} of {self._request.steps:,} steps of the {name} model")

    def _held_loss(self, spec: RunSpec, store: RunStore) -> float | None:
        """Nats per token on the text held out; a note where it is too short, None for a run that
        has diverged too."""
        note = too_short(self._plan.held, spec.config.length)
        self._notes += [note] if note else []
        loss = held_loss(spec, store, self._plan.held, self._progress)
        return None if loss is None or math.isnan(loss) else loss

    def _nearness(self, factor: float, untied: Checkpoint, last: Checkpoint) -> dict[str, Nearness]:
        request = self._request
        settings = Settings(
            map=request.map,
            center=_CENTERED,
            ridge=0.0,
            holdout=request.holdout,
            seed=request.seed,
            floor=True,
            device=request.device,
        )
        values = {"input": untied.input, "output": untied.output, "tied": last.input}
        pairs = [(side, "tied") for side in ("input", "output")]
        found = align_many(values, pairs, settings, self._progress)
        self._keep_hashes(factor, found)
        self._notes += _left_out(factor, found["input", "tied"])
        return {side: _near(found[side, "tied"]) for side in ("input", "output")}

    def _scaled(
        self,
        factor: float,
        store: RunStore,
        near: dict[str, Nearness] | None = None,
        loss: float | None = None,
    ) -> ScaledRun:
        request, flow = self._request, store.flow_run()
        early = request.schedule == "early" and factor != PLAIN
        return ScaledRun(
            factor=factor,
            until=min(request.early, request.steps) if early else request.steps,
            nearness=near or {},
            curves=flow.curves,
            held_loss=loss,
            about=flow.about,
        )

    def _keep_hashes(self, factor: float, found: dict[Any, Alignment]) -> None:
        for (side, _), one in found.items():
            self._hashes[f"untied {side}"] = one.hashes[side]
            self._hashes[f"{TIED} {named(factor)}"] = one.hashes["tied"]

    def _so_far(self, progress: str) -> ScalingReport:
        request, rows = self._request, self._plan.rows
        size = dict(zip(("rows", "width"), self._size, strict=False))
        made = ScalingReport(
            runs=tuple(self._runs.values()),
            untied=dict(self._untied),
            tokens=rows.tokens,
            token_counts=rows.counts,
            kinds=rows.kinds,
            notes=tuple(dict.fromkeys(self._notes)),
            settings={
                **request.to_dict(),
                "center": _CENTERED,
                **size,
                "cached": not progress and self._found == len(self._specs),
            },
            hashes={**self._plan.hashes, **self._hashes},
            progress=progress,
        )
        moves = {named(run.factor): made.moved(run) for run in made.scaled}
        whole = moves if moves and not progress else {}
        return replace(made, groups=group_means(groups_of(made), whole)) if whole else made


def _untied_of(store: RunStore, loss: float | None) -> dict[str, Any]:
    flow = store.flow_run()
    return {"curves": flow.curves, "held_loss": loss, "about": flow.about}


def _near(one: Alignment) -> Nearness:
    return Nearness(
        mean=one.mean,
        interval=one.interval,
        heldout=one.heldout_mean,
        floor=float("nan") if one.floor_mean is None else one.floor_mean,
        cosine=one.cosine.astype(np.float32),
        heldout_interval=one.heldout_interval,
    )


def _left_out(factor: float, one: Alignment) -> list[str]:
    """Sentences on rows that take no part, and on a hold-out that is none."""
    many = one.settings["rows_left_out"]
    rows = [
        f"{named(factor)}: {count:,} rows have no value: in one of the matrices they are {why}."
        for why, count in many.items()
        if count
    ]
    return [*rows, *(f"{named(factor)}: {note}" for note in one.settings["notes"])]
