"""What stands in the curves, the heat map and the charts by rate of a sweep, and where."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from embtie_widgets.charts import centering as chart
from embtie_widgets.charts.centering_view import METHOD_WORDS
from embtie_widgets.charts.files import result_page
from embtie_widgets.charts.stretched import axis, stretched
from embtie_widgets.charts.theme import METHODS, PALETTES, contrast, method_marks
from embtie_widgets.results.centering import CenteringReport, CenteringRun
from embtie_widgets.results.centering_published import PUBLISHED
from embtie_widgets.results.gradient import trailing_mean
from tests.sample_centering import (
    INITIAL,
    RATES,
    STEPS,
    every_state,
    growing,
    one_rate,
    recorded,
    report,
    run,
)
from tests.sample_centering import METHODS as TRAINED

LAST = chart.View(lr=RATES[-1])


@pytest.fixture(scope="module")
def sweep() -> CenteringReport:
    return report()


def lines(spec: dict[str, Any], axis_name: str = "y") -> dict[str, dict[str, Any]]:
    """The curves on an axis by the words of their legend."""
    return {
        trace["legendgroup"]: trace
        for trace in spec["data"]
        if trace.get("mode") == "lines"
        and trace["yaxis"] == axis_name
        and trace["line"]["dash"] != "1px,3px"
    }


def ends(spec: dict[str, Any], axis_name: str = "y") -> dict[str, dict[str, Any]]:
    """The markers at the ends of curves."""
    return {
        trace["legendgroup"]: trace
        for trace in spec["data"]
        if trace.get("mode") == "markers" and trace["yaxis"] == axis_name
    }


def cells(spec: dict[str, Any], kind: int = 0, block: int = 0) -> list[list[str]]:
    """The words of a block's cells: kind 0 for numbers, 1 for states."""
    texts: list[list[str]] = spec["data"][2 * block + kind]["text"]
    return texts


# Methods.


def test_every_method_has_a_look_of_its_own_that_does_not_rest_on_colour() -> None:
    marks = list(METHODS.values())
    for sign in ("color", "dash", "symbol", "glyph"):
        assert len({getattr(mark, sign) for mark in marks}) == len(marks)
    for palette in PALETTES.values():
        assert min(contrast(mark.color, palette.plot) for mark in marks) >= 3


def test_methods_together_look_like_none_alone_and_unknown_ones_like_no_other() -> None:
    marks = method_marks(
        [*METHODS, "mu-centering+z-loss", "mu-loss+z-loss", "mu-centering+mu-loss+z-loss"]
    )
    assert len({(m.color, m.dash, m.symbol) for m in marks.values()}) == len(marks)
    assert marks["mu-centering+z-loss"].color == METHODS["mu-centering"].color
    found = method_marks(["none", "somebody's own", "another"])
    assert len({mark.color for mark in found.values()}) == 3
    assert found["none"] == METHODS["none"]


def test_a_method_has_one_colour_in_every_chart(sweep: CenteringReport) -> None:
    color = METHODS["z-loss"].color
    curve = lines(chart.spec(sweep))["z-loss"]["line"]["color"]
    rates = [t for t in chart.rates(sweep)["data"] if t["name"] == "z-loss"]
    row = [t for t in chart.sensitivity(sweep)["data"] if t["name"] == "z-loss"]
    for drawn in (curve, rates[0]["line"]["color"], row[0]["marker"]["color"]):
        assert drawn in (color, "rgba(224,97,6,1)")


# Curves.


def test_each_quantity_has_a_chart_with_a_curve_of_every_method(sweep: CenteringReport) -> None:
    spec = chart.spec(sweep, LAST)
    words = [note["text"] for note in spec["layout"]["annotations"]]
    for place, name in enumerate(chart.USUAL):
        assert f"<b>{chart.QUANTITIES[name].label}</b>" in words
        found = lines(spec, "y" if place == 0 else f"y{place + 1}")
        known = [one for one in chart.side_by_side(sweep, LAST) if one.knows(name)]
        assert len(found) == len(known) >= 4
    mean = lines(spec, "y2")["baseline"]
    np.testing.assert_allclose(mean["y"], sweep.runs[-5].curves["logit_mean"], rtol=1e-6)
    np.testing.assert_allclose(mean["x"], sweep.runs[-5].curves["step"])


