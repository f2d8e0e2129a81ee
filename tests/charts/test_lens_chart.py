"""What stands in the charts of the lens, where, and what is said below them."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from embtie_widgets.charts import lens as chart
from embtie_widgets.charts import lens_curves as curves
from embtie_widgets.charts import lens_grid as grid
from embtie_widgets.charts import lens_parts as parts
from embtie_widgets.charts.files import result_page
from embtie_widgets.charts.lens_words import MEASURES, guess
from embtie_widgets.charts.theme import MODELS, marks_of
from embtie_widgets.results.lens import PairLens
from tests.sample_lens import ROWS, failed_pair, pair_lens
from tests.sample_results import TOKENS


@pytest.fixture(scope="module")
def result() -> PairLens:
    return pair_lens(trained=True)


def texts(spec: dict[str, Any]) -> str:
    return " ".join(note["text"] for note in spec["layout"]["annotations"])


@pytest.mark.parametrize("measure", MEASURES)
def test_both_curves_go_from_the_embedding_to_the_last_layer(
    result: PairLens, measure: str
) -> None:
    spec = curves.spec(result, measure)
    for trace, one in zip(spec["data"][1::2], result.lenses.values(), strict=True):
        scale = 100 if measure == "agreement" else 1
        np.testing.assert_allclose(trace["y"], getattr(one, MEASURES[measure].field) * scale)
        np.testing.assert_array_equal(trace["x"], range(5))
    ticks = spec["layout"]["xaxis"]["ticktext"]
    assert (ticks[0], ticks[-1]) == ("0<br>embedding", "4<br>last")
    assert spec["layout"]["yaxis"]["title"]["text"] == MEASURES[measure].axis


def test_the_interval_is_an_area_round_the_kl_alone(result: PairLens) -> None:
    band = curves.spec(result)["data"][0]
    one = result.lenses["A"].intervals
    assert band["y"].tolist() == [*one[:, 0], *one[::-1, 1]]
    assert not len(curves.spec(result, "entropy")["data"][0]["y"])


def test_the_tied_model_has_the_tied_colour_wherever_it_stands(result: PairLens) -> None:
    assert curves.mark(result, "B") == MODELS["tied"]
    turned = replace(result, models={"A": result.models["B"], "B": result.models["A"]})
    assert curves.mark(turned, "A") == MODELS["tied"]
    assert curves.mark(turned, "B") == MODELS["untied"]


@pytest.mark.parametrize("words", [("tied", "tied"), ("untied", "untied"), ("", "input only")])
def test_two_models_of_one_kind_still_differ_in_colour_dash_and_marker(
    words: tuple[str, str],
) -> None:
    first, second = marks_of(words)
    assert first.color != second.color
    assert first.dash != second.dash
    assert first.glyph != second.glyph


def test_the_name_of_each_curve_stands_at_it_above_the_upper_one(result: PairLens) -> None:
    notes = curves.spec(result)["layout"]["annotations"]
    named = {
        side: next(n for n in notes if result.models[side]["name"] in n["text"]) for side in "AB"
    }
    assert (named["A"]["yanchor"], named["B"]["yanchor"]) == ("top", "bottom")
    for side, note in named.items():
        there = np.interp(note["x"], range(5), result.lenses[side].kl_bits)
        assert note["y"] == pytest.approx(there)


def test_each_floor_is_a_short_line_with_its_interval_left_of_the_embedding(
    result: PairLens,
) -> None:
    layout = curves.spec(result)["layout"]
    drawn = [s for s in layout["shapes"] if s["type"] == "line" and s.get("xref") != "paper"]
    lines = [s for s in drawn if s["y0"] == s["y1"]]
    stems = [(s["y0"], s["y1"]) for s in drawn if s["x0"] == s["x1"]]
    areas = [s for s in layout["shapes"] if s["type"] == "rect"]
    floors = [one.floor for one in result.lenses.values()]
    assert [line["y0"] for line in lines] == [floor.bits for floor in floors if floor]
    assert stems == [(floor.bits, floor.lens_bits) for floor in floors if floor]
    assert [(area["y0"], area["y1"]) for area in areas] == [f.interval for f in floors if f]
    assert all(shape["x1"] <= 0 for shape in (*lines, *areas))
    assert layout["xaxis"]["range"][0] < lines[0]["x0"]
    for floor in floors:
        assert floor is not None
        assert f"{floor.bits:.2f}" in texts(curves.spec(result))
        assert f"{floor.lens_bits:.2f}" in texts(curves.spec(result))


def test_without_a_floor_and_for_other_curves_there_is_none(result: PairLens) -> None:
    bare = replace(
        result, lenses={side: replace(one, floor=None) for side, one in result.lenses.items()}
    )
    assert "floor" not in texts(curves.spec(bare))
    assert "floor" not in texts(curves.spec(result, "rank"))
    assert "floor" not in chart.caption(bare)
    assert "over the 241 positions whose token comes at least 8" in chart.caption(result)


def test_a_uniform_guess_is_on_the_chart(result: PairLens) -> None:
    entropy = float(result.lenses["A"].entropy_bits[-1])
    assert guess(result, "A", "kl") == pytest.approx(math.log2(ROWS) - entropy)
    assert guess(result, "A", "rank") == (ROWS + 1) / 2
    assert guess(result, "A", "agreement") is None
    assert "uniform guess 6.0" in texts(curves.spec(result, "entropy"))
    paper = pair_lens(mode="paper")
    assert guess(paper, "A", "kl") is None
    unknown = replace(result, models={side: {"name": side} for side in "AB"})
    assert "uniform" not in texts(curves.spec(unknown))


def test_a_guess_far_above_the_curves_is_said_and_does_not_press_them_flat(
    result: PairLens,
) -> None:
    vast = replace(
        result, models={side: facts | {"rows": 2**20} for side, facts in result.models.items()}
    )
    spec = curves.spec(vast)
    assert spec["layout"]["yaxis"]["range"] == pytest.approx(
        [0, 1.09 * result.lenses["B"].intervals.max()]
    )
    assert "above this chart" in texts(spec)
    assert not [s for s in spec["layout"]["shapes"] if s.get("xref") == "paper"]


def test_models_of_other_depth_meet_by_share_of_their_layers() -> None:
    result = pair_lens((2, 8))
    by_layer, by_depth = curves.spec(result), curves.spec(result, across="depth")
    assert [t["x"][-1] for t in by_layer["data"][1::2]] == [2, 8]
    assert [t["x"][-1] for t in by_depth["data"][1::2]] == [100, 100]
    assert by_depth["data"][1]["x"].tolist() == [0, 50, 100]
    assert by_depth["layout"]["xaxis"]["ticktext"][-1] == "100<br>last"
    assert len(curves.spec(pair_lens((36, 48)))["layout"]["xaxis"]["tickvals"]) <= 9


def test_the_reason_stands_where_the_curve_of_a_failed_model_would() -> None:
    result = failed_pair("B", "Its last <layer> differs.")
    spec = curves.spec(result)
    assert not len(spec["data"][3]["x"])
    assert len(spec["data"][1]["x"]) == 5
    said = texts(spec).replace("<br>", " ")
    assert "model-tied: Its last &lt;layer&gt; differs." in said


def test_without_a_result_there_are_axes_alone() -> None:
    for spec in (curves.spec(None), parts.contributions(None), parts.training(None)):
        assert not any(len(trace["x"]) for trace in spec["data"])
    assert grid.spec(None)["data"] == []


def test_each_layer_has_its_drop_and_its_share(result: PairLens) -> None:
    drop_a, _, share_a, share_b = parts.contributions(result)["data"]
    one = result.lenses["A"]
    assert drop_a["y"].tolist() == one.drop_bits.tolist()
    assert np.rint(drop_a["x"]).tolist() == [1, 2, 3, 4]
    assert share_a["y"].sum() == pytest.approx(100)
    assert (np.diff([share_a["x"], share_b["x"]], axis=0) > 0).all()


def test_the_training_has_a_line_for_each_layer_and_a_field_for_each_model(
    result: PairLens,
) -> None:
    spec = parts.training(result)
    assert [trace["xaxis"] for trace in spec["data"]] == ["x"] * 4 + ["x2"] * 4
    np.testing.assert_array_equal(spec["data"][4]["y"], result.training["B"]["kl_bits"][:, 0])
    assert parts.has_training(result)
    assert not parts.has_training(pair_lens())
    alone = replace(result, training={"A": {}, "B": result.training["B"]})
    assert {trace["xaxis"] for trace in parts.training(alone)["data"]} == {"x"}


def test_a_training_that_goes_on_has_room_for_its_names_and_for_all_its_steps(
    result: PairLens,
) -> None:
    begun = {"step": np.zeros(1), "kl_bits": np.ones((1, 4)), "loss_bits": np.ones(1)}
    growing = replace(
        result, training={"A": begun}, progress="0 of 100 steps", settings={"steps": 100}
    )
    layout = parts.training(growing)["layout"]
    assert layout["xaxis"]["range"] == [0, 100]
    assert {note["xanchor"] for note in layout["annotations"]} == {"left"}
    whole = parts.training(result)["layout"]
    assert whole["xaxis"]["range"][1] == result.training["A"]["step"][-1]
    assert "right" in {note["xanchor"] for note in whole["annotations"]}


def test_a_cell_of_the_grid_is_the_kl_there_and_its_word_the_likeliest(result: PairLens) -> None:
    spec = grid.spec(result, piece=1, start=12)
    field, one = spec["data"][0], result.lenses["A"]
    here = np.flatnonzero(one.piece == 1)[12 : 12 + grid.COLUMNS]
    np.testing.assert_allclose(field["z"], one.per_token[:, here])
    cell = grid.cell(one, 1, 14, 2)
    assert cell is not None
    assert cell.kl == pytest.approx(field["z"][2][2])
    assert cell.top[0][0].startswith(field["text"][2][2].rstrip("…"))
    shares = [share for _, share in cell.top]
    assert shares == sorted(shares, reverse=True)
    assert cell.final == grid._top(one, 4, int(here[2]))


def test_hostile_tokens_stay_text_in_the_grid(result: PairLens) -> None:
    spec = grid.spec(result)
    shown = repr([spec["data"], spec["layout"]])
    assert "<script" not in shown
    assert "&lt;b&gt;" in spec["layout"]["xaxis"]["ticktext"]
    assert "&#36;x&#36;" in spec["layout"]["xaxis"]["ticktext"]
    assert grid.cell(result.lenses["A"], 0, TOKENS.index(b"<b>"), 0).token == "<b>"  # type: ignore[union-attr]


def test_a_layer_is_found_again_in_a_model_of_another_depth() -> None:
    result = pair_lens((4, 8))
    a, b = result.lenses.values()
    assert [grid.across(a, b, layer) for layer in range(5)] == [0, 2, 4, 6, 8]
    assert [grid.across(b, a, grid.across(a, b, layer)) for layer in range(5)] == list(range(5))


def test_passages_are_those_whose_tokens_are_known_by_layer(result: PairLens) -> None:
    assert [number for _, number in grid.passages(result)] == [0, 1, 2]
    bare = {side: replace(one, readings=None) for side, one in result.lenses.items()}
    without = replace(result, lenses=bare)
    assert len(grid.passages(without)) == 8
    assert grid.spec(without)["data"][0]["text"][0][0] == ""
    assert grid.cell(bare["A"], 0, 0, 0).top == ()  # type: ignore[union-attr]
    assert grid.cell(bare["A"], 0, 99, 0) is None


def test_a_state_that_is_not_finite_leaves_a_gap(result: PairLens) -> None:
    one = result.lenses["A"]
    gap = one.per_token.copy()
    gap[1, 0] = np.nan
    broken = replace(result, lenses={"A": replace(one, per_token=gap)})
    assert math.isnan(grid.spec(broken)["data"][0]["z"][1][0])
    assert math.isfinite(grid.spec(broken)["data"][0]["zmax"])


def test_the_headline_says_which_model_is_farther_and_what_no_floor_excuses(
    result: PairLens,
) -> None:
    said = chart.headline(result)
    assert said.startswith("At the embedding, model-tied is 5.38 bits from its final answer")
    assert "no clear difference" not in said
    for one in result.lenses.values():
        assert one.floor is not None
        assert f"{one.floor.lens_bits - one.floor.bits:.2f}" in said
    same = replace(result, lenses={"A": result.lenses["A"], "B": result.lenses["A"]})
    assert "no clear difference" in chart.headline(same)
    assert chart.headline(failed_pair()).startswith("At the embedding, model-untied is 3.35 bits")
    none = replace(result, lenses={}, failed={"A": "no", "B": "no"})
    assert chart.headline(none).startswith("Neither curve")
    assert chart.headline(replace(none, progress="4 of 9 steps")).endswith("4 of 9 steps.")


def test_the_caption_names_lens_mode_text_and_check(result: PairLens) -> None:
    said = chart.caption(result)
    assert said.startswith("logit lens, corrected mode; 320 positions of a text;")
    assert "2e-07" in said


def test_files_hold_every_chart_and_the_caption(result: PairLens) -> None:
    page = result_page(chart.plots(result), '{"kind": "lens"}')
    assert page.count("js-plotly-plot") or page.count("plotly-graph-div") >= 3
    assert 'id="embtie-settings"' in page
    drawn = chart.figure(result)
    assert "corrected mode" in " ".join(note.text for note in drawn.layout.annotations)


def test_the_command_line_prints_both_models_and_why_one_is_missing(result: PairLens) -> None:
    said = chart.text(None, result)
    assert "A: model-untied" in said
    assert "embedding" in said
    assert "note: Two ends" in said
    assert "model-tied: Its last layer" in chart.text(None, failed_pair())
