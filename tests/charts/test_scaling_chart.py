"""What stands in the charts of input scaling, where, and what is said beside them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from embtie_widgets.charts import scaling as chart
from embtie_widgets.charts import scaling_curves as curves
from embtie_widgets.charts.files import result_page
from embtie_widgets.charts.theme import PALETTES, ROLES, contrast
from embtie_widgets.results.gradient import trailing_mean
from embtie_widgets.results.scaling import TO, Nearness, ScalingReport
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.results.tying_published import SCALING
from tests.sample_results import TOKENS
from tests.sample_scaling import ROWS, STEPS, growing, report

IN, OUT = 0, 1  # of each pair of traces


@pytest.fixture(scope="module")
def result() -> ScalingReport:
    return report(2.0, 5.0, 10.0)


def pairs(spec: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """In-sample, held out and chance, each to the input and to the output."""
    data = spec["data"]
    return [data[i : i + 2] for i in range(0, len(data), 2)]


def with_near(made: ScalingReport, factor: float, to: str, **changed: Any) -> ScalingReport:
    """The report with other numbers of one run to one side."""
    runs = tuple(
        replace(run, nearness=run.nearness | {to: replace(run.nearness[to], **changed)})
        if run.factor == factor
        else run
        for run in made.runs
    )
    return replace(made, runs=runs)


def test_each_point_stands_at_its_factor_and_cosine(result: ScalingReport) -> None:
    in_sample, held, chance = pairs(chart.spec(result))
    for place, to in enumerate(TO):
        near: list[Nearness] = [run.nearness[to] for run in result.whole]
        np.testing.assert_allclose(in_sample[place]["x"], np.log10([1, 2, 5, 10]))
        np.testing.assert_allclose(in_sample[place]["y"], [one.mean for one in near])
        np.testing.assert_allclose(held[place]["y"], [one.heldout for one in near])
        np.testing.assert_allclose(chance[place]["y"], [one.floor for one in near])
        up = np.array(in_sample[place]["error_y"]["array"]) + [one.mean for one in near]
        np.testing.assert_allclose(up, [one.interval[1] for one in near])


def test_sides_have_their_role_and_the_three_kinds_differ_without_colour(
    result: ScalingReport,
) -> None:
    kinds = pairs(chart.spec(result))
    for one in kinds:
        assert one[IN]["marker"]["color"] == ROLES["input"].color
        assert one[OUT]["marker"]["color"] == ROLES["output"].color
        looks = [(t["marker"]["symbol"], t["line"]["dash"]) for t in one]
        assert looks[IN] != looks[OUT] or one is kinds[2]
    for side in (IN, OUT):
        assert len({one[side]["marker"]["symbol"] for one in kinds}) == 3
        assert kinds[2][side]["line"]["dash"] == "dot"
        assert len({one[side]["name"] for one in kinds}) == 3


def test_a_factor_of_nothing_has_a_place_left_of_all_others() -> None:
    spec = chart.spec(report(0.0, 0.1, 5.0))
    x = spec["data"][0]["x"]
    assert x.tolist() == sorted(x)
    assert x[0] < np.log10(0.1)
    ticks = spec["layout"]["xaxis"]["ticktext"]
    assert ticks == ["×0", "×0.1", "×1<br>as it is", "×5"]
    assert spec["layout"]["xaxis"]["range"][0] < x[0]


def test_the_order_of_training_does_not_matter_to_the_line() -> None:
    made = report(0.5, 5.0)
    assert chart.spec(made)["data"][0]["x"].tolist() == sorted(np.log10([0.5, 1, 5]))


def test_an_early_factor_says_so_at_its_tick() -> None:
    ticks = chart.spec(report(5.0, until=20))["layout"]["xaxis"]["ticktext"]
    assert ticks == ["×1<br>as it is", "×5<br>first 20 steps"]


def test_without_a_result_or_a_whole_run_the_axes_stand_alone() -> None:
    unfinished = replace(report(), runs=())
    empty = chart.spec(None)["layout"]
    assert empty["yaxis"]["range"] == [0, 1]
    assert empty["xaxis"]["ticktext"] == ["×1", "×10"]
    for spec in (chart.spec(None), chart.spec(unfinished), chart.curves(None)):
        assert all(len(trace["x"]) == 0 for trace in spec["data"])


def test_the_training_of_every_run_is_drawn_to_where_it_has_come() -> None:
    made = growing(20, 2.0, 5.0)
    data = chart.curves(made)["data"]
    assert [trace["name"] for trace in data] == ["untied", *np.repeat(["×1", "×2", "×5"], 2)]
    assert [len(trace["x"]) for trace in data] == [STEPS] * 5 + [20] * 2
    loss = made.runs[0].curves["loss"]
    steps = made.runs[0].curves["step"]
    np.testing.assert_allclose(data[1]["y"], trailing_mean(steps, loss, 20))
    assert chart.curves(made)["layout"]["xaxis"]["range"] == [0, STEPS]


def test_runs_differ_by_dash_as_well_as_by_colour() -> None:
    marks = curves.marks_of(report(2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0))
    assert len(marks) == 9
    assert len({mark.dash for mark in marks.values()}) == 9
    assert len({mark.color for mark in marks.values()}) == 9
    for palette in PALETTES.values():
        assert min(contrast(mark.color, palette.plot) for mark in marks.values()) > 3


def test_loss_against_the_plain_run_compares_equal_steps() -> None:
    data = curves.spec(growing(20, 5.0), "against")["data"]
    np.testing.assert_allclose(data[1]["y"], 0)
    assert len(data[3]["x"]) == 20
    pull = 0.04 * np.log10(5)
    np.testing.assert_allclose(data[3]["y"], pull, atol=1e-9)


def test_the_headline_tells_which_way_the_strongest_factor_goes_and_its_price(
    result: ScalingReport,
) -> None:
    said = chart.headline(result)
    assert said.startswith("×10 moves the tied matrix nearer the input and farther from the output")
    assert "with the output from 0.60 to 0.56, with the input from 0.25 to 0.29" in said
    assert "0.040 nats higher than without" in said


def test_a_change_that_is_not_clear_is_not_called_one() -> None:
    made = report(5.0)
    plain = made.runs[0].nearness
    for to in TO:
        made = with_near(made, 5.0, to, cosine=plain[to].cosine)
    assert "leaves the tied matrix where it was" in chart.headline(made)
    noise = np.random.default_rng(0).normal(0, 0.1, ROWS)
    noise -= np.nanmean(noise)
    near = plain["input"].cosine + noise
    made = with_near(made, 5.0, "input", cosine=near)
    assert "leaves the tied matrix where it was" in chart.headline(made)
    made = with_near(made, 5.0, "input", cosine=near + 0.1)
    assert "nearer the input, and leaves it as near the output" in chart.headline(made)


def test_with_the_plain_run_alone_it_says_where_that_stands() -> None:
    assert chart.headline(growing(20, 5.0)).startswith("Without scaling, the tied matrix has")


def test_before_any_run_is_whole_it_says_how_far_the_training_is() -> None:
    made = replace(report(), runs=(), progress="3 of 60 steps of the untied model")
    assert "3 of 60 steps of the untied model" in chart.headline(made)


def test_numbers_at_chance_are_marked_as_such(result: ScalingReport) -> None:
    assert chart.cautions(result) == []
    made = with_near(result, 2.0, "input", mean=0.11)
    assert [said for said in chart.cautions(made) if "×2 to the input" in said]


def test_what_stands_at_chance_is_not_said_to_move(result: ScalingReport) -> None:
    made = result
    for factor in (1.0, 10.0):
        made = with_near(made, factor, "input", mean=0.11)
    said = chart.headline(made)
    assert said.startswith("×10 moves the tied matrix farther from the output: ")
    assert "with the input both are at chance" in said
    for factor in (1.0, 10.0):
        made = with_near(made, factor, "output", mean=0.11)
    assert "every cosine stands at chance" in chart.headline(made)


def test_a_shared_start_is_warned_of() -> None:
    assert "copy of the untied input" in chart.cautions(report(share_start=True))[0]


def test_a_caption_says_for_how_long_a_factor_counts_before_any_scaled_run_has_begun() -> None:
    begun = replace(report(), runs=(), progress="3 of 60 steps of the untied model")
    begun.settings.update(schedule="early", early=20)
    assert "factor in the first 20 steps" in chart.training_caption(begun)


def test_captions_say_what_the_charts_rest_on(result: ScalingReport) -> None:
    said = chart.caption(result)
    for words in ("orthogonal map", "20 % of the tokens held out", "60 steps of 8 × 128", "seed 0"):
        assert words in said
    assert "no hold-out" in chart.caption(report(holdout=0.0))
    assert "first 20 steps" in chart.caption(report(5.0, until=20))


def test_published_numbers_are_those_of_the_paper_and_chance_is_said() -> None:
    printed = [(one.factor, one.steps, one.input, one.output) for one in SCALING]
    assert printed == [
        (1, "10,000", 0.216, 0.384),
        (5, "10,000", 0.222, 0.369),
        (1, "1,000", 0.172, 0.197),
        (2, "1,000", 0.173, 0.197),
        (10, "1,000", 0.173, 0.190),
    ]
    floor = 8 / (3 * np.pi) * np.sqrt(2048 / 50_304)
    assert f"{floor:.2f}" in chart.ON_PUBLISHED
    assert all(abs(one.input - floor) < 0.002 for one in SCALING if one.steps == "1,000")


def test_tokens_are_moved_by_the_difference_of_both_sides(result: ScalingReport) -> None:
    by_name = {column.name: column for column in chart.columns(result, "5")}
    moved = by_name["moved"].values
    plain, scaled = result.runs[0], next(run for run in result.runs if run.factor == 5)
    for token in (0, 7, 250):
        before = [plain.nearness[to].cosine[token] for to in TO]
        after = [scaled.nearness[to].cosine[token] for to in TO]
        assert moved[token] == pytest.approx((after[0] - after[1]) - (before[0] - before[1]))
    assert np.isnan(moved[3])
    assert by_name["input"].role == "input"
    assert "count" in by_name
    np.testing.assert_array_equal(by_name["input"].values, scaled.nearness["input"].cosine)
    np.testing.assert_array_equal(by_name["input plain"].values, plain.nearness["input"].cosine)


def test_the_strongest_run_is_the_one_whose_tokens_are_shown_at_first(
    result: ScalingReport,
) -> None:
    assert chart.options(result) == [("×10", ""), ("×5", "5"), ("×2", "2")]
    assert chart.options(growing(20, 5.0)) == [("×1", "")]
    assert chart.options(replace(result, runs=())) == []
    names = [column.name for column in chart.columns(growing(20, 5.0))]
    assert names[:2] == ["input plain", "output plain"]


def test_the_command_line_gets_a_line_for_each_factor(result: ScalingReport) -> None:
    said = chart.text(None, result)
    assert "note: One row is zero" in said
    lines = [line for line in said.splitlines() if line.strip().startswith(("1 ", "2 ", "10 "))]
    assert len(lines) == 3
    assert f"{result.whole[0].nearness['input'].mean:.4f}" in lines[0]
    assert "no tied model" in chart.text(None, replace(result, runs=()))
    bare = with_near(report(5.0), 5.0, "input", heldout=None, heldout_interval=None)
    assert "None" not in chart.text(None, bare)


def test_the_page_holds_both_charts_and_the_settings(result: ScalingReport) -> None:
    page = result_page(chart.plots(result), '{"seed": 0}')
    assert page.count("plotly-graph-div") >= 2
    assert 'id="embtie-settings"' in page


def test_a_report_is_stored_and_read_whole(result: ScalingReport) -> None:
    again = from_bytes(to_bytes(result))
    assert again.tokens[: len(TOKENS)] == TOKENS
    assert [run.factor for run in again.whole] == [1, 2, 5, 10]
    np.testing.assert_array_equal(again.moved(again.scaled[0]), result.moved(result.scaled[0]))
    assert again.groups == result.groups


def test_the_tables_hold_a_row_per_factor_and_one_per_token(result: ScalingReport) -> None:
    frame = result.to_frame()
    assert frame["factor"].tolist() == [1, 2, 5, 10]
    assert frame["input held out"].tolist() == [r.nearness["input"].heldout for r in result.whole]
    tokens = result.token_frame()
    assert len(tokens) == ROWS
    np.testing.assert_allclose(tokens["moved x5"], result.moved(result.whole[2]))


def test_a_change_has_its_interval_over_tokens() -> None:
    made = report(5.0)
    rng = np.random.default_rng(1)
    differences = rng.normal(0.02, 0.1, ROWS)
    base = made.runs[0].nearness["output"].cosine
    found = with_near(made, 5.0, "output", cosine=base + differences)
    change = found.change(found.scaled[0], "output")
    known = differences[np.isfinite(base)]
    error = known.std(ddof=1) / np.sqrt(len(known))
    assert change.tokens == ROWS - 1
    assert change.mean == pytest.approx(known.mean())
    ends = (known.mean() - 1.96 * error, known.mean() + 1.96 * error)
    assert change.interval == pytest.approx(ends, abs=1e-5)
