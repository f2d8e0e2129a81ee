from dataclasses import replace

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.panels.alignment import AlignmentPanel
from embtie_widgets.requests import AlignRequest, ModelRef
from tests.fresh import run_fresh
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.sample_results import TOKENS, pair_result


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner(at_once=True)


@pytest.fixture
def panel(runner: FakeRunner) -> AlignmentPanel:
    return AlignmentPanel(parts=parts(runner, Cost()))


def test_it_opens_with_the_bundled_pair_drawn(panel: AlignmentPanel) -> None:
    assert panel.request == AlignRequest()
    assert sum(panel.chart.shown["data"][0]["y"]) == 299
    assert "0.6" in panel.headline.value
    assert len(panel.tokens.table.rows) == 100


def test_options_by_name_go_into_the_request_and_the_controls(runner: FakeRunner) -> None:
    panel = AlignmentPanel(
        map="orthogonal", center=False, holdout=0.35, a="nano-tied", parts=parts(runner, Cost())
    )
    assert panel.request == AlignRequest(
        a="nano-tied", map="orthogonal", center=False, holdout=0.35
    )
    assert (panel.map.value, panel.center.value) == ("orthogonal", False)
    assert panel.pair.a.ref.value == "nano-tied"
    with pytest.raises(EmbtieError, match="map"):
        AlignmentPanel(map="cubic")


@pytest.mark.parametrize(
    ("control", "value"),
    [
        ("map", "identity"),
        ("center", False),
        ("ridge", 0.5),
        ("holdout", 0.4),
        ("seed", 11),
        ("device", "cpu"),
    ],
)
def test_each_control_edits_its_field(
    panel: AlignmentPanel, runner: FakeRunner, control: str, value: object
) -> None:
    getattr(panel, control).value = value
    assert getattr(panel.request, control) == value
    assert runner.jobs[-1].request == replace(AlignRequest(), **{control: value})


