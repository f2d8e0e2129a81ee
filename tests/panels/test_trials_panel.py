"""The panel of bottleneck trials: experiments, sliders, settings, views, links, files."""

import json
from dataclasses import replace
from typing import Any

import pytest

from embtie_widgets.guide import source
from embtie_widgets.jobs.previews import Preview
from embtie_widgets.panels.slider_list import SliderList
from embtie_widgets.panels.trials import BottleneckTrialsPanel
from embtie_widgets.requests import BottleneckTrialsRequest, read_request
from embtie_widgets.requests.link import Link, decode, encode
from embtie_widgets.requests.trials_settings import SETTINGS
from tests import sample_trials as sample
from tests.panels.fake_jobs import Cost, FakeRunner, parts

LANGUAGE = BottleneckTrialsRequest(
    experiment="spamlang", symbols=(256, 1_024, 4_096), widths=(8, 32, 128)
)


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def ranks(runner: FakeRunner) -> BottleneckTrialsPanel:
    return BottleneckTrialsPanel(parts=parts(runner, Cost(100), sample.ranks()))


@pytest.fixture
def language(runner: FakeRunner) -> BottleneckTrialsPanel:
    return BottleneckTrialsPanel(LANGUAGE, parts=parts(runner, Cost(100), sample.grid()))


def shown(panel: BottleneckTrialsPanel) -> set[str]:
    return {name for name, one in panel.cards.items() if one.layout.display != "none"}


def seen(control: Any) -> bool:
    return bool(control.layout.display != "none")


def curves(panel: BottleneckTrialsPanel) -> list[dict[str, Any]]:
    return [t for t in panel.chart.shown["data"] if t.get("mode") == "lines" and len(t["x"]) > 1]


# What is asked.


def test_it_opens_with_what_ships(ranks: BottleneckTrialsPanel, runner: FakeRunner) -> None:
    assert ranks.request == BottleneckTrialsRequest()
    assert runner.jobs == []
    assert shown(ranks) == {"curves", "excess", "one", "runs", "facts"}
    assert ranks.state.view == {}


def test_options_by_name_go_into_the_request_and_the_controls(runner: FakeRunner) -> None:
    panel = BottleneckTrialsPanel(
        experiment="spamlang", symbols=(4_096, 256), widths=(48,), lengths=(64,), extra=(0, 4_096),
        budget="per symbol", amount=100, seeds=(3, 4), parts=parts(runner, Cost(100)),
    )  # fmt: skip
    trials = panel.trials
    assert (trials.symbols.slider.value, trials.symbols.others.value) == (4_096, "256")
    assert (trials.widths.slider.value, trials.widths.others.value) == (48, "")
    assert (trials.amount.slider.value, trials.budget.value) == (100, "per symbol")
    assert "8 runs" in trials.count.value
    assert panel.request.symbols == (4_096, 256)


def test_sliders_and_lines_make_the_grid(language: BottleneckTrialsPanel) -> None:
    trials = language.trials
    trials.symbols.slider.value = 512
    trials.widths.others.value = "64; 16"
    trials.lengths.others.value = ""
    trials.extra.slider.value = 4_096
    trials.budget.value = "sequences"
    trials.amount.slider.value = 2_048
    trials.layers.value = 2
    trials.rates.picker.chips[0.01].value = True
    trials.tying.chips["tied"].value = True
    assert language.request == replace(
        LANGUAGE, symbols=(512, 1_024, 4_096), widths=(8, 64, 16), lengths=(1,), extra=(4_096,),
        budget="sequences", amount=2_048, layers=2, rates=(0.003, 0.01), tying=("untied", "tied"),
    )  # fmt: skip
    assert f"{len(language.request.trials)} runs" in trials.count.value


def test_ways_and_ranks_are_chips(ranks: BottleneckTrialsPanel) -> None:
    trials = ranks.trials
    trials.ways.chips["head-update"].value = True
    trials.ranks.chips[16].value = False
    trials.ranks.others.value = "24"
    assert ranks.request.ways == ("full", "factorised", "backward", "head-update")
    assert ranks.request.ranks == (4, 24)
    for name in ("factorised", "backward"):
        trials.ways.chips[name].value = False
    assert not seen(trials.ranks)


@pytest.mark.parametrize("typed", ["many", "0", "-3", "1.5", "²"])
def test_a_number_that_cannot_be_is_refused_in_words_and_stays_to_be_mended(
    language: BottleneckTrialsPanel, typed: str
) -> None:
    before = language.request
    language.trials.lengths.others.value = typed
    assert "lengths is" in language.notice.words
    assert language.request == before
    assert language.trials.lengths.others.value == typed
    language.trials.lengths.others.value = "64"
    assert language.notice.words == ""


