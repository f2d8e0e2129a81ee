"""The panel of the lens: controls, views, grid and card, partial results, links, files."""

import json
from dataclasses import replace
from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.catalogue import pairs
from embtie_widgets.jobs.previews import Preview
from embtie_widgets.panels.lens import LensPanel
from embtie_widgets.requests import CorpusRef, LensRequest, ModelRef, read_request
from embtie_widgets.requests.link import Link, decode, encode
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.sample_lens import failed_pair, pair_lens


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def panel(runner: FakeRunner) -> LensPanel:
    return LensPanel(parts=parts(runner, Cost(100), pair_lens()))


def shown(panel: LensPanel) -> list[str]:
    return [name for name, one in panel.cards.items() if one.layout.display != "none"]


def test_it_opens_with_what_ships(panel: LensPanel, runner: FakeRunner) -> None:
    assert panel.request == LensRequest()
    assert runner.jobs == []
    assert len(panel.chart.shown["data"][1]["x"]) == 5
    assert "model-tied is 5.38 bits from its final answer" in panel.headline.value
    assert shown(panel) == ["curves", "grid", "layers", "numbers", "facts"]
    assert panel.pair.preset.value != ""


def test_options_by_name_go_into_the_request_and_the_controls(runner: FakeRunner) -> None:
    panel = LensPanel(
        a="nano-tied", lens="logit", text="Once upon", steps=7, parts=parts(runner, Cost(100))
    )
    assert panel.request == LensRequest(
        ModelRef("nano-tied"), lens="logit", text="Once upon", steps=7
    )
    assert (panel.source.lens.value, panel.text.text.value) == ("logit", "Once upon")
    assert panel.source.steps.value == 7
    with pytest.raises(EmbtieError, match="mode"):
        LensPanel(mode="x")


def test_each_switch_is_explained_in_one_sentence(panel: LensPanel) -> None:
    seen = set()
    for lens in ("tuned", "logit"):
        panel.source.lens.value = lens
        seen.add(panel.source.lens_words.value)
    for mode in ("corrected", "paper"):
        panel.source.mode.value = mode
        seen.add(panel.source.mode_words.value)
    assert len(seen) == 4
    assert all(said.count(".</p>") == 1 for said in seen)
    assert panel.request.mode == "paper"


def test_paper_mode_promises_no_end_above_0_where_a_norm_without_weights_gives_0(
    panel: LensPanel,
) -> None:
    panel.source.mode.value = "paper"
    assert "translator of the layer before" in panel.source.mode_words.value
    assert "unless" not in panel.source.mode_words.value
    panel.source.lens.value = "logit"
    assert "unless the final norm has no weights" in panel.source.mode_words.value
    assert "translator" not in panel.source.mode_words.value
    assert panel.source.mode.tooltips[1] in panel.source.mode_words.value.replace("&#x27;", "'")


def test_a_logit_lens_asks_for_no_translators(panel: LensPanel) -> None:
    assert panel.source.tuned.layout.display == ""
    panel.source.lens.value = "logit"
    assert panel.source.tuned.layout.display == "none"


def test_a_saved_lens_is_asked_for_only_once_it_is_named(panel: LensPanel) -> None:
    panel.source.b.source.value = "saved"
    assert panel.request.translators_b == ""
    panel.source.b.path.value = " lens.safetensors "
    assert panel.request.translators_b == "lens.safetensors"
    panel.source.b.source.value = "train"
    assert panel.request.translators_b == "train"


def test_an_uploaded_lens_is_kept_and_named(runner: FakeRunner) -> None:
    kept: list[Any] = []

    def keep(content: bytes, name: str) -> str:
        kept.append((content, name))
        return "uploaded:ab"

    panel = LensPanel(parts={**parts(runner, Cost(100), pair_lens()), "keep": keep})
    upload = panel.source.a.upload
    upload._handle_custom_msg({"kind": "begin", "name": "mine.safetensors", "size": 3}, [])
    upload._handle_custom_msg({"kind": "piece"}, [memoryview(b"abc")])
    assert kept == [(b"abc", "mine.safetensors")]
    assert panel.request.translators_a == "uploaded:ab"
    assert panel.source.a.source.value == "saved"