def test_the_loss_is_averaged_over_some_steps(sweep: CenteringReport) -> None:
    one = next(r for r in sweep.runs if r.method == "mu-loss" and r.lr == RATES[-1])
    drawn = lines(chart.spec(sweep, LAST))["μ-loss"]["y"]
    means = trailing_mean(one.curves["step"], one.curves["loss"], 20)
    np.testing.assert_allclose(drawn, means, rtol=1e-6)


def test_all_charts_share_the_steps_and_reach_to_the_end_that_is_to_come() -> None:
    layout = chart.spec(growing(120))["layout"]
    assert layout["xaxis"]["range"][1] >= STEPS
    others = [layout[f"xaxis{i}"]["matches"] for i in range(2, len(chart.USUAL) + 1)]
    assert set(others) == {"x"}


def test_a_curve_that_grows_ends_where_the_run_has_come_to_and_waiting_runs_have_none() -> None:
    found = lines(chart.spec(growing(120)))
    assert set(found) == {"baseline", "μ-centering", "μ-loss"}
    assert found["μ-loss"]["x"][-1] == 120
    assert found["baseline"]["x"][-1] == STEPS


def test_a_run_that_diverged_ends_with_a_cross_at_its_last_finite_value(
    sweep: CenteringReport,
) -> None:
    found = ends(chart.spec(sweep, LAST))
    assert found["baseline"]["marker"]["symbol"] == "x"
    assert "diverged at step 200" in found["baseline"]["hovertemplate"]
    assert np.isfinite(found["baseline"]["y"]).all()
    assert found["z-loss"]["marker"]["symbol"] == METHODS["z-loss"].symbol


def test_every_curve_ends_with_the_marker_of_its_method(sweep: CenteringReport) -> None:
    spec = chart.spec(sweep, LAST)
    for name, end in ends(spec, "y2").items():
        curve = lines(spec, "y2")[name]
        assert (end["x"], end["y"]) == (curve["x"][-1:], curve["y"][-1:])


def test_every_run_stands_in_the_legend_once_also_where_the_first_chart_lacks_it(
    sweep: CenteringReport,
) -> None:
    for names in (chart.USUAL, ("bound_ratio", "loss")):
        drawn = chart.spec(sweep, replace(LAST, curves=names))["data"]
        named = [trace["legendgroup"] for trace in drawn if trace["showlegend"]]
        assert sorted(named) == ["baseline", "soft-cap", "z-loss", "μ-centering", "μ-loss"]


def test_the_mean_over_stored_rows_is_dotted_where_it_is_another_one() -> None:
    made = one_rate()
    fine = [t for t in chart.spec(made)["data"] if t.get("line", {}).get("dash") == "1px,3px"]
    assert [trace["legendgroup"] for trace in fine] == ["baseline", "μ-loss", "z-loss", "soft-cap"]
    np.testing.assert_allclose(fine[0]["y"], made.runs[0].curves["mu_output_all"], rtol=1e-6)
    same = tuple(
        replace(one, curves=one.curves | {"mu_output_all": one.curves["mu_output"]})
        for one in made.runs
    )
    spec = chart.spec(replace(made, runs=same))
    assert not [t for t in spec["data"] if t.get("line", {}).get("dash") == "1px,3px"]


def test_coefficients_differ_in_strength_and_tied_runs_in_width() -> None:
    made = one_rate(coefficients=(1e-4, 1e-1), tying=(False, True))
    found = lines(chart.spec(made))
    weak, strong = found["μ-loss 1e-4, untied"], found["μ-loss 0.1, untied"]
    assert weak["line"]["color"] == "rgba(30,151,212,0.4)"
    assert strong["line"]["color"] == "rgba(30,151,212,1)"
    assert found["baseline, tied"]["line"]["width"] < found["baseline, untied"]["line"]["width"]
    alone = lines(chart.spec(made, chart.View(tying="tied")))
    assert all("tied" not in name for name in alone)
    assert len(alone) == 7