def test_a_seed_that_is_no_whole_number_is_refused_in_words(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    before = len(runner.jobs)
    panel.seed.value = 1.5
    assert "expected a whole number" in panel.notice.words
    assert len(runner.jobs) == before
    panel.seed.value = 2
    assert (panel.request.seed, type(panel.request.seed)) == (2, int)


def test_the_number_beside_the_slider_is_read_as_it_is_written(panel: AlignmentPanel) -> None:
    assert float(format(0.35, panel.holdout.readout_format)) == 0.35


def test_the_figure_is_changed_in_place(panel: AlignmentPanel) -> None:
    before, chart = panel.chart.shown, panel.chart
    for name in ("identity", "orthogonal") * 10:
        panel.map.value = name
    assert panel.chart is chart
    assert panel.chart.shown is not before
    assert "orthogonal map" in panel.caption.value


def test_summary_shows_in_sample_held_out_and_chance_per_comparison(
    panel: AlignmentPanel,
) -> None:
    for part in panel.result.comparisons.values():
        for value in (part.mean, part.heldout_mean, part.floor_mean):
            assert f"{value:.3f}" in panel.summary.value


def test_the_models_are_shown_as_stored_with_counts_hashes_and_notes(
    panel: AlignmentPanel,
) -> None:
    for said in ("untied", "300 × 16", "float16", "padding in A", "aa11", "not finite"):
        assert said in panel.facts.value


def test_ridge_is_for_the_linear_map_only(panel: AlignmentPanel) -> None:
    assert not panel.ridge.disabled
    panel.map.value = "orthogonal"
    assert panel.ridge.disabled


def test_a_pick_changes_the_model_and_forgets_what_belonged_to_the_other(
    panel: AlignmentPanel,
) -> None:
    panel.request = AlignRequest(a=ModelRef("old.npy", output_file="out.npy", treat_as_tied=True))
    panel.pair.a.ref.value = " nano-tied "
    assert panel.request.a == ModelRef("nano-tied")
    panel.pair.a.revision.value = "step10"
    assert panel.request.a == ModelRef("nano-tied", revision="step10")


def test_an_empty_model_is_told_when_typed_and_again_on_run_which_runs_nothing_else(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    before, jobs = panel.request, len(runner.jobs)
    panel.pair.a.ref.value = "  "
    assert "No model is named" in panel.notice.words
    panel.notice.clear()
    panel.runbar.run.click()
    assert "No model is named" in panel.notice.words
    assert (panel.request, len(runner.jobs)) == (before, jobs)
    panel.pair.a.ref.value = "nano-untied"
    assert panel.notice.words == ""


@pytest.mark.parametrize("typed", ["x" * 2000, "a\x07b"])
def test_a_name_that_no_model_can_have_is_told(panel: AlignmentPanel, typed: str) -> None:
    panel.pair.b.ref.value = typed
    assert "printable characters" in panel.notice.words
    panel.pair.b.revision.value = "main"
    assert "printable characters" in panel.notice.words


def test_the_picker_searches_the_catalogue(panel: AlignmentPanel) -> None:
    panel.pair.b.ref.query = "pythia 1b"
    assert [hit["value"] for hit in panel.pair.b.ref.hits] == ["EleutherAI/pythia-1b"]


def test_treat_as_tied_is_offered_for_an_input_alone(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    assert panel.pair.a.as_tied.layout.display == "none"
    result = pair_result()
    runner.at_once = False
    panel.start()
    lone = {**result.models, "A": {**result.models["A"], "tied": "input only"}}
    runner.jobs[-1].finish(replace(result, models=lone))
    assert panel.pair.a.as_tied.layout.display == ""
    runner.at_once = True
    panel.pair.a.as_tied.value = True
    assert panel.request.a.treat_as_tied


def test_a_comparison_alone_is_not_drawn_against_itself(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    runner.at_once = False
    panel.start()
    result = pair_result()
    alone = {"In->Tied": result.comparisons["In->Tied"]}
    runner.jobs[-1].finish(replace(result, comparisons=alone))
    assert (panel.scatter.x.value, panel.scatter.y.value) == ("In->Tied", "norm In")


def test_search_and_sort_happen_in_the_kernel(panel: AlignmentPanel) -> None:
    table = panel.tokens.table
    table.query = "<script>"
    assert [row[1] for row in table.rows] == ["<script>alert(1)</script>"]
    assert table.shown == 1
    table.query = ""
    table.sort, table.descending = "Out->Tied", False
    values = [float(row[2]) for row in table.rows]
    assert values == sorted(values)


def test_the_selection_is_one_for_table_and_code_and_survives_search_and_map(
    panel: AlignmentPanel,
) -> None:
    panel.selection = {0, 250}
    table = panel.tokens.table
    table.query = "word241"
    assert table.selected == [250]
    table.selected = []
    assert panel.selection == {0}
    panel.map.value = "identity"
    table.query = ""
    table.sort, table.descending = "row_a", False
    assert table.selected == [0]
    assert panel.selection == {0}


def test_token_text_is_markup_nowhere_in_the_panel(panel: AlignmentPanel) -> None:
    pages = [panel.headline, panel.caption, panel.summary, panel.facts]
    assert not any("alert(1)" in page.value for page in pages)
    assert TOKENS[8].decode() in [row[1] for row in _all_rows(panel)]


def test_a_model_name_is_no_markup(panel: AlignmentPanel, runner: FakeRunner) -> None:
    runner.at_once = False
    panel.start()
    result = pair_result()
    models = {**result.models, "A": {**result.models["A"], "name": "<img src=x>"}}
    runner.jobs[-1].finish(replace(result, models=models))
    assert "<img" not in panel.facts.value + panel.caption.value


def test_a_refused_start_leaves_an_empty_chart_and_says_why(runner: FakeRunner) -> None:
    runner.at_once = False
    panel = AlignmentPanel(a="not/there", parts=parts(runner, None))
    assert panel.result is None
    panel.runbar.run.click()
    runner.jobs[-1].fail()
    assert "no model there" in panel.notice.words


def test_the_panel_opens_without_torch() -> None:
    code = "import embtie_widgets as ew; p = ew.AlignmentPanel(); assert p.result is not None"
    run_fresh(code, "torch", "transformers", "plotly", "pandas")


def _all_rows(panel: AlignmentPanel) -> list[list[object]]:
    panel.tokens.table.sort, panel.tokens.table.descending = "row_a", False
    return panel.tokens.table.rows


def test_a_tied_first_model_is_warned_of_beside_the_headline(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    assert "Beware" not in panel.headline.value
    runner.at_once = False
    panel.start()
    result = pair_result()
    same = {**result.hashes, "Out": result.hashes["In"]}
    runner.jobs[-1].finish(replace(result, hashes=same))
    assert "Beware" in panel.headline.value
    assert "A is tied" in panel.headline.value


def test_models_that_were_exchanged_are_told_right_under_the_headline(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    assert "exchanged" not in panel.headline.value
    runner.at_once = False
    panel.start()
    result = pair_result()
    runner.jobs[-1].finish(replace(result, settings=result.settings | {"exchanged": True}))
    said = panel.headline.value.split("</p>")[1]
    assert "A and B were exchanged" in said
    assert "nano-untied gives In and Out, nano-tied gives Tied" in said
