"""What stands in the curves, the heat map and the losses above the full head, and where."""

import itertools
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from embtie_widgets.charts import trials as chart
from embtie_widgets.charts.files import result_page
from embtie_widgets.charts.theme import PALETTES, WAYS, contrast
from embtie_widgets.charts.trials_curves import MOST_CHARTS, charts_of, drawn
from embtie_widgets.charts.trials_view import by_data
from embtie_widgets.results.gradient import trailing_mean
from embtie_widgets.results.trials import TrialsReport
from embtie_widgets.results.trials_published import EXCESS
from tests import sample_trials as sample
from tests.charts.test_theme import DEFICIENCIES, lab, linear

DRAWS = chart.View(across="sequences")


def lines(spec: dict[str, Any], axis: str = "y") -> dict[str, dict[str, Any]]:
    """The curves of a chart by the words of their legend."""
    return {
        trace["legendgroup"]: trace
        for trace in spec["data"]
        if trace.get("mode") == "lines" and trace["yaxis"] == axis and len(trace["x"]) > 1
    }


def cells(spec: dict[str, Any], kind: int = 0, block: int = 0) -> list[list[str]]:
    """The words of a block's cells: kind 0 for numbers, 1 for states."""
    found: list[list[str]] = spec["data"][2 * block + kind]["text"]
    return found


@pytest.fixture(scope="module")
def ranks() -> TrialsReport:
    return sample.ranks()


@pytest.fixture(scope="module")
def grid() -> TrialsReport:
    return sample.grid()


# Looks.


def test_ways_stay_apart_without_full_colour_vision_and_without_colour() -> None:
    marks = list(WAYS.values())
    for sign in ("color", "dash", "symbol"):
        assert len({getattr(mark, sign) for mark in marks}) == len(marks)
    assert min(contrast(m.color, p.plot) for m in marks for p in PALETTES.values()) >= 3
    for matrix in DEFICIENCIES.values():
        seen = [lab(np.array(matrix) @ linear(mark.color)) for mark in marks]
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > 20


def test_a_way_keeps_its_colour_and_sign_and_a_smaller_rank_is_fainter(ranks: Any) -> None:
    found = lines(chart.spec(ranks))
    four, sixteen = (found[f"factorised head, rank {rank}"] for rank in (4, 16))
    assert four["line"]["color"] == "rgba(154,61,242,0.55)"
    assert sixteen["line"]["color"] == "rgba(154,61,242,1)"
    assert four["line"]["dash"] != sixteen["line"]["dash"]
    assert four["name"].startswith("◆")
    assert found["backward only, rank 4"]["name"].startswith("■")


# Head ranks.


def test_losses_are_averaged_and_stand_at_their_steps(ranks: TrialsReport) -> None:
    run = ranks.trials[1]
    trace = lines(chart.spec(ranks))["factorised head, rank 4"]
    mean = trailing_mean(run.curves["step"], run.curves["loss"], 20)
    np.testing.assert_allclose(trace["y"], mean)
    np.testing.assert_array_equal(trace["x"], run.curves["step"])


def test_the_loss_above_the_full_head_is_that_of_the_same_seed_and_step() -> None:
    result = sample.ranks(seeds=(3, 4))
    spec = chart.spec(result, chart.View((("seed", 4),), curve="against"))
    full, one = (
        next(r for r in result.trials if r.seed == 4 and r.way == way and r.rank == rank)
        for way, rank in (("full", None), ("backward", 8))
    )
    expected = [trailing_mean(r.curves["step"], r.curves["loss"], 20) for r in (one, full)]
    found = lines(spec)["backward only, rank 8"]["y"]
    np.testing.assert_allclose(found, expected[0] - expected[1])
    assert "full head" not in lines(spec)


def test_what_is_not_transmitted_is_drawn_against_the_dimension_count(ranks: Any) -> None:
    spec = chart.spec(ranks)
    level = math.sqrt(1 - sample.WIDTH / sample.VOCABULARY)
    assert spec["layout"]["shapes"][0]["y0"] == pytest.approx(level)
    full = lines(spec, "y2")["full head"]
    np.testing.assert_allclose(full["y"], ranks.trials[0].curves["destroyed"])
    low, high = spec["layout"]["yaxis2"]["range"]
    assert low < full["y"].min() <= level < 1 <= high


def test_runs_without_that_column_have_a_chart_of_losses_alone(ranks: TrialsReport) -> None:
    runs = tuple(
        replace(r, curves={n: v for n, v in r.curves.items() if n != "destroyed"})
        for r in ranks.trials
    )
    spec = chart.spec(replace(ranks, trials=runs))
    assert {trace["yaxis"] for trace in spec["data"]} == {"y"}
    assert "yaxis2" not in spec["layout"]


