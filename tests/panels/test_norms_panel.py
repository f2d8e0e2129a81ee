"""The norm-frequency panel: controls, views, links, files."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.panels.corpus import CorpusPicker
from embtie_widgets.panels.norms import NormFrequencyPanel
from embtie_widgets.requests import CorpusRef, NormFrequencyRequest, read_request
from embtie_widgets.requests.link import Link, decode, encode
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.sample_norms import norms_result
from tests.sample_results import TOKENS


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def panel(runner: FakeRunner) -> NormFrequencyPanel:
    known = {**parts(runner, Cost(), norms_result()), "ask": lambda *_: None}
    return NormFrequencyPanel(parts=known)


def label_texts(panel: NormFrequencyPanel) -> list[str]:
    return list(panel.chart.shown["data"][-1]["text"])


def test_it_opens_with_what_ships(panel: NormFrequencyPanel, runner: FakeRunner) -> None:
    assert panel.request == NormFrequencyRequest()
    assert runner.jobs == []
    assert len(panel.chart.shown["data"][1]["x"]) == 270
    assert "longer rows in Out" in panel.headline.value
    assert "counts of a text" in panel.caption.value
    assert len(panel.tokens.table.rows) == 100


def test_options_by_name_go_into_the_request_and_the_controls(runner: FakeRunner) -> None:
    panel = NormFrequencyPanel(
        corpus="bundled", seed=3, a="nano-tied", parts=parts(runner, Cost(100))
    )
    assert panel.request == NormFrequencyRequest("nano-tied", corpus="bundled", seed=3)
    assert (panel.corpus.source.value, panel.seed.value) == ("bundled", 3)
    with pytest.raises(EmbtieError, match="seed"):
        NormFrequencyPanel(seed="x")


def test_another_corpus_is_run(panel: NormFrequencyPanel, runner: FakeRunner) -> None:
    panel.corpus.source.value = "bundled"
    assert runner.jobs[-1].request == NormFrequencyRequest(corpus="bundled")
    panel.corpus.limit.value = 2
    assert runner.jobs[-1].request.corpus == CorpusRef("bundled", limit_mb=2)
    runner.jobs[-1].finish(norms_result(zeros=60, corpus={"ref": "bundled"}))
    assert panel.result.matrices["Out"].unseen.rows == 60
    assert "240 tokens that occur, 60 that do not" in panel.caption.value


def test_a_named_text_is_asked_for_only_once_its_name_is_typed(
    panel: NormFrequencyPanel, runner: FakeRunner
) -> None:
    panel.corpus.source.value = "other"
    assert runner.jobs == []
    assert panel.corpus._named.layout.display == ""
    panel.corpus.name.value = " datasets:org/text "
    assert panel.request.corpus == CorpusRef("datasets:org/text")
    panel.corpus.split.value = "test"
    assert runner.jobs[-1].request.corpus == CorpusRef("datasets:org/text", split="test")
    panel.corpus.source.value = ""
    assert panel.request.corpus == CorpusRef()
    assert panel.corpus._named.layout.display == "none"


def test_turning_from_one_text_to_another_keeps_the_first_until_the_other_has_a_name(
    panel: NormFrequencyPanel, runner: FakeRunner
) -> None:
    panel.corpus.source.value = "bundled"
    before = len(runner.jobs)
    panel.corpus.source.value = "other"
    assert panel.corpus.source.value == "other"
    assert panel.request.corpus == CorpusRef("bundled")
    assert len(runner.jobs) == before


def test_a_limit_that_cannot_be_is_refused_in_words(
    panel: NormFrequencyPanel, runner: FakeRunner
) -> None:
    panel.corpus.source.value = "bundled"
    before = len(runner.jobs)
    for wrong in (-1.0, 1.5):
        panel.corpus.limit.value = wrong
        assert "limit_mb" in panel.notice.words
        assert len(runner.jobs) == before
    panel.corpus.limit.value = 3
    assert runner.jobs[-1].request.corpus.limit_mb == 3


def test_the_picker_shows_any_corpus_that_it_is_given() -> None:
    picker = CorpusPicker(CorpusRef())
    for corpus in (
        CorpusRef("bundled", limit_mb=5),
        CorpusRef("words.jsonl", column="body"),
        CorpusRef(),
    ):
        picker.value = corpus
        assert CorpusRef(**picker._typed()) == corpus


def test_models_without_counts_are_told_in_the_page_what_to_choose(
    panel: NormFrequencyPanel, runner: FakeRunner
) -> None:
    panel.seed.value = 5
    runner.jobs[-1].fail("Neither a nor b brings counts.", "Choose a corpus.")
    assert "Choose a corpus." in panel.notice.words
    assert panel.result is not None


def test_a_selection_labels_its_tokens_and_lights_them(panel: NormFrequencyPanel) -> None:
    panel.selection = [1, 12, 40]
    assert set(label_texts(panel)) == {"␣the", "word3", "word31"}
    assert len(panel.chart.shown["data"][16]["x"]) == 3
    panel.selection = []
    assert label_texts(panel) == []


def test_a_search_lights_tokens_and_markup_stays_text(panel: NormFrequencyPanel) -> None:
    panel.tokens.table.query = "script"
    assert label_texts(panel) == ["&lt;script&gt;alert(1)&lt;/scrip…"]
    panel.tokens.table.query = "word"
    assert "at most 30 are labelled" in panel.caption.value
    assert len(label_texts(panel)) <= 30


def test_a_kind_of_token_lights_its_tokens(panel: NormFrequencyPanel) -> None:
    panel.state.kind = "word start"
    assert label_texts(panel) == ["␣the"]


def test_the_scale_redraws_the_chart_and_goes_into_the_link(panel: NormFrequencyPanel) -> None:
    panel.scale.value = "log"
    assert panel.chart.shown["layout"]["yaxis"]["type"] == "log"
    assert panel.state.view == {"scale": "log"}
    panel.scale.value = "linear"
    assert panel.state.view == {}


def test_a_link_restores_corpus_scale_axes_and_tokens(
    panel: NormFrequencyPanel, runner: FakeRunner
) -> None:
    request = NormFrequencyRequest(corpus=CorpusRef("bundled", limit_mb=2), seed=7)
    view = {"scale": "relative", "y": "norm Out"}
    panel.link.page.page = {
        "query": encode(request, [4, 40], view),
        "origin": "https://lab.example",
        "path": "/",
        "host": "voila",
    }
    assert (panel.corpus.source.value, panel.corpus.limit.value) == ("bundled", 2)
    runner.jobs[-1].finish(norms_result())
    assert panel.selection == {4, 40}
    assert panel.scale.value == "relative"
    assert panel.scatter.y.value == "norm Out"
    assert decode(panel.link.page.query) == Link(request, frozenset({4, 40}), view)


def test_the_scatter_opens_with_log_count_against_a_norm(panel: NormFrequencyPanel) -> None:
    assert (panel.scatter.x.value, panel.scatter.y.value) == ("log_count", "norm Tied")
    assert panel.scatter.scatter.role == "tied"
    assert panel.scatter.scatter.n == 300


def test_numbers_stand_with_interval_chance_and_unseen_tokens(panel: NormFrequencyPanel) -> None:
    for one in panel.result.matrices.values():
        for value in (one.pearson, one.spearman, one.correlation.spearman_floor):
            assert f"{abs(value):.3f}" in panel.numbers.value
    assert f"median {panel.result.matrices['Out'].unseen.median:.3f}" in panel.numbers.value
    assert "Frobenius norms of the whole matrices as stored: In 12.3" in panel.between.value
    assert f"{panel.result.between['Out, Tied'].pearson:.3f}" in panel.between.value


def test_what_has_no_number_is_a_dash_and_not_a_nan(
    panel: NormFrequencyPanel, runner: FakeRunner
) -> None:
    panel.start()
    runner.jobs[-1].finish(norms_result(zeros=300))
    assert "–" in panel.numbers.value
    for html in (panel.numbers, panel.between, panel.headline, panel.caption):
        assert not re.search(r"\bnan\b", html.value)
    assert "none of its tokens occurs" in panel.headline.value


def file(panel: NormFrequencyPanel, label: str) -> bytes:
    made = panel.exports.files[label]._make()
    assert made is not None
    return made.data


def test_files_carry_the_request_and_the_counts_can_be_read_again(
    panel: NormFrequencyPanel, tmp_path: Any
) -> None:
    head, columns = file(panel, "CSV").decode().splitlines()[:2]
    assert read_request(json.loads(head[2:])["request"]) == NormFrequencyRequest()
    assert columns.split(",")[-3:] == ["In", "Out", "Tied"] or "norm Tied" in columns
    assert b'id="embtie-settings"' in file(panel, "HTML")
    assert file(panel, "Counts CSV").startswith(b"# {")
    assert panel.exports.files["CSV of selection"].disabled
    panel.selection = [2]
    chosen = file(panel, "CSV of selection").decode()
    assert len(chosen.splitlines()) == 3
    assert "<b>" in chosen


def test_hostile_tokens_are_shown_as_their_own_letters(panel: NormFrequencyPanel) -> None:
    panel.selection = range(len(TOKENS))
    shown = " ".join(label_texts(panel))
    assert "<" not in shown
    assert "$" not in shown
    assert panel.scatter.scatter.describe(2).splitlines()[0] == "<b>"


def test_a_large_vocabulary_sends_little(runner: FakeRunner) -> None:
    result = norms_result(20_000)
    panel = NormFrequencyPanel(parts={**parts(runner, Cost(), result), "ask": lambda *_: None})
    panel.selection = range(5_000)
    sent = json.dumps(panel.chart.figure, default=lambda part: "x" * len(part))
    assert len(sent) < 400_000
    assert "1,500 of " in panel.caption.value
    assert "400 of 5,000" in panel.caption.value


def test_other_models_keep_the_selection_on_its_tokens(
    panel: NormFrequencyPanel, runner: FakeRunner
) -> None:
    panel.selection = [12]
    other = norms_result()
    turned = replace(other, tokens=other.tokens[::-1])
    panel.start()
    runner.jobs[-1].finish(turned)
    assert panel.selection == {287}