def test_large_and_small_numbers_can_be_seen_at_once(sweep: CenteringReport) -> None:
    spec = chart.spec(sweep, replace(LAST, curves=("mu_output",), log=True))
    values = sweep.runs[-5].curves["mu_output"]
    curve = lines(spec)["baseline"]
    np.testing.assert_allclose(curve["y"], np.arcsinh(values / 0.1), rtol=1e-5)
    np.testing.assert_allclose(curve["customdata"], values, rtol=1e-6)
    ticks = dict(
        zip(spec["layout"]["yaxis"]["ticktext"], spec["layout"]["yaxis"]["tickvals"], strict=True)
    )
    assert ticks["100"] == pytest.approx(np.arcsinh(1000))
    assert ticks["0"] == 0


def test_a_stretched_axis_holds_both_its_ends_and_has_few_ticks_of_either_sign() -> None:
    made = axis(-3e4, 2e6, 1.0)
    low, high = made["range"]
    assert low < stretched(-3e4, 1.0) < stretched(2e6, 1.0) < high
    assert len(made["tickvals"]) <= 8
    assert {"0", "1e+06", "−10000"} <= set(made["ticktext"])
    assert all(low <= at <= high for at in made["tickvals"])


def test_the_level_where_bfloat16_has_whole_numbers_only_is_shown_to_whom_it_concerns() -> None:
    for precision, said in (("bfloat16", True), ("float32", False)):
        notes = chart.spec(one_rate(precision=precision))["layout"]["annotations"]
        assert any("bfloat16" in note["text"] for note in notes) is said


def test_the_level_of_equal_guesses_is_shown_where_a_loss_comes_near_it() -> None:
    made = one_rate()
    bad = replace(made.runs[0], curves=made.runs[0].curves | {"loss": np.full(30, 9.0)})
    layout = chart.spec(replace(made, runs=(bad, *made.runs[1:])))["layout"]
    [note] = [note for note in layout["annotations"] if note["text"] == "equal guesses"]
    assert (note["x"], note["xanchor"]) == (0.99, "right")  # at its begin the curves run through
    assert [line for line in layout["shapes"] if line["y0"] == pytest.approx(INITIAL)]
    assert not [n for n in chart.spec(made)["layout"]["annotations"] if "guesses" in n["text"]]


def test_the_rate_that_is_looked_at_at_first_is_the_one_in_training_else_the_highest(
    sweep: CenteringReport,
) -> None:
    assert chart.fitting(sweep, chart.View()).lr == RATES[-1]
    busy = run("mu-loss", RATES[1], done=120)
    runs = tuple(busy if r.lr == RATES[1] and r.method == "mu-loss" else r for r in sweep.runs)
    assert chart.fitting(replace(sweep, runs=runs), chart.View()).lr == RATES[1]
    assert chart.fitting(sweep, chart.View(lr=RATES[0])).lr == RATES[0]
    assert chart.fitting(sweep, chart.View(lr=0.77, size="other")).size == "nano"


def test_choices_are_those_of_the_result() -> None:
    made = report(tying=(False, True), sizes=("nano", "small"), seeds=(0, 3))
    assert [value for _, value in chart.choices(made, "lr")] == list(RATES)
    assert chart.choices(made, "size") == [("nano", "nano"), ("small", "small")]
    assert chart.choices(made, "seed") == [("0", 0), ("3", 3)]
    assert [value for _, value in chart.choices(made, "tying")] == ["", "untied", "tied"]
    assert chart.choices(report(), "tying") == []


def test_a_run_is_found_again_by_its_key() -> None:
    made = report(tying=(False, True), seeds=(0, 1), coefficients=(1e-7, 1e-4))
    keys = [chart.key_of(one) for one in made.runs]
    assert len(set(keys)) == len(keys)
    again = report(tying=(False, True), seeds=(0, 1), coefficients=(1e-7, 1e-4))
    assert all(chart.run_of(again, key) is one for key, one in zip(keys, again.runs, strict=True))
    assert chart.run_of(made, "nano/none") is None


