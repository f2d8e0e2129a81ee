from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from embtie_widgets.charts import alignment as chart
from embtie_widgets.charts import sentences
from tests.sample_results import alignment, pair_result


def trace(figure: Any, name: str) -> Any:
    return next(part for part in figure.data if part.name == name)


def test_each_token_with_a_value_is_in_exactly_one_bin() -> None:
    result = pair_result(300)
    edges, counts = chart.bins(result)
    assert len(edges) == 81
    for name, part in result.comparisons.items():
        assert counts[name].sum() == np.isfinite(part.cosine).sum() == 299


def test_the_drawn_histogram_holds_the_counts_at_the_left_edges() -> None:
    result = pair_result()
    edges, counts = chart.bins(result)
    drawn = trace(chart.figure(result), "Out → Tied")
    np.testing.assert_allclose(drawn.x, edges, atol=1e-6)
    np.testing.assert_array_equal(drawn.y[:-1], counts["Out->Tied"])
    assert drawn.y[-1] == 0


def test_means_held_out_means_and_floors_stand_at_their_values() -> None:
    result = pair_result()
    figure = chart.figure(result)
    for name, value in (
        ("mean, in-sample", "mean"),
        ("mean, held out", "heldout_mean"),
        ("chance: shuffled rows", "floor_mean"),
    ):
        drawn = trace(figure, name)
        assert dict(zip(drawn.y, drawn.x, strict=True)) == {
            chart.label(key): pytest.approx(getattr(part, value))
            for key, part in result.comparisons.items()
        }


def test_error_bars_reach_the_ends_of_the_interval() -> None:
    drawn = trace(chart.figure(pair_result()), "mean, in-sample")
    np.testing.assert_allclose(drawn.error_x.array, 0.02, atol=1e-9)
    np.testing.assert_allclose(drawn.error_x.arrayminus, 0.01, atol=1e-9)


def test_without_hold_out_and_floor_only_their_markers_are_missing() -> None:
    result = pair_result()
    parts = {
        name: replace(part, heldout_mean=None, heldout_interval=None, floor_mean=None)
        for name, part in result.comparisons.items()
    }
    figure = chart.figure(replace(result, comparisons=parts))
    assert set(trace(figure, "mean, held out").x) == {None}
    assert None not in trace(figure, "mean, in-sample").x


@pytest.mark.parametrize("value", [1.0, 0.0, -1.0])
def test_all_equal_cosines_make_a_chart_with_every_token(value: float) -> None:
    part = alignment(np.full(50, value))
    result = replace(pair_result(50), comparisons={"Out->Tied": part})
    edges, counts = chart.bins(result)
    assert edges[0] < edges[-1]
    assert counts["Out->Tied"].sum() == 50
    chart.figure(result)


def test_nothing_finite_still_makes_axes() -> None:
    part = alignment(np.array([0.5]))
    empty = replace(part, cosine=np.full(5, np.nan))
    figure = chart.figure(replace(pair_result(), comparisons={"In->Tied": empty}))
    assert sum(trace(figure, "In → Tied").y) == 0


def test_every_result_has_the_same_traces_and_a_zoom_lasts_as_long_as_its_axis() -> None:
    first, other = pair_result(), pair_result(shift=0.1)
    specs = [
        chart.spec(None),
        chart.spec(first),
        chart.spec(first, np.array([1])),
        chart.spec(other),
    ]
    assert len({tuple(part["name"] for part in spec["data"]) for spec in specs}) == 1
    none, one, chosen, moved = (spec["layout"]["uirevision"] for spec in specs)
    assert one == chosen
    assert len({none, one, moved}) == 3


def test_the_caption_says_n_models_map_and_split() -> None:
    text = chart.caption(pair_result())
    for fact in (
        "n = 299",
        "1 without value",
        "nano-untied",
        "linear",
        "20%",
        "seed 0",
        "float16",
        "cpu",
    ):
        assert fact in text


