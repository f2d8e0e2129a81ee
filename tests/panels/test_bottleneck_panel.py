"""The panel of the gradient bottleneck: sources, views, the text, growing results, links, files."""

import json
from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.guide import source
from embtie_widgets.panels.bottleneck import BottleneckPanel
from embtie_widgets.requests import BottleneckRequest, CorpusRef, ModelRef
from embtie_widgets.requests.link import decode, encode
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.sample_bottleneck import (
    FOLDER,
    LENGTH,
    WHY,
    alone,
    failed,
    growing,
    of_runs,
    other_vocabulary,
    recorded,
    report,
)

OF_TEXT = ["first", "strip", "positions", "groups", "spectrum", "steps", "numbers", "facts"]
OF_RUNS = ["first", "line", "numbers", "facts"]


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def panel(runner: FakeRunner) -> BottleneckPanel:
    return BottleneckPanel(parts=given(runner))


def given(runner: FakeRunner, known: Any = None) -> dict[str, Any]:
    """Fakes of everything that would look at files or carry out work."""
    shown = report() if known is None else known
    return {**parts(runner, Cost(100), shown), "follow": lambda _: "The run: 3 steps."}


def waiting(runner: FakeRunner, **options: Any) -> BottleneckPanel:
    """With nothing on the page yet."""
    return BottleneckPanel(parts={**given(runner), "known": lambda _: None}, **options)


def seen(widget: Any) -> bool:
    return bool(widget.layout.display != "none")


def shown(panel: BottleneckPanel) -> list[str]:
    return [name for name, one in panel.cards.items() if seen(one)]


def test_it_opens_with_what_ships_the_line_and_the_dispute(
    panel: BottleneckPanel, runner: FakeRunner
) -> None:
    assert panel.request == BottleneckRequest()
    assert runner.jobs == []
    assert shown(panel) == OF_TEXT
    assert "does not transmit r = 0.966" in panel.headline.value
    assert "disputed" in panel.headline.value
    assert all(map(seen, panel.views.cards))
    assert panel.views.scatter.scatter.n == len(panel.result.tokens)
    assert len(panel.chart.shown["data"]) == 5


def test_nothing_on_the_page_says_destroyed(panel: BottleneckPanel) -> None:
    said = " ".join(
        [
            panel.headline.value,
            source("bottleneck"),
            panel.numbers.value,
            panel.facts.value,
            panel.lead,
        ]
        + [one.value for one in panel.captions.values()]
        + [json.dumps(one.columns) for one in panel.groups.tables.values()]
        + [json.dumps(panel.views.tokens.table.columns), json.dumps(panel.views.scatter.y.options)]
    )
    assert "not transmitted" in said
    names = said.replace('"destroyed"', "").replace('"destroyed beside"', "")
    assert "destroy" not in names.lower()


# Sources.


def test_only_the_controls_of_the_chosen_source_are_in_sight(panel: BottleneckPanel) -> None:
    def sight() -> list[bool]:
        recipe, text, machine = panel.training.sections
        return list(map(seen, (panel.of_text.models, recipe, text, panel.of_text.reading, machine)))

    assert all(sight())
    assert not seen(panel.training.numbers["steps"])
    panel.source.source.value = "train"
    assert sight() == [False, True, True, False, True]
    assert seen(panel.training.numbers["steps"])
    panel.source.source.value = "run"
    assert sight() == [False, False, False, False, False]
    assert seen(panel.source.form)


def test_models_text_and_sizes_go_into_the_request(panel: BottleneckPanel) -> None:
    panel.of_text.model.ref.value = "nano-tied"
    panel.of_text.beside.value = False
    panel.of_text.positions.value = 50
    panel.of_text.gram.value = 20
    panel.of_text.steps_at.others.value = "1, 0.5"
    panel.of_text.held.value = "bfloat16"
    panel.of_text.text.value = "To be"
    panel.training.numbers["length"].value = 16
    tied = ModelRef("nano-tied")
    assert panel.request == BottleneckRequest(
        model=tied, other=tied, positions=50, gram=20, steps_at=(0.5, 1.0), held="bfloat16",
        text="To be", length=16,
    )  # fmt: skip
    assert len(panel.request.models) == 1


def test_a_pasted_text_goes_before_the_corpus_of_a_text_alone(panel: BottleneckPanel) -> None:
    panel.of_text.text.value = "To be"
    assert panel.training.corpus.source.disabled
    panel.source.source.value = "train"
    assert not panel.training.corpus.source.disabled