def test_runs_of_one_name_are_told_apart_by_what_they_are_called() -> None:
    runs = tuple(replace(run(), about={"name": name}) for name in ("first", "<i>second"))
    made = replace(one_rate(), runs=runs, sensitivity=())
    assert set(lines(chart.spec(made))) == {"baseline, first", "baseline, &lt;i&gt;second"}
    assert len({chart.key_of(one) for one in runs}) == 2
    assert [len(block) for block in cells(chart.grid(made))] == [1, 1]


def test_in_a_narrow_box_charts_stand_one_below_the_other(sweep: CenteringReport) -> None:
    for spec in (chart.spec(sweep), chart.rates(report(tying=(False, True)))):
        wide, narrow = spec["layout"], spec["layout"] | spec["narrow"]
        assert wide["xaxis2"]["domain"][0] > 0.5
        assert wide["yaxis2"]["domain"] == wide["yaxis"]["domain"]
        assert narrow["xaxis2"]["domain"] == [0, 1]
        assert narrow["yaxis2"]["domain"][1] < narrow["yaxis"]["domain"][0]
        assert narrow["height"] > wide["height"]
        assert not narrow["xaxis"]["showticklabels"]


def test_without_a_result_the_axes_stand_alone() -> None:
    for made in (chart.spec, chart.grid, chart.rates, chart.sensitivity, chart.coefficients):
        spec = made(None)
        assert all(len(trace["x"]) == 0 for trace in spec["data"])
        assert spec["layout"]["yaxis"]
    assert len(chart.spec(None)["data"]) == len(chart.USUAL)


def test_a_recorded_sweep_without_curves_has_empty_axes_and_no_fault() -> None:
    assert all(len(trace["x"]) == 0 for trace in chart.spec(recorded())["data"])


# The heat map.


def test_each_state_is_told_by_a_sign_and_a_word() -> None:
    words = [text for row in cells(chart.grid(every_state()), 1) for text in row if text]
    assert words == ["✕ diverged", "▶ 40 %", "… waiting", "– missing", "! failed"]


def test_cells_hold_the_loss_with_the_best_of_a_line_in_bold() -> None:
    made = every_state()
    values, states = cells(chart.grid(made)), cells(chart.grid(made), 1)
    assert values[0] == ["3.486", "<b>3.459</b>", "3.483", "3.999", ""]
    assert values[3][1:3] == ["", "<b>3.483</b>"]
    for row, other in zip(values, states, strict=True):
        assert all(bool(value) != bool(state) for value, state in zip(row, other, strict=True))


def test_colour_is_the_distance_from_the_best_of_the_size() -> None:
    made = report(sizes=("nano", "small"), methods=("none",), rates=RATES[:2])
    runs = tuple(replace(r, loss=r.loss - 1) if r.size == "small" else r for r in made.runs)
    data = chart.grid(replace(made, runs=runs))["data"]
    np.testing.assert_allclose(data[0]["z"], data[2]["z"], atol=1e-5)
    best, worse = data[0]["z"][0][1], data[0]["z"][0][0]
    assert best == pytest.approx(math.log10(0.005))
    assert worse == pytest.approx(math.log10(runs[0].loss - runs[1].loss + 0.005), abs=1e-4)


def test_other_numbers_are_shown_with_their_sign_and_coloured_by_magnitude() -> None:
    spec = chart.grid(report(), "logit_mean")
    assert cells(spec)[3] == ["−0.216", "−0.72", "−2.16", "−7.2", "−21.6"]
    assert spec["data"][0]["z"][3][4] == pytest.approx(np.arcsinh(21.6), rel=1e-5)
    assert cells(spec)[1][0] == "0"


def test_a_run_without_the_number_says_so_and_can_be_clicked() -> None:
    made = report()
    spec = chart.grid(made, "bound_ratio")
    assert cells(spec, 1)[1] == ["no value"] * 5
    found = chart.run_at(made, 1, (1, 2))
    assert found is not None
    assert (found.method, found.lr) == ("mu-centering", RATES[2])


