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
from embtie_widgets.jobs.cache import kept_or_made
from embtie_widgets.jobs.cells import CellTask
from embtie_widgets.jobs.centering_plan import refuse_sweep_on_page, tasks_of
from embtie_widgets.jobs.centering_report import (
    finished_run,
    known_of,
    run_of_cell,
    sensitivities,
)
from embtie_widgets.jobs.held_loss import known_loss, too_short
from embtie_widgets.jobs.training_plan import Plan, open_plan
from embtie_widgets.jobs.training_runs import Pictures
from embtie_widgets.progress import Progress, hand_on, silent
from embtie_widgets.requests import CenteringRequest
from embtie_widgets.results.centering import (
    DIVERGED,
    DONE,
    FAILED,
    RUNNING,
    WAITING,
    CenteringReport,
    CenteringRun,
)
from embtie_widgets.training.run_store import RunStore


def run_centering(request: CenteringRequest, progress: Progress = silent) -> CenteringReport:
    """Train what is not trained yet, or read what others have."""
    return _SOURCES[request.source](request, progress)


def _train(request: CenteringRequest, progress: Progress) -> CenteringReport:
    refuse_sweep_on_page(request)
    plan = open_plan(request, progress)
    sweep = _Sweep(request, plan, progress)
    found: CenteringReport = kept_or_made(request, plan.hashes, sweep.carried_out, _is_whole)
    return found


def _is_whole(report: CenteringReport) -> bool:
    return not any(run.state == FAILED for run in report.runs)


class _Sweep:
    """The report as it grows; told of each cell how it comes along."""

    def __init__(self, request: CenteringRequest, plan: Plan, progress: Progress) -> None:
        self._request, self._plan, self._progress = request, plan, progress
        self._tasks = tasks_of(request, plan)
        self._runs = [run_of_cell(task.cell, state=WAITING) for task in self._tasks]
        self._where: dict[int, str] = {}
        self._notes = [note for note in (too_short(plan.held, request.length),) if note]
        self._found = 0
        self._show = Pictures(progress, lambda _: self._so_far())
        rows = len(plan.rows.tokens) + request.extra_rows
        self._initial_loss = math.log(rows)

    def carried_out(self) -> CenteringReport:
        """All cells, those of earlier requests first."""
        missing = [task for task in self._tasks if not self._is_known(task)]
        hand_on(self._progress, self._so_far())
        cells.here(missing, self._plan.corpus, self._plan.held, self, self._progress)
        return self._so_far(whole=True)

    def started(self, number: int, where: str) -> None:
        """A cell is under way."""
        self._where[number] = where
        self._runs[number] = run_of_cell(
            self._tasks[number].cell, state=RUNNING, of=self._request.steps
        )
        self._show(None)

    def grown(self, number: int, rows: list[dict[str, Any]], done: int) -> None:
        """A cell has come so far."""
        self._runs[number] = replace(self._runs[number], state=RUNNING, step=done, **known_of(rows))
        self._show(None)

    def ended(self, number: int, store: RunStore | None, error: EmbtieError | None) -> None:
        """A cell has come to its end, or failed."""
        if store is None:
            reason = str(error) if error is not None else "Nothing is known of it."
            self._runs[number] = replace(self._runs[number], state=FAILED, reason=reason)
        else:
            self._take(number, store, self._where.get(number, ""))
        hand_on(self._progress, self._so_far())

    def _is_known(self, task: CellTask) -> bool:
        self._progress("looking for finished runs", task.number, len(self._tasks))
        store = self._plan.known(task.spec)
        if store is None or (known_loss(store, self._plan.held) is None and not self._notes):
            return False
        self._take(task.number, store)
        self._found += 1
        return True

    def _take(self, number: int, store: RunStore, where: str = "") -> None:
        loss = known_loss(store, self._plan.held)
        cell = self._tasks[number].cell
        self._runs[number] = finished_run(cell, store, loss, self._initial_loss, where)
        self._notes += [f"{self._tasks[number].spec.name}: {note}" for note in store.notes()]

    def _so_far(self, whole: bool = False) -> CenteringReport:
        return CenteringReport(
            runs=tuple(self._runs),
            sensitivity=sensitivities(self._runs, lambda size: self._initial_loss),
            initial_loss=self._initial_loss,
            notes=tuple(dict.fromkeys(self._notes)),
            settings={**self._request.to_dict(), "cached": self._found == len(self._tasks)},
            hashes=self._plan.hashes,
            progress="" if whole else _counted(self._runs),
        )


def _counted(runs: list[CenteringRun]) -> str:
    """How far a sweep is, in words."""
    states = Counter(run.state for run in runs)
    ended = states[DONE] + states[DIVERGED] + states[FAILED]
    at = [
        f"{run.line} at {run.lr:g}: {run.step:,} of {run.of:,} steps"
        for run in runs
        if run.state == RUNNING
    ]
    under_way = at[0] if len(at) == 1 else f"{len(at)} under way"
    return f"{ended:,} of {len(runs):,} runs" + (f", {under_way}" if at else "")


_SOURCES = {"train": _train}
