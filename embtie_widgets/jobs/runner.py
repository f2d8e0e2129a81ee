"""Running requests off the main thread: progress, cancel, and no late results."""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs.processors import share_processors
from embtie_widgets.progress import Progress
from embtie_widgets.requests import Request
from embtie_widgets.sources.kept import give_back
from embtie_widgets.sources.permission import is_served

if TYPE_CHECKING:
    from embtie_widgets.jobs.previews import Preview

logger = logging.getLogger("embtie")
_QUIET_SECONDS = 0.1
_TICK_SECONDS = 0.5
_LONG_SECONDS = 1.0
_KEPT_BYTES = 2**29


@dataclass(frozen=True)
class Stage:
    """Where a job is: a stage, how much of it is done, seconds gone and left (None if unknown)."""

    stage: str
    done: int
    total: int
    elapsed: float
    remaining: float | None


@dataclass(frozen=True)
class Outcome:
    """How a job ended: a result, an error, or cancelled; none of them where one was looked for in
    vain.  Of its `seconds` it has `waited` so many for its device."""

    request: Request
    result: Any = None
    error: EmbtieError | None = None
    cancelled: bool = False
    seconds: float = 0.0
    cached: bool = False
    waited: float = 0.0

    @property
    def how(self) -> str:
        """How it ended, in a word."""
        if self.cancelled:
            return "cancelled"
        return "failed" if self.error else "cached" if self.cached else "done"


class Listener(Protocol):
    """Who is told, from a worker thread."""

    def progressed(self, stage: Stage) -> None:
        """The job has come so far."""

    def previewed(self, preview: "Preview") -> None:
        """There is something to show until the job has ended; what comes later goes before it."""

    def finished(self, outcome: Outcome) -> None:
        """The job has ended; called once."""


@dataclass
class Job:
    """One request under way."""

    request: Request
    listener: Listener
    previews: bool = False
    started: float = field(default_factory=time.monotonic)
    _closed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _now: tuple[str, int, int] = ("starting", 0, 1)
    _left: float | None = None  # where that was said, and need not be reckoned
    _waits: float | None = None  # since when
    _waited: float = 0.0
    _since: float = field(default_factory=time.monotonic)
    _from: int = 0  # how much of the stage was there when it began
    _told: float = 0.0

    @property
    def closed(self) -> bool:
        """Whether it has ended or was called off; then nothing more is told of it."""
        return self._closed

    def cancel(self) -> None:
        """Call the job off: its listener is free at once, the work stops at its next block."""
        self._close(Outcome(self.request, cancelled=True, seconds=self._elapsed()))

    def drop(self) -> None:
        """Let a newer job take its place without a word."""
        with self._lock:
            self._closed = True

    def report(self, stage: str, done: int, total: int) -> None:
        """Tell the listener where the work is, and stop when called off."""
        if self._waits is not None:
            self._waited, self._waits = self._waited + time.monotonic() - self._waits, None
        self._come_to(stage, done, total)

    def waiting(self, words: str, left: float | None) -> None:
        """Tell the listener what the work waits for, and stop when called off."""
        self._waits = self._waits or time.monotonic()
        self._come_to(words, 0, 1, left)

    def _come_to(self, stage: str, done: int, total: int, left: float | None = None) -> None:
        if self._closed:
            raise Cancelled
        self._left = left
        if stage != self._now[0]:
            self._since, self._from = time.monotonic(), done
        elif time.monotonic() - self._told < _QUIET_SECONDS:
            return
        self._now = (stage, done, total)
        self._tell()

    def preview(self, preview: "Preview") -> None:
        """Hand on what can be shown already, and stop when called off."""
        if self._closed:
            raise Cancelled
        self.listener.previewed(preview)

    def partial(self, result: Any) -> None:
        """Hand on what there is of the result already."""
        from embtie_widgets.jobs.previews import Preview

        self.preview(Preview(self.request, self.request, result))

    def _tell(self) -> None:
        """Say where the job is and how long that has taken."""
        stage, done, total = self._now
        self._told = time.monotonic()
        within = self._told - self._since
        known = done > self._from and within > _QUIET_SECONDS
        remaining = within * (total - done) / (done - self._from) if known else self._left
        self.listener.progressed(Stage(stage, done, total, self._elapsed(), remaining))

    def _tick(self, ended: threading.Event) -> None:
        """Keep the clock of the listener going through a stage that cannot be cut."""
        while not ended.wait(_TICK_SECONDS) and not self._closed:
            if time.monotonic() - self._told >= _TICK_SECONDS:
                self._tell()

    def work(self, run: Callable[..., Any]) -> Outcome | None:
        """Carry the request out and tell how it ended; None if it was called off before."""
        if self._closed:
            return None
        ended = threading.Event()
        threading.Thread(target=self._tick, args=(ended,), daemon=True).start()
        try:
            outcome = self._carried_out(run)
        finally:
            ended.set()
        self._close(outcome)
        return outcome

    def _carried_out(self, run: Callable[..., Any]) -> Outcome:
        try:
            result = run(self.request, progress=_Reporter(self))
        except Cancelled:
            return Outcome(self.request, cancelled=True, seconds=self._elapsed())
        except Exception as fault:
            return Outcome(self.request, error=told(fault), seconds=self._elapsed())
        cached = bool(getattr(result, "settings", {}).get("cached", False))
        gone, waited = self._elapsed(), self._waited
        return Outcome(self.request, result=result, seconds=gone, cached=cached, waited=waited)

    def _elapsed(self) -> float:
        return time.monotonic() - self.started

    def _close(self, outcome: Outcome) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self.listener.finished(outcome)