def test_what_cannot_be_is_refused_in_words(panel: BottleneckPanel, runner: FakeRunner) -> None:
    panel.of_text.positions.value = 0
    assert "positions" in panel.notice.words
    panel.of_text.positions.value = 50
    panel.of_text.steps_at.others.value = "far"
    assert "steps_at" in panel.notice.words
    with pytest.raises(EmbtieError, match="source"):
        BottleneckPanel(source="air", parts=given(runner))


def test_options_by_name_go_into_the_request_and_the_controls(runner: FakeRunner) -> None:
    panel = waiting(runner, source="train", steps=20, corpus="bundled")
    assert panel.request == BottleneckRequest(source="train", steps=20, corpus=CorpusRef("bundled"))
    assert panel.training.numbers["steps"].value == 20


def test_a_run_is_asked_for_once_it_is_named(panel: BottleneckPanel, runner: FakeRunner) -> None:
    panel.source.source.value = "run"
    assert panel.request.source == "text"
    panel.runbar.run.click()
    assert "No run is named yet" in panel.notice.words
    assert runner.jobs == []
    panel.source.form.file.path.value = FOLDER
    assert panel.request == BottleneckRequest(source="run", file=FOLDER)


# What is seen.


@pytest.mark.parametrize(
    ("result", "cards"),
    [
        (of_runs(), OF_RUNS), (recorded(), OF_RUNS), (failed(), ["facts"]),
        (failed(half=True), OF_TEXT), (alone(), OF_TEXT), (other_vocabulary(), OF_TEXT),
    ],
)  # fmt: skip
def test_only_what_there_is_something_to_see_of_takes_room(
    runner: FakeRunner, result: Any, cards: list[str]
) -> None:
    panel = BottleneckPanel(parts=given(runner, result))
    assert panel.notice.words == ""
    assert shown(panel) == cards
    assert all(seen(one) == ("strip" in cards) for one in panel.views.cards)
    assert seen(panel.looks) == bool(result.runs)


def test_the_number_is_chosen_once_for_all_charts(panel: BottleneckPanel) -> None:
    panel.measure.value = "energy"
    assert "energy" in panel.chart.shown["layout"]["yaxis"]["title"]["text"]
    assert "energy" in panel.positions.shown["layout"]["xaxis"]["title"]["text"]
    assert "d / V" in panel.meaning.value
    assert panel.state.view == {"curve": "energy"}


def test_groups_and_steps_have_their_own_switch(panel: BottleneckPanel) -> None:
    panel.grouped.value = "target_kept"
    assert "target" in panel.by_group.shown["layout"]["xaxis"]["title"]["text"]
    panel.stepped.value = "gain"
    assert "bought" in panel.steps.shown["layout"]["yaxis"]["title"]["text"]


def test_the_reason_stands_for_a_model_that_could_not_be_measured(runner: FakeRunner) -> None:
    panel = BottleneckPanel(parts=given(runner, failed(half=True)))
    assert "nano-tied is not drawn." in panel.headline.value
    assert WHY in panel.headline.value
    assert [one["name"] for one in panel.chart.shown["data"]][3:] == ["nano-untied"]


def test_numbers_stand_in_a_table_with_line_rank_and_check(panel: BottleneckPanel) -> None:
    b = panel.result.models["nano-tied"].bottleneck
    for value in (f"{b.destroyed:.4f}", f"{b.line:.4f}", f"{b.kept_energy:.4f}", f"{b.random:.4f}"):
        assert value in panel.numbers.value
    assert "3e-08" in panel.numbers.value


# The text, and tokens.


def test_a_click_on_a_token_shows_its_position_and_opens_its_card(panel: BottleneckPanel) -> None:
    panel.strip.figure.clicked(0, (1, 4))
    assert panel.strip.position.value == 15
    target = int(panel.result.models["nano-untied"].bottleneck.targets[14])
    assert panel.views.card.place == target
    assert panel.views.tokens.table.clicked == target
    b = panel.result.models["nano-tied"].bottleneck
    assert f"{b.per_position[14]:.4f}" in panel.strip.card.value
    assert "p of the target" in panel.strip.card.value
    (frame,) = panel.strip.figure.shown["layout"]["shapes"]
    assert (frame["y0"], frame["x0"]) == (0.5, 3.5)


