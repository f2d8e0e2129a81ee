"""Jobs that a test steps through by hand, in place of the runner."""

from dataclasses import dataclass, field
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.previews import Preview
from embtie_widgets.jobs.runner import Outcome, Stage
from tests.sample_results import pair_result


@dataclass
class FakeJob:
    request: Any
    listener: Any
    previews: bool = False
    cancelled: bool = False
    dropped: bool = False

    def progress(self, stage: str = "products", done: int = 1, total: int = 4) -> None:
        self.listener.progressed(Stage(stage, done, total, 2.0, 6.0))

    def preview(self, request: Any, result: Any) -> None:
        self.listener.previewed(Preview(self.request, request, result))

    def finish(self, result: Any = None) -> None:
        result = pair_result(map=self.request.map) if result is None else result
        self.listener.finished(Outcome(self.request, result=result, seconds=0.3))

    def fail(
        self, message: str = "There is no model there.", hint: str = "Check its name."
    ) -> None:
        self.listener.finished(Outcome(self.request, error=EmbtieError(message, hint)))

    def find_nothing(self) -> None:
        self.listener.finished(Outcome(self.request))

    def drop(self) -> None:
        self.dropped = True

    def cancel(self) -> None:
        self.cancelled = True
        self.listener.finished(Outcome(self.request, cancelled=True))


@dataclass
class FakeRunner:
    at_once: bool = False
    jobs: list[FakeJob] = field(default_factory=list)
    looks: list[FakeJob] = field(default_factory=list)
    in_vain: bool = True

    def look(self, request: Any, listener: Any) -> FakeJob:
        """Looks in vain at once; without `in_vain` it waits for the test."""
        self.looks.append(FakeJob(request, listener))
        if self.in_vain:
            self.looks[-1].find_nothing()
        return self.looks[-1]

    def submit(self, request: Any, listener: Any, previews: bool = True) -> FakeJob:
        self.jobs.append(FakeJob(request, listener, previews))
        if self.at_once:
            self.jobs[-1].finish()
        return self.jobs[-1]


@dataclass
class Cost:
    seconds: float = 0.2
    bytes: int = 10_000_000


def parts(runner: FakeRunner, cost: Cost | None = None, known: Any = None) -> dict[str, Any]:
    """What a panel takes in place of the real runner, estimate and stored first result."""
    return {"runner": runner, "estimate": lambda _: cost, "known": lambda _: known}
