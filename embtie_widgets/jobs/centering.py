"""From a CenteringRequest to a CenteringReport: a grid of runs, trained here or on a cluster.

A cell is a run of `jobs/training_runs.py`: what an earlier request has trained, before a restart of
the kernel too, is taken from there, and a further learning rate costs no more than its own runs.
"""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs import cells
from embtie_widgets.jobs.cache import entry_key, kept_or_made, recall
from embtie_widgets.jobs.cells import CellTask
from embtie_widgets.jobs.centering_cost import work_of
from embtie_widgets.jobs.centering_effect import effects_of
from embtie_widgets.jobs.centering_known import recalled, remember
from embtie_widgets.jobs.centering_plan import refuse_sweep_on_page, tasks_of
from embtie_widgets.jobs.centering_report import (
    finished_run,
    known_of,
    run_of_cell,
    sensitivities,
)
from embtie_widgets.jobs.estimate import timed
from embtie_widgets.jobs.held_loss import known_loss, too_short
from embtie_widgets.jobs.places import HERE, Place, place
from embtie_widgets.jobs.training_plan import Plan, open_plan
from embtie_widgets.jobs.training_runs import Pictures
from embtie_widgets.progress import Progress, hand_on, silent
from embtie_widgets.requests import CenteringRequest
from embtie_widgets.requests.corpus import BUNDLED, OWN
from embtie_widgets.requests.training import OWN_TOKENIZER, TRAIN_TOKENIZER
from embtie_widgets.results.centering import (
    DIVERGED,
    DONE,
    FAILED,
    RUNNING,
    WAITING,
    CenteringReport,
    CenteringRun,
    Effect,
)
from embtie_widgets.training.run_store import RunStore

_OURS = (OWN_TOKENIZER, TRAIN_TOKENIZER)  # those that need no download
_FOUND = "found from earlier runs"
_SMALLER = "Choose a smaller size, batch, length or vocabulary."


def run_centering(request: CenteringRequest, progress: Progress = silent) -> CenteringReport:
    """Train what is not trained yet, or read what others have."""
    return _SOURCES[request.source](request, progress)


def look_up(request: CenteringRequest) -> CenteringReport | None:
    """What an earlier run has left, where the text ships with embtie: the result, or every cell of
    it; what is recorded is read anew, which is quick."""
    ours = request.corpus.ref in (OWN, BUNDLED) and request.tokenizer in _OURS
    if request.source != "train" or not ours:
        return None
    plan = open_plan(request)
    kept: CenteringReport | None = recall(entry_key(request, plan.hashes))
    if kept is not None:
        return kept
    sweep = _Sweep(request, plan, Place())
    return None if sweep.missing else sweep.carried_out()


def _train(request: CenteringRequest, progress: Progress) -> CenteringReport:
    refuse_sweep_on_page(request)
    where, plan = place(), open_plan(request, progress)
    sweep = _Sweep(request, plan, where, progress)
    found: CenteringReport = kept_or_made(request, plan.hashes, sweep.carried_out, _is_whole)
    return found


def _is_whole(report: CenteringReport) -> bool:
    return not any(run.state == FAILED for run in report.runs)


