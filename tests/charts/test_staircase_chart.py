"""The context staircase as curves, maps, principal components and sentences."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from embtie_widgets.charts import staircase as chart
from embtie_widgets.charts import staircase_extras as extras
from embtie_widgets.charts.files import result_page
from embtie_widgets.charts.staircase_view import MOST_DRAWN, View
from tests import sample_staircase as sample


def lines(spec: dict[str, Any], mode: str = "lines+markers") -> list[dict[str, Any]]:
    return [trace for trace in spec["data"] if trace["mode"] == mode]


def titles(spec: dict[str, Any]) -> list[str]:
    return [note["text"] for note in spec["layout"]["annotations"]]


# Curves.


def test_without_a_result_there_are_axes_alone() -> None:
    for made in (chart.spec, chart.maps, chart.points):
        assert made(None)["data"] == []
        assert "narrow" in made(None)


def test_each_matrix_has_a_chart_and_each_order_a_line_with_its_own_sign() -> None:
    spec = chart.spec(sample.toy())
    assert [name for name in titles(spec) if "loss" not in name and "accuracy" not in name] == [
        "<b>embedding E</b>", "<b>unembedding U</b>",
    ]  # fmt: skip
    drawn = lines(spec)
    assert [line["name"] for line in drawn] == ["order 0", "order 1"] * 2
    assert len({line["marker"]["symbol"] for line in drawn}) == 2


def test_held_out_values_are_solid_and_in_sample_ones_are_not() -> None:
    result = sample.toy()
    spec = chart.spec(result)
    solid = next(line for line in lines(spec) if line["name"] == "order 1")
    track = result.runs["feed-forward"].track("order 1", "embedding")
    assert solid["y"] == pytest.approx(track.by_step["held_out"].tolist())
    assert solid["line"]["dash"] == "solid"
    beside = {line["name"]: line["line"]["dash"] for line in lines(spec, "lines")}
    assert beside["order 1, in-sample"] != "solid"
    assert beside["order 1, beyond the order below"] != "solid"
    assert beside["order 0, chance"] != "solid"


def test_a_signature_without_variation_is_told_by_its_fit() -> None:
    spec = chart.spec(sample.toy(cyclic=True))
    assert "order 0, 1 − MSE" in [line["name"] for line in lines(spec)]
    assert "no correlation with it is defined" in chart.cautions(sample.toy(cyclic=True))[0]


def test_language_models_have_a_chart_for_what_follows_and_one_for_what_precedes() -> None:
    spec = chart.spec(sample.text(context=True))
    assert titles(spec)[:3] == [
        "<b>what follows</b>", "<b>what stands before</b>", "<b>what follows, order 1</b>",
    ]  # fmt: skip
    named = [line["name"] for line in lines(spec) if line["showlegend"]]
    assert named == ["embedding E, nano-untied", "unembedding U, nano-untied", "tied W, nano-tied"]


@pytest.mark.parametrize("scale", ["log", "linear"])
def test_a_line_stands_at_the_step_and_a_click_finds_it_again(scale: str) -> None:
    result = sample.toy()
    steps = result.runs["feed-forward"].steps
    view = View(scale=scale, step=int(steps[12]))
    assert chart.look(result, view).step == steps[12]
    spec = chart.spec(result, view)
    trace, at = spec["data"].index(lines(spec)[0]), lines(spec)[0]["x"][12]
    assert {shape["x0"] for shape in spec["layout"]["shapes"]} == {at}
    assert chart.stems(result, view) == spec["layout"]["shapes"]
    assert chart.step_at(result, View(scale=scale), trace, (12,)) == steps[12]
    assert chart.step_at(result, view, 999, (0,)) is None


def test_a_training_without_snapshots_shows_its_loss() -> None:
    spec = chart.spec(sample.beginning())
    assert titles(spec) == ["<b>loss</b>", "<b>accuracy</b>"]
    assert chart.look(sample.beginning()) is None
    assert chart.maps(sample.beginning())["data"] == []
    assert chart.headline(sample.beginning()).startswith("No step is known")


def test_a_checkpoint_without_a_step_stands_last_and_is_called_by_its_name() -> None:
    result = sample.text()
    run = result.runs["nano-untied"]
    names = (*(f"step{step}" for step in run.steps[:-1]), "<main>")
    run = replace(run, steps=np.append(run.steps[:-1], np.nan), about={"checkpoints": names})
    result = replace(result, runs={"nano-untied": run})
    assert chart.ticks(result)["readouts"][-1].startswith("<main> · ")
    assert chart.ticks(result)["places"][-1] == 1.0
    assert "&lt;main&gt;" in str(chart.spec(result))
    assert "at <main>" in chart.maps_caption(result)


# Maps and points.


def test_a_map_holds_the_cosines_of_its_step() -> None:
    result = sample.toy()
    run = result.runs["feed-forward"]
    spec = chart.maps(result, View(step=int(run.steps[7])))
    assert [trace["name"] for trace in spec["data"]] == ["embedding E", "order 0", "order 1"]
    drawn = np.array(spec["data"][0]["z"])
    np.testing.assert_array_equal(drawn, run.matrices["embedding"].similarity[7])
    assert titles(spec)[1].startswith("<b>order 0 · ")


def test_the_nearest_snapshot_is_shown_and_the_last_without_a_step() -> None:
    result = sample.toy()
    steps = result.runs["feed-forward"].steps
    assert chart.look(result).step == steps[-1]
    assert chart.look(result, View(step=10**9)).step == steps[-1]
    assert chart.look(result, View(step=0)).step == 0


def test_alike_anchors_stand_side_by_side_in_every_map_and_keep_their_colour() -> None:
    mixed = sample.toy(cyclic=False)
    usual = chart.look(mixed, View())
    alike = chart.look(mixed, View(arrange="alike"))
    assert sorted(alike.order) == usual.order.tolist()
    assert alike.order.tolist() in (usual.order.tolist(), usual.order[::-1].tolist())
    hue = chart.points(mixed, View(arrange="alike"))["data"][1]["marker"]["color"]
    assert np.argsort(hue).tolist() == alike.order.tolist()
    z = np.array(chart.maps(mixed, View(arrange="alike"))["data"][0]["z"])
    own = usual.matrix.similarity[-1]
    np.testing.assert_array_equal(z, own[np.ix_(alike.order, alike.order)])
    assert chart.anchors_at(mixed, View(arrange="alike"), (0, 3)) == (
        alike.order[0], alike.order[3],
    )  # fmt: skip


def test_a_point_that_is_clicked_is_its_anchor() -> None:
    result = sample.toy()
    spec = chart.points(result)
    assert spec["data"][1]["hovertext"][4] == "5"
    assert chart.anchor_at(result, View(), 1, (4,)) == 4
    assert chart.anchor_at(result, View(), 0, (4,)) is None


def test_names_of_points_do_not_lie_on_each_other() -> None:
    whole = sample.toy()
    run = whole.runs["feed-forward"]
    heap = np.zeros_like(run.matrices["embedding"].points)
    heap[:, 0] = 1
    run.matrices["embedding"] = replace(run.matrices["embedding"], points=heap)
    named = [name for name in chart.points(whole)["data"][1]["text"] if name]
    assert named == ["1", "2"]
    assert all(chart.points(whole, View(lit=(3, 4)))["data"][1]["text"][i] for i in (3, 4))


def test_a_matrix_of_labels_has_names_of_its_own() -> None:
    result = sample.toy()
    run = result.runs["feed-forward"]
    named = replace(run.matrices["unembedding"], rows=tuple(f"l{i}" for i in range(20)))
    run = replace(run, matrices=run.matrices | {"unembedding": named})
    result = replace(result, runs={"feed-forward": run})
    spec = chart.maps(result, View(matrix="unembedding"))
    assert spec["data"][0]["x"][:2] == ["l0", "l1"]


def test_very_many_anchors_are_cut_and_the_caption_says_so() -> None:
    result = sample.text(MOST_DRAWN + 4)
    assert len(chart.maps(result)["data"][0]["z"]) == MOST_DRAWN
    assert f"the first {MOST_DRAWN} of {MOST_DRAWN + 4}" in chart.maps_caption(result)


def test_spread_colours_hold_at_every_step() -> None:
    result = sample.toy()
    ends = {
        (trace["zmin"], trace["zmax"])
        for step in (0, 100, 1000)
        for trace in chart.maps(result, View(spread=True, step=step))["data"][:1]
    }
    assert len(ends) == 1
    assert ends != {(-1.0, 1.0)}


def test_token_text_is_no_markup() -> None:
    result = sample.text()
    drawn = str(chart.maps(result)["data"]) + str(chart.points(result)["data"])
    assert "</script>" not in drawn
    assert "$x$" not in drawn


# Pairs.


def test_the_parts_of_all_pairs_add_up_to_the_correlation() -> None:
    result = sample.toy()
    shown = chart.look(result, View(step=60))
    track = shown.tracks[0]
    n = len(result.anchors)
    parts = [chart.pair_of(shown, track, (a, b)).part for a in range(n) for b in range(a + 1, n)]
    assert sum(parts) == pytest.approx(track.by_step["pearson"][shown.place], abs=1e-4)
    up, down = chart.driving(shown, track, 3)
    assert [one.part for one in up] == sorted(parts)[::-1][:3]
    assert all(one.part < 0 for one in down)
    assert chart.pair_of(shown, track, (3, 3)) is None
    assert chart.pair_of(shown, track, (3, 300)) is None


def test_the_agreement_of_an_anchor_is_that_of_its_row_without_itself() -> None:
    result = sample.text(12)
    shown = chart.look(result)
    own, other = shown.matrix.similarity[-1][3], shown.tracks[0].similarity[0][3]
    rest = np.arange(12) != 3
    expected = np.corrcoef(own[rest], other[rest])[0, 1]
    assert chart.agreement(shown, shown.tracks[0])[3] == pytest.approx(expected, abs=1e-5)
    columns = {column.name: column for column in chart.columns(result)}
    assert columns["next"].values[3] == pytest.approx(expected, abs=1e-5)
    assert list(chart.token_frame(result)["token"]) == list(result.anchors)


# Words and files.


def test_the_headline_says_when_each_order_was_followed() -> None:
    said = chart.headline(sample.toy(cyclic=True))
    assert "order 1, held out, up to" in said
    assert "then down to" in said
    assert "agrees with order 0" in said


@pytest.mark.parametrize(("adds", "told"), [(1.0, True), (0.0, False)])
def test_an_order_counts_as_followed_by_what_it_adds_to_the_one_below(
    adds: float, told: bool
) -> None:
    result = sample.toy()
    (run,) = result.runs.values()
    steps = np.linspace(0.1, 0.9, len(run.steps))
    tracks = tuple(
        replace(
            track,
            by_step=track.by_step
            | {"pearson": steps**2}
            | ({"held_out": steps, "beyond": adds * steps} if "beyond" in track.by_step else {}),
        )
        for track in run.tracks
    )
    said = chart.headline(replace(result, runs={"feed-forward": replace(run, tracks=tracks)}))
    assert ("came first" in said or "was followed before" in said) == told


def test_of_language_models_the_matrix_that_agrees_best_is_named_first() -> None:
    result = sample.text()
    last = {
        (name, track.matrix): track.by_step["pearson"][-1]
        for name, run in result.runs.items()
        for track in run.tracks
        if track.signature == "next"
    }
    name, matrix = max(last, key=lambda key: last[key])
    said = chart.headline(result)
    assert f"what follows agrees best with {chart.matrix_words(matrix)} of {name}" in said
    assert said.index("what follows") < said.index("what stands before")


def test_a_run_that_failed_is_told_and_the_other_drawn() -> None:
    result = sample.text(failed=True)
    assert "fewer" in chart.text(None, result)
    assert chart.spec(result)["data"]


def test_text_and_page_have_the_numbers_and_settings() -> None:
    result = sample.toy()
    assert "held out 0.99" in chart.text(None, result)
    page = result_page(chart.plots(result), '{"a": 1}')
    assert '"a": 1' in page
    assert page.count('class="caption"') == 3


# What single tasks show.


def test_the_labels_of_an_anchor_are_drawn_beside_what_was_learned() -> None:
    held = {
        "answers": np.arange(4), "target": np.full(4, 0.25), "empirical": np.full(4, 0.25),
        "learned": np.array([0.2, 0.3, 0.25, 0.25]),
    }  # fmt: skip
    result = replace(sample.toy(), extras=held, task={"pearson": 0.9, "kl": 0.01, "jsd": 0.002})
    found = extras.extras(result)["learned"]
    assert [trace["y"][0] for trace in found.figure["data"]] == [0.25, 0.25, 0.2]
    assert "Pearson 0.900" in found.caption


def test_attention_that_rises_is_drawn_in_colour() -> None:
    shares = np.full((5, 20), 0.04)
    shares[-1, 3] = 0.5
    found = extras.extras(replace(sample.toy(), extras={"attention": shares}))["attention"]
    assert [trace["name"] for trace in coloured(found)] == ["4"]
    assert extras.extras(sample.toy()) == {}


def coloured(found: extras.Extra) -> list[dict[str, Any]]:
    """The lines in another colour than most."""
    drawn = found.figure["data"]
    return [trace for trace in drawn if trace["line"]["color"] != drawn[0]["line"]["color"]]


def test_of_the_frequencies_the_one_that_ends_highest_stands_out() -> None:
    waves = np.zeros((40, 5))
    waves[:, 0] = np.nan
    waves[-1] = [np.nan, 0.2, 0.7, 0.1, -0.3]
    result = replace(sample.toy(), extras={"frequencies": waves, "attention": np.ones((40, 20))})
    both = extras.extras(result)
    assert list(both) == ["attention", "frequencies"]
    found = both["frequencies"]
    assert [trace["name"] for trace in coloured(found)] == ["k = 2"]
    assert len(found.figure["data"]) == 4
    assert "k = 2, which ends highest, at 0.70; k = 0 is order 0, the same for all" in found.caption
    assert found.title in result_page(chart.plots(result), "{}")


@pytest.mark.parametrize(
    ("waves", "words"),
    [
        ([[np.nan, np.nan]], "k = 0 is order 0, the same for all anchors here."),
        ([[0.25, np.nan]], "cos(2πkj/p)."),
        (
            [[0.25, -0.5]],
            "k = 1, which ends highest, at −0.50; k = 0 is order 0, which ends at 0.25",
        ),
    ],
)
def test_frequencies_that_are_not_known_are_not_named(waves: Any, words: str) -> None:
    result = replace(sample.toy(), extras={"frequencies": np.array(waves)})
    assert words in extras.extras(result)["frequencies"].caption


def test_a_result_without_any_correlation_says_why() -> None:
    one = sample.toy().runs["feed-forward"]
    nothing = np.full(len(one.steps), np.nan)
    blank = tuple(
        replace(track, constant=False, by_step=dict.fromkeys(track.by_step, nothing))
        for track in one.tracks
    )
    result = replace(sample.toy(), runs={"feed-forward": replace(one, tracks=blank)})
    assert "so few or so alike no correlation" in chart.headline(result)
    assert any("order 1 has no held-out value" in words for words in chart.cautions(result))
    bare = replace(sample.toy(), runs={"feed-forward": replace(one, tracks=())})
    assert "too short for every order" in chart.headline(bare)
    assert "No step is known yet" in chart.headline(replace(bare, progress="epoch 1"))


def test_a_number_that_rounds_to_zero_has_no_sign() -> None:
    assert [chart.number(value) for value in (-0.001, -0.0, -0.006)] == ["0.00", "0.00", "−0.01"]


def test_a_signature_that_is_never_followed_is_not_said_to_be() -> None:
    one = sample.toy().runs["feed-forward"]
    below = {name: -np.abs(values) - 0.2 for name, values in one.tracks[0].by_step.items()}
    result = replace(
        sample.toy(),
        runs={"feed-forward": replace(one, tracks=(replace(one.tracks[0], by_step=below),))},
    )
    assert "agrees with order 0 at no step (−0.2" in chart.headline(result)


def test_signatures_that_do_not_vary_are_told_in_one_sentence() -> None:
    one = sample.toy().runs["feed-forward"]
    alike = tuple(replace(track, constant=True) for track in one.tracks)
    result = replace(sample.toy(), runs={"feed-forward": replace(one, tracks=alike)})
    assert chart.cautions(result)[0].startswith("Order 0 and order 1 are the same for every pair")


def test_readers_are_told_where_chance_comes_far() -> None:
    one = sample.toy().runs["feed-forward"]

    def told(floor: float) -> str:
        values = np.zeros(len(one.steps))
        values[3] = floor
        tracks = tuple(replace(t, by_step={**t.by_step, "floor": values}) for t in one.tracks)
        result = replace(sample.toy(), runs={"feed-forward": replace(one, tracks=tracks)})
        return " ".join(chart.cautions(result))

    assert "20 anchors, chance alone comes to 0.55" in told(-0.55)
    assert "chance alone" not in told(0.2)
