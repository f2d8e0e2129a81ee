"""From a BottleneckTrialsRequest to a TrialsReport: runs whose head lets less through, or runs on
SpamLang, trained here or on a cluster.

A run is one of `jobs/training_runs.py`: what an earlier request has trained is taken from there.
"""

from typing import Any

from embtie_widgets.jobs.cache import entry_key, kept_or_made, recall
from embtie_widgets.jobs.cells import CellTask
from embtie_widgets.jobs.estimate import Work
from embtie_widgets.jobs.held_loss import known_accuracy, known_loss, too_short
from embtie_widgets.jobs.places import Place, place
from embtie_widgets.jobs.sweep import Sweep, Texts
from embtie_widgets.jobs.training_plan import Plan
from embtie_widgets.jobs.training_runs import known_run
from embtie_widgets.jobs.trials_cost import work_of
from embtie_widgets.jobs.trials_held import spam_known
from embtie_widgets.jobs.trials_plan import (
    RANKS,
    language_of,
    plan_of,
    tasks_of,
)
from embtie_widgets.jobs.trials_report import (
    excess_of,
    finished_trial,
    run_of_trial,
    seen_of,
    trial_curves,
)
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import BottleneckTrialsRequest
from embtie_widgets.requests.corpus import BUNDLED, OWN
from embtie_widgets.requests.training import OWN_TOKENIZER, TRAIN_TOKENIZER
from embtie_widgets.results.trials import FAILED, TrialRun, TrialsReport
from embtie_widgets.training.run_store import RunStore

_OURS = (OWN_TOKENIZER, TRAIN_TOKENIZER)  # those that need no download


def run_trials(request: BottleneckTrialsRequest, progress: Progress = silent) -> TrialsReport:
    """Train what is not trained yet."""
    where, plan = place(), plan_of(request, progress)
    sweep = _Trials(request, plan, where, progress)
    found: TrialsReport = kept_or_made(request, sweep.hashes, sweep.carried_out, _is_whole)
    return found


def look_up(request: BottleneckTrialsRequest) -> TrialsReport | None:
    """What an earlier run has left, where the text ships with embtie or none is needed: the result,
    or every run of it."""
    text = request.experiment == RANKS
    if text and not (request.corpus.ref in (OWN, BUNDLED) and request.tokenizer in _OURS):
        return None
    sweep = _Trials(request, plan_of(request), Place())
    kept: TrialsReport | None = recall(entry_key(request, sweep.hashes))
    if kept is not None:
        return kept
    return None if sweep.missing else sweep.carried_out()


def _is_whole(report: TrialsReport) -> bool:
    return not any(run.state == FAILED for run in report.trials)


class _Trials(Sweep[TrialsReport]):
    """The runs of either experiment; `plan` is None for SpamLang."""

    def __init__(
        self,
        request: BottleneckTrialsRequest,
        plan: Plan | None,
        place: Place,
        progress: Progress = silent,
    ) -> None:
        self._request, self._plan = request, plan
        self.hashes = {} if plan is None else plan.hashes
        short = "" if plan is None else too_short(plan.held, request.length)
        self._notes = (short,) if short else ()
        super().__init__(tasks_of(request, plan), place, progress)

    def run_of(self, task: CellTask, **known: Any) -> TrialRun:
        """By its trial."""
        return run_of_trial(task.cell, **known)

    def grown_of(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """Curves."""
        return {"curves": trial_curves(rows)}

    def known(self, task: CellTask) -> TrialRun | None:
        """Its run, where that has been measured too."""
        store = known_run(task.spec, self.texts(task)[0])
        if store is None or not self._is_measured(store):
            return None
        return self.finished(task, store, "")

    def _is_measured(self, store: RunStore) -> bool:
        if store.manifest.get("diverged") is not None or self._notes:
            return True
        if self._plan is None:
            return spam_known(store) is not None
        return known_loss(store, self._plan.held) is not None

    def finished(self, task: CellTask, store: RunStore, where: str) -> TrialRun:
        """With how it does on what is held out."""
        told: dict[str, Any] = {"where": where} if where else {}
        if self._plan is not None:
            held = self._plan.held
            numbers = known_loss(store, held), known_accuracy(store, held)
            return finished_trial(task.cell, store, *numbers, told)
        found = dict(spam_known(store) or {})
        loss, accuracy = found.pop("loss", None), found.pop("accuracy", None)
        told = found | seen_of(task.cell, store) | told
        return finished_trial(task.cell, store, loss, accuracy, told)

    def texts(self, task: CellTask) -> Texts:
        """The text and its part held out; of SpamLang the language itself."""
        if self._plan is not None:
            return self._plan.corpus, self._plan.held
        language = language_of(task.cell)
        return language, language

    def work(self) -> Work | None:
        """Of all runs."""
        return work_of(self._request)

    def report(self, progress: str = "") -> TrialsReport:
        """With the excess of what is known."""
        return TrialsReport(
            experiment=self._request.experiment,
            trials=tuple(self.runs),
            excess=() if self._plan is None else excess_of(self.runs),
            notes=self._notes,
            settings={
                **self._request.to_dict(),
                "ran on": self.ran_on,
                "cached": not self.missing,
            },
            hashes=self.hashes,
            progress=progress,
        )