def test_a_pasted_text_goes_before_the_corpus(panel: LensPanel) -> None:
    panel.text.corpus.source.value = "bundled"
    assert panel.request.corpus == CorpusRef("bundled")
    panel.text.text.value = "A short story."
    assert panel.request.text == "A short story."
    assert panel.text.corpus.source.disabled
    panel.text.text.value = "x" * 20_001
    assert "20,000" in panel.notice.words


@pytest.mark.parametrize("name", ["length", "positions"])
def test_a_number_that_cannot_be_is_refused_in_words(panel: LensPanel, name: str) -> None:
    getattr(panel.text, name).value = 1
    assert name in panel.notice.words


def test_another_pair_of_the_catalogue_sets_both_models(panel: LensPanel) -> None:
    other = next(pair for pair in pairs() if pair.a != LensRequest().a)
    panel.pair.preset.value = other.name
    assert (panel.request.a, panel.request.b) == (other.a, other.b)


def test_the_curve_that_is_chosen_is_drawn_and_explained(panel: LensPanel) -> None:
    panel.measure.value = "rank"
    assert panel.chart.shown["layout"]["yaxis"]["type"] == "log"
    assert "1 is the first" in panel.meaning.value
    assert panel.state.view == {"curve": "rank"}


def test_share_of_the_depth_is_offered_where_the_models_differ(runner: FakeRunner) -> None:
    panel = LensPanel(parts=parts(runner, Cost(100), pair_lens((4, 6))))
    assert panel.across.layout.display == ""
    panel.across.value = "depth"
    assert panel.chart.shown["data"][3]["x"][-1] == 100
    panel.start()
    runner.jobs[-1].finish(pair_lens())
    assert panel.across.layout.display == "none"


def test_a_click_in_the_grid_opens_the_card_of_the_cell(panel: LensPanel) -> None:
    panel.grid.figure.clicked(1, (3, 4))  # type: ignore[misc]
    assert (panel.grid.layer.value, panel.grid.position.value) == (3, 5)
    assert panel.grid.card.value.count("after layer 3") == 2
    standing = [s for s in panel.chart.shown["layout"]["shapes"] if s.get("x0") == 3]
    assert standing
    frame = panel.grid.figure.shown["layout"]["shapes"]
    assert [(s["x0"] + 0.5, s["y0"] + 0.5) for s in frame] == [(4, 3)] * 2
    assert panel.state.view == {"position": "5", "layer": "3"}


def test_the_page_tells_of_a_click_by_trace_and_place(panel: LensPanel) -> None:
    figure = panel.grid.figure
    figure._receive(figure, {"kind": "clicked", "curve": 0, "point": [2, 7]}, [])
    assert (panel.grid.layer.value, panel.grid.position.value) == (2, 8)
    for wrong in ([9], [1, "x"], "12", None, [1, 2, 3], [-1, 0], [True, 1]):
        figure._receive(figure, {"kind": "clicked", "curve": 0, "point": wrong}, [])
    figure._receive(figure, {"kind": "clicked", "curve": 7, "point": [0, 0]}, [])
    assert (panel.grid.layer.value, panel.grid.position.value) == (2, 8)
    assert panel.notice.words == ""


def test_the_sliders_do_what_a_click_does_and_turn_the_page(panel: LensPanel) -> None:
    panel.grid.position.value = 20
    first = panel.grid.figure.shown["data"][0]
    assert panel.grid.figure.shown["layout"]["uirevision"] == "0 12"
    assert len(first["x"]) == 12
    panel.grid.layer.value = 4
    assert "after layer 4" in panel.grid.card.value
    panel.grid.passage.value = 2
    assert panel.grid.figure.shown["layout"]["uirevision"] == "2 12"


def test_tokens_in_the_card_are_text_and_never_markup(panel: LensPanel) -> None:
    for place in range(1, 10):
        panel.grid.position.value = place
        assert "<script" not in panel.grid.card.value
    assert "&lt;script&gt;" in panel.grid.card.value


