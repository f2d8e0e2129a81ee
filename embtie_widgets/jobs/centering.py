"""From a CenteringRequest to a CenteringReport: a grid of runs, trained here or on a cluster.

A cell is a run of `jobs/training_runs.py`: what an earlier request has trained, before a restart of
the kernel too, is taken from there, and a further learning rate costs no more than its own runs.
"""

import math
from typing import Any

from embtie_widgets.jobs.cache import entry_key, kept_or_made, recall
from embtie_widgets.jobs.cells import CellTask
from embtie_widgets.jobs.centering_cost import work_of
from embtie_widgets.jobs.centering_effect import effects_of
from embtie_widgets.jobs.centering_known import recalled, remember
from embtie_widgets.jobs.centering_plan import tasks_of
from embtie_widgets.jobs.centering_report import (
    finished_run,
    known_of,
    run_of_cell,
    sensitivities,
)
from embtie_widgets.jobs.estimate import Work
from embtie_widgets.jobs.held_loss import known_loss, too_short
from embtie_widgets.jobs.places import Place, place
from embtie_widgets.jobs.sweep import Sweep, Texts
from embtie_widgets.jobs.training_plan import Plan, open_plan
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import CenteringRequest
from embtie_widgets.requests.corpus import BUNDLED, OWN
from embtie_widgets.requests.training import OWN_TOKENIZER, TRAIN_TOKENIZER
from embtie_widgets.results.centering import FAILED, CenteringReport, CenteringRun, Effect
from embtie_widgets.training.run_store import RunStore

_OURS = (OWN_TOKENIZER, TRAIN_TOKENIZER)  # those that need no download


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
    where, plan = place(), open_plan(request, progress)
    sweep = _Sweep(request, plan, where, progress)
    found: CenteringReport = kept_or_made(request, plan.hashes, sweep.carried_out, _is_whole)
    return found


def _is_whole(report: CenteringReport) -> bool:
    return not any(run.state == FAILED for run in report.runs)


class _Sweep(Sweep[CenteringReport]):
    """The runs of output centering."""

    def __init__(
        self, request: CenteringRequest, plan: Plan, place: Place, progress: Progress = silent
    ) -> None:
        self._request, self._plan = request, plan
        self._effects: tuple[Effect, ...] = ()
        self._notes = [note for note in (too_short(plan.held, request.length),) if note]
        self._initial_loss = math.log(len(plan.rows.tokens) + request.extra_rows)
        super().__init__(tasks_of(request, plan), place, progress)

    def carried_out(self) -> CenteringReport:
        """All cells, and what taking the mean off does to some."""
        super().carried_out()
        self._effects = effects_of(self._request, self._plan, self.tasks, self.runs, self.progress)
        return self.report()

    def run_of(self, task: CellTask, **known: Any) -> CenteringRun:
        """By its cell."""
        return run_of_cell(task.cell, **known)

    def grown_of(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Curves, and the numbers at their end."""
        return known_of(rows)

    def known(self, task: CellTask) -> CenteringRun | None:
        """As its numbers were kept, or its run."""
        kept = recalled(task, self._plan)
        if kept is not None:
            return kept
        store = self._plan.known(task.spec)
        if store is None or (known_loss(store, self._plan.held) is None and not self._notes):
            return None
        return self.finished(task, store, "")

    def finished(self, task: CellTask, store: RunStore, where: str) -> CenteringRun:
        """Its numbers are kept by themselves: they are small, and its run may be removed."""
        loss = known_loss(store, self._plan.held)
        run = finished_run(task.cell, store, loss, self._initial_loss, where)
        remember(task, self._plan, run)
        return run

    def texts(self, task: CellTask) -> Texts:
        """The same for every cell."""
        return self._plan.corpus, self._plan.held

    def work(self) -> Work | None:
        """Of all cells."""
        return work_of(self._request)

    def report(self, progress: str = "") -> CenteringReport:
        """With the sensitivities of what is known."""
        return CenteringReport(
            runs=tuple(self.runs),
            sensitivity=sensitivities(self.runs, lambda _size: self._initial_loss),
            effects=self._effects,
            initial_loss=self._initial_loss,
            notes=tuple(self._notes),
            settings={
                **self._request.to_dict(),
                "ran on": self.ran_on,
                "rows of tokens": len(self._plan.rows.tokens),
                "cached": not self.missing,
            },
            hashes=self._plan.hashes,
            progress=progress,
        )


def _file(request: CenteringRequest, progress: Progress) -> CenteringReport:
    from embtie_widgets.jobs.centering_file import file_sweep

    found: CenteringReport = file_sweep(request, progress)
    return found


def _recorded(request: CenteringRequest, progress: Progress) -> CenteringReport:
    from embtie_widgets.jobs.centering_run import run_recorded

    found: CenteringReport = run_recorded(request, progress)
    return found


_SOURCES = {"train": _train, "file": _file, "run": _recorded}
