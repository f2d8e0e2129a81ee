"""What is shown before the exact answer: labelled, shared as what it is, and never in its way."""

import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import embtie_widgets as ew
from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs.previews import Preview
from embtie_widgets.jobs.runner import Outcome, Runner
from embtie_widgets.panels.answer import Answer, Word
from embtie_widgets.progress import Progress, hand_on
from embtie_widgets.requests import read_request
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.requests.link import Link, decode
from tests.panels import length_kind
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.panels.length_kind import LengthPanel, LengthRequest, entry, look_length, made

LONG = 30
EXACT, SKETCH = LengthRequest(power=8), LengthRequest(power=8, sample=2)
UNDER_WAY = "Preview: 2 of 5 tokens, the exact one is under way."
WAITING = "Preview: 2 of 5 tokens; press Run for the exact one."


class Gate:
    """Runs, of previews or of exact requests, wait here until the test lets them on."""

    def __init__(self, previews: bool) -> None:
        self._previews = previews
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __call__(self, request: LengthRequest, _progress: Progress) -> None:
        if bool(request.sample) == self._previews:
            self.reached.set()
            assert self.go_on.wait(LONG)


@pytest.fixture(autouse=True)
def known_kind(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path))
    monkeypatch.setitem(KINDS, "length", entry("run", "look", "estimate", "preview", "plots"))
    monkeypatch.setattr(length_kind, "before", [])
    made.clear()


@pytest.fixture
def gate() -> Iterator[Gate]:
    """The exact runs of what takes long wait."""
    gate = Gate(previews=False)
    length_kind.before.append(lambda r, p: gate(r, p) if r.power >= 7 else None)
    yield gate
    gate.go_on.set()


@pytest.fixture
def panel() -> LengthPanel:
    panel = LengthPanel()
    at_rest(panel)
    return panel


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def stepped(runner: FakeRunner) -> LengthPanel:
    """A panel whose jobs the test steps through."""
    return LengthPanel(EXACT, **parts(runner, Cost(60)))


def at_rest(panel: LengthPanel) -> None:
    while panel._answer is not None:
        answer = panel._answer
        assert answer.event.wait(LONG)
        if answer is panel._answer:
            break


def turn_to(panel: LengthPanel, power: float) -> None:
    """Set the control, and wait until an earlier result was looked for."""
    panel.power.value = power
    at_rest(panel)


def label(panel: LengthPanel) -> str:
    return panel.outdated.value.removeprefix('<p role="status">').removesuffix("</p>")


def is_dimmed(panel: LengthPanel) -> bool:
    return "ep-stale" in panel.results._dom_classes


def file_of(panel: LengthPanel, name: str) -> bytes:
    button, sent = panel.exports.files[name], []
    button.send = lambda content, buffers=None: sent.append(buffers)
    button._receive(button, {"kind": "ask"}, [])
    return bytes(sent[0][0])


def test_a_preview_is_shown_and_said_to_be_one_and_then_the_exact_one_takes_its_place(
    panel: LengthPanel, gate: Gate
) -> None:
    turn_to(panel, 8)
    answer = panel.start()
    assert gate.reached.wait(LONG)
    assert (panel.text.value, label(panel)) == ("257.000", UNDER_WAY)
    assert not is_dimmed(panel)
    assert not panel.runbar.cancel.disabled
    gate.go_on.set()
    assert answer.event.wait(LONG)
    assert (panel.text.value, label(panel)) == (f"{1 + 256 + 6561 + 65536 + 390625}.000", "")
    assert panel.state.answered == EXACT
    assert made[-2:] == [SKETCH, EXACT]


def test_link_code_and_files_of_a_preview_are_those_of_what_is_shown(
    panel: LengthPanel, gate: Gate
) -> None:
    where = {"query": "", "origin": "https://x", "path": "/", "host": "voila"}
    panel.link.page.page = where
    turn_to(panel, 8)
    answer = panel.start()
    assert gate.reached.wait(LONG)
    link = decode(panel.link.page.query)
    assert link is not None
    assert link.request == SKETCH
    assert "power=8.0, sample=2" in panel.exports.code.text
    head = json.loads(file_of(panel, "CSV").split(b"\n")[0].removeprefix(b"# "))
    assert read_request(head["request"]) == SKETCH
    gate.go_on.set()
    assert answer.event.wait(LONG)
    assert "sample" not in panel.link.page.query + panel.exports.code.text


