"""The panel of output centering: settings, grid of runs, live curves, cells, links, files."""

import json
from dataclasses import replace
from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.previews import Preview
from embtie_widgets.panels.centering import CenteringPanel
from embtie_widgets.requests import CenteringRequest, read_request
from embtie_widgets.requests.centering_settings import SETTINGS
from embtie_widgets.requests.link import Link, decode, encode
from embtie_widgets.results.centering import DIVERGED, FAILED
from tests import sample_centering as sample
from tests.panels.fake_jobs import Cost, FakeRunner, parts

ASKED = CenteringRequest(lr=3e-3)


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def panel(runner: FakeRunner) -> CenteringPanel:
    return CenteringPanel(ASKED, parts=parts(runner, Cost(100), sample.report()))


def shown(panel: CenteringPanel) -> list[str]:
    return [name for name, one in panel.cards.items() if one.layout.display != "none"]


def seen(control: Any) -> bool:
    return bool(control.layout.display != "none")


def preview(runner: FakeRunner, result: Any) -> None:
    job = runner.jobs[-1]
    job.listener.previewed(Preview(job.request, job.request, result))


def drawn(panel: CenteringPanel) -> list[str]:
    return list(dict.fromkeys(trace["name"] for trace in panel.chart.shown["data"]))


# What is asked.


def test_it_opens_with_what_ships(runner: FakeRunner) -> None:
    panel = CenteringPanel(parts=parts(runner, Cost(100), sample.report()))
    assert panel.request == CenteringRequest()
    assert runner.jobs == []
    assert set(shown(panel)) == set(panel.cards) - {"weights"}
    assert panel.state.view == {}


def test_options_by_name_go_into_the_request_and_the_controls(runner: FakeRunner) -> None:
    panel = CenteringPanel(
        methods=("none", "mu-centering+soft-cap"), rates=(0.02, 0.1), tying=("tied",), seeds=(3, 4),
        sizes=("micro",), cap=20, parts=parts(runner, Cost(100)),
    )  # fmt: skip
    sweep = panel.sweep
    assert sweep.methods.others.value == "mu-centering+soft-cap"
    assert (sweep.rates.picker.value, sweep.seeds.picker.others.value) == ((0.02, 0.1), "3, 4")
    assert [name for name, chip in sweep.tying.chips.items() if chip.value] == ["tied"]
    assert sweep.numbers["cap"].value == 20
    assert "8 runs" in sweep.count.value


def test_the_controls_make_the_grid(panel: CenteringPanel) -> None:
    sweep = panel.sweep
    sweep.methods.chips["z-loss"].value = False
    sweep.tying.chips["tied"].value = True
    sweep.rates.picker.chips[0.1].value = True
    sweep.coefficients.others.value = "0.0001, 0.01"
    sweep.numbers["interval"].value = 5
    sweep.rows.value = "all"
    assert panel.request == replace(
        ASKED, methods=("none", "mu-centering", "mu-loss", "soft-cap"), tying=("untied", "tied"),
        rates=(0.003, 0.1), coefficients=(1e-4, 0.01), interval=5, rows="all",
    )  # fmt: skip
    assert f"{len(panel.request.cells)} runs" in sweep.count.value


@pytest.mark.parametrize("typed", ["foo", "mu-centering+foo", "none+z-loss", "sgd+coupled-adam"])
def test_a_method_that_cannot_be_is_refused_in_words_and_stays_to_be_mended(
    panel: CenteringPanel, typed: str
) -> None:
    before = panel.request
    panel.sweep.methods.others.value = typed
    assert "method" in panel.notice.words
    assert panel.request == before
    assert panel.sweep.methods.others.value == typed
    panel.sweep.methods.others.value = ""
    assert panel.notice.words == ""


def test_no_more_is_asked_than_counts(panel: CenteringPanel) -> None:
    sweep = panel.sweep
    for name in ("mu-centering", "mu-loss", "z-loss", "soft-cap"):
        sweep.methods.chips[name].value = False
    assert panel.request.methods == ("none",)
    hidden = (sweep.coefficients, sweep.numbers["cap"], sweep.numbers["interval"], sweep.rows)
    assert not any(map(seen, (*hidden[:3], panel.sweep.mean)))
    sweep.methods.chips["mu-centering"].value = True
    assert seen(sweep.numbers["interval"])
    assert seen(panel.sweep.mean)
    assert not seen(sweep.numbers["cap"])