@dataclass(frozen=True)
class _Reporter:
    """The `progress` of a job's work."""

    job: Job

    def __call__(self, stage: str, done: int, total: int) -> None:
        """The work has come so far."""
        self.job.report(stage, done, total)

    def partial(self, result: Any) -> None:
        """There is something of the result to show."""
        self.job.partial(result)

    def waiting(self, words: str, left: float | None) -> None:
        """The work waits, for so many seconds more."""
        self.job.waiting(words, left)


def told(fault: Exception) -> EmbtieError:
    """What the user is told of a fault; what is ours goes to the log with its details."""
    if isinstance(fault, EmbtieError):
        return fault
    if isinstance(fault, MemoryError):
        return EmbtieError(
            "There is not enough memory for this.",
            "Choose smaller models, or close other work on this machine.",
        )
    logger.error("a job failed", exc_info=fault)
    return EmbtieError(
        "Something in embtie itself went wrong.",
        "The log has the details; earlier results are kept.",
    )


class Runner:
    """Runs the requests of one panel, the newest only: older ones are dropped unheard."""

    def __init__(self, executor: Executor | None = None) -> None:
        self._executor = executor
        self._current: Job | None = None

    def submit(self, request: Request, listener: Listener, previews: bool = True) -> Job:
        """Start a request; its listener hears of progress, with `previews` of a preview where that
        is worth the time, and of the end."""
        job = Job(request, listener, previews)
        return self._start(_work, job, self._executor or _executor_for(request))

    def look(self, request: Request, listener: Listener) -> Job:
        """Look for the result of an earlier run, or for a preview, beside whatever is running."""
        job = Job(request, listener, previews=True)
        return self._start(_look, job, self._executor or quick_executor())

    def _start(self, work: Callable[[Job], None], job: Job, where: Executor) -> Job:
        if self._current is not None:
            self._current.drop()
        self._current = job
        where.submit(work, job)
        return job


def _work(job: Job) -> None:
    known: dict[str, Any] = {"kind": job.request.kind}
    logger.info("job started", extra={"event": "job-started", **known})
    outcome = job.work(partial(_run_with_preview, tell=job.preview) if job.previews else _run)
    if outcome is not None:
        known |= {"how": outcome.how, "seconds": round(outcome.seconds, 3)}
        logger.info("job ended", extra={"event": "job-ended", **known})
        if is_served() and outcome.seconds >= _LONG_SECONDS:
            give_back(_KEPT_BYTES)  # others want the memory


def _look(job: Job) -> None:
    job.work(partial(_look_up, tell=job.preview))


# The import of torch happens in these three, behind the first run, and never on the main thread.
def _run(request: Request, *, progress: Progress) -> Any:
    share_processors()
    from embtie_widgets.jobs.turn import in_turn

    return in_turn(request, progress)


def _run_with_preview(
    request: Request, *, progress: Progress, tell: "Callable[[Preview], None]"
) -> Any:
    share_processors()
    from embtie_widgets.jobs.previews import run_with_preview

    return run_with_preview(request, progress, tell, told)


def _look_up(request: Request, *, progress: Progress, tell: "Callable[[Preview], None]") -> Any:
    share_processors()
    from embtie_widgets.jobs.previews import look_with_preview

    return look_with_preview(request, progress, tell)


_executors: dict[str, Executor] = {}
_executors_lock = threading.Lock()


def shared_executor() -> Executor:
    """One worker for all panels of a kernel: one heavy job at a time."""
    return _executor("embtie")


def _executor_for(request: Request) -> Executor:
    """The shared one; what takes but a moment does not stand behind what waits in a line."""
    from embtie_widgets.jobs.line import is_set
    from embtie_widgets.jobs.turn import is_short

    try:
        return _executor("embtie-short") if is_set() and is_short(request) else shared_executor()
    except EmbtieError:  # which the run will say
        return shared_executor()


def quick_executor() -> Executor:
    """A worker of its own for what is answered while a long job runs."""
    return _executor("embtie-quick")


def _executor(name: str) -> Executor:
    with _executors_lock:
        if name not in _executors:
            _executors[name] = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        return _executors[name]
