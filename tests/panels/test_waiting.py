"""What a panel says while its job waits for a device that others have."""

import numpy as np
import pytest

from embtie_widgets.jobs.line import LINE
from embtie_widgets.jobs.runner import Outcome, Stage
from embtie_widgets.jobs.tickets import RUNNING, Tickets
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.panels.length_kind import LengthPanel, LengthRequest, Lengths


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


def test_the_place_in_the_line_and_the_time_until_the_turn_are_on_the_page(runner):
    panel = LengthPanel(LengthRequest(), **parts(runner, Cost(seconds=40.0)))
    panel.start()
    runner.jobs[-1].listener.progressed(
        Stage("waiting for the device, 2 before you", 0, 1, 12.0, 31.0)
    )
    said = "waiting for the device, 2 before you, 12 s gone, about 31 s left"
    assert said in panel.runbar.text.value
    assert not panel.runbar.cancel.disabled


def test_what_was_waited_is_no_time_of_computing(runner):
    panel = LengthPanel(LengthRequest(), **parts(runner, Cost(seconds=40.0)))
    panel.start()
    job = runner.jobs[-1]
    result = Lengths(np.ones(5), (None,) * 5)
    job.listener.finished(Outcome(job.request, result=result, seconds=50.0, waited=38.0))
    assert "Computed in 12 s, after a wait of 38 s." in panel.runbar.text.value


def test_a_cost_is_told_with_how_many_would_go_before(runner, tmp_path, monkeypatch):
    monkeypatch.setenv(LINE, str(tmp_path))
    others = [Tickets(tmp_path).draw(1, "align", "") for _ in range(2)]
    for other in others:
        other.say(state=RUNNING, device="cpu")
    panel = LengthPanel(LengthRequest(), **parts(runner, Cost(seconds=40.0)))
    panel.runbar.expect(Cost(seconds=40.0))
    assert "memory, after 2 others." in panel.runbar.text.value
    others.pop().give_back()
    panel.runbar.expect(Cost(seconds=40.0))
    assert "memory, after 1 other." in panel.runbar.text.value
    others.pop().give_back()
    panel.runbar.expect(Cost(seconds=40.0))
    assert "after" not in panel.runbar.text.value