def test_a_slider_shows_a_number_beside_its_ladder_and_forgets_it_again() -> None:
    one = SliderList("width", "", [2, 4, 8])
    one.value = (6, 8)
    assert [value for _, value in one.slider.options] == [2, 4, 6, 8]
    one.value = (8,)
    assert [value for _, value in one.slider.options] == [2, 4, 8]
    one.slider.value = 2
    one.others.value = "2, 4"
    assert one.value == (2, 4)


def test_the_data_of_the_runs_is_told_before_they_are_trained(
    language: BottleneckTrialsPanel,
) -> None:
    said = language.trials.data.value
    assert "1,024 sequences (4,096 symbols, length 64): 0.25 of each" in said
    assert "65,516 sequences (256 symbols, length 1): 256 of each" in said
    language.trials.budget.value = "per symbol"
    assert language.trials.amount.slider.description == "sequences of each symbol"


def test_each_experiment_asks_for_no_more_than_counts(ranks: BottleneckTrialsPanel) -> None:
    training, trials = ranks.training, ranks.trials
    assert seen(training.numbers["batch"])
    assert seen(training.corpus)
    assert not seen(trials.amount) or not seen(trials.sections[2])
    ranks.experiment.buttons.value = "spamlang"
    assert not any(map(seen, (training.numbers["batch"], training.corpus, trials.sections[0])))
    assert all(map(seen, (training.numbers["steps"], training.preset, trials.sections[1])))
    assert not any(map(seen, (training.numbers["lr"], training.seed)))


def test_each_experiment_keeps_its_own_settings(ranks: BottleneckTrialsPanel) -> None:
    ranks.training.numbers["steps"].value = 77
    ranks.experiment.buttons.value = "spamlang"
    first = next(f for f, _ in SETTINGS.values() if f.get("experiment") == "spamlang")
    assert ranks.request == BottleneckTrialsRequest(**first)
    ranks.trials.widths.slider.value = 64
    ranks.experiment.buttons.value = "ranks"
    assert ranks.request == BottleneckTrialsRequest(steps=77)
    ranks.experiment.buttons.value = "spamlang"
    assert ranks.request.widths == (64,)


@pytest.mark.parametrize("name", list(SETTINGS))
def test_a_setting_fills_everything_in_and_says_what_it_shows(
    ranks: BottleneckTrialsPanel, name: str
) -> None:
    ranks.setting.names.value = name
    assert ranks.request == BottleneckTrialsRequest(**SETTINGS[name][0])
    assert SETTINGS[name][1][:30] in ranks.setting.said.value.replace("&#x27;", "'")
    ranks.training.numbers["steps"].value = 17
    assert ranks.setting.names.value == "your own"


# What is shown.


def test_the_runs_are_drawn_while_they_train(runner: FakeRunner) -> None:
    panel = BottleneckTrialsPanel(parts=parts(runner, Cost(100)))
    assert shown(panel) == {"curves"}
    panel.start()
    job = runner.jobs[-1]
    job.listener.previewed(Preview(job.request, job.request, sample.growing()))
    assert {t["x"][-1] for t in curves(panel)} == {300, 120}
    assert "1 of 8 runs" in panel.outdated.value
    assert "running" in panel.one.value
    assert "excess" not in shown(panel)
    panel.cancel()
    assert panel.result.progress
    panel.start()
    runner.jobs[-1].finish(sample.ranks())
    assert "excess" in shown(panel)
    assert panel.outdated.value == ""


def test_the_axis_turns_from_positions_to_independent_sequences(
    language: BottleneckTrialsPanel,
) -> None:
    before = max(trace["x"][-1] for trace in curves(language) if "64" in trace["name"])
    language.across.value = "sequences"
    after = max(trace["x"][-1] for trace in curves(language) if "64" in trace["name"])
    assert before == 64 * after
    assert language.state.view == {"across": "sequences"}


def test_only_chosen_runs_are_drawn(language: BottleneckTrialsPanel) -> None:
    menus = language.only.menus
    menus["symbols"].value = 1_024
    menus["width"].value = 32
    assert {t["yaxis"] for t in curves(language)} == {"y"}
    assert language.state.view == {"only": "symbols=1024,width=32"}
    assert not seen(menus["seed"])


def test_a_click_on_a_cell_opens_its_run(language: BottleneckTrialsPanel) -> None:
    language.grid.clicked(2, (2, 1))
    run = language.run_menu.run
    assert (run.symbols, run.width, run.length) == (4_096, 32, 64)
    assert "4,096 symbols, width 32, length 64" in language.one.value
    assert "13.9 %" in language.one.value
    assert len(language.grid.shown["layout"]["shapes"]) == 1
    language.grid.clicked(40, (0, 0))
    assert language.run_menu.run is run


def test_the_menu_reaches_every_run_by_keyboard(ranks: BottleneckTrialsPanel) -> None:
    key = next(
        key for words, key in ranks.run_menu.menu.options if words == "backward only, rank 8"
    )
    ranks.run_menu.menu.value = key
    assert ranks.run_menu.run.rank == 8
    assert ranks.state.view == {"run": key}


