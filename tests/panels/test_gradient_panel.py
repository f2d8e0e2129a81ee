"""The panel of the gradient flow: sources, views, growing results, tokens, links, files."""

import json
from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.exports import csv_bytes
from embtie_widgets.panels.gradient import GradientFlowPanel
from embtie_widgets.requests import CorpusRef, GradientFlowRequest, ModelRef, read_request
from embtie_widgets.requests.link import decode, encode
from embtie_widgets.sources.recorded import Peek
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.sample_flow import failed, flow, growing, recorded

FILE = "log.csv"


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def panel(runner: FakeRunner) -> GradientFlowPanel:
    return GradientFlowPanel(parts=given(runner))


def given(runner: FakeRunner, known: Any = None) -> dict[str, Any]:
    """Fakes of everything that would look at files or carry out work."""
    shown = flow() if known is None else known
    looks = {"peek": peek, "follow": lambda _: "The run 'run': 3 steps.", "keep": keep}
    return {**parts(runner, Cost(100), shown), **looks}


def peek(_named: str, _wanted: str) -> Peek:
    guess = {"step": "step", "output_norm": "out"}
    names = {"step": "optimiser step", "output_norm": "norm of the output's part"}
    headers = ("step", "out", "other")
    return Peek(FILE, "table", "a table", headers, 3, guess, names, (), (), ("output_norm",))


def keep(_content: bytes, _name: str) -> str:
    return "uploaded:ab"


def seen(widget: Any) -> bool:
    return bool(widget.layout.display != "none")


def shown(panel: GradientFlowPanel) -> list[str]:
    return [name for name, one in panel.cards.items() if seen(one)]


def lower(panel: GradientFlowPanel) -> list[Any]:
    return [one for one in panel.chart.shown["data"] if one.get("yaxis") == "y2"]


def test_it_opens_with_what_ships(panel: GradientFlowPanel, runner: FakeRunner) -> None:
    assert panel.request == GradientFlowRequest()
    assert runner.jobs == []
    assert "The output writes 86 %" in panel.headline.value
    assert shown(panel) == ["curves", "bands", "numbers", "facts"]
    assert all(map(seen, panel.views.cards))
    assert panel.views.scatter.scatter.n == len(panel.result.tokens)


def test_options_by_name_go_into_the_request_and_the_controls(runner: FakeRunner) -> None:
    panel = GradientFlowPanel(batch=4, warmup=10, corpus="bundled", parts=given(runner))
    assert panel.request == GradientFlowRequest(batch=4, warmup=10, corpus=CorpusRef("bundled"))
    assert panel.training.numbers["batch"].value == 4
    with pytest.raises(EmbtieError, match="preset"):
        GradientFlowPanel(preset="gpt-5")


# Sources.


def test_only_the_controls_of_the_chosen_source_are_in_sight(panel: GradientFlowPanel) -> None:
    def sight() -> tuple[bool, ...]:
        train, text, machine = panel.training.sections
        return tuple(map(seen, (train, text, machine, panel._of_a_text, panel.source.form)))

    assert sight() == (True, True, True, False, False)
    panel.source.source.value = "text"
    assert sight() == (True, True, True, True, False)
    numbers = panel.training.numbers
    assert [seen(numbers[name]) for name in ("batch", "length", "steps", "lr")] == [
        True,
        True,
        False,
        False,
    ]
    for source in ("file", "run"):
        panel.source.source.value = source
        assert sight() == (False, False, False, False, True)


def test_a_model_and_a_text_are_split_without_training(panel: GradientFlowPanel) -> None:
    panel.source.source.value = "text"
    panel.model.ref.value = "nano-untied"
    panel.batches.value = 7
    assert panel.request == GradientFlowRequest(
        source="text", model=ModelRef("nano-untied"), batches=7
    )
    panel.batches.value = 0
    assert "batches" in panel.notice.words


def test_a_file_is_asked_for_once_it_is_named_and_its_columns_can_be_set(
    panel: GradientFlowPanel,
) -> None:
    panel.source.source.value = "file"
    assert panel.request.source == "train"
    assert panel.notice.words == ""
    panel.source.form.file.path.value = FILE
    assert panel.request == GradientFlowRequest(source="file", file=FILE)
    panel.source.form.columns.choices["output_norm"].value = "other"
    assert panel.request.columns == ("step=step", "output_norm=other")