def test_a_run_in_training_is_drawn_as_far_as_it_has_come() -> None:
    found = lines(chart.spec(sample.growing(120)))
    assert found["factorised head, rank 4"]["x"][-1] == 120
    assert set(found) == {"full head", "factorised head, rank 4"}


def test_losses_above_stand_at_the_share_of_the_width_beside_the_printed_ones() -> None:
    result = sample.ranks(seeds=(0, 1, 2))
    spec = chart.excess(result)
    by_name = {trace["name"]: trace for trace in spec["data"]}
    ours = by_name["◆ factorised head"]
    assert ours["x"] == [-3.0, -2.0, -1.0]
    assert ours["y"] == [one["mean"] for one in result.excess if one["way"] == "factorised"]
    half = result.excess[0]["interval"][1] - result.excess[0]["mean"]
    assert ours["error_y"]["array"][0] == pytest.approx(half)
    printed = [one.excess for one in EXCESS if (one.way, one.text) == ("factorised", "bytes")]
    drawn_ = [t for t in spec["data"] if t["name"] == "◇ factorised head, printed"]
    assert sorted(drawn_[0]["y"]) == sorted(printed)
    assert by_name["△ head's own update cut, printed"]["y"] == [0.625, 0.625]
    assert by_name["▲ head's own update cut"]["y"][0] == result.excess[-1]["mean"]


def test_tied_and_untied_have_a_chart_each() -> None:
    spec = chart.excess(sample.ranks(tying=("untied", "tied")))
    titles = [note["text"] for note in spec["layout"]["annotations"]]
    assert titles == ["<b>untied</b>", "<b>tied</b>"]


def test_without_the_width_no_printed_value_is_placed(ranks: TrialsReport) -> None:
    bare = replace(ranks, trials=tuple(replace(one, about={}) for one in ranks.trials))
    spec = chart.excess(bare)
    assert [t["x"] for t in spec["data"] if t["name"] == "◆ factorised head"] == [[2.0, 3.0, 4.0]]
    assert "◇ factorised head, printed" not in {trace["name"] for trace in spec["data"]}


# SpamLang.


def test_one_run_stands_elsewhere_by_positions_than_by_independent_sequences() -> None:
    result = sample.spamlang()
    by_position, by_draw = (lines(chart.spec(result, view)) for view in (chart.View(), DRAWS))
    for words, run in zip(("length 1", "length 64"), result.trials, strict=True):
        np.testing.assert_allclose(by_position[words]["x"], run.curves["positions"])
        np.testing.assert_allclose(by_draw[words]["x"], run.curves["sequences"])
        np.testing.assert_allclose(by_draw[words]["y"], by_data(run, "accuracy"))
    assert by_position["length 64"]["x"][-1] == 64 * by_draw["length 64"]["x"][-1]


def test_batches_of_few_sequences_are_averaged_and_large_ones_are_not() -> None:
    run = sample.spamlang(lengths=(1,)).trials[0]
    steps = np.arange(1.0, len(run.curves["step"]) + 1)
    few, many = (
        replace(run, curves=run.curves | {"step": steps, "sequences": steps * each})
        for each in (20, 500)
    )
    expected = trailing_mean(steps, run.curves["accuracy"], 10)
    np.testing.assert_allclose(by_data(few, "accuracy"), expected)
    np.testing.assert_allclose(by_data(many, "accuracy"), run.curves["accuracy"])


def test_what_is_not_transmitted_can_be_followed_there_too() -> None:
    result, view = sample.spamlang(), chart.View(curve="destroyed")
    found = lines(chart.spec(result, view))
    assert set(found) == {"length 1", "length 64"}
    np.testing.assert_allclose(found["length 64"]["y"], result.trials[1].curves["destroyed"])
    assert "not transmitted" in chart.caption(result, view)
    assert "dotted" not in chart.caption(result, view)


def test_dotted_is_how_many_symbols_have_been_drawn() -> None:
    result = sample.spamlang(lengths=(1,), symbols=(16,), amount=4_096)
    trace = lines(chart.spec(result, DRAWS))["symbols drawn so far"]
    rng = np.random.default_rng(0)
    draws = int(trace["x"][3])
    met = np.mean([len(set(rng.integers(16, size=draws))) for _ in range(2_000)]) / 16
    assert trace["y"][3] == pytest.approx(met, abs=0.01)


def test_the_sign_at_the_end_is_every_symbol_asked_and_waits_for_it() -> None:
    one = sample.spamlang(lengths=(64,)).trials[0]
    result = sample.spamlang(lengths=(64,))
    ends = [t for t in chart.spec(result)["data"] if t.get("mode") == "markers"]
    assert [float(t["y"][0]) for t in ends] == [one.accuracy]
    grown = replace(result, trials=(sample.until(one, 10),))
    assert not [t for t in chart.spec(grown)["data"] if t.get("mode") == "markers"]


