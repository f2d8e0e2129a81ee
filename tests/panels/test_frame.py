"""The frame of panels, by a toy panel that is as short as a panel should be."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import ipywidgets as w
import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.panels.fields import Field
from embtie_widgets.panels.frame import Panel
from tests.panels.fake_jobs import Cost, FakeRunner, parts


@dataclass(frozen=True)
class ToyRequest:
    k: int = 3
    map: str = "linear"

    kind: ClassVar[str] = "toy"
    version: ClassVar[int] = 1

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __post_init__(self) -> None:
        if self.k < 0:
            raise EmbtieError(f"k is {self.k}; expected at least 0.", "Raise it.")


class ToyPanel(Panel):
    title = "Toy"

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        self.k = w.IntText(description="k")
        return {"k": Field(self.k)}, [self.k]

    def build_views(self) -> Iterable[w.Widget]:
        self.drawn: list[Any] = []
        return [w.HTML()]

    def draw(self, result: Any) -> None:
        if isinstance(result, Exception):
            raise result
        self.drawn.append(result)


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def panel(runner: FakeRunner) -> ToyPanel:
    return ToyPanel(ToyRequest(), **parts(runner, Cost()))


def is_dimmed(panel: Panel) -> bool:
    return "ep-stale" in panel.results._dom_classes


def test_a_quick_change_runs_at_once_and_draws(panel: ToyPanel, runner: FakeRunner) -> None:
    panel.k.value = 5
    assert runner.jobs[-1].request == ToyRequest(k=5) == panel.request
    assert panel.runbar.run.disabled
    assert not panel.runbar.cancel.disabled
    runner.jobs[-1].finish("five")
    assert (panel.drawn, panel.result) == (["five"], "five")
    assert not panel.runbar.run.disabled
    assert panel.runbar.cancel.disabled


def test_a_costly_change_waits_for_run_and_says_what_it_costs(runner: FakeRunner) -> None:
    panel = ToyPanel(ToyRequest(), **parts(runner, Cost(75, 1_400_000_000)))
    panel.k.value = 5
    assert not runner.jobs
    assert "1 min 15 s" in panel.runbar.text.value
    assert "1.4 GB of memory" in panel.runbar.text.value
    panel.runbar.run.click()
    assert runner.jobs[-1].request == ToyRequest(k=5)


def test_a_change_of_unknown_cost_waits_for_run(runner: FakeRunner) -> None:
    panel = ToyPanel(ToyRequest(), **parts(runner, None))
    panel.k.value = 5
    assert not runner.jobs
    assert not panel.runbar.run.disabled


def test_before_waiting_for_run_an_earlier_result_is_looked_for(runner: FakeRunner) -> None:
    runner.in_vain = False
    panel = ToyPanel(ToyRequest(), **parts(runner, Cost(75)))
    panel.k.value = 5
    assert "looking for an earlier result" in panel.runbar.text.value
    assert not panel.runbar.run.disabled
    assert not panel.runbar.cancel.disabled
    runner.looks[-1].finish("kept")
    assert (panel.drawn, panel.state.answered) == (["kept"], ToyRequest(k=5))
    assert not runner.jobs


def test_a_look_in_vain_starts_what_has_turned_out_to_be_quick(runner: FakeRunner) -> None:
    runner.in_vain = False
    panel = ToyPanel(ToyRequest(), **parts(runner, None))
    panel.k.value = 5
    panel._estimate = lambda _: Cost()
    runner.looks[-1].find_nothing()
    assert [job.request for job in runner.jobs] == [ToyRequest(k=5)]


def test_a_look_is_dropped_for_newer_settings_and_for_run(runner: FakeRunner) -> None:
    runner.in_vain = False
    panel = ToyPanel(ToyRequest(), **parts(runner, None))
    panel.k.value = 5
    panel.k.value = 6
    runner.looks[0].finish("old")
    assert panel.drawn == []
    panel.runbar.run.click()
    runner.looks[1].finish("late")
    assert panel.drawn == []
    runner.jobs[-1].finish("run")
    assert panel.drawn == ["run"]


def test_a_look_can_be_cancelled_and_its_fault_is_told(runner: FakeRunner) -> None:
    runner.in_vain = False
    panel = ToyPanel(ToyRequest(), **parts(runner, None))
    panel.k.value = 5
    panel.runbar.cancel.click()
    assert panel.state.phase == "idle"
    assert panel.runbar.cancel.disabled
    panel.k.value = 6
    runner.looks[-1].fail("There is no folder there.")
    assert "no folder there" in panel.notice.words
    assert "Failed; see the message." in panel.runbar.text.value
    panel.k.value = 7
    assert "Failed" not in panel.runbar.text.value


def test_run_never_runs_something_else_than_the_controls_say(
    panel: ToyPanel, runner: FakeRunner
) -> None:
    panel.k.value = -1
    panel.notice.clear()
    panel.runbar.run.click()
    assert "expected at least 0" in panel.notice.words
    assert not runner.jobs


def test_a_panel_is_at_rest_only_with_its_new_result_on_the_page(
    panel: ToyPanel, runner: FakeRunner
) -> None:
    seen: list[Any] = []
    panel.state.observe(lambda change: seen.append((change["new"], panel.drawn[-1:])), "phase")
    panel.start()
    runner.jobs[-1].finish("whole")
    assert seen == [("running", []), ("idle", ["whole"])]
    assert "Computed in" in panel.runbar.text.value


def test_a_failed_run_says_where_to_look_until_the_settings_change(
    panel: ToyPanel, runner: FakeRunner
) -> None:
    panel.start()
    runner.jobs[-1].fail()
    assert "Failed; see the message." in panel.runbar.text.value
    panel.k.value = 4
    assert "Failed" not in panel.runbar.text.value


def test_the_earlier_result_stays_dimmed_until_the_new_one_is_whole(
    panel: ToyPanel, runner: FakeRunner
) -> None:
    panel.k.value = 5
    runner.jobs[-1].finish("five")
    assert not is_dimmed(panel)
    panel.k.value = 6
    assert is_dimmed(panel)
    assert panel.result == "five"
    runner.jobs[-1].finish("six")
    assert not is_dimmed(panel)
    assert panel.result == "six"


def test_going_back_to_the_shown_settings_is_no_new_work(
    panel: ToyPanel, runner: FakeRunner
) -> None:
    panel.k.value = 5
    runner.jobs[-1].finish("five")
    panel._estimate = lambda _: None
    panel.k.value = 6
    assert is_dimmed(panel)
    panel.k.value = 5
    assert not is_dimmed(panel)
    assert len(runner.jobs) == 1


def test_stage_count_time_gone_and_time_left_are_shown(panel: ToyPanel, runner: FakeRunner) -> None:
    panel.start()
    runner.jobs[-1].progress("forming products", 1, 4)
    for said in ("forming products", "1 of 4", "2.0 s gone", "6.0 s left"):
        assert said in panel.runbar.text.value
    assert 'value="1" max="4"' in panel.runbar.bar.value


def test_cancel_keeps_the_earlier_result_and_says_so(panel: ToyPanel, runner: FakeRunner) -> None:
    panel.k.value = 5
    runner.jobs[-1].finish("five")
    panel.start()
    panel.runbar.cancel.click()
    assert runner.jobs[-1].cancelled
    assert panel.result == "five"
    assert "Cancelled" in panel.runbar.text.value
    assert not panel.runbar.run.disabled


def test_late_words_of_an_older_run_are_dropped(panel: ToyPanel, runner: FakeRunner) -> None:
    panel.k.value = 5
    panel.k.value = 6
    runner.jobs[0].finish("late")
    assert panel.drawn == []
    assert panel.state.phase == "running"
    runner.jobs[1].finish("six")
    assert panel.drawn == ["six"]


def test_a_failed_run_shows_message_and_next_step_and_keeps_the_result(
    panel: ToyPanel, runner: FakeRunner
) -> None:
    panel.k.value = 5
    runner.jobs[-1].finish("five")
    panel.k.value = 6
    runner.jobs[-1].fail("<b>no</b> model", "Check its name.")
    assert "<b>no</b> model" in panel.notice.words
    assert "Check its name." in panel.notice.words
    assert panel.result == "five"
    assert not panel.runbar.run.disabled
    panel.start()
    assert panel.notice.words == ""


def test_a_value_that_cannot_be_is_told_and_changes_nothing(
    panel: ToyPanel, runner: FakeRunner
) -> None:
    panel.k.value = -1
    assert "expected at least 0" in panel.notice.words
    assert panel.request == ToyRequest()
    assert not runner.jobs
    panel.k.value = 2
    assert panel.notice.words == ""


def test_a_callback_that_raises_is_shown_logged_and_raised_under_test(
    panel: ToyPanel, logged_faults: list[str]
) -> None:
    def broken(_: Any) -> None:
        raise ValueError("a secret in /home/somebody")

    with pytest.raises(ValueError, match="secret"):
        panel.callback(broken)(None)
    assert "Something in embtie itself went wrong" in panel.notice.words
    assert "ValueError" in panel.notice.words
    assert "secret" not in panel.notice.words
    assert "/" not in panel.notice.words.replace("</", "").replace("panels/", "")
    assert any("broken" in fault for fault in logged_faults)
    logged_faults.clear()


def test_a_click_that_raises_leaves_a_fault_that_fails_the_test(
    panel: ToyPanel, logged_faults: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panel._runner, "submit", None)
    panel.runbar.run.click()
    assert logged_faults
    logged_faults.clear()


def test_a_result_that_cannot_be_drawn_keeps_the_earlier_one(
    panel: ToyPanel, runner: FakeRunner, logged_faults: list[str]
) -> None:
    panel.start()
    runner.jobs[-1].finish("good")
    panel.start()
    with pytest.raises(ZeroDivisionError):
        runner.jobs[-1].finish(ZeroDivisionError())
    assert panel.result == "good"
    assert "went wrong" in panel.notice.words
    assert not panel.runbar.run.disabled
    logged_faults.clear()


def test_run_waits_returns_the_result_and_raises_what_went_wrong(runner: FakeRunner) -> None:
    runner.at_once = True
    panel = ToyPanel(ToyRequest(), **parts(runner, Cost()))
    assert panel.run() is panel.result

    def fail(request: Any, listener: Any, previews: bool) -> Any:
        runner.jobs.append(runner.jobs[-1].__class__(request, listener))
        runner.jobs[-1].fail("gone")
        return runner.jobs[-1]

    runner.submit = fail  # type: ignore[method-assign]
    with pytest.raises(EmbtieError, match="gone"):
        panel.run()


def test_setting_the_request_sets_the_controls_without_an_echo(
    panel: ToyPanel, runner: FakeRunner
) -> None:
    panel.request = ToyRequest(k=9)
    assert panel.k.value == 9
    assert len(runner.jobs) == 1


def test_a_result_that_is_already_there_is_shown_without_a_run(runner: FakeRunner) -> None:
    panel = ToyPanel(ToyRequest(), **parts(runner, Cost(), known="stored"))
    panel.begin()
    assert panel.drawn == ["stored"]
    assert not runner.jobs
    assert not is_dimmed(panel)


def test_a_worker_never_waits_for_a_callback_at_work(panel: ToyPanel, runner: FakeRunner) -> None:
    panel.start()
    told, seen = threading.Event(), []

    def at_work(_: Any) -> None:
        worker = threading.Thread(target=lambda: (runner.jobs[-1].finish("whole"), told.set()))
        worker.start()
        assert told.wait(5), "the worker waited for the callback"
        seen.append(list(panel.drawn))

    panel.callback(at_work)(None)
    assert seen == [[]]
    assert panel.drawn == ["whole"]


def test_no_name_of_a_panel_hides_one_of_the_widget(panel: ToyPanel) -> None:
    own = {name for name in vars(Panel) if not name.startswith("__")}
    inherited = {name for name in dir(w.VBox) if not name.startswith("__")}
    made_by_traitlets = {name for name in own if name.startswith("_") and "trait" in name}
    made_by_traitlets |= {"_static_immutable_initial_values", "_descriptors", "_instance_inits"}
    assert own & inherited <= made_by_traitlets
    assert not {name for name in vars(panel) if name in inherited and not name.startswith("_")}


def test_run_points_to_a_message_until_it_is_taken_back(panel: ToyPanel) -> None:
    assert panel.notice in panel.children
    panel.k.value = -1
    assert "See the message." in panel.runbar.text.value
    panel.k.value = 2
    assert "See the message." not in panel.runbar.text.value


def test_a_result_of_other_settings_says_so_until_the_new_one_is_there(runner: FakeRunner) -> None:
    panel = ToyPanel(ToyRequest(), **parts(runner, Cost(seconds=60)))
    panel.start()
    runner.jobs[-1].finish("first")
    assert panel.outdated.value == ""
    panel.k.value = 8
    assert "other settings" in panel.outdated.value
    panel.start()
    assert panel.outdated.value == ""
    runner.jobs[-1].finish("second")
    assert panel.outdated.value == ""