def test_an_uploaded_file_is_kept_and_named(panel: GradientFlowPanel) -> None:
    panel.source.source.value = "file"
    upload = panel.source.form.file.upload
    upload._handle_custom_msg({"kind": "begin", "name": "mine.csv", "size": 3}, [])
    upload._handle_custom_msg({"kind": "piece"}, [memoryview(b"a,b")])
    assert panel.request == GradientFlowRequest(source="file", file="uploaded:ab")


def test_a_recorded_file_shows_the_papers_numbers_and_nothing_of_tokens(
    runner: FakeRunner,
) -> None:
    panel = GradientFlowPanel(source="file", file=FILE, parts=given(runner, recorded()))
    assert shown(panel) == ["curves", "numbers", "facts"]
    assert not any(map(seen, [*panel.views.cards, panel.mode, panel.measure]))
    assert "figure 4" in panel.mode_words.value
    assert (
        f"{panel.result.runs['run.csv'].mean('proxy_share', 1, 1_000):.3f}" in panel.numbers.value
    )


# How it is looked at.


def test_each_mode_and_each_curve_is_explained(panel: GradientFlowPanel) -> None:
    words = set()
    for measure in ("share", "norms", "step", "angle", "loss"):
        panel.measure.value = measure
        words.add(panel.meaning.value)
    corrected, panel.mode.value = panel.mode_words.value, "paper"
    assert len(words) == 5
    assert "figure 4" in panel.mode_words.value != corrected
    assert not seen(panel.measure)
    assert "paper's share" in panel.chart.shown["layout"]["yaxis2"]["title"]["text"]
    assert panel.state.view == {"mode": "paper", "curve": "loss"}


def test_means_and_the_axis_of_steps_can_be_switched(panel: GradientFlowPanel) -> None:
    assert len(lower(panel)) == 4
    panel.smooth.value = False
    panel.scale.value = "log"
    assert len(lower(panel)) == 2
    assert panel.chart.shown["layout"]["xaxis"]["type"] == "log"


def test_the_curves_that_a_result_lacks_are_not_offered(
    panel: GradientFlowPanel, runner: FakeRunner
) -> None:
    result = flow()
    panel.measure.value = "angle"
    for run in result.runs.values():
        for name in ("update_share", "loss"):
            del run.curves[name]
    panel.start()
    runner.jobs[-1].finish(result)
    assert [value for _, value in panel.measure.options] == ["share", "norms", "angle"]
    assert panel.measure.value == "angle"


# While it grows, and when it fails.


def test_a_training_is_drawn_while_it_goes_on(runner: FakeRunner) -> None:
    panel = GradientFlowPanel(parts={**given(runner), "known": lambda _: None})
    assert shown(panel) == ["curves"]
    panel.start()
    job = runner.jobs[-1]
    for done in (30, 90):
        job.preview(job.request, growing(done))
        assert f"{done} of 300 steps" in panel.outdated.value
        assert len(lower(panel)[0]["x"]) == done
        assert panel.chart.shown["layout"]["xaxis"]["range"][1] > 300
    assert shown(panel) == ["curves", "bands", "numbers", "facts"]
    assert not any(map(seen, panel.views.cards))
    job.finish(flow())
    assert panel.outdated.value == ""
    assert all(map(seen, panel.views.cards))
    assert panel.views.scatter.scatter.n == len(panel.result.tokens)


def test_what_has_been_trained_is_kept_on_cancel(runner: FakeRunner) -> None:
    panel = GradientFlowPanel(parts={**given(runner), "known": lambda _: None})
    panel.start()
    job = runner.jobs[-1]
    job.preview(job.request, growing(90))
    panel.cancel()
    assert len(lower(panel)[0]["x"]) == 90
    assert "press Run to go on" in panel.outdated.value