class _Sweep:
    """The report as it grows; told of each cell how it comes along.

    missing  the tasks of cells that no earlier request has carried out
    """

    def __init__(
        self, request: CenteringRequest, plan: Plan, place: Place, progress: Progress = silent
    ) -> None:
        self._request, self._plan, self._place = request, plan, place
        self._progress = progress
        self._tasks = tasks_of(request, plan)
        self._runs = [run_of_cell(task.cell, state=WAITING) for task in self._tasks]
        self._effects: tuple[Effect, ...] = ()
        self._notes = [note for note in (too_short(plan.held, request.length),) if note]
        self._where: dict[int, str] = {}
        self._errors: list[tuple[str, str]] = []
        self._show = Pictures(progress, lambda _number: self._so_far())
        self._initial_loss = math.log(len(plan.rows.tokens) + request.extra_rows)
        self.missing = [task for task in self._tasks if not self._is_known(task)]

    def carried_out(self) -> CenteringReport:
        """All cells."""
        if self.missing:
            if len(self.missing) < len(self._tasks):
                hand_on(self._progress, self._so_far())  # else what is on the page says more
            self._carry_out()
            self._raise_if_none()
        self._effects = effects_of(
            self._request, self._plan, self._tasks, self._runs, self._progress
        )
        return self._so_far(whole=True)

    def started(self, number: int, where: str) -> None:
        """A cell is under way."""
        self._where[number] = where
        cell, steps = self._tasks[number].cell, self._request.steps
        self._runs[number] = run_of_cell(cell, state=RUNNING, of=steps, about={"where": where})
        self._show(number)

    def grown(self, number: int, rows: list[dict[str, Any]], done: int) -> None:
        """A cell has come so far."""
        self._runs[number] = replace(self._runs[number], step=done, **known_of(rows))
        self._show(number)

    def ended(self, number: int, store: RunStore | None, error: EmbtieError | None) -> None:
        """A cell has come to its end, or failed."""
        if store is None:
            error = error or EmbtieError("Nothing is known of this run.", "Run it again.")
            self._errors.append((error.message, error.hint))
            self._runs[number] = replace(self._runs[number], state=FAILED, reason=str(error))
        else:
            self._take(self._tasks[number], store, self._where.get(number, ""))
        hand_on(self._progress, self._so_far())

    def _carry_out(self) -> None:
        plan, progress = self._plan, self._progress
        if self._place.kind == HERE:
            here = (self.missing, plan.corpus, plan.held, self, progress)
            timed(
                work_of(self._request),
                lambda: cells.here(*here),
                hint=_SMALLER,
                tells=self._all_trained,
            )
            return
        from embtie_widgets.jobs.cluster import on_cluster  # slow to import

        on_cluster(self.missing, plan.corpus, plan.held, self, progress, self._place)

    def _all_trained(self) -> bool:
        """Whether all of the work was done just now, and to its end."""
        whole = all(run.state == DONE for run in self._runs)
        return whole and len(self.missing) == len(self._tasks)

    def _raise_if_none(self) -> None:
        """The error itself, where every cell has failed, and all with the same."""
        if all(run.state == FAILED for run in self._runs) and len(set(self._errors)) == 1:
            raise EmbtieError(*self._errors[0])

    def _is_known(self, task: CellTask) -> bool:
        self._progress("looking for finished runs", task.number, len(self._tasks))
        known = recalled(task, self._plan)
        if known is not None:
            self._runs[task.number] = known
            return True
        store = self._plan.known(task.spec)
        if store is None or (known_loss(store, self._plan.held) is None and not self._notes):
            return False
        self._take(task, store)
        return True

    def _take(self, task: CellTask, store: RunStore, where: str = "") -> None:
        loss = known_loss(store, self._plan.held)
        run = finished_run(task.cell, store, loss, self._initial_loss, where)
        remember(task, self._plan, run)
        self._runs[task.number] = run

    def _so_far(self, whole: bool = False) -> CenteringReport:
        return CenteringReport(
            runs=tuple(self._runs),
            sensitivity=sensitivities(self._runs, lambda _size: self._initial_loss),
            effects=self._effects,
            initial_loss=self._initial_loss,
            notes=tuple(self._notes),
            settings={
                **self._request.to_dict(),
                "ran on": self._place.words if self.missing else _FOUND,
                "rows of tokens": len(self._plan.rows.tokens),
                "cached": not self.missing,
            },
            hashes=self._plan.hashes,
            progress="" if whole else _counted(self._runs),
        )


def _counted(runs: list[CenteringRun]) -> str:
    """How far a sweep is, in words."""
    states = Counter(run.state for run in runs)
    ended = states[DONE] + states[DIVERGED] + states[FAILED]
    going = [run for run in runs if run.state == RUNNING]
    words = [f"{ended:,} of {len(runs):,} runs"]
    words += [f"{run.line} at {run.lr:g}: {run.step:,} of {run.of:,} steps" for run in going[:1]]
    return ", ".join(words) if len(going) < 2 else f"{words[0]}, {len(going):,} under way"


def _file(request: CenteringRequest, progress: Progress) -> CenteringReport:
    from embtie_widgets.jobs.centering_file import file_sweep

    found: CenteringReport = file_sweep(request, progress)
    return found


def _recorded(request: CenteringRequest, progress: Progress) -> CenteringReport:
    from embtie_widgets.jobs.centering_run import run_recorded

    found: CenteringReport = run_recorded(request, progress)
    return found


_SOURCES = {"train": _train, "file": _file, "run": _recorded}