def test_a_click_finds_the_run_of_its_cell_in_every_block() -> None:
    made = report(RATES[:2], ("none", "mu-loss"), (False, True), ("nano", "small"), (0, 1))
    spec = chart.grid(made)
    for trace, field in enumerate(spec["data"]):
        for row, words in enumerate(field["hovertext"]):
            for column, said in enumerate(words):
                one = chart.run_at(made, trace, (row, column))
                assert one is not None
                assert said.startswith(f"<b>{METHOD_WORDS[one.method]}")
                assert f", {'tied' if one.tied else 'untied'}</b>, learning rate " in said
    assert chart.run_at(made, 99, (0, 0)) is None
    assert chart.run_at(made, 0, (99, 0)) is None
    assert chart.run_at(made, 0, (3,)) is None
    assert chart.run_at(None, 0, (0, 0)) is None


def test_blocks_are_by_size_and_tying_and_seeds_of_a_method_stand_together() -> None:
    made = report(tying=(False, True), seeds=(0, 1), methods=("none", "mu-loss"))
    layout = chart.grid(made)["layout"]
    assert [note["text"] for note in layout["annotations"]] == [
        "<b>nano, untied</b>",
        "<b>nano, tied</b>",
    ]
    names = ["baseline, seed 0", "baseline, seed 1", "μ-loss, seed 0", "μ-loss, seed 1"]
    assert layout["yaxis"]["ticktext"] == layout["yaxis2"]["ticktext"] == names
    assert layout["xaxis"]["ticktext"] == ["0.003", "0.01", "0.03", "0.1", "0.3"]


def test_the_chosen_run_has_a_frame() -> None:
    made = report(tying=(False, True))
    one = made.side_by_side(made.runs[0])[-1]
    (frame,) = chart.grid(made, chosen=chart.key_of(one))["layout"]["shapes"]
    assert frame["xref"] == "x2"
    assert (frame["x0"], frame["y0"]) == (-0.5, len(TRAINED) - 1.5)
    assert chart.grid(made)["layout"]["shapes"] == []


def test_a_heat_map_asks_for_the_width_of_its_words() -> None:
    assert chart.grid(report())["least"] - chart.grid(report(RATES[:2]))["least"] == 3 * 66


def test_a_reason_is_text_and_nothing_else() -> None:
    made = every_state()
    said = [text for row in chart.grid(made)["data"][1]["hovertext"] for text in row]
    assert any("&lt;b&gt;fewer&lt;/b&gt;" in text for text in said)
    assert not any("<b>fewer" in text for text in said)


def test_what_a_cell_says_has_the_names_of_the_page() -> None:
    said = [text for row in chart.grid(report())["data"][0]["hovertext"] for text in row]
    assert any(text.startswith("<b>baseline, untied</b>") for text in said)
    assert not any("untied none" in text or "B−ratio" in text for text in said)
    assert any("B-ratio" in text for text in said)
    assert any("mean logit −" in text for text in said)


def test_a_quantity_that_the_result_has_not_is_replaced_by_one_it_has() -> None:
    bare = tuple(replace(one, numbers={}) for one in report().runs)
    made = replace(report(), runs=bare)
    assert cells(chart.grid(made, "logit_mean")) == cells(chart.grid(made))
    assert [name for _, name in chart.measures_of(made)] == ["held_loss"]


# Numbers against the rate.


def by_name(spec: dict[str, Any], axis_name: str = "y") -> dict[str, dict[str, Any]]:
    return {
        trace["legendgroup"]: trace
        for trace in spec["data"]
        if trace.get("mode") == "lines+markers" and trace["yaxis"] == axis_name
    }


def test_losses_stand_at_their_rate_and_diverged_runs_on_top(sweep: CenteringReport) -> None:
    spec = chart.rates(sweep)
    found = by_name(spec)
    np.testing.assert_allclose(found["μ-loss"]["x"], np.log10(RATES))
    losses = [one.loss for one in sweep.runs if one.method == "mu-loss"]
    np.testing.assert_allclose(found["μ-loss"]["y"], losses)
    assert np.isnan(found["baseline"]["y"][-1])
    (cross,) = [trace for trace in spec["data"] if trace["mode"] == "markers+text"]
    assert cross["x"] == [pytest.approx(np.log10(0.3))]
    assert cross["y"] == [spec["layout"]["yaxis"]["range"][1]]
    assert max(losses) < cross["y"][0]


