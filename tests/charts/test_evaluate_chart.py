"""Pictures and words of an evaluation."""

import json

import numpy as np
import pytest

from embtie_widgets.charts import evaluate as chart
from embtie_widgets.charts.files import result_page
from embtie_widgets.results.evaluate import Difference
from tests.sample_evaluate import evaluation, half_done


def test_dots_stand_at_the_scores_with_their_intervals_and_chance() -> None:
    spec = chart.spec(evaluation())
    chance, a, b = spec["data"]
    assert a["x"] == b["x"] == [50.0]
    assert a["error_x"]["array"] == pytest.approx([1.96 * 29])
    assert (chance["name"], chance["x"][:2]) == ("chance", [50.0, 50.0])
    assert a["marker"]["symbol"] != b["marker"]["symbol"]
    assert "4 items" in spec["layout"]["yaxis"]["ticktext"][0]
    assert "+0.0 ± 78.4 points" in spec["layout"]["annotations"][0]["text"]


def test_the_text_has_a_chart_of_its_own() -> None:
    spec = chart.text_spec(evaluation(), "word_perplexity")
    assert [trace["x"] for trace in spec["data"]] == [[100.0], [120.0]]
    assert "+20.0 ± 9.8" in spec["layout"]["annotations"][0]["text"]
    assert len(chart.text_spec(half_done())["data"]) == 1


@pytest.mark.parametrize("make", [chart.spec, chart.text_spec])
def test_without_a_result_there_is_an_empty_chart(make: object) -> None:
    assert make(None)["data"] == []  # type: ignore[operator]
    assert chart.plane(None, "")["data"] == []


def test_the_plane_parts_who_is_right() -> None:
    drawn = chart.plane(evaluation(), "piqa", "acc", "", 1)
    named = {trace["name"]: trace for trace in drawn["data"]}
    assert list(named) == [
        "both right: 1", "only A: 1", "only B: 1", "neither: 1", "shown below",
    ]  # fmt: skip
    both, neither = named["both right: 1"], named["neither: 1"]
    assert (both["x"].tolist(), both["y"].tolist()) == ([2.0], [1.0])
    assert (neither["x"].tolist(), neither["y"].tolist()) == ([-4.0], [-0.5])
    assert named["shown below"]["x"] == [2.0]
    assert chart.item_at(drawn, 2, 0) == 2
    assert chart.item_at(drawn, 4, 0) is None
    alone = chart.plane(evaluation(), "piqa", "acc", "only B")
    assert [trace["name"] for trace in alone["data"]] == ["only B: 1"]


def test_passages_stand_by_their_bits() -> None:
    items = evaluation().items["perplexity"]
    drawn = chart.plane(evaluation(), "perplexity")
    assert [trace["name"] for trace in drawn["data"]] == ["better in A: 1", "better in B: 1"]
    assert items.bits("A")[0] == pytest.approx(20 / np.log(2) / len("a first passage"))


def test_a_headline_says_when_nothing_tells_two_models_apart() -> None:
    assert "no clear difference" in chart.headline(evaluation())
    paired = evaluation().paired | {"piqa": {"acc": Difference(0.2, 0.05)}}
    assert "no clear difference" not in chart.headline(evaluation(paired=paired))


def test_unlike_tokenizers_are_warned_of() -> None:
    paired = {"perplexity": {"word_perplexity": Difference(1.0, 0.1)}}
    assert any("different tokens" in said for said in chart.cautions(evaluation(paired=paired)))
    assert chart.cautions(evaluation()) == []


def test_page_and_text_hold_every_number() -> None:
    page = result_page(chart.plots(evaluation()), json.dumps({}))
    assert page.count("plotly-graph-div") >= 4
    said = chart.text(None, evaluation())
    for word in ("token_perplexity", "acc_norm", "B less A: +20.0000 ± 5.0000", "piqa.jsonl"):
        assert word in said