def test_the_loss_above_the_full_head_can_be_followed(ranks: BottleneckTrialsPanel) -> None:
    ranks.curve.value = "against"
    assert "full head" not in {t["legendgroup"] for t in curves(ranks) if t["yaxis"] == "y"}
    assert "less that of the full head" in ranks.captions["curves"].value


def test_printed_values_stand_beside_ours(ranks: BottleneckTrialsPanel) -> None:
    rows = {row.split("</th>")[0].split("> ")[-1]: row for row in ranks.above.value.split("<tr>")}
    assert "+0.625" in rows["head&#x27;s own update cut"]
    assert "+0.240" in rows["head&#x27;s own update cut"]
    assert "+0.144 (bytes), +0.180 (BPE-8192)" in rows["factorised head"]


def test_the_dispute_is_told_beside_the_numbers(
    ranks: BottleneckTrialsPanel, language: BottleneckTrialsPanel
) -> None:
    assert "The papers disagree" in ranks.headline.value
    assert "4.9 independent sequences" in language.headline.value
    told = ranks.headline.value + source("bottleneck-trials") + language.headline.value
    assert "destroyed" not in told


def test_every_state_is_told_in_words_and_reasons_are_text(runner: FakeRunner) -> None:
    result = sample.every_state()
    panel = BottleneckTrialsPanel(LANGUAGE, parts=parts(runner, Cost(100), result))
    for state in ("done", "diverged at step", "failed", "running", "waiting"):
        assert state in panel.numbers.value
    panel.run_menu.key = panel.run_menu.menu.options[5][1]
    for one in (panel.one, panel.headline):
        assert "has &lt;b&gt;fewer&lt;/b&gt; tokens" in one.value
        assert "<b>fewer" not in one.value


def test_notes_and_settings_are_text(runner: FakeRunner) -> None:
    hostile = "<img src=x onerror=alert(1)>"
    whole = sample.ranks()
    result = replace(whole, notes=(hostile,), settings={**whole.settings, "preset": hostile})
    panel = BottleneckTrialsPanel(parts=parts(runner, Cost(100), result))
    for one in (panel.headline, panel.numbers, panel.facts, *panel.captions.values()):
        assert "<img" not in one.value


# What is taken away.


def test_a_link_carries_the_request_and_the_view(language: BottleneckTrialsPanel) -> None:
    language.grid.clicked(2, (2, 1))
    language.across.value = "sequences"
    language.measure.value = "loss"
    language.only.menus["width"].value = 32
    link = decode(encode(language.request, (), language.state.view))
    assert link is not None
    assert link.request == language.request
    other = BottleneckTrialsPanel(parts=parts(FakeRunner(), Cost(100), sample.grid()))
    other.open_link(link)
    assert other.request == language.request
    assert other.experiment.buttons.value == "spamlang"


def test_a_links_view_is_shown_with_its_result(language: BottleneckTrialsPanel) -> None:
    key = language.run_menu.menu.options[3][1]
    view = {"only": "width=32", "across": "sequences", "cell": "loss", "run": key, "curve": "loss"}
    language.open_link(Link(LANGUAGE, (), view))
    assert language.notice.words == ""
    assert language.state.view == view
    assert language.only.menus["width"].value == 32


@pytest.mark.parametrize("view", [{"run": "full/4"}, {"only": "colour=red"}, {"across": "time"}])
def test_a_view_that_is_not_there_is_told(
    language: BottleneckTrialsPanel, view: dict[str, str]
) -> None:
    language.open_link(Link(LANGUAGE, (), view))
    assert "a view that there is not here" in language.notice.words


def test_tables_and_page_carry_the_settings(language: BottleneckTrialsPanel) -> None:
    for label, rows in (("CSV", 18), ("Curves CSV", 18 * 40)):
        lines = language.exports.files[label]._make().data.decode().splitlines()
        settings = json.loads(lines[0].lstrip("# "))
        assert read_request(settings["request"]) == LANGUAGE
        assert len(lines) == rows + 2
    page = language.exports.files["HTML"]._make().data.decode()
    assert "http" not in page.split("<script")[0].replace("http-equiv", "")
    assert '"kind": "bottleneck-trials"' in page


def test_only_figures_that_there_are_are_given_away(
    ranks: BottleneckTrialsPanel, language: BottleneckTrialsPanel
) -> None:
    for panel, excess, grid in ((ranks, False, True), (language, True, False)):
        files = panel.exports.files
        assert (files["Excess PNG"].disabled, files["Grid SVG"].disabled) == (excess, grid)
        assert not files["PNG"].disabled


def test_the_code_makes_the_same_result(language: BottleneckTrialsPanel) -> None:
    assert "ew.BottleneckTrialsRequest(" in language.exports.code.text
    assert "widths=(8, 32, 128)" in language.exports.code.text