def test_cancel_keeps_the_preview_and_says_what_it_is(panel: LengthPanel, gate: Gate) -> None:
    turn_to(panel, 8)
    panel.start()
    assert gate.reached.wait(LONG)
    panel.runbar.cancel.click()
    assert (panel.text.value, label(panel)) == ("257.000", WAITING)
    assert ">Cancelled; the preview is kept.<" in panel.runbar.text.value
    assert "sample=2" in panel.exports.code.text
    gate.go_on.set()
    panel.run()
    assert (label(panel), panel.state.answered) == ("", EXACT)


def test_code_that_waits_for_the_exact_result_is_never_given_a_preview(
    panel: LengthPanel, gate: Gate
) -> None:
    turn_to(panel, 8)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(panel.run)
        assert gate.reached.wait(LONG)
        panel.cancel()
        with pytest.raises(Cancelled):
            waiting.result(LONG)
    gate.go_on.set()


def test_a_preview_answers_no_exact_request() -> None:
    ear = Ear()
    length_kind.before.append(lambda request, progress: request.sample or fail())
    Runner().submit(EXACT, ear)
    assert ear.ended.wait(LONG)
    assert [word.request for word in ear.previews] == [SKETCH]
    assert ear.outcome.error is not None
    assert look_length(EXACT) is None
    assert look_length(SKETCH) is not None


@pytest.mark.parametrize("fault", [EmbtieError("No room."), ZeroDivisionError("no reason")])
def test_a_preview_that_fails_keeps_nothing_back(
    panel: LengthPanel, fault: Exception, logged_faults: list[str]
) -> None:
    length_kind.before.append(lambda request, progress: request.sample and fail(fault))
    turn_to(panel, 8)
    panel.run()
    assert panel.state.answered == EXACT
    assert panel.notice.words == ""
    assert bool(logged_faults) == isinstance(fault, ZeroDivisionError)
    logged_faults.clear()


def test_an_exact_run_that_fails_leaves_the_preview_and_is_told(panel: LengthPanel) -> None:
    length_kind.before.append(lambda request, progress: request.sample or fail())
    turn_to(panel, 8)
    with pytest.raises(EmbtieError, match=r"Too large\."):
        panel.run()
    assert (panel.text.value, label(panel)) == ("257.000", WAITING)
    assert "Too large." in panel.notice.words


def test_a_preview_that_is_there_is_shown_before_run_is_pressed(panel: LengthPanel) -> None:
    ew.run(SKETCH)
    turn_to(panel, 8)
    assert (panel.text.value, label(panel)) == ("257.000", WAITING)
    assert not is_dimmed(panel)
    for said in ("Ready to run.", "1 min 00 s"):
        assert said in panel.runbar.text.value
    panel.run()
    assert (label(panel), panel.state.answered) == ("", EXACT)


def test_what_is_quick_kept_or_to_have_none_has_no_preview() -> None:
    ear = Ear()
    Runner().submit(LengthRequest(power=3), ear)
    assert ear.ended.wait(LONG)
    ew.run(EXACT)
    again = Ear()
    Runner().submit(EXACT, again)
    assert again.ended.wait(LONG)
    assert again.outcome.cached
    plain = Ear()
    Runner().submit(LengthRequest(power=7), plain, previews=False)
    assert plain.ended.wait(LONG)
    assert not ear.previews + again.previews + plain.previews
    assert not any(request.sample for request in made)


def test_a_run_is_asked_for_no_preview_of_what_is_on_the_page(
    stepped: LengthPanel, runner: FakeRunner
) -> None:
    stepped.start()
    assert runner.jobs[-1].previews
    runner.jobs[-1].preview(SKETCH, lengths(SKETCH))
    stepped.cancel()
    stepped.start()
    assert not runner.jobs[-1].previews
    runner.jobs[-1].finish(lengths(EXACT))
    stepped.start()
    assert not runner.jobs[-1].previews


