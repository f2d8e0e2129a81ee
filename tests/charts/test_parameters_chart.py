"""The bars of the parameter counts hold the counts."""

import json
from dataclasses import replace
from typing import Any

import pytest

from embtie_widgets.charts import parameters as chart
from embtie_widgets.charts.files import result_page
from embtie_widgets.charts.theme import ROLES
from embtie_widgets.jobs.parameters import shipped_report
from embtie_widgets.requests import ParametersRequest
from embtie_widgets.results import ParameterReport


@pytest.fixture
def result() -> ParameterReport:
    report = shipped_report(ParametersRequest("Qwen/Qwen3-4B"))
    assert report is not None
    return report


def drawn(figure: Any) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


def ends(figure: Any) -> dict[float, float]:
    """Where each bar ends, by its place."""
    found: dict[float, float] = {}
    for trace in figure.data:
        for place, size in zip(trace.y, trace.x, strict=True):
            found[place] = found.get(place, 0.0) + size
    return found


def test_bars_end_at_the_untied_and_the_tied_number(result: ParameterReport) -> None:
    found = ends(chart.figure(result, scale="number"))
    for place, one in enumerate(result.rows().values()):
        assert found[place - 0.2] == one.untied
        assert found[place + 0.2] == one.tied


def test_on_the_scale_of_shares_untied_models_end_at_100(result: ParameterReport) -> None:
    figure = chart.figure(result)
    found = ends(figure)
    parts = drawn(figure)
    for place, one in enumerate(result.rows().values()):
        assert found[place - 0.2] == pytest.approx(100)
        assert found[place + 0.2] == pytest.approx(100 * one.tied / one.untied)
        both = parts["input matrix"].x[place] + parts["output matrix"].x[place]
        assert both == pytest.approx(100 * one.share)
    assert list(figure.layout.xaxis.range) == [0, 100]


def test_roles_have_their_colours_and_a_second_sign(result: ParameterReport) -> None:
    parts = drawn(chart.figure(result))
    marks = [parts[name].marker for name in ("input matrix", "output matrix", "tied matrix")]
    assert [mark.color for mark in marks] == [ROLES[r].color for r in ("input", "output", "tied")]
    assert len({mark.pattern.shape for mark in marks}) == 3


def test_the_chart_follows_result_and_scale(result: ParameterReport) -> None:
    assert chart.spec(None)["data"][0]["x"] == []
    shares = chart.spec(result)
    assert len(shares["data"][0]["x"]) == 9
    assert "Qwen3 4B" in shares["layout"]["yaxis"]["ticktext"][0]
    numbers = chart.spec(result, "number")
    assert numbers["data"][0]["x"][0] == result.model.input
    assert numbers["layout"]["xaxis"]["autorange"]
    assert len(chart.spec(replace(result, beside={}))["data"][0]["x"]) == 1


def test_a_foreign_name_is_no_markup(result: ParameterReport) -> None:
    evil = replace(result, name="<b>$x$</b>" * 9)
    label = chart.figure(evil).layout.yaxis.ticktext[0]
    assert label.startswith("<b>&lt;b&gt;&#36;x&#36;")
    assert label.endswith("…</b>")


def test_sentence_caption_and_text_give_the_numbers(result: ParameterReport) -> None:
    assert "17.6 %" in chart.headline(result)
    assert "389.0 M of 4,411.4 M" in chart.headline(result)
    assert "V = 151,936, d = 2,560" in chart.caption(result)
    assert "ship with embtie" in chart.caption(result)
    lines = chart.text(None, result).splitlines()
    row = next(line for line in lines if line.startswith("Pythia 70M"))
    assert row.split()[2:] == ["70,426,624", "44,670,976", "25,755,648", "73.1", "%"]


def test_the_offline_page_holds_its_settings(result: ParameterReport) -> None:
    page = result_page(chart.plots(result), json.dumps({"request": "</script>"}))
    assert "Qwen3 4B" in page
    assert '{"request": "\\u003c/script>"}' in page


def test_sizes_that_nobody_gave_are_warned_of_and_given_ones_are_not(
    result: ParameterReport,
) -> None:
    assert chart.warning(result) == ""
    facts = {"source": "configuration", "class": "LlamaForCausalLM"}
    facts = facts | {"assumed": ["vocab_size", "hidden_size"]}
    model = replace(result.model, settings=result.model.settings | {"model": facts})
    bare = replace(result, name="LlamaForCausalLM", model=model)
    assert "does not give vocab_size and hidden_size: the defaults" in chart.warning(bare)
    assert chart.headline(bare).startswith("By its configuration, a LlamaForCausalLM has ")
