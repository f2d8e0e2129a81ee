"""What a lesson runs: nothing before a click, charts that grow, and what is made of the result."""

import pytest
from ipywidgets import HTML

from embtie_widgets.panels.experiment import Experiment
from embtie_widgets.requests.kinds import KINDS
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.panels.length_kind import LengthRequest, Lengths, entry, run_length


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> FakeRunner:
    monkeypatch.setitem(KINDS, "length", entry("run", "plots"))
    return FakeRunner()


def lengths() -> Lengths:
    return run_length(LengthRequest(), lambda *_: None)


def experiment(runner: FakeRunner) -> Experiment:
    return Experiment(LengthRequest(), "Five rows", parts=parts(runner, Cost(seconds=0.1)))


def said(place: object) -> str:
    return "".join(widget.value for widget in walk(place) if isinstance(widget, HTML))


def walk(widget: object) -> list[object]:
    children = getattr(widget, "children", ())
    return [widget, *(found for child in children for found in walk(child))]


def test_nothing_runs_and_nothing_is_shown_before_the_click(runner: FakeRunner) -> None:
    shown = experiment(runner)
    place = shown.then(lambda result: f"{result.length.sum():g} in all")
    assert not runner.jobs
    assert not runner.looks
    assert shown.runbar.text.value.count("0.1 s") == 1  # what it would take
    assert "once the experiment" in said(place)
    shown.runbar.run.click()
    assert [job.request for job in runner.jobs] == [LengthRequest()]


def test_what_is_made_of_the_result_waits_for_the_whole_of_it(runner: FakeRunner) -> None:
    shown = experiment(runner)
    made: list[float] = []
    place = shown.then(lambda result: made.append(result.length.sum()) or "fifty <b>five")
    shown.runbar.run.click()
    runner.jobs[0].preview(LengthRequest(), lengths())
    assert shown.captions[0].value == "<p>five rows</p>"
    shown.runbar.cancel.click()
    assert not made
    shown.runbar.run.click()
    runner.jobs[1].finish(lengths())
    assert made == [55.0]
    assert "<p>fifty &lt;b&gt;five</p>" in said(place)
    assert "once the experiment" not in said(place)


def test_a_place_made_later_is_filled_at_once(runner: FakeRunner) -> None:
    shown = experiment(runner)
    shown.runbar.run.click()
    runner.jobs[0].finish(lengths())
    widget = HTML("here")
    assert widget in walk(shown.then(lambda _: widget))


def test_a_run_that_fails_is_told_and_can_be_run_again(runner: FakeRunner) -> None:
    shown = experiment(runner)
    place = shown.then(lambda result: f"{result.length.sum():g}")
    shown.runbar.run.click()
    runner.jobs[0].fail()
    assert "There is no model there." in shown.notice.words
    assert "once the experiment" in said(place)
    shown.runbar.run.click()
    runner.jobs[1].finish(lengths())
    assert "<p>55</p>" in said(place)


def test_code_runs_it_and_waits(runner: FakeRunner) -> None:
    shown = Experiment(LengthRequest(power=1.0))
    assert shown.run().length.sum() == 15