def test_a_setting_fills_in_everything_and_is_left_by_a_change(panel: CenteringPanel) -> None:
    name, (fields, words) = next(iter(SETTINGS.items()))
    panel.setting.names.value = name
    assert panel.request == CenteringRequest(**fields)
    assert words[:20] in panel.setting.said.value
    panel.setting.names.value = "your own"
    assert panel.setting.names.value == name
    panel.training.numbers["steps"].value = 17
    assert panel.setting.names.value == "your own"
    assert panel.setting.said.value == ""


def test_what_the_sweep_asks_itself_is_not_asked_twice(panel: CenteringPanel) -> None:
    training = panel.training
    assert not any(map(seen, (training.numbers["lr"], training.seed, training.share_start)))
    assert seen(training.numbers["steps"])


# What is shown.


def test_the_runs_are_drawn_while_they_train(runner: FakeRunner) -> None:
    panel = CenteringPanel(parts=parts(runner, Cost(100)))
    assert shown(panel) == ["curves"]
    panel.start()
    preview(runner, sample.growing())
    assert "μ-loss" in " ".join(drawn(panel))
    assert "step 120 of 300" in panel.outdated.value
    assert "running" in panel.one.value
    assert not seen(panel.cards["sensitivity"])
    panel.cancel()
    assert panel.result.progress
    panel.start()
    runner.jobs[-1].finish(sample.one_rate())
    assert len(drawn(panel)) == 5
    assert panel.outdated.value == ""


def test_a_click_on_a_cell_opens_its_run_and_its_rivals(panel: CenteringPanel) -> None:
    panel.grid.clicked(0, (1, 0))
    run = panel.run_chooser.run
    assert (run.method, run.lr) == ("mu-centering", sample.RATES[0])
    assert "0.003" in panel.one.value
    assert "μ-centering" in panel.one.value
    assert panel.run_chooser.menus["rate"].value == sample.RATES[0]
    assert len(panel.grid.shown["layout"]["shapes"]) == 1
    assert panel.state.view == {"run": "nano/untied/mu-centering//0.003/0"}


def test_a_click_beside_every_cell_is_nothing(panel: CenteringPanel) -> None:
    panel.grid.clicked(0, (99, 0))
    panel.grid.clicked(40, (0, 0))
    assert panel.state.view == {}


def test_the_menus_reach_every_run_by_keyboard(panel: CenteringPanel) -> None:
    menus = panel.run_chooser.menus
    menus["rate"].value = 0.03
    menus["method"].value = "untied z-loss 0.0001"
    assert (panel.run_chooser.run.method, panel.run_chooser.run.lr) == ("z-loss", 0.03)
    assert not seen(menus["size"])


def test_another_result_keeps_the_run_or_the_one_most_like_it(
    panel: CenteringPanel, runner: FakeRunner
) -> None:
    panel.grid.clicked(0, (1, 2))
    assert (panel.run_chooser.run.method, panel.run_chooser.run.lr) == ("mu-centering", 0.03)
    for rates, kept in (((0.03, 0.1), 0.03), ((0.1,), 0.1)):
        panel.start()
        runner.jobs[-1].finish(sample.report(rates))
        assert (panel.run_chooser.run.method, panel.run_chooser.run.lr) == ("mu-centering", kept)


def test_what_a_menu_is_set_to_goes_before_the_other_menus(runner: FakeRunner) -> None:
    runs = (sample.run("none", 0.1, size="16M"), sample.run("z-loss", 0.3, size="57M"))
    panel = CenteringPanel(parts=parts(runner, Cost(100), sample.finished(runs)))
    menus = panel.run_chooser.menus
    for size in ("16M", "57M", "16M"):
        menus["size"].value = size
        assert panel.run_chooser.run.size == size


def test_every_state_is_told_in_words(runner: FakeRunner) -> None:
    panel = CenteringPanel(parts=parts(runner, Cost(100), sample.every_state()))
    for state in ("done", "diverged", "failed", "missing", "running", "waiting"):
        assert state in panel.numbers.value
    failed = next(run for run in panel.result.runs if run.state == FAILED)
    menus = panel.run_chooser.menus
    menus["method"].value, menus["rate"].value = failed.line, failed.lr
    assert "has &lt;b&gt;fewer&lt;/b&gt; tokens" in panel.one.value
    assert "<b>fewer" not in panel.one.value


def test_a_diverged_run_says_at_which_step(panel: CenteringPanel) -> None:
    run = next(run for run in panel.result.runs if run.state == DIVERGED)
    assert f"diverged at step {run.step}" in panel.numbers.value


def test_one_curve_can_be_looked_at_alone(panel: CenteringPanel) -> None:
    panel.curve.value = "logit_mean"
    assert {trace["yaxis"] for trace in panel.chart.shown["data"]} == {"y"}
    panel.stretch.value = True
    assert panel.state.view == {"curve": "logit_mean", "log": "true"}