def test_while_a_preview_is_shown_other_settings_dim_it_and_going_back_does_not(
    panel: LengthPanel, gate: Gate
) -> None:
    turn_to(panel, 8)
    answer = panel.start()
    assert gate.reached.wait(LONG)
    panel.power.value = 7
    assert is_dimmed(panel)
    assert label(panel) == ""
    assert "sample" not in panel.exports.code.text
    panel.power.value = 8
    assert not is_dimmed(panel)
    assert label(panel) == UNDER_WAY
    panel.power.value = 7
    panel.cancel()
    assert label(panel) == "This preview is of other settings: press Run for the new ones."
    panel.power.value = 8
    at_rest(panel)
    assert label(panel) == WAITING
    gate.go_on.set()
    assert answer.event.wait(LONG)


def test_a_quick_change_takes_the_place_of_the_exact_run(panel: LengthPanel, gate: Gate) -> None:
    turn_to(panel, 8)
    panel.start()
    assert gate.reached.wait(LONG)
    panel.power.value = 3
    gate.go_on.set()
    at_rest(panel)
    assert (panel.text.value, label(panel)) == ("225.000", "")
    assert panel.state.preview_of is None


def test_cancel_in_the_middle_of_a_preview_ends_it_all(panel: LengthPanel) -> None:
    gate = Gate(previews=True)
    length_kind.before.append(gate)
    turn_to(panel, 8)
    panel.start()
    assert gate.reached.wait(LONG)
    panel.cancel()
    assert panel.state.phase == "idle"
    gate.go_on.set()
    turn_to(panel, 3)
    assert EXACT not in made
    assert panel.text.value == "225.000"


def test_a_preview_that_comes_after_cancel_is_not_shown(
    stepped: LengthPanel, runner: FakeRunner
) -> None:
    stepped.start()
    stepped.cancel()
    runner.jobs[-1].preview(SKETCH, lengths(SKETCH))
    assert stepped.result is None


def test_stages_of_a_preview_are_said_to_be_its_own() -> None:
    ear = Ear()
    Runner().submit(EXACT, ear)
    assert ear.ended.wait(LONG)
    assert [s for s in ear.stages if "measuring" in s] == ["preview: measuring", "measuring"]


def test_two_panels_each_get_their_own_preview_and_answer(gate: Gate) -> None:
    panels = [LengthPanel(LengthRequest(power=power)) for power in (8, 7)]
    for panel in panels:
        at_rest(panel)
    answers = [panel.start() for panel in panels]
    assert gate.reached.wait(LONG)
    assert [panel.state.phase for panel in panels] == ["running", "running"]
    assert (label(panels[0]), panels[1].result) == (UNDER_WAY, None)
    gate.go_on.set()
    assert all(answer.event.wait(LONG) for answer in answers)
    assert [panel.state.answered.power for panel in panels] == [8, 7]
    assert [request for request in made if request.sample] == [
        LengthRequest(power=power, sample=2) for power in (8, 7)
    ]


def test_a_link_chooses_its_tokens_in_the_preview_and_they_stay(
    stepped: LengthPanel, runner: FakeRunner
) -> None:
    stepped.open_link(Link(EXACT, frozenset({1, 2}), {"digits": "1"}))
    stepped.start()
    runner.jobs[-1].preview(SKETCH, lengths(SKETCH))
    assert (stepped.selection, stepped.digits.value) == ({1, 2}, 1)
    stepped.selection = {2}
    runner.jobs[-1].finish(lengths(EXACT))
    assert stepped.selection == {2}


def test_asked_for_by_itself_a_smaller_run_is_no_preview(
    stepped: LengthPanel, runner: FakeRunner
) -> None:
    stepped.start()
    runner.jobs[-1].preview(SKETCH, lengths(SKETCH))
    stepped.cancel()
    jobs = len(runner.jobs)
    stepped.request = SKETCH
    assert (label(stepped), is_dimmed(stepped), len(runner.jobs)) == ("", False, jobs)


def grown(rows: int, power: float = 8) -> Any:
    """What there is of the exact result after so many rows."""
    return lengths(LengthRequest(power=power, sample=rows))