def test_tokens_are_not_drawn_anew_while_another_run_grows(
    panel: GradientFlowPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(panel.views, "draw", lambda result, _columns: drawn.append(result))
    panel.draw(flow())
    assert drawn == []
    other = flow()
    other.runs["tied"].rows["norm_share"][2] = 0.4
    panel.draw(other)
    assert drawn == [other]


def test_a_run_that_failed_its_check_has_its_reason_and_no_numbers(
    panel: GradientFlowPanel, runner: FakeRunner
) -> None:
    panel.start()
    runner.jobs[-1].finish(failed())
    assert "tied is not drawn." in panel.headline.value
    assert panel.chart.shown["data"] == []
    assert shown(panel) == ["curves", "facts"]
    assert not any(map(seen, [*panel.views.cards, *panel._by_group, panel.looks, panel.measure]))


# Tokens.


def test_a_token_is_lit_everywhere_and_has_a_card_of_facts(panel: GradientFlowPanel) -> None:
    panel.selection = {2, 30}
    assert panel.views.scatter.scatter.selected_ids.tolist() == [2, 30]
    panel.views.tokens.table.clicked = 2
    card = panel.views.card.card
    assert card.token == "<b>"
    assert ["output's share of the lengths, tied", "0.272"] in card.facts
    assert (card.status, card.lists) == ("", [])


def test_a_group_holds_the_search_to_its_tokens(panel: GradientFlowPanel) -> None:
    panel.groups.tables["times in the corpus"].chosen = "0 times"
    assert panel.state.found == frozenset(range(600, 640))
    assert panel.views.tokens.table.rows[0][1].startswith("␣word")


def test_token_text_is_never_markup(panel: GradientFlowPanel) -> None:
    for widget in (panel.headline, panel.numbers, panel.facts, panel.caption):
        assert "<script" not in widget.value


# Numbers, files, links.


def test_the_table_stands_beside_what_the_paper_has(panel: GradientFlowPanel) -> None:
    run = panel.result.runs["tied"]
    assert f"{run.mean('output_share', 1, 50):.3f}" in panel.numbers.value
    assert panel.numbers.value.count("0.917") == 1
    assert "3e-08" in panel.numbers.value


def test_files_hold_steps_tokens_and_selection(panel: GradientFlowPanel) -> None:
    offers = {offer.label: offer for offer in panel.exports._offers}
    steps = csv_bytes(panel.request, panel.result).split(b"\n")
    assert steps[1].startswith(b"run,step,loss")
    make = offers["Tokens CSV"].make
    assert make is not None
    head, names, *_ = make(panel.request, panel.result).split(b"\n")
    assert read_request(json.loads(head[2:])["request"]) == panel.request
    assert b"tied norm_share" in names
    panel.selection = {1, 5}
    chosen = offers["CSV of selection"].make
    assert chosen is not None
    assert len(chosen(panel.request, panel.result).strip().split(b"\n")) == 4
    page = offers["HTML"].make
    assert page is not None
    assert b"embtie-settings" in page(panel.request, panel.result)


def test_files_of_what_is_not_there_are_not_offered(runner: FakeRunner) -> None:
    panel = GradientFlowPanel(source="file", file=FILE, parts=given(runner, recorded()))
    off = {label for label, button in panel.exports.files.items() if button.disabled}
    assert off >= {"Tokens CSV", "CSV of selection", "Bands SVG", "Bands PNG"}
    assert not panel.exports.files["SVG"].disabled


def test_a_link_brings_back_request_view_and_tokens(
    panel: GradientFlowPanel, runner: FakeRunner
) -> None:
    asked = GradientFlowRequest(batch=16)
    view = {"mode": "paper", "steps": "log", "y": "input tied"}
    link = decode(encode(asked, [3], view))
    assert link is not None
    panel.open_link(link)
    assert panel.request == asked
    panel.start()
    runner.jobs[-1].finish(flow())
    assert (panel.mode.value, panel.scale.value) == ("paper", "log")
    assert panel.views.scatter.y.value == "input tied"
    assert panel.selection == {3}
    assert panel.notice.words == ""


def test_copied_code_makes_the_result_without_the_page(panel: GradientFlowPanel) -> None:
    panel.training.numbers["warmup"].value = 5
    assert "ew.GradientFlowRequest(" in panel.exports.code.text
    assert "warmup=5" in panel.exports.code.text


def test_what_nobody_has_checked_is_not_called_checked(panel: GradientFlowPanel) -> None:
    assert "checked to add up" in panel.mode_words.value
    shown = flow()
    for run in shown.runs.values():
        run.curves.pop("check", None)
    panel.draw(shown)
    assert "nobody has checked" in panel.mode_words.value
    panel.draw(recorded())
    assert "figure 4" in panel.mode_words.value


def test_run_asks_for_a_file_that_is_not_named_and_runs_nothing_else(
    panel: GradientFlowPanel, runner: FakeRunner
) -> None:
    panel.source.source.value = "file"
    panel.runbar.run.click()
    assert "No recorded file is named yet." in panel.notice.words
    assert runner.jobs == []
