"""A list of runs carried out here or on a cluster, and its report as it grows.

Whoever has runs of a kind of its own says what one of them comes to, and what the report is.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby
from typing import Any, Generic, TypeVar

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs import cells
from embtie_widgets.jobs.cells import CellTask
from embtie_widgets.jobs.course import Course
from embtie_widgets.jobs.estimate import Work, timed
from embtie_widgets.jobs.places import HERE, Place
from embtie_widgets.jobs.training_runs import Pictures
from embtie_widgets.progress import Progress, hand_on, silent
from embtie_widgets.results.centering import DIVERGED, DONE, FAILED, RUNNING, WAITING
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.run_store import RunStore

Made = TypeVar("Made")
Texts = tuple[Corpus, Corpus]
FOUND = "found from earlier runs"
_SMALLER = "Choose a smaller size, batch, length or vocabulary."


class Sweep(Generic[Made]):
    """Hears of each run how it comes along, and hands on the report.

    tasks    the runs, in the order of the request
    runs     what is known of each, one that has `state`, `step`, `of` and `reason`
    missing  the tasks that no earlier request has carried out
    """

    def __init__(self, tasks: list[CellTask], place: Place, progress: Progress = silent) -> None:
        self.tasks, self.place, self.progress = tasks, place, progress
        self.runs: list[Any] = [self.run_of(task, state=WAITING) for task in tasks]
        self._where: dict[int, str] = {}
        self._errors: list[tuple[str, str]] = []
        self._show = Pictures(progress, lambda _number: self.report(counted(self.runs)))
        self.missing = [task for task in tasks if not self._is_known(task)]

    # What a kind of runs says of itself.

    def run_of(self, task: CellTask, **known: Any) -> Any:
        """A run by its task, and what else is known of it; without curves where none is."""
        raise NotImplementedError

    def grown_of(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """What the rows logged so far make known of a run."""
        raise NotImplementedError

    def known(self, task: CellTask) -> Any | None:
        """The finished run as an earlier request has left it, else None."""
        raise NotImplementedError

    def finished(self, task: CellTask, store: RunStore, where: str) -> Any:
        """The run that has come to its end in the store, or been there before."""
        raise NotImplementedError

    def report(self, progress: str = "") -> Made:
        """All that is known now; `progress` says how far an unfinished one is."""
        raise NotImplementedError

    def texts(self, task: CellTask) -> Texts:
        """What a run learns from, and what is held out of it."""
        raise NotImplementedError

    def work(self) -> Work | None:
        """All runs one after the other."""
        raise NotImplementedError

    # What is the same for all.

    def carried_out(self) -> Made:
        """The report after all runs."""
        if self.missing:
            if len(self.missing) < len(self.tasks):
                self._hand_on()  # else what is on the page says more
            self._carry_out()
            self._raise_if_none()
        return self.report()

    def started(self, number: int, where: str) -> None:
        """A run is under way."""
        self._where[number] = where
        task = self.tasks[number]
        steps = task.spec.config.steps
        self.runs[number] = self.run_of(task, state=RUNNING, of=steps, about={"where": where})
        self._show(number)

    def grown(self, number: int, rows: list[dict[str, Any]], done: int) -> None:
        """A run has come so far."""
        self.runs[number] = replace(self.runs[number], step=done, **self.grown_of(rows))
        self._show(number)

    def ended(self, number: int, store: RunStore | None, error: EmbtieError | None) -> None:
        """A run has come to its end, or failed."""
        if store is None:
            error = error or EmbtieError("Nothing is known of this run.", "Run it again.")
            self._errors.append((error.message, error.hint))
            self.runs[number] = replace(self.runs[number], state=FAILED, reason=str(error))
        else:
            task = self.tasks[number]
            self.runs[number] = self.finished(task, store, self._where.get(number, ""))
        self._hand_on()

    @property
    def ran_on(self) -> str:
        """Where, in words."""
        return self.place.words if self.missing else FOUND

    def _hand_on(self) -> None:
        hand_on(self.progress, self.report(counted(self.runs)))

    def _carry_out(self) -> None:
        if self.place.kind == HERE:
            timed(self.work(), self._here, hint=_SMALLER, tells=self._all_trained)
        else:
            self._by_texts(self._elsewhere)

    def _here(self) -> None:
        course = Course(self.progress, len(self.missing))
        self._by_texts(lambda tasks, corpus, held: cells.here(tasks, corpus, held, self, course))

    def _elsewhere(self, tasks: list[CellTask], corpus: Corpus, held: Corpus) -> None:
        from embtie_widgets.jobs.cluster import on_cluster  # slow to import

        on_cluster(tasks, corpus, held, self, self.progress, self.place)

    def _by_texts(self, carry_out: Callable[[list[CellTask], Corpus, Corpus], None]) -> None:
        """Those that learn from one text together; texts in the order of the first that does."""
        texts = {task.number: self.texts(task) for task in self.missing}
        order = list(dict.fromkeys(corpus.sha256 for corpus, _ in texts.values()))

        def place(task: CellTask) -> int:
            return order.index(texts[task.number][0].sha256)

        for _, group in groupby(sorted(self.missing, key=place), key=place):
            some = list(group)
            carry_out(some, *texts[some[0].number])

    def _all_trained(self) -> bool:
        """Whether all of the work was done just now, and to its end."""
        whole = all(run.state == DONE for run in self.runs)
        return whole and len(self.missing) == len(self.tasks)

    def _raise_if_none(self) -> None:
        """The error itself, where every run has failed, and all with the same."""
        if all(run.state == FAILED for run in self.runs) and len(set(self._errors)) == 1:
            raise EmbtieError(*self._errors[0])

    def _is_known(self, task: CellTask) -> bool:
        self.progress("looking for finished runs", task.number, len(self.tasks))
        known = self.known(task)
        if known is None:
            return False
        self.runs[task.number] = known
        return True


def counted(runs: Iterable[Any]) -> str:
    """How far a sweep is, in words."""
    runs = list(runs)
    states = Counter(run.state for run in runs)
    ended = states[DONE] + states[DIVERGED] + states[FAILED]
    going = [run for run in runs if run.state == RUNNING]
    words = [f"{ended:,} of {len(runs):,} runs"]
    words += [f"{run.line} at {run.lr:g}: {run.step:,} of {run.of:,} steps" for run in going[:1]]
    return ", ".join(words) if len(going) < 2 else f"{words[0]}, {len(going):,} under way"
