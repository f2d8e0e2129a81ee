"""The pictures and sentences of a gradient flow: what is drawn, in which mode, and what is said."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embtie_widgets.charts import figures
from embtie_widgets.charts import gradient as chart
from embtie_widgets.charts.files import result_page
from embtie_widgets.charts.gradient import View
from embtie_widgets.charts.gradient_bands import cut
from embtie_widgets.charts.gradient_view import reach
from embtie_widgets.charts.gradient_words import asides, windows
from embtie_widgets.charts.theme import MODELS, ROLES
from embtie_widgets.jobs.recorded import recorded_flow
from embtie_widgets.results.gradient import FlowRun, GradientFlow
from embtie_widgets.results.tying_published import GRADIENT_SHARES
from tests.sample_flow import ROWS, failed, flow, flow_run, growing, recorded

EXACT = View(smooth=False)


def traces(result: GradientFlow | None, view: View = EXACT, below: bool = False) -> list[Any]:
    data = chart.spec(result, view)["data"]
    return [one for one in data if (one.get("yaxis") == "y2") == below]


def notes(result: GradientFlow, view: View = EXACT) -> list[str]:
    return [one["text"] for one in chart.spec(result, view)["layout"]["annotations"]]


def text_source(shares: list[float]) -> GradientFlow:
    curve = np.array(shares)
    run = FlowRun({"step": np.arange(1, len(curve) + 1), "output_share": curve}, tied=True)
    return replace(flow(), runs={"nano-tied": run}, settings={"source": "text"})


def test_lengths_stand_above_in_the_colours_of_their_roles() -> None:
    drawn = traces(flow())
    assert [one["name"] for one in drawn] == [
        "input",
        "output",
        "sum",
        "untied: input",
        "untied: output",
    ]
    assert drawn[1]["y"] == pytest.approx(flow().runs["tied"].curves["output_norm"])
    roles = (ROLES["input"], ROLES["output"], ROLES["tied"])
    assert [one["line"]["dash"] for one in drawn[:3]] == [role.dash for role in roles]
    assert {one["line"]["dash"] for one in drawn[3:]} == {"dot"}
    assert chart.spec(flow())["layout"]["yaxis"]["type"] == "log"


def test_an_untied_run_has_no_sum_of_its_two_matrices() -> None:
    one = replace(flow(), runs={"untied": flow().runs["untied"]})
    assert [trace["name"] for trace in traces(one)] == ["input", "output"]


def test_shares_stand_below_a_colour_a_run_with_the_line_at_a_half() -> None:
    drawn = traces(flow(), below=True)
    assert [one["name"] for one in drawn] == ["tied", "untied"]
    assert drawn[0]["y"] == pytest.approx(flow().runs["tied"].curves["output_share"])
    assert drawn[1]["line"]["dash"] == MODELS["untied"].dash
    shapes = chart.spec(flow(), EXACT)["layout"]["shapes"]
    assert [one["y0"] for one in shapes if one["yref"] == "y2"] == [0.5]
    assert "½, both paths alike" in notes(flow())


@pytest.mark.parametrize("measure", list(chart.MEASURES))
def test_every_measure_is_drawn_from_its_curve(measure: str) -> None:
    run = flow().runs["tied"]
    field = chart.MEASURES[measure].field
    wanted = run.curves[field]
    if field == "cosine":
        wanted = np.degrees(np.arccos(wanted))
    drawn = traces(flow(), View(measure=measure, smooth=False), below=True)
    assert drawn[0]["y"] == pytest.approx(wanted, rel=1e-5)
    low, high = chart.spec(flow(), View(measure=measure))["layout"]["yaxis2"]["range"]
    assert low < np.quantile(wanted, 0.02) < np.quantile(wanted, 0.9) < high


def test_means_stand_before_single_steps() -> None:
    behind, front = traces(flow(), View(), below=True)[:2]
    run = flow().runs["tied"]
    assert behind["y"] == pytest.approx(run.curves["output_share"])
    assert front["y"] == pytest.approx(run.curve("output_share", 20))
    assert front["line"]["width"] > behind["line"]["width"]


def test_paper_mode_takes_the_proxy_and_averages_norms_first() -> None:
    view, run = View(mode="paper", smooth=False), flow().runs["tied"]
    above = [one for one in traces(flow(), view) if one["showlegend"]]
    assert above[0]["name"] == "input, the paper's proxy"
    assert above[0]["y"] == pytest.approx(run.curve("proxy_norm", 20))
    assert not any(one["name"] == "sum" for one in above)
    share = traces(flow(), view, below=True)[1]["y"]
    inside, out = run.curve("proxy_norm", 20), run.curve("output_norm", 20)
    assert share == pytest.approx(out / (inside + out), rel=1e-5)
    assert share[100] != pytest.approx(run.curve("proxy_share", 20)[100], rel=1e-7)


def test_a_file_with_the_proxy_alone_is_shown_in_paper_mode_and_one_without_it_never() -> None:
    assert chart.fitting(recorded(), View()).mode == "paper"
    run = flow_run()
    exact = {name: curve for name, curve in run.curves.items() if "proxy" not in name}
    result = replace(flow(), runs={"mine": replace(run, curves=exact)})
    assert chart.fitting(result, View(mode="paper")).mode == "corrected"
    assert chart.modes_of(result) == ["corrected"]
    assert chart.modes_of(flow()) == ["corrected", "paper"]


def test_a_measure_that_is_not_there_gives_way_to_one_that_is() -> None:
    result = text_source([0.2, 0.4])
    assert chart.fitting(result, View(measure="loss")).measure == "share"
    assert chart.measures_of(result) == ["share"]


def test_a_growing_run_has_the_axis_of_the_whole() -> None:
    assert reach(growing(90)) == (1, 300)
    assert chart.spec(growing(90))["layout"]["xaxis"]["range"][1] > 300
    assert reach(flow(90)) == (1, 90)
    name = next(text for text in notes(growing(90)) if "tied" in text)
    assert "◆" in name


def test_steps_can_stand_on_a_logarithmic_axis() -> None:
    axis = chart.spec(recorded(), View(scale="log"))["layout"]["xaxis"]
    assert axis["type"] == "log"
    assert axis["range"][0] == 0
    assert 10 ** axis["range"][1] >= 2_000
    end = next(one for one in chart.spec(recorded(), View(scale="log"))["layout"]["annotations"]
               if "run.csv" in one["text"])  # fmt: skip
    assert 10 ** end["x"] == pytest.approx(2_000)


def test_the_end_of_the_warm_up_is_marked_where_it_is_on_the_axis() -> None:
    assert "warm-up ends" in notes(flow())
    assert "warm-up ends" not in notes(flow(40))


def test_single_spikes_do_not_press_the_curve_flat() -> None:
    result = flow()
    result.runs["tied"].curves["output_share"][7] = -40
    low, high = chart.spec(result, EXACT)["layout"]["yaxis2"]["range"]
    assert low > -1
    assert high < 1.5


def test_a_long_run_is_thinned_and_says_so() -> None:
    long = replace(flow(), runs={"tied": flow_run(9_000)})
    assert max(len(one["x"]) for one in chart.spec(long)["data"]) <= 4_000
    assert "one step in 3 is drawn" in chart.caption(long)
    assert "is drawn" not in chart.caption(flow())


def test_a_failed_run_has_its_reason_in_place_of_the_curve() -> None:
    assert chart.spec(failed())["data"] == []
    said = " ".join(notes(failed())).replace("<br>", " ")
    assert "tied is not drawn. At step 7" in said
    assert chart.headline(failed()) == "There is nothing to draw; the reasons stand in the chart."


def test_names_are_text_and_never_markup() -> None:
    name = "<b>$x$</b>"
    result = replace(flow(), runs={name: flow().runs["tied"]}, failed={name: "<i>no</i>"})
    whole = json.dumps(chart.spec(result), default=np.ndarray.tolist)
    assert name not in whole
    assert "<i>" not in whole
    assert "&lt;b&gt;&#36;x&#36;&lt;/b&gt;" in whole
    assert name not in json.dumps(chart.bands(result), default=np.ndarray.tolist)


# Bands.


def test_bands_go_from_the_inputs_blue_to_the_outputs_orange() -> None:
    drawn = chart.bands(flow())["data"]
    assert len(drawn) == 2
    assert [color for _, color in drawn[0]["colorscale"]][::2] == [
        ROLES["input"].color,
        ROLES["output"].color,
    ]
    assert (drawn[0]["zmin"], drawn[0]["zmax"]) == (0, 1)
    assert np.allclose(drawn[0]["z"][0], 1)
    assert chart.has_bands(flow())
    assert not chart.has_bands(recorded())
    axis = chart.bands(flow())["layout"]["yaxis"]
    assert axis["ticktext"][0] == "0"
    assert axis["ticktext"][-2:] == ["1,000 – 9,999", "10,000 +"]
    assert axis["tickvals"] == drawn[0]["y"]


@pytest.mark.parametrize("many", [2, 8])
def test_bands_of_many_runs_stand_below_each_other(many: int) -> None:
    runs = {f"run {i}": flow_run(steps=5) for i in range(many)}
    layout = figures.figure(chart.bands(replace(flow(), runs=runs)), "light").layout
    ends = [layout[f"yaxis{i + 1 if i else ''}"].domain for i in range(many)]
    heights = np.array([layout.height * (high - low) for low, high in ends])
    assert heights.min() > 60
    assert all(above[0] > below[1] for above, below in pairwise(ends))


def test_batches_of_a_text_are_called_so_on_both_axes() -> None:
    result = replace(flow(4), settings={**flow(4).settings, "source": "text"})
    axes = [chart.spec(result, EXACT)["layout"]["xaxis"], chart.bands(result)["layout"]["xaxis2"]]
    assert [axis["title"]["text"] for axis in axes] == ["batch of the text"] * 2


def test_columns_of_bands_are_means_that_pass_over_gaps() -> None:
    run = flow_run(480)
    run.by_band["norm_share"][0, 0] = np.nan
    steps, shares = cut(run)
    assert len(steps) == 240
    known = run.by_band["norm_share"]
    assert shares[0, 0] == known[1, 0]
    assert shares[5] == pytest.approx(known[10:12].mean(0))


# Tokens.


def test_every_token_has_a_share_and_an_absent_one_no_length_by_the_input() -> None:
    known = {column.name: column for column in chart.columns(flow())}
    assert known["share tied"].values[0] == flow().runs["tied"].rows["norm_share"][0]
    assert known["share tied"].lines[0][0] == 0.5
    lengths = known["input tied"].values
    assert np.isnan(lengths[-1])
    assert 10 ** lengths[0] == pytest.approx(flow().runs["tied"].rows["input"][0])
    assert {len(column.values) for column in known.values()} == {ROWS}
    assert "log_count" in known


def test_there_are_no_rows_while_a_run_grows_and_none_in_a_file() -> None:
    assert [chart.has_rows(one) for one in (flow(), growing(), recorded(), failed(), None)] == [
        True,
        False,
        False,
        False,
        False,
    ]


def test_rows_are_drawn_anew_only_when_they_have_changed() -> None:
    assert chart.same_rows(flow(), flow())
    assert not chart.same_rows(None, flow())
    other = flow()
    other.runs["tied"].rows["norm_share"][3] = 0.1
    assert not chart.same_rows(flow(), other)
    assert not chart.same_rows(replace(flow(), runs={"tied": flow().runs["tied"]}), flow())


# Words.


def test_the_headline_compares_the_first_steps_with_the_last() -> None:
    run = flow().runs["tied"]
    early, late = run.mean("output_share", 1, 100), run.mean("output_share", 201, 300)
    assert chart.headline(flow()) == (
        f"The output writes {early:.0%} of the shared matrix's gradient over the first 100 steps, "
        f"{late:.0%} over the last 100."
    ).replace("%", " %")
    assert "as the paper counts" in chart.headline(recorded())
    assert chart.headline(growing(12)).endswith(" on average over 12 steps so far.")
    assert "of Adam's step the output writes 82 % on average; the two parts" in asides(flow())
    top = int(np.argmax(run.curve("output_share", 20)))
    assert asides(flow()).startswith(f"It wrote most around step {top + 1}: 99 %; ")
    assert "around step" not in asides(flow(30))
    assert asides(recorded()) == ""


def test_the_headline_of_a_text_names_the_side_that_writes_more() -> None:
    out, inside = chart.headline(text_source([0.7, 0.9])), chart.headline(text_source([0.2]))
    assert out.startswith("The output writes most")
    assert "80 % over 2 batches" in out
    assert inside.startswith("The input writes most")
    assert "20 % over 1 batch." in inside


def test_a_flow_without_any_step_waits() -> None:
    empty = FlowRun({"step": np.empty(0)})
    waiting = replace(flow(), runs={"tied": empty}, progress="0 of 300 steps")
    assert chart.headline(waiting) == "Nothing to draw yet: 0 of 300 steps."
    assert chart.spec(waiting)["layout"]["xaxis"]["range"][1] > 300
    assert chart.caption(waiting)


def test_means_are_over_stretches_of_steps_the_first_thousand_and_all() -> None:
    assert windows(flow_run(300)) == [(1, 50), (51, 100), (101, 200), (201, 300), (1, 300)]
    assert windows(flow_run(30)) == [(1, 30)]
    long = windows(flow_run(10_010))
    assert (1, 1_000) in long
    assert (10_001, 10_010) not in long
    assert long[-1] == (1, 10_010)
    assert {(501, 1_000), (5_001, 10_000)} <= set(long) & set(GRADIENT_SHARES)


def test_the_published_shares_are_those_of_the_papers_log(shared: Path) -> None:
    run, _ = recorded_flow(shared / "data" / "olmo1b_gradient_provenance.csv")
    for (first, last), share in GRADIENT_SHARES.items():
        assert run.mean("proxy_share", first, last) == pytest.approx(share, abs=5e-4)


def test_the_caption_says_what_it_rests_on() -> None:
    said = chart.caption(flow())
    for words in ("300 and untied: 300 logged steps", "batch 8", "warm-up 50", "within 3e-08"):
        assert words in said
    assert "proxy" in chart.caption(flow(), View(mode="paper"))
    assert "logged step" not in chart.caption(text_source([0.5])).split("gradient")[0]


def test_the_command_line_prints_a_table_with_every_run() -> None:
    printed = chart.text(None, flow())
    assert "untied   1-300" in printed
    assert "note: The text was read 0.4 times." in printed


def test_the_page_holds_both_charts_and_its_settings() -> None:
    page = result_page(chart.plots(flow()), '{"a": 1}')
    assert page.count('class="caption"') == 2
    assert 'id="embtie-settings"' in page
    assert chart.figure(flow(), "dark").layout.annotations[-1].text.startswith("tied: 300")


def test_without_a_result_the_axes_of_lengths_are_there() -> None:
    (nothing,) = chart.spec(None)["data"]
    assert "yaxis" not in nothing  # the upper one, which is drawn only where a curve stands on it
    assert len(nothing["x"]) == 0