def test_the_cells_show_another_number(panel: CenteringPanel) -> None:
    before = panel.grid.shown["data"][0]["text"]
    panel.measure.value = "mu_output"
    assert panel.grid.shown["data"][0]["text"] != before
    assert "mean row" in panel.captions["grid"].value


def test_a_heat_map_of_few_rates_needs_no_wide_page(
    panel: CenteringPanel, runner: FakeRunner
) -> None:
    assert panel.grid.layout.min_width is None
    panel.start()
    runner.jobs[-1].finish(sample.one_rate())
    assert panel.grid.layout.min_width == "0"


def test_a_recorded_sweep_has_no_curves(runner: FakeRunner) -> None:
    panel = CenteringPanel(parts=parts(runner, Cost(100), sample.recorded()))
    assert "curves" not in shown(panel)
    assert {"grid", "rates", "sensitivity"} <= set(shown(panel))
    menu = panel.run_chooser.menus["size"]
    menu.value = "57M"
    assert panel.run_chooser.run.size == "57M"


def test_the_papers_runs_stand_beside_those_trained_here_alone(
    panel: CenteringPanel, runner: FakeRunner
) -> None:
    assert all(text in panel.printed.value for text in ("4.269", "588", "1,071"))
    assert "printed" in shown(panel)
    other = CenteringPanel(parts=parts(runner, Cost(100), sample.recorded()))
    assert "printed" not in shown(other)


def test_effects_say_where_one_subtraction_changes_predictions(panel: CenteringPanel) -> None:
    rows = panel.effects.value.split("<tr>")[2:]
    assert "Nothing changes" in rows[0]
    assert "0.210" in rows[2]


def test_notes_and_names_are_text(runner: FakeRunner) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    made = [replace(run, method=hostile, size=hostile) for run in sample.recorded().runs]
    result = replace(sample.recorded(), runs=tuple(made), notes=(hostile,))
    panel = CenteringPanel(parts=parts(runner, Cost(100), result))
    for one in (panel.headline, panel.numbers, panel.one, panel.facts, *panel.captions.values()):
        assert "<img" not in one.value


def test_a_failure_is_told_and_the_result_is_kept(
    panel: CenteringPanel, runner: FakeRunner
) -> None:
    before = panel.result
    panel.training.numbers["steps"].value = 12
    panel.start()
    runner.jobs[-1].fail("There is no text there.", "Name another.")
    assert "no text" in panel.notice.words
    assert panel.result is before
    assert panel.state.stale


# What is taken away.


def test_a_link_carries_the_request_and_the_view(panel: CenteringPanel) -> None:
    panel.grid.clicked(0, (1, 0))
    panel.measure.value = "logit_max"
    link = decode(encode(panel.request, (), panel.state.view))
    assert link is not None
    assert link.request == panel.request
    other = CenteringPanel(ASKED, parts=parts(FakeRunner(), Cost(100), sample.report()))
    other.open_link(link)
    assert other.state.view == panel.state.view
    assert other.run_chooser.run.method == "mu-centering"


def test_a_link_of_a_run_that_is_not_there_is_told(panel: CenteringPanel) -> None:
    panel.open_link(Link(panel.request, (), {"run": "nano/untied/none//7/0"}))
    assert "a view that there is not here" in panel.notice.words


def test_tables_and_page_carry_the_settings(panel: CenteringPanel) -> None:
    for label, rows in (("CSV", 25), ("Sensitivity CSV", 5), ("Curves CSV", 25 * 29)):
        file = panel.exports.files[label]._make()
        lines = file.data.decode().splitlines()
        settings = json.loads(lines[0].lstrip("# "))
        assert read_request(settings["request"]) == panel.request
        assert len(lines) >= rows
    page = panel.exports.files["HTML"]._make().data.decode()
    assert "http" not in page.split("<script")[0]


def test_a_recorded_sweep_gives_no_curves_away(runner: FakeRunner) -> None:
    panel = CenteringPanel(parts=parts(runner, Cost(100), sample.recorded()))
    assert panel.exports.files["Curves CSV"].disabled
    assert not panel.exports.files["CSV"].disabled


def test_the_code_makes_the_same_result(panel: CenteringPanel) -> None:
    panel.sweep.rates.picker.chips[0.1].value = True
    assert "rates=(0.003, 0.1)" in panel.exports.code.text


def test_a_file_must_be_named_before_it_is_shown(panel: CenteringPanel) -> None:
    panel.source.source.value = "file"
    assert not any(seen(one) for one in panel._trained)
    with pytest.raises(EmbtieError, match="named"):
        panel.check()
