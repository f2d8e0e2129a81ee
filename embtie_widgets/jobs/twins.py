"""Twins of a plan in training here: their result as it grows, for whatever is shown of them."""

from collections.abc import Callable
from typing import Any

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.jobs.training_plan import Plan
from embtie_widgets.jobs.training_runs import Pictures
from embtie_widgets.progress import Progress
from embtie_widgets.training.run_store import RunStore


class Twins:
    """Both runs, one after the other.

    read    what is shown of a run, as far as it has come
    report  (these twins, "" or how far they have come) -> the result
    runs    by name, what was read of those that have begun
    failed  by name, why one is not there; it leaves the other its curves
    notes   of the runs that are whole
    """

    def __init__(
        self,
        plan: Plan,
        order: tuple[str, ...],
        read: Callable[[RunStore], Any],
        report: Callable[["Twins", str], Any],
        progress: Progress,
    ) -> None:
        self._plan, self._order, self._progress = plan, order, progress
        self._read, self._report = read, report
        self.runs: dict[str, Any] = {}
        self.failed: dict[str, EmbtieError] = {}
        self.notes: list[str] = []
        self._found = 0
        self._course = plan.course([plan.spec(name) for name in order], progress)

    @property
    def cached(self) -> bool:
        """Whether all runs were found from earlier ones."""
        return self._found == len(self._order)

    def all_trained(self) -> bool:
        """Whether none was found from earlier runs, and none has failed."""
        return not self._found and not self.failed

    def trained(self) -> Any:
        """The result; an EmbtieError where every run has failed."""
        for name in self._order:
            try:
                self._take(name)
            except Interrupted:
                raise
            except EmbtieError as error:
                self.failed[name] = error
                self.runs.pop(name, None)
        if not self.runs:
            raise self.failed[self._order[0]]
        return self._report(self, "")

    def _take(self, name: str) -> None:
        spec = self._plan.spec(name)
        store = self._plan.known(spec)
        if store is None:
            show = Pictures(self._progress, lambda grown: self._growing(name, grown))
            store = self._plan.run(spec, self._course, show)
        else:
            self._found += 1
        self.runs[name] = self._read(store)
        self.notes += store.notes()

    def _growing(self, name: str, store: RunStore) -> Any:
        self.runs[name] = self._read(store)
        return self._report(self, how_far(store))


def how_far(store: RunStore) -> str:
    """Of a run in training, in words."""
    known = store.manifest
    of = f" of {known['of']:,}" if known["of"] else ""
    return f"{store.done:,}{of} steps of the {known['name']} run"