def test_a_model_name_is_no_markup_and_no_formula_in_the_figure() -> None:
    result = pair_result()
    models = {"A": {"name": "<b>$x$</b>"}, "B": {"name": "b"}}
    note = chart.figure(replace(result, models=models)).layout.annotations[0].text
    assert "&lt;b&gt;&#36;x&#36;" in note
    assert "$" not in note


def test_token_text_is_in_no_template_string() -> None:
    assert "alert" not in chart.figure(pair_result()).to_json()


def test_the_headline_names_the_closer_side_only_when_the_intervals_are_apart() -> None:
    result = pair_result()
    assert "output" in chart.headline(result)
    parts = dict(result.comparisons)
    parts["In->Tied"] = parts["Out->Tied"]
    assert "no clear difference" in chart.headline(replace(result, comparisons=parts)).lower()


def test_what_differs_by_rounding_alone_is_no_difference() -> None:
    result = pair_result()
    one = {"mean": 1.0, "interval": (1.0, 1.0), "heldout_mean": None, "heldout_interval": None}
    less = one | {"interval": (1 - 2e-16, 1 - 2e-16)}
    changed = {"In->Tied": one, "Out->Tied": less}
    parts = {name: replace(result.comparisons[name], **new) for name, new in changed.items()}
    assert "no clear difference" in chart.headline(replace(result, comparisons=parts)).lower()


@pytest.mark.parametrize("floor", [0.95, -0.4, 0.001])
def test_chance_is_on_the_axis_wherever_it_lies(floor: float) -> None:
    result = pair_result()
    parts = {n: replace(p, floor_mean=floor) for n, p in result.comparisons.items()}
    low, high = chart.figure(replace(result, comparisons=parts)).layout.xaxis.range
    assert low < floor < high


def test_a_matrix_compared_with_itself_is_said_to_say_nothing() -> None:
    result = pair_result()
    assert sentences.cautions(result) == []
    tied = replace(result, hashes=result.hashes | {"Out": result.hashes["In"]})
    [said] = sentences.cautions(tied)
    assert "A is tied" in said
    assert "In → Out is 1 by itself" in said
    alone = replace(result, hashes=dict.fromkeys(result.hashes, "same"))
    assert len(sentences.cautions(alone)) == 3


def test_chance_that_is_not_as_in_theory_is_explained() -> None:
    result = pair_result()
    assert sentences.on_chance(result) == ""
    parts = {n: replace(p, floor_mean=0.3) for n, p in result.comparisons.items()}
    far = replace(result, comparisons=parts)
    assert "spread evenly" in sentences.on_chance(far)
    raw = replace(far, settings=far.settings | {"center": False})
    assert "mean" in sentences.on_chance(raw)
    none = {n: replace(p, floor_expected=None) for n, p in parts.items()}
    assert sentences.on_chance(replace(far, comparisons=none)) == ""


def test_a_matrix_that_is_not_tied_is_called_by_what_it_is() -> None:
    result = pair_result()
    b = result.models["B"] | {"tied": "untied", "name": "other"}
    untied = replace(result, models=result.models | {"B": b})
    assert chart.headline(result).startswith("The tied matrix is closer to the untied output")
    for role, side in (("auto", "input"), ("input", "input"), ("output", "output")):
        said = chart.headline(replace(untied, settings=result.settings | {"role_b": role}))
        assert said.startswith(
            f"The {side} matrix of B (other) is closer to the output matrix of A (nano-untied): "
        )
        assert "tied matrix" not in said


def test_a_folder_is_told_from_a_bundled_model_of_its_name() -> None:
    result = pair_result()
    folder = result.models["A"] | {"source": "folder"}
    told = chart.caption(replace(result, models=result.models | {"A": folder}))
    assert "folder nano-untied and nano-tied;" in told
    twice = chart.caption(replace(result, models={"A": folder, "B": folder}))
    assert "folder nano-untied (aa11) and folder nano-untied (cc33);" in twice
