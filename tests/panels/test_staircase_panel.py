"""The panels of the staircase: what they ask, a step that is scrubbed, pairs, selection, links."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from embtie_widgets.jobs.previews import Preview
from embtie_widgets.panels.signatures import SignaturesPanel
from embtie_widgets.panels.staircase import StaircasePanel
from embtie_widgets.requests import ModelRef, SignaturesRequest, StaircaseRequest
from embtie_widgets.requests.link import decode, encode
from embtie_widgets.requests.staircase_settings import SETTINGS
from tests import sample_staircase as sample
from tests.panels.fake_jobs import Cost, FakeRunner, parts

ASKED = StaircaseRequest(seed=3)


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def panel(runner: FakeRunner) -> StaircasePanel:
    return StaircasePanel(ASKED, parts=parts(runner, Cost(100), sample.toy()))


@pytest.fixture
def text(runner: FakeRunner) -> SignaturesPanel:
    return SignaturesPanel(SignaturesRequest(seed=3), parts=parts(runner, Cost(100), sample.text()))


def seen(control: Any) -> bool:
    return bool(control.layout.display != "none")


def shown(panel: Any) -> list[str]:
    return [name for name, one in panel.cards.items() if seen(one)]


def stem(panel: Any) -> float:
    return float(panel.views.curves.shown["layout"]["shapes"][0]["x0"])


def map_of(panel: Any) -> list[list[float]]:
    return [row.tolist() for row in panel.views.maps.shown["data"][0]["z"]]


# The toy task.


def test_it_opens_on_the_last_step_with_every_view(panel: StaircasePanel) -> None:
    assert shown(panel) == ["scrub", "curves", "pairs", "numbers", "facts"]
    assert panel.views.slider.readouts[-1].startswith("epoch 1,000 · order 0 0.98")
    assert panel.views.slider.index == len(panel.views.slider.places) - 1
    assert panel.state.view == {}


def test_the_controls_make_the_request(panel: StaircasePanel) -> None:
    controls = panel.controls
    controls.operation.value = "product"
    controls.numbers["tokens"].value = 12
    controls.numbers["modulus"].value = 0
    controls.gamma.value = 0.3
    controls.model.value = "attention"
    controls.orders.chips[2].value = True
    assert panel.request == replace(
        ASKED, operation="product", tokens=12, modulus=0, gamma=0.3, model="attention",
        orders=(0, 1, 2),
    )  # fmt: skip


def test_no_more_is_asked_than_counts(panel: StaircasePanel) -> None:
    controls = panel.controls
    assert not seen(controls.distribution)
    assert not seen(controls.numbers["power"])
    assert not seen(controls.numbers["layers"])
    controls.operation.value, controls.activation.value = "anchor", "power"
    assert seen(controls.distribution)
    assert seen(controls.numbers["power"])
    controls.model.value = "transformer"
    assert seen(controls.numbers["layers"])
    assert seen(controls.activation)
    assert seen(controls.numbers["power"])
    controls.model.value = "attention"
    assert not seen(controls.activation)
    assert not seen(controls.numbers["power"])


def test_the_slider_of_gamma_reaches_as_far_as_a_request(runner: FakeRunner) -> None:
    wide = StaircasePanel(replace(ASKED, gamma=4.0), parts=parts(runner, Cost(100), sample.toy()))
    assert wide.controls.gamma.value == 4.0


def test_what_a_task_shows_besides_has_a_figure_each(runner: FakeRunner) -> None:
    extras = {"attention": np.ones((40, 20)), "frequencies": np.ones((40, 3))}
    both = replace(sample.toy(), extras=extras)
    panel = StaircasePanel(ASKED, parts=parts(runner, Cost(100), both))
    drawn = {name: part for name, part in panel.extras.parts.items() if seen(part.box)}
    assert list(drawn) == ["attention", "frequencies"]
    assert seen(panel.extras.card)
    assert len(drawn["frequencies"].figure.shown["data"]) == 3


def test_a_task_too_large_is_refused_in_words(panel: StaircasePanel) -> None:
    panel.controls.numbers["length"].value = 6
    assert "sequences" in panel.notice.words
    assert panel.request == ASKED


def test_a_setting_fills_in_everything_and_is_left_by_a_change(panel: StaircasePanel) -> None:
    name, (fields, words) = list(SETTINGS.items())[1]
    panel.setting.names.value = name
    assert panel.request == StaircaseRequest(**fields)
    assert words[:20] in panel.setting.said.value
    panel.controls.numbers["seed"].value = 77
    assert panel.setting.names.value == "your own"


def test_the_slider_moves_every_view_to_its_step(panel: StaircasePanel) -> None:
    whole, last = panel.result.runs["feed-forward"], stem(panel)
    panel.views.slider.index = 8
    assert panel.views.at == whole.steps[8]
    assert map_of(panel) == whole.matrices["embedding"].similarity[8].tolist()
    assert stem(panel) < last
    assert f"epoch {whole.steps[8]:,}" in panel.views.captions["points"].value
    panel.views.slider.index = len(whole.steps) - 1
    assert panel.views.at == -1
    assert stem(panel) == last


def test_scrubbing_sends_no_curve_again(panel: StaircasePanel) -> None:
    before = panel.views.curves.figure
    panel.views.slider.index = 8
    assert panel.views.curves.figure is before
    assert panel.views.curves.changes["shapes"]
    panel.views.scale.value = "linear"
    assert panel.views.curves.figure is not before


def test_a_click_on_a_curve_goes_to_its_step(panel: StaircasePanel) -> None:
    data = panel.views.curves.shown["data"]
    trace = next(i for i, one in enumerate(data) if one["mode"] == "lines+markers")
    panel.views.curves.clicked(trace, (5,))
    assert panel.views.slider.index == 5


def test_a_cell_shows_its_pair_and_a_point_lights_its_anchor_up(panel: StaircasePanel) -> None:
    views = panel.views
    views.maps.clicked(0, (2, 9))
    assert views.pair == [2, 9]
    assert "◎ 3 · 10" in views.pairs.value
    assert views.maps.shown["layout"]["shapes"]
    views.maps.clicked(1, (9, 2))
    assert views.pair == []
    views.points.clicked(1, (4,))
    views.maps.clicked(0, (6, 6))
    assert views.chosen == [4, 6]
    opacity = views.points.shown["data"][1]["marker"]["opacity"]
    assert [i for i, one in enumerate(opacity) if one == 1] == [4, 6]


def test_another_matrix_has_no_pair_chosen(panel: StaircasePanel) -> None:
    panel.views.maps.clicked(0, (2, 9))
    panel.views.matrix.value = "unembedding"
    assert panel.views.pair == []
    assert panel.views.maps.shown["data"][0]["name"] == "unembedding U"


def test_a_training_is_followed_and_the_newest_step_shown(runner: FakeRunner) -> None:
    panel = StaircasePanel(ASKED, parts=parts(runner, Cost(100)))
    assert shown(panel) == ["curves"]
    panel.start()
    job = runner.jobs[-1]
    job.listener.previewed(Preview(job.request, job.request, sample.beginning()))
    assert shown(panel) == ["curves", "facts"]
    for done in (30, 200):
        part = sample.toy(done=done)
        job.listener.previewed(Preview(job.request, job.request, part))
        assert panel.views.slider.index == len(part.runs["feed-forward"].steps) - 1
    assert "epoch 200 of 1,000" in panel.outdated.value
    panel.views.slider.index = 3
    job.finish(sample.toy())
    assert panel.views.slider.index == 3
    assert panel.outdated.value == ""


def test_a_link_keeps_the_step_and_what_is_looked_at(panel: StaircasePanel) -> None:
    panel.views.matrix.value = "unembedding"
    panel.views.signature.value = "order 1"
    panel.views.slider.index = 10
    panel.views.maps.clicked(0, (2, 9))
    panel.views.points.clicked(1, (4,))
    query = encode(panel.state.shared, (), panel.state.view)
    other = StaircasePanel(ASKED, parts=parts(FakeRunner(), Cost(100), sample.toy()))
    other.open_link(decode(query))
    assert other.views.slider.index == 10
    assert other.views.view() == panel.views.view()


def test_the_files_have_every_measure_and_the_settings(panel: StaircasePanel) -> None:
    files = {offer.label: offer for offer in panel.exports._offers}
    table = files["CSV"].make(panel.request, panel.result).decode()
    assert "held_out" in table
    assert "order 1" in table
    page = files["HTML"].make(panel.request, panel.result).decode()
    assert "embtie-settings" in page


# Signatures in text.


def test_text_opens_with_tokens_in_every_view(text: SignaturesPanel) -> None:
    assert shown(text) == ["scrub", "curves", "pairs", "numbers", "facts"]
    assert text.state.view == {}
    assert text.views.slider.readouts[-1].startswith("step 1,000")
    assert len(text.tokens.tokens.table.rows) == 60
    assert "&lt;/script&gt;" in text.views.maps.shown["data"][0]["x"]


def test_each_source_asks_for_what_it_needs(text: SignaturesPanel) -> None:
    assert seen(text.series.section)
    assert not seen(text.training.preset)
    assert seen(text.training.corpus)
    text.source.source.value = "train"
    assert text.request.source == "train"
    assert not seen(text.series.section)
    assert seen(text.training.preset)


def test_tokens_and_statistics_make_the_request(text: SignaturesPanel) -> None:
    text.chosen.value = "Monday, Tuesday, Sunday"
    text.kind_of.value = "number"
    text.directions.chips["previous"].value = False
    text.numbers["context"].value = 8
    text.series.beside.value = False
    assert text.request == SignaturesRequest(
        seed=3, chosen=("Monday", "Tuesday", "Sunday"), kind_of="number", directions=("next",),
        context=8, other=ModelRef("nano-untied"),
    )  # fmt: skip
    assert text.numbers["anchors"].disabled


def test_the_tokens_of_the_table_light_up_in_the_pictures_and_back(text: SignaturesPanel) -> None:
    text.selection = {3, 5}
    drawn = text.views.points.shown["data"][1]
    assert [i for i, one in enumerate(drawn["marker"]["opacity"]) if one == 1] == [3, 5]
    assert [name for name in drawn["text"] if name] == ["&#36;x&#36;", "␣\xe4"]
    text.views.points.clicked(1, (7,))
    assert text.selection == {3, 5, 7}
    text.tokens.tokens.table.query = "of"
    drawn = text.views.points.shown["data"][1]
    assert [name for name in drawn["text"] if name] == ["␣of"]


def test_the_numbers_of_tokens_are_those_of_the_step(text: SignaturesPanel) -> None:
    before = [row[2] for row in text.tokens.tokens.table.rows]
    text.views.slider.index = 4
    assert [row[2] for row in text.tokens.tokens.table.rows] != before
    text.views.matrix.value = "unembedding"
    heads = [column["label"] for column in text.tokens.tokens.table.columns]
    assert "row norm of unembedding U" in heads


def test_a_model_that_failed_is_told_as_text(runner: FakeRunner) -> None:
    panel = SignaturesPanel(parts=parts(runner, Cost(100), sample.text(failed=True)))
    assert "&lt;b&gt;fewer&lt;/b&gt;" in panel.headline.value
    assert shown(panel)[0] == "scrub"