def test_a_result_that_grows_is_drawn_each_time_and_said_to_be_unfinished(
    stepped: LengthPanel, runner: FakeRunner
) -> None:
    stepped.start()
    for rows in (1, 2, 3):
        runner.jobs[-1].preview(EXACT, grown(rows))
        said = f"Not finished: {rows} of 5 tokens, the rest is under way."
        assert label(stepped) == said
        assert stepped.text.value == f"{sum(n**8 for n in range(1, rows + 1))}.000"
        assert not is_dimmed(stepped)
    runner.jobs[-1].finish(lengths(EXACT))
    assert (label(stepped), stepped.state.unfinished) == ("", False)


def test_cancel_keeps_what_there_is_and_running_again_goes_on_from_it(
    stepped: LengthPanel, runner: FakeRunner
) -> None:
    stepped.start()
    runner.jobs[-1].preview(EXACT, grown(2))
    stepped.cancel()
    assert label(stepped) == "Not finished: 2 of 5 tokens; press Run to go on."
    assert "Cancelled; what there is is kept." in stepped.runbar.text.value
    runner.jobs[-1].preview(EXACT, grown(4))
    assert stepped.text.value == "257.000"
    stepped.start()
    runner.jobs[-1].preview(EXACT, grown(3))
    assert stepped.text.value == "6818.000"


def test_what_is_unfinished_is_looked_for_and_run_like_no_result(
    stepped: LengthPanel, runner: FakeRunner
) -> None:
    stepped.start()
    runner.jobs[-1].preview(EXACT, grown(2))
    stepped.cancel()
    looks = len(runner.looks)
    stepped.request = LengthRequest(power=7)
    assert is_dimmed(stepped)
    assert (
        label(stepped) == "This unfinished result is of other settings: press Run for the new ones."
    )
    stepped.request = EXACT
    assert len(runner.looks) == looks + 2
    assert label(stepped) == "Not finished: 2 of 5 tokens; press Run to go on."


def test_a_whole_answer_on_the_page_gives_way_to_no_part_of_the_same(
    stepped: LengthPanel, runner: FakeRunner
) -> None:
    stepped.start()
    runner.jobs[-1].finish(lengths(EXACT))
    whole = stepped.text.value
    stepped.start()
    runner.jobs[-1].preview(EXACT, grown(2))
    assert (stepped.text.value, label(stepped)) == (whole, "")


def test_a_panel_draws_what_a_real_job_hands_on_and_code_still_gets_the_whole(
    panel: LengthPanel,
) -> None:
    drawn: list[str] = []
    panel.text.observe(lambda change: drawn.append(change["new"]), "value")

    def grow(request: LengthRequest, progress: Progress) -> None:
        for rows in (1, 2) if request == EXACT else ():
            hand_on(progress, grown(rows))

    turn_to(panel, 8)
    length_kind.before.append(grow)
    answer = panel.start()
    assert answer.event.wait(LONG)
    assert drawn[-3:] == ["1.000", "257.000", panel.text.value]
    assert panel.result.length.sum() == 1 + 256 + 6561 + 65536 + 390625


def test_of_parts_that_wait_to_be_drawn_the_newest_alone_is() -> None:
    waiting: list[Any] = []
    heard: list[Word] = []
    answer = Answer(waiting.append, lambda _answer, word: heard.append(word))
    for rows in (1, 2, 3):
        answer.previewed(Preview(EXACT, EXACT, rows))
    answer.finished(Outcome(EXACT, result=5))
    for action in waiting:
        action()
    assert [word.result for word in heard] == [3, 5]
    answer.previewed(Preview(EXACT, EXACT, 6))
    waiting[-1]()
    assert heard[-1].result == 6


class Ear:
    """A listener that remembers."""

    def __init__(self) -> None:
        self.stages: list[str] = []
        self.previews: list[Any] = []
        self.ended = threading.Event()

    def progressed(self, stage: Any) -> None:
        self.stages.append(stage.stage)

    def previewed(self, preview: Any) -> None:
        self.previews.append(preview)

    def finished(self, outcome: Any) -> None:
        self.outcome = outcome
        self.ended.set()


def lengths(request: LengthRequest) -> Any:
    return length_kind.run_length(request, lambda *_: None)


def fail(fault: Exception | None = None) -> None:
    raise fault or EmbtieError("Too large.", "Take less.")
