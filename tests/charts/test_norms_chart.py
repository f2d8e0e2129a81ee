"""What stands in the norm-frequency chart, where, and what is said below it."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from embtie_widgets.charts import norms as chart
from embtie_widgets.charts.files import result_page
from embtie_widgets.charts.norm_plane import LABELS, LIT_POINTS, SEEN_POINTS, Plane, labelled
from embtie_widgets.charts.theme import MATRICES
from embtie_widgets.results import PairNorms
from tests.sample_norms import NAMES, norms_result
from tests.sample_results import TOKENS


@pytest.fixture(scope="module")
def result() -> PairNorms:
    return norms_result()


def cloud(spec: dict[str, Any], name: str) -> dict[str, Any]:
    return spec["data"][NAMES.index(name)]


def median(spec: dict[str, Any], name: str) -> dict[str, Any]:
    return spec["data"][6 + NAMES.index(name)]


def strip(spec: dict[str, Any], name: str) -> dict[str, Any]:
    return spec["data"][9 + NAMES.index(name)]


def labels(spec: dict[str, Any]) -> dict[str, Any]:
    return spec["data"][-1]


def test_every_token_that_occurs_stands_at_its_count_and_norm(result: PairNorms) -> None:
    spec = chart.spec(result)
    for name, one in result.matrices.items():
        drawn = cloud(spec, name)
        assert len(drawn["x"]) == one.correlation.tokens
        order = np.argsort(drawn["y"])
        expected = np.argsort(one.norm[one.used])
        np.testing.assert_allclose(drawn["x"][order], one.log_count[one.used][expected], rtol=1e-6)
        np.testing.assert_allclose(drawn["y"][order], one.norm[one.used][expected], rtol=1e-6)


def test_tokens_that_do_not_occur_stand_left_of_all_others_in_columns(result: PairNorms) -> None:
    spec = chart.spec(result)
    ends = []
    for name in NAMES:
        assert len(strip(spec, name)["x"]) == 30
        assert strip(spec, name)["x"].max() < 0 < cloud(spec, name)["x"].min()
        ends.append((strip(spec, name)["x"].min(), strip(spec, name)["x"].max()))
    assert all(right < left for (_, right), (left, _) in pairwise(ends))
    assert spec["layout"]["xaxis"]["ticktext"][0] == "never<br>30"
    assert spec["layout"]["xaxis"]["range"][0] < ends[0][0]


def test_without_such_tokens_there_is_no_strip() -> None:
    spec = chart.spec(norms_result(zeros=0))
    assert spec["layout"]["shapes"] == []
    assert spec["layout"]["xaxis"]["range"][0] == 0
    assert spec["layout"]["xaxis"]["ticktext"][0] == "1"


@pytest.mark.parametrize(("scale", "drawn"), [("linear", True), ("relative", True), ("log", False)])
def test_a_norm_of_zero_is_drawn_where_the_axis_has_a_zero(scale: str, drawn: bool) -> None:
    result = norms_result(zeros=0)
    out = result.matrices["Out"]
    place = int(np.argmax(out.counts))
    out.norm[place] = 0.0
    spec = chart.spec(result, np.array([place]), scale)
    assert (cloud(spec, "Out")["y"] == 0).any() == drawn
    assert np.isfinite(cloud(spec, "In")["y"]).all()


def test_the_ticks_stand_where_the_counts_do(result: PairNorms) -> None:
    axis = chart.spec(result)["layout"]["xaxis"]
    at = dict(zip(axis["ticktext"], axis["tickvals"], strict=True))
    assert at["1"] == pytest.approx(np.log10(2))
    assert at["10k"] == pytest.approx(np.log10(10_001))


def test_lines_are_the_running_medians_in_colour_dash_and_symbol_of_their_role(
    result: PairNorms,
) -> None:
    spec = chart.spec(result)
    for name, one in result.matrices.items():
        line = median(spec, name)
        np.testing.assert_allclose(line["x"], one.curve.log_count, rtol=1e-6)
        np.testing.assert_allclose(line["y"], one.curve.median, rtol=1e-6)
        assert line["line"]["dash"] == MATRICES[name].dash
        assert cloud(spec, name)["marker"]["symbol"] == MATRICES[name].symbol
        assert line["name"].startswith(f"{name}: Spearman")
    assert len({line["line"]["dash"] for line in spec["data"][6:9]}) == 3


@pytest.mark.parametrize("scale", ["linear", "log", "relative"])
def test_bands_hold_their_line_on_every_scale(result: PairNorms, scale: str) -> None:
    spec = chart.spec(result, scale=scale)
    for i, name in enumerate(NAMES):
        band, line = spec["data"][3 + i], median(spec, name)
        n = len(line["y"])
        assert (band["y"][:n] <= line["y"]).all()
        assert (line["y"] <= band["y"][n:][::-1]).all()
    assert spec["layout"]["yaxis"]["type"] == ("log" if scale == "log" else "linear")


def test_a_logarithmic_axis_writes_its_values_out(result: PairNorms) -> None:
    # Without a format plotly writes the 4 of 0.4 alone.
    axis = chart.figure(result, scale="log").layout.yaxis
    assert (axis.dtick, axis.tickformat) == ("D2", ".1~r")


def test_relative_norms_have_the_median_one(result: PairNorms) -> None:
    spec = chart.spec(result, scale="relative")
    for name in NAMES:
        assert np.median(cloud(spec, name)["y"]) == pytest.approx(1, abs=1e-6)


def test_there_are_always_the_same_traces_so_that_hidden_ones_stay_hidden(
    result: PairNorms,
) -> None:
    specs = [chart.spec(None), chart.spec(result), chart.spec(result, np.arange(50))]
    shapes = [[(t["legendgroup"], t["showlegend"]) for t in spec["data"]] for spec in specs]
    assert shapes[0] == shapes[1] == shapes[2]
    without = replace(result, matrices={k: v for k, v in result.matrices.items() if k != "Out"})
    assert len(chart.spec(without)["data"]) == len(shapes[0])


def test_lit_tokens_stand_at_their_place_in_every_matrix_and_the_rest_is_dimmed(
    result: PairNorms,
) -> None:
    lit = np.array([0, 3, 10, 290])
    before, spec = chart.spec(result), chart.spec(result, lit)
    for i, name in enumerate(NAMES):
        drawn, one = spec["data"][16 + i], result.matrices[name]
        np.testing.assert_allclose(drawn["y"], one.norm[lit], rtol=1e-6)
        assert drawn["x"][0] == pytest.approx(one.log_count[0])
        assert drawn["x"][3] < 0
        assert cloud(spec, name)["marker"]["color"] != cloud(before, name)["marker"]["color"]
        assert cloud(spec, name)["x"].size == cloud(before, name)["x"].size


def test_token_text_is_no_markup_in_label_and_hover(result: PairNorms) -> None:
    spec = chart.spec(result, np.arange(len(TOKENS)))
    texts = [*labels(spec)["text"], *spec["data"][16]["hovertext"]]
    joined = " ".join(texts)
    for markup in ("<b>", "<script>", "$x$"):
        assert markup not in joined
    assert "&lt;b&gt;" in joined
    assert all("text" not in str(t.get("hovertemplate", "")) for t in spec["data"])


def test_at_most_some_dozens_are_labelled_and_no_text_lies_on_another() -> None:
    result = norms_result(3000)
    plane, lit = Plane(result), np.arange(2000)
    kept, x, y = labelled(plane, lit, np.full(2000, 6))
    assert 10 <= len(kept) <= LABELS
    width = 0.011 * 6 * (plane.right - plane.left)
    step = 0.05 * np.ptp(np.append(chart.spec(result)["data"][2]["y"], 0))
    for i in range(len(kept)):
        beside = np.abs(x - x[i]) < width * 0.99
        beside[i] = False
        assert (np.abs(y[beside] - y[i]) >= 0.9 * step).all()


def test_a_label_stands_above_the_highest_point_of_its_token(result: PairNorms) -> None:
    lit = np.array([20])
    text = labels(chart.spec(result, lit))
    highest = max(one.norm[20] for one in result.matrices.values())
    assert text["y"][0] == pytest.approx(highest)
    assert text["text"] == ["word11"]


def test_a_token_without_a_norm_anywhere_gets_no_label(result: PairNorms) -> None:
    blank = {
        name: replace(one, norm=np.where(np.arange(300) == 20, np.nan, one.norm))
        for name, one in result.matrices.items()
    }
    spec = chart.spec(replace(result, matrices=blank), np.array([20, 40]))
    assert labels(spec)["text"] == ["word31"]


def test_a_large_vocabulary_is_sampled_evenly_and_the_chart_says_so() -> None:
    result = norms_result(20_000, zeros=2_000)
    spec = chart.spec(result, np.arange(5_000))
    drawn = cloud(spec, "Out")
    assert len(drawn["x"]) == SEEN_POINTS
    assert drawn["x"].max() == pytest.approx(result.matrices["Out"].log_count.max(), rel=1e-6)
    one = result.matrices["Out"]
    known, deciles = one.log_count[one.used], np.linspace(0, 1, 11)
    np.testing.assert_allclose(
        np.quantile(drawn["x"], deciles), np.quantile(known, deciles), atol=0.02
    )
    assert len(spec["data"][16]["x"]) == LIT_POINTS
    assert "1,500 of 18,000 tokens" in chart.drawn(result)
    assert "400 of 5,000" in chart.on_labels(5_000)
    size = sum(np.asarray(t["x"]).nbytes + np.asarray(t["y"]).nbytes for t in spec["data"])
    assert size < 100_000


def test_all_tokens_are_drawn_where_they_are_few_and_the_chart_says_so(result: PairNorms) -> None:
    assert chart.drawn(result) == "Points: every token."
    assert chart.on_labels(LABELS) == ""


def test_the_headline_says_which_way_the_norms_go_and_whom_tied_follows(
    result: PairNorms,
) -> None:
    said = chart.headline(result)
    assert said.startswith("Frequent tokens have longer rows in Out (0.9")
    assert "no clear trend in In" in said
    assert "Tied go with those of Out (0.9" in said


def test_falling_norms_are_said_to_fall() -> None:
    result = norms_result()
    turned = {
        name: replace(one, correlation=replace(one.correlation, spearman=-0.4, spearman_floor=0.1))
        for name, one in result.matrices.items()
    }
    said = chart.headline(replace(result, matrices=turned))
    assert said.startswith("Frequent tokens have shorter rows in In (−0.40), Out (−0.40) and Tied")


def test_a_trend_within_chance_is_called_none() -> None:
    result = norms_result()
    weak = {
        name: replace(one, correlation=replace(one.correlation, spearman=0.3, spearman_floor=0.35))
        for name, one in result.matrices.items()
    }
    said = chart.headline(replace(result, matrices=weak))
    assert said.startswith("Row norms show no clear trend in In (0.30), Out (0.30) and Tied (0.30)")


def test_the_caption_names_corpus_models_and_the_tokens_left_out(result: PairNorms) -> None:
    said = chart.caption(result)
    for part in ("270 tokens that occur, 30 that do not", "up to 1 of them without", "nano-untied"):
        assert part in said
    assert "counts of a text (" in said
    assert "as B does" not in said


def test_two_tokenizers_are_told_apart_in_caption_and_columns() -> None:
    result = norms_result(two=True)
    assert "as A cuts it, for Tied as B does (another text" in chart.caption(result)
    names = [column.name for column in chart.columns(result)]
    assert {"log_count", "log_count_b", "count", "count_b"} <= set(names)
    assert "count in B" in result.to_frame()


def test_columns_are_the_norms_first_then_the_frequency(result: PairNorms) -> None:
    found = chart.columns(result)
    assert [c.name for c in found[:3]] == ["norm In", "norm Out", "norm Tied"]
    assert all("table" in column.places for column in found[:3])
    assert found[1].lines[1][1].startswith("median, not seen 1.0")
    assert "log_count" in [c.name for c in found]


def test_without_a_single_token_that_occurs_words_and_chart_hold() -> None:
    result = norms_result(zeros=300)
    assert "No correlation can be given for In, Out and Tied." in chart.headline(result)
    assert "none of its tokens occurs" in chart.cautions(result)[0]
    spec = chart.spec(result, np.arange(4))
    assert all(len(cloud(spec, name)["x"]) == 0 for name in NAMES)
    assert len(strip(spec, "Out")["x"]) == 300
    assert "-" in chart.text(None, result)


def test_one_matrix_that_stands_for_two_is_said_to_be_one(result: PairNorms) -> None:
    same = replace(result, hashes=result.hashes | {"Out": result.hashes["In"]})
    assert "one and the same matrix" in chart.cautions(same)[-1]


def test_the_command_line_prints_numbers_and_notes(result: PairNorms) -> None:
    said = chart.text(None, result)
    for part in (
        "Pearson",
        "Frobenius",
        "12.340",
        "norms of Out, Tied",
        "kind of token",
        "note: One row is not",
    ):
        assert part in said


def test_the_page_stands_alone_with_settings_and_caption(result: PairNorms) -> None:
    page = result_page(chart.plots(result), '{"a": "</script>"}')
    assert 'id="embtie-settings"' in page
    assert "270 tokens that occur" in page
    assert '"a": "</script>"' not in page


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_plotly_takes_the_figure_whole(result: PairNorms, theme: str) -> None:
    figure = chart.figure(result, theme)
    assert len(figure.data) == 20
    assert "running medians" in figure.layout.annotations[-1].text