def test_a_click_beyond_the_text_changes_nothing(panel: BottleneckPanel) -> None:
    before = panel.strip.figure.shown
    panel.strip.figure.clicked(0, (LENGTH // 10, 0))
    assert panel.strip.position.value == 1
    assert panel.strip.figure.shown is before
    assert panel.views.card.place == -1


def test_a_model_with_other_tokens_opens_no_card(runner: FakeRunner) -> None:
    panel = BottleneckPanel(parts=given(runner, other_vocabulary()))
    panel.strip.model.value = 1
    panel.strip.figure.clicked(0, (0, 1))
    assert panel.strip.position.value == 2
    assert panel.views.card.place == -1


def test_passage_colour_and_model_are_chosen_by_hand(panel: BottleneckPanel) -> None:
    strip = panel.strip
    first = strip.figure.shown["data"][0]
    strip.passage.value = 3
    assert strip.figure.shown["data"][0]["text"] != first["text"]
    strip.shade.value = "loss"
    assert "larger the loss" in strip.says.value
    strip.model.value = 1
    assert strip.figure.shown["data"][0]["name"] == "nano-tied"
    assert panel.state.view == {"passage": "3", "colour": "loss", "of": "1"}


def test_hostile_tokens_are_text_in_the_card(panel: BottleneckPanel) -> None:
    targets = panel.result.models["nano-untied"].bottleneck.targets
    at = int((targets == 8).nonzero()[0][0])
    panel.strip.passage.value = at // LENGTH
    panel.strip.position.value = at % LENGTH + 1
    assert "<script>" not in panel.strip.card.value
    assert "&lt;script&gt;" in panel.strip.card.value


def test_one_selection_is_seen_in_scatter_and_table(panel: BottleneckPanel) -> None:
    panel.selection = [1, 5]
    assert panel.views.scatter.scatter.selected_ids.tolist() == [1, 5]
    panel.groups.tables["kind of token"].chosen = "byte"
    assert panel.state.found == frozenset({6})


def test_groups_count_positions_and_the_filter_counts_tokens(panel: BottleneckPanel) -> None:
    table = panel.groups.tables["kind of token"]
    assert table.columns[0]["label"] == "positions"
    groups = {group["group"]: group["tokens"] for group in panel.result.groups}
    options = [label for label, _ in panel.views.tokens.kind.control.options]
    assert "byte (1)" in options
    assert groups["byte"] > 1


# While it grows.


def test_a_training_is_drawn_while_it_goes_on(runner: FakeRunner) -> None:
    panel = waiting(runner, source="train")
    panel.start()
    job = runner.jobs[-1]
    for done in (30, 60):
        job.preview(job.request, growing(done))
        assert f"{done} of 200 steps" in panel.outdated.value
        assert len(panel.chart.shown["data"][-2]["x"]) == done
    assert shown(panel) == OF_RUNS
    job.finish(of_runs())
    assert panel.outdated.value == ""
    assert [value for _, value in panel.measure.options] == ["r", "c", "energy", "target", "loss"]


def test_the_first_model_is_shown_before_the_second_is_measured(runner: FakeRunner) -> None:
    panel = waiting(runner)
    panel.start()
    job = runner.jobs[-1]
    job.preview(job.request, alone())
    assert "1 of 2 models" in panel.outdated.value
    assert panel.views.scatter.scatter.n == len(panel.result.tokens)
    panel.cancel()
    assert "nano-untied" in panel.headline.value


def test_from_runs_to_a_text_the_chosen_number_gives_way_to_one_there_is(
    runner: FakeRunner,
) -> None:
    panel = BottleneckPanel(parts=given(runner, of_runs()))
    panel.measure.value = "loss"
    panel.start()
    runner.jobs[-1].finish(report())
    assert panel.measure.value == "r"
    assert shown(panel) == OF_TEXT


# Links and files.


def test_a_link_keeps_number_position_and_axes(panel: BottleneckPanel, runner: FakeRunner) -> None:
    panel.measure.value = "c"
    panel.strip.passage.value = 2
    panel.strip.position.value = 7
    panel.views.scatter.y.value = "destroyed"
    link = decode(encode(panel.request, [3], panel.state.view))
    assert link is not None
    other = waiting(runner)
    other.open_link(link)
    other.start()
    runner.jobs[-1].finish(report())
    assert other.selection == {3}
    assert other.notice.words == ""
    assert other.measure.value == "c"
    assert (other.strip.passage.value, other.strip.position.value) == (2, 7)
    assert other.views.scatter.y.value == "destroyed"


def test_files_are_offered_where_there_is_something_in_them(
    panel: BottleneckPanel, runner: FakeRunner
) -> None:
    files = panel.exports.files
    assert {name for name, one in files.items() if one.disabled} == {"CSV of selection"}
    panel.selection = [1]
    assert not files["CSV of selection"].disabled
    runs = BottleneckPanel(parts=given(runner, of_runs()))
    off = {name for name, one in runs.exports.files.items() if one.disabled}
    assert {"Tokens CSV", "Positions PNG", "Spectrum SVG", "Steps PNG", "Scatter PNG"} <= off
    assert "CSV" not in off
