"""Jobs: progress, cancel, errors, and no word from what is no longer wanted."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs import runner as runner_module
from embtie_widgets.jobs.previews import Preview
from embtie_widgets.jobs.runner import Job, Outcome, Runner, Stage
from embtie_widgets.progress import hand_on, silent
from tests.sample_results import pair_result

REQUEST = ew.AlignRequest()
RESULT = pair_result(cached=True)


class Ear:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.stages: list[Stage] = []
        self.previews: list[Preview] = []
        self.outcomes: list[Outcome] = []
        self.ended = threading.Event()

    def progressed(self, stage: Stage) -> None:
        self.stages.append(stage)

    def previewed(self, preview: Preview) -> None:
        self.previews.append(preview)

    def finished(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self.ended.set()


@pytest.fixture
def executor():
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_a_job_tells_its_stages_and_then_its_result():
    ear = Ear()

    def run(request, progress):
        progress("reading", 0, 2)
        progress("fitting", 1, 2)
        return RESULT

    Job(REQUEST, ear).work(run)
    assert [(s.stage, s.done, s.total) for s in ear.stages] == [
        ("reading", 0, 2),
        ("fitting", 1, 2),
    ]
    (outcome,) = ear.outcomes
    assert outcome.result is RESULT
    assert outcome.error is None
    assert outcome.cached
    assert not outcome.cancelled


def test_cancel_frees_the_listener_at_once_and_stops_the_work_at_its_next_block():
    ear, reached, go_on = Ear(), threading.Event(), threading.Event()
    blocks = []

    def run(request, progress):
        for block in range(5):
            blocks.append(block)
            progress("block", block, 5)
            reached.set()
            assert go_on.wait(10)
        return RESULT

    job = Job(REQUEST, ear)
    thread = threading.Thread(target=job.work, args=(run,))
    thread.start()
    assert reached.wait(10)
    job.cancel()
    assert ear.outcomes[0].cancelled
    go_on.set()
    thread.join(10)
    assert blocks == [0, 1]
    assert len(ear.outcomes) == 1


def test_a_newer_request_silences_the_older_one(monkeypatch, executor):
    older, newer, started, go_on = Ear(), Ear(), threading.Event(), threading.Event()

    def work(job):
        started.set()
        assert go_on.wait(10)
        job.work(lambda request, progress: pair_result(seed=request.seed))

    monkeypatch.setattr(runner_module, "_work", work)
    runner = Runner(executor)
    runner.submit(ew.AlignRequest(seed=1), older)
    assert started.wait(10)
    runner.submit(ew.AlignRequest(seed=2), newer)
    go_on.set()
    assert newer.ended.wait(10)
    assert newer.outcomes[0].result.settings["seed"] == 2
    assert older.outcomes == []


def test_a_fault_of_the_user_arrives_as_it_is():
    ear = Ear()

    def run(request, progress):
        raise EmbtieError("What.", "How.")

    Job(REQUEST, ear).work(run)
    assert ear.outcomes[0].error.hint == "How."


def test_a_fault_of_ours_is_logged_and_told_without_its_details(logged_faults):
    ear = Ear()

    def run(request, progress):
        raise KeyError("/secret/place")

    Job(REQUEST, ear).work(run)
    assert "secret" not in str(ear.outcomes[0].error)
    assert logged_faults == ["a job failed"]
    logged_faults.clear()


def test_too_little_memory_is_told_as_such():
    ear = Ear()

    def run(request, progress):
        raise MemoryError

    Job(REQUEST, ear).work(run)
    assert "memory" in ear.outcomes[0].error.message


def test_blocks_in_quick_succession_are_not_all_told():
    ear = Ear()

    def run(request, progress):
        for block in range(10_000):
            progress("multiplying", block, 10_000)
        return RESULT

    Job(REQUEST, ear).work(run)
    assert 1 <= len(ear.stages) < 100


def test_what_was_there_when_a_stage_began_is_not_taken_for_work_done_since(monkeypatch):
    clock = iter(range(1_000))
    monkeypatch.setattr(runner_module.time, "monotonic", lambda: float(next(clock)))
    ear = Ear()
    job = Job(REQUEST, ear)
    for done in (90, 95):
        job.report("training", done, 100)
    (first, then) = ear.stages
    assert first.remaining is None
    assert 0.5 <= then.remaining / (then.elapsed - first.elapsed) <= 2


def test_the_clock_goes_on_through_a_stage_that_cannot_be_cut(monkeypatch):
    monkeypatch.setattr(runner_module, "_TICK_SECONDS", 0.01)
    ear, ticked = Ear(), threading.Event()

    def progressed(stage):
        if stage.stage == "fitting":  # a slow machine ticks before the work has begun
            ear.stages.append(stage)
        if len(ear.stages) == 4:
            ticked.set()

    ear.progressed = progressed

    def run(request, progress):
        progress("fitting", 0, 1)
        assert ticked.wait(10)
        return RESULT

    Job(REQUEST, ear).work(run)
    assert ear.stages[3].elapsed > ear.stages[0].elapsed


def test_a_part_that_cannot_be_imported_is_told_like_any_other_fault(
    monkeypatch, executor, logged_faults
):
    monkeypatch.setitem(sys.modules, "embtie_widgets.jobs.previews", None)
    ear = Ear()
    Runner(executor).submit(REQUEST, ear)
    assert ear.ended.wait(10)
    assert "went wrong" in ear.outcomes[0].error.message
    logged_faults.clear()


def test_what_there_is_of_a_result_is_told_as_often_as_the_work_hands_it_on():
    ear = Ear()

    def run(request, progress):
        for step in range(3):
            hand_on(progress, f"{step} of 3")
        return RESULT

    Job(REQUEST, ear).work(run)
    assert [(told.of, told.request, told.result) for told in ear.previews] == [
        (REQUEST, REQUEST, f"{step} of 3") for step in range(3)
    ]
    assert all(told.partial for told in ear.previews)
    assert [outcome.result for outcome in ear.outcomes] == [RESULT]


def test_handing_on_stops_work_that_was_called_off_and_nothing_more_is_told():
    ear, ends = Ear(), []

    def run(request, progress):
        hand_on(progress, "first")
        job.cancel()
        try:
            hand_on(progress, "second")
        except Cancelled:
            ends.append("what is learned is kept here")
            raise
        return RESULT

    job = Job(REQUEST, ear)
    job.work(run)
    assert ends
    assert [told.result for told in ear.previews] == ["first"]
    assert [outcome.cancelled for outcome in ear.outcomes] == [True]


def test_work_may_hand_on_where_nobody_looks():
    hand_on(silent, RESULT)
    hand_on(lambda stage, done, total: None, RESULT)


@pytest.mark.parametrize(
    ("served", "seconds", "given"), [("1", 2.0, 1), ("1", 0.2, 0), ("", 2.0, 0)]
)
def test_after_a_long_job_of_a_served_page_memory_is_given_back(
    monkeypatch, executor, served, seconds, given
):
    monkeypatch.setenv("EMBTIE_SERVED", served)
    monkeypatch.setattr(Job, "_elapsed", lambda job: seconds)
    monkeypatch.setattr(runner_module, "_run", lambda request, progress: RESULT)
    calls = []
    monkeypatch.setattr(runner_module, "give_back", calls.append)
    ear = Ear()
    Runner(executor).submit(REQUEST, ear, previews=False)
    executor.shutdown(wait=True)
    assert ear.outcomes[0].result is RESULT
    assert len(calls) == given


@pytest.mark.parametrize(
    ("fault", "how"),
    [(None, "cached"), (Cancelled(), "cancelled"), (EmbtieError("no"), "failed")],
)
def test_the_log_hears_of_a_job_by_its_kind_and_how_it_ended(executor, monkeypatch, fault, how):
    heard: list[dict] = []
    monkeypatch.setattr(runner_module.logger, "info", lambda words, extra: heard.append(extra))

    def run(request, progress):
        if fault is not None:
            raise fault
        return RESULT

    monkeypatch.setattr(runner_module, "_run", run)
    ear = Ear()
    Runner(executor).submit(REQUEST, ear, previews=False)
    executor.shutdown()
    assert [one["event"] for one in heard] == ["job-started", "job-ended"]
    assert {one["kind"] for one in heard} == {"align"}
    assert heard[1]["how"] == how
    assert heard[1]["seconds"] >= 0