def test_lines_that_diverge_at_one_rate_stand_side_by_side_there(sweep: CenteringReport) -> None:
    lost = tuple(replace(one, state="diverged") for one in sweep.runs if one.lr == RATES[-1])
    spec = chart.rates(replace(sweep, runs=(*sweep.runs[:-5], *lost)))
    crosses = [trace for trace in spec["data"] if trace["mode"] == "markers+text"]
    places = [trace["x"][0] for trace in crosses]
    assert len(set(places)) == len(TRAINED)
    assert np.mean(places) == pytest.approx(np.log10(RATES[-1]))
    assert [trace["text"][0] for trace in crosses].count("diverged") == 1
    assert [t["name"] for t in spec["data"] if t["showlegend"]] == list(by_name(spec))


def test_losses_far_above_the_start_do_not_push_the_others_out_of_the_picture(
    sweep: CenteringReport,
) -> None:
    one = sweep.runs[-5]
    wild = replace(one, curves=one.curves | {"loss": np.full(len(one.curves["step"]), 900.0)})
    high = chart.spec(replace(sweep, runs=(*sweep.runs[:-5], wild, *sweep.runs[-4:])), LAST)
    assert high["layout"]["yaxis"]["range"][1] < 1.2 * INITIAL
    alone = chart.spec(replace(sweep, runs=(wild,)), LAST)
    assert alone["layout"]["yaxis"]["range"][1] > 900


def test_the_spread_over_seeds_is_drawn() -> None:
    made = report(seeds=(0, 1, 2))
    line = by_name(chart.rates(made))["z-loss"]
    losses = [one.loss for one in made.runs if one.method == "z-loss" and one.lr == RATES[2]]
    assert line["y"][2] == pytest.approx(np.mean(losses))
    assert line["error_y"]["array"][2] == pytest.approx(max(losses) - np.mean(losses))
    assert line["error_y"]["arrayminus"][2] == pytest.approx(np.mean(losses) - min(losses))
    assert "over 3 seeds" in line["hovertext"][2]
    assert "error_y" not in by_name(chart.rates(report()))["z-loss"]


def test_every_size_and_tying_has_a_chart_and_losses_one_scale() -> None:
    made = report(tying=(False, True), sizes=("nano", "small"))
    layout = chart.rates(made)["layout"]
    assert [note["text"] for note in layout["annotations"]] == [
        "<b>nano, untied</b>",
        "<b>nano, tied</b>",
        "<b>small, untied</b>",
        "<b>small, tied</b>",
    ]
    spans = [np.ptp(layout[name]["range"]) for name in ("yaxis", "yaxis2", "yaxis3", "yaxis4")]
    np.testing.assert_allclose(spans, spans[0])
    named = [t["name"] for t in chart.rates(made)["data"] if t["showlegend"]]
    assert sorted(named) == sorted(set(named))


def test_a_rate_of_nothing_has_a_place_left_of_all_others() -> None:
    made = report((0.0, 1e-2, 1e-1))
    x = by_name(chart.rates(made))["μ-loss"]["x"]
    assert x[0] < x[1] < x[2]
    assert chart.rates(made)["layout"]["xaxis"]["ticktext"][0] == "0"


# Sensitivity.


def test_sensitivities_stand_in_rows_with_the_printed_ones_behind(sweep: CenteringReport) -> None:
    spec = chart.sensitivity(sweep)
    printed, *found = spec["data"]
    values = [one.value for one in sweep.sensitivity]
    np.testing.assert_allclose(
        [trace["x"][0] for trace in found], np.arcsinh(np.array(values) / 0.01)
    )
    own = [x for x, row in zip(printed["x"], printed["y"], strict=True) if row == "baseline"]
    untied = [0.306, 0.391, 0.508, 0.344, 0.412]
    np.testing.assert_allclose(np.sinh(own) * 0.01, untied, rtol=1e-9)
    assert spec["layout"]["yaxis"]["categoryarray"][-1] == "baseline"


def test_of_a_size_of_the_paper_only_its_own_printed_value_is_shown() -> None:
    printed = chart.sensitivity(recorded())["data"][0]
    at = [x for x, row in zip(printed["x"], printed["y"], strict=True) if row == "z-loss, 57M"]
    np.testing.assert_allclose(np.sinh(at) * 0.01, [0.235])


