"""Panels on the real runner and the real worker of a kernel."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from embtie_widgets.jobs import run as doors
from embtie_widgets.panels.alignment import AlignmentPanel
from embtie_widgets.requests import AlignRequest
from tests.sample_results import pair_result

LONG = 30


class Work:
    """Takes the place of the measures: each run waits in a stage that cannot be cut."""

    def __init__(self) -> None:
        self.begun: list[Any] = []
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __call__(self, request: AlignRequest, *, progress: Any) -> Any:
        self.begun.append(request)
        progress("fitting", 0, 1)
        self.reached.set()
        assert self.go_on.wait(LONG)
        progress("scoring", 0, 1)
        return pair_result(seed=request.seed)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Iterator[Work]:
    work = Work()
    monkeypatch.setattr(doors, "run", work)
    yield work
    work.go_on.set()


@pytest.fixture
def panel() -> AlignmentPanel:
    return AlignmentPanel()


def at_rest(*panels: AlignmentPanel) -> bool:
    """Whether the panels come to rest."""
    for panel in panels:
        assert panel._answer is None or panel._answer.event.wait(LONG)
    return all(panel.state.phase == "idle" for panel in panels)


def test_cancel_frees_the_panel_while_a_stage_goes_on_and_its_result_is_dropped(
    panel: AlignmentPanel, work: Work
) -> None:
    before = panel.result
    panel.start()
    assert work.reached.wait(LONG)
    assert "fitting" in panel.runbar.text.value
    panel.runbar.cancel.click()
    assert not work.go_on.is_set()
    assert panel.state.phase == "idle"
    assert not panel.runbar.run.disabled
    assert "Cancelled" in panel.runbar.text.value
    answer = panel.start()
    work.go_on.set()
    assert answer.event.wait(LONG)
    assert len(work.begun) == 2
    assert panel.result is not before
    assert panel.state.ended.result is panel.result


def test_of_ten_quick_changes_the_last_counts_and_most_are_never_begun(
    panel: AlignmentPanel, work: Work
) -> None:
    panel.seed.value = 1
    assert work.reached.wait(LONG)
    for seed in range(2, 11):
        panel.seed.value = seed
    work.go_on.set()
    assert at_rest(panel)
    assert panel.result.settings["seed"] == 10
    assert [request.seed for request in work.begun] == [1, 10]
    assert not panel.state.stale


def test_two_panels_share_the_worker_and_each_gets_its_own(
    panel: AlignmentPanel, work: Work
) -> None:
    other = AlignmentPanel()
    panel.seed.value = 1
    assert work.reached.wait(LONG)
    other.seed.value = 2
    assert other.state.phase == panel.state.phase == "running"
    panel.runbar.cancel.click()
    assert other.state.phase == "running"
    work.go_on.set()
    assert at_rest(panel, other)
    assert other.result.settings["seed"] == 2
    assert panel.result.settings["seed"] == 0


def test_a_fault_in_the_work_is_told_and_the_next_run_works(
    panel: AlignmentPanel, monkeypatch: pytest.MonkeyPatch, logged_faults: list[str]
) -> None:
    def fail(request: Any, *, progress: Any) -> Any:
        raise ZeroDivisionError("in /home/somebody")

    with monkeypatch.context() as patch:
        patch.setattr(doors, "run", fail)
        panel.seed.value = 4
        assert at_rest(panel)
    assert "went wrong" in panel.notice.words
    assert "somebody" not in panel.notice.words
    assert logged_faults == ["a job failed"]
    logged_faults.clear()
    panel.seed.value = 5
    assert at_rest(panel)
    assert panel.result.settings["seed"] == 5