def test_a_model_that_failed_has_its_reason_in_chart_and_headline(
    panel: LensPanel, runner: FakeRunner
) -> None:
    panel.start()
    runner.jobs[-1].finish(failed_pair("A", "No <head>."))
    assert "model-untied is not drawn" in panel.headline.value
    assert "No &lt;head&gt;." in panel.headline.value
    assert len(panel.grid.figure.shown["data"]) == 1
    panel.grid.figure.clicked(0, (1, 2))  # type: ignore[misc]
    assert "model-tied, after layer 1" in panel.grid.card.value


def test_a_training_is_drawn_while_it_goes_on(runner: FakeRunner) -> None:
    panel = LensPanel(parts=parts(runner, Cost(100)))
    assert shown(panel) == ["curves"]
    panel.start()
    job = runner.jobs[-1]
    for done in (20, 40):
        growing = replace(pair_lens(trained=True), lenses={}, progress=f"{done} of 100 steps")
        job.listener.previewed(Preview(job.request, job.request, growing))
        assert f"{done} of 100 steps" in panel.headline.value
        assert f"{done} of 100 steps" in panel.outdated.value
    assert shown(panel) == ["training", "facts"]
    assert len(panel.training.shown["data"]) == 8
    panel.cancel()
    assert "40 of 100 steps" in panel.headline.value
    assert "Cancelled" in panel.runbar.text.value


def test_a_link_restores_the_switches_the_curve_and_the_cell(
    panel: LensPanel, runner: FakeRunner
) -> None:
    request = LensRequest(lens="logit", mode="paper", text="Some words.")
    view = {"curve": "entropy", "passage": "1", "position": "14", "layer": "2"}
    panel.link.page.page = {
        "query": encode(request, [], view),
        "origin": "https://lab.example",
        "path": "/",
        "host": "voila",
    }
    assert panel.source.mode.value == "paper"
    panel.start()
    runner.jobs[-1].finish(pair_lens())
    assert panel.measure.value == "entropy"
    assert (panel.grid.passage.value, panel.grid.position.value, panel.grid.layer.value) == (
        1,
        14,
        2,
    )
    assert decode(panel.link.page.query) == Link(request, frozenset(), view)


def file(panel: LensPanel, label: str) -> bytes:
    made = panel.exports.files[label]._make()
    assert made is not None
    return made.data


def test_files_carry_the_request(panel: LensPanel) -> None:
    head, columns, first = file(panel, "CSV").decode().splitlines()[:3]
    assert read_request(json.loads(head[2:])["request"]) == LensRequest()
    assert columns.startswith("model,point,kl_bits")
    assert first.startswith("model-untied,embedding,")
    rows = file(panel, "Positions CSV").decode().splitlines()
    assert len(rows) >= 2 + 2 * 320
    assert "kl_bits embedding" in rows[1]


def test_a_lens_that_was_trained_can_be_saved(runner: FakeRunner) -> None:
    made = pair_lens()
    tuned = {
        side: replace(one, settings=one.settings | {"lens": "tuned", "translators": kind})
        for (side, one), kind in zip(made.lenses.items(), ("trained", "saved"), strict=True)
    }
    given = {
        **parts(runner, Cost(100), replace(made, lenses=tuned)),
        "saved": lambda _result, side: f"lens {side}".encode(),
    }
    panel = LensPanel(parts=given)
    assert file(panel, "Save lens A") == b"lens A"
    assert panel.exports.files["Save lens B"].disabled
    panel.start()
    runner.jobs[-1].finish(made)
    assert panel.exports.files["Save lens A"].disabled


def test_the_numbers_stand_with_interval_floor_and_check(panel: LensPanel) -> None:
    for one in panel.result.lenses.values():
        assert one.floor is not None
        known = one.floor.bits, one.floor.lens_bits, one.floor.lens_bits - one.floor.bits
        for value in (one.kl_bits[0], *known):
            assert f"{value:.2f}" in panel.numbers.value
    assert "2e-07" in panel.numbers.value
    assert "Two ends shorter" in panel.facts.value