def test_printed_values_are_those_of_the_paper() -> None:
    known = {(p.tied, p.method, p.coefficient): 0 for p in PUBLISHED}
    assert len(PUBLISHED) == 80
    assert len(known) == 16
    by_key = {(p.size, p.tied, p.method, p.coefficient): p.value for p in PUBLISHED}
    assert by_key["57M", False, "none", None] == 0.508
    assert by_key["221M", True, "mu-centering", None] == 0.066
    assert by_key["109M", False, "z-loss", 1e2] == 2.150
    assert by_key["16M", False, "mu-loss", 1e-7] == 0.182


def test_the_chart_by_coefficient_takes_the_mean_over_seeds() -> None:
    made = report(seeds=(0, 1), coefficients=(1e-4, 1e-1))
    unlike = tuple(
        replace(one, value=one.value * (1 + (one.seed or 0))) for one in made.sensitivity
    )
    made = replace(made, sensitivity=unlike)
    (line,) = [t for t in chart.coefficients(made)["data"] if t["name"] == "μ-loss"]
    np.testing.assert_allclose(line["x"], [-4, -1])
    for place, weight in enumerate((1e-4, 1e-1)):
        values = [
            s.value for s in made.sensitivity if s.method == "mu-loss" and s.coefficient == weight
        ]
        assert len(values) == 2
        assert np.sinh(line["y"][place]) * 0.01 == pytest.approx(np.mean(values))
    assert chart.has_coefficients(made)
    assert not chart.has_coefficients(report())


def test_the_page_holds_every_chart_that_there_is_something_on(sweep: CenteringReport) -> None:
    drawn = result_page(chart.plots(sweep), '{"seed": 0}')
    assert drawn.count('class="plotly-graph-div"') == 4
    assert 'id="embtie-settings"' in drawn
    assert result_page(chart.plots(recorded()), "{}").count('class="plotly-graph-div"') == 3
    assert result_page(chart.plots(one_rate()), "{}").count('class="plotly-graph-div"') == 2


@pytest.mark.browser
@pytest.mark.parametrize(("width", "columns"), [(390, 1), (1000, 2)])
def test_on_a_phone_the_page_has_one_chart_below_the_other(
    chromium: Any, tmp_path: Path, sweep: CenteringReport, width: int, columns: int
) -> None:
    (tmp_path / "page.html").write_text(result_page(chart.plots(sweep), "{}"), encoding="utf-8")
    page = chromium.new_page(viewport={"width": width, "height": 800})
    try:
        page.goto((tmp_path / "page.html").as_uri())
        page.wait_for_function("document.querySelectorAll('.main-svg').length > 8")
        first = "document.querySelector('.js-plotly-plot')"
        across = f"{first}._fullLayout.xaxis2.domain[0] > 0.4"
        page.wait_for_function(f"({across}) === {str(columns == 2).lower()}")
        fits = f"{first}.parentElement.clientHeight >= {first}._fullLayout.height"
        assert page.evaluate(fits)
    finally:
        page.close()


def test_the_exported_figure_carries_its_caption(sweep: CenteringReport) -> None:
    words = " ".join(str(note.text) for note in chart.figure(sweep).layout.annotations)
    assert "logits before any cap" in words.replace("<br>", " ")
    assert "recorded loss" in " ".join(
        str(note.text) for note in chart.figure(recorded()).layout.annotations
    )


def unended(made: CenteringReport) -> list[CenteringRun]:
    return [one for one in made.runs if one.state in ("running", "waiting")]


def test_a_sweep_that_grows_draws_what_there_is() -> None:
    made = growing()
    assert len(unended(made)) == 3
    for drawn in (chart.grid, chart.rates, chart.sensitivity, chart.coefficients, chart.spec):
        assert drawn(made)["layout"]


def test_rates_that_stand_too_close_in_three_columns_are_named_by_turns() -> None:
    many = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
    for sizes, said in ((("nano",), 7), (("micro", "nano", "small"), 4)):
        made = report(many, ("none", "mu-loss"), sizes=sizes)
        axis = chart.rates(made)["layout"]["xaxis"]
        assert len(axis["tickvals"]) == 7
        assert sum(map(bool, axis["ticktext"])) == said