def test_what_the_colours_do_not_tell_has_charts_of_its_own(grid: TrialsReport) -> None:
    spec = chart.spec(grid)
    titles = [note["text"] for note in spec["layout"]["annotations"]]
    assert titles[0] == "<b>256 symbols, width 8</b>"
    assert len(titles) == 9
    assert set(lines(spec, "y5")) == {"length 1", "length 64", "symbols drawn so far"}
    chosen = chart.spec(grid, chart.View((("symbols", 1_024), ("width", 32))))
    assert [note["text"] for note in chosen["layout"]["annotations"]] == [
        "<b>right predictions</b>"
    ]


def test_more_charts_than_can_be_seen_are_left_out_and_that_is_said() -> None:
    many = sample.spamlang(symbols=(16, 64, 256, 1_024), widths=(4, 8, 16, 32))
    assert len(charts_of(drawn(many, chart.View()))) == MOST_CHARTS
    assert f"only {MOST_CHARTS} combinations are drawn" in chart.caption(many)
    assert "combinations" not in chart.caption(sample.grid())


# The heat map.


def test_cells_hold_their_runs_numbers_by_width_and_symbols(grid: TrialsReport) -> None:
    spec = chart.grid(grid)
    run = next(r for r in grid.trials if (r.symbols, r.width, r.length) == (4_096, 32, 64))
    assert cells(spec, block=1)[2][1] == f"{100 * run.accuracy:.1f} %"
    assert spec["data"][2]["z"][2][1] == pytest.approx(run.accuracy)
    assert spec["layout"]["xaxis"]["ticktext"] == ["8", "32", "128"]
    assert chart.run_at(grid, 2, (2, 1)) is run
    assert chart.run_at(grid, 3, (2, 1)) is run
    assert chart.run_at(grid, 9, (0, 0)) is None
    assert chart.run_at(grid, 2, (7, 1)) is None


def test_every_state_has_a_sign_and_a_word() -> None:
    result = sample.every_state()
    told = {word for block in (0, 1) for row in cells(chart.grid(result), 1, block) for word in row}
    assert told == {"", "… waiting", "▶ 50 %", "! failed", "✕ diverged"}


def test_one_dimension_makes_a_line_and_none_makes_no_heat_map() -> None:
    three = sample.spamlang(lengths=(1, 16, 64))
    assert [len(row) for row in cells(chart.grid(three))] == [3]
    assert not chart.has_grid(sample.spamlang(lengths=(64,)))
    assert not chart.has_grid(sample.ranks())
    assert not chart.has_grid(None)


def test_the_chosen_run_has_a_frame_and_reasons_are_no_markup() -> None:
    result = sample.every_state()
    failed = result.trials[5]
    spec = chart.grid(result, chosen=chart.key_of(failed))
    assert len(spec["layout"]["shapes"]) == 1
    hovers = [words for row in spec["data"][2]["hovertext"] for words in row]
    told = [words for words in hovers if "fewer" in words]
    assert len(told) == 1
    assert "<b>fewer" not in told[0]


# Files.


def test_a_key_names_one_run_alone(grid: TrialsReport) -> None:
    for result in (grid, sample.ranks(seeds=(0, 1), tying=("untied", "tied"))):
        keys = [chart.key_of(run) for run in result.trials]
        assert len(set(keys)) == len(keys)
        assert all(chart.run_of(result, k) is r for k, r in zip(keys, result.trials, strict=True))
    assert chart.run_of(grid, "full/4") is None


def test_the_page_has_every_chart_that_says_something() -> None:
    settings = json.dumps({"a": "</script>"})
    assert result_page(chart.plots(sample.ranks()), settings).count('class="caption"') == 2
    page = result_page(chart.plots(sample.every_state()), settings)
    assert page.count('class="caption"') == 3
    assert page.count("The papers disagree") == 1
    assert "The papers disagree" not in page.split("</h1>")[0]
    assert '</script>"' not in page
    assert "<b>fewer</b>" not in page


def test_pictures_of_every_experiment_can_be_made_and_empty_ones_too() -> None:
    for result in (sample.ranks(), sample.grid(), sample.growing()):
        assert chart.figure(result, "dark").data
    waiting = tuple(sample.turned(one, "waiting") for one in sample.spamlang().trials)
    empty = replace(sample.spamlang(), trials=waiting)
    for made in (chart.spec, chart.excess, chart.grid):
        assert made(None)["layout"]["height"] > 0
        assert made(empty)["layout"]["height"] > 0
