"""Checkpoints as a picture, as ticks and in words."""

import math
from typing import Any

import pytest

from embtie_widgets.charts import checkpoints as chart
from embtie_widgets.charts.files import result_page
from embtie_widgets.charts.steps import count, readout, round_values, ticks, tokens
from embtie_widgets.results.checkpoints import (
    Checkpoint,
    CheckpointReport,
    Distance,
    SameBytes,
)

LOADED = {"state": "loaded", "tied": "untied"}
ROWS = (
    Checkpoint("step0", step=0, hashes={"input": "aa"}, **LOADED),
    Checkpoint("step1000", step=1000, tokens=2 * 10**9, since=Distance("step0", 1000, None)),
    Checkpoint("step2000", step=2000, hashes={"input": "bb"}, **LOADED),
    Checkpoint("step202000", step=202_000, hashes={"input": "aa"}, **LOADED),
    Checkpoint("step203000<b>", step=203_000, state="skipped", reason="'m' lacks <b>$x$"),
    Checkpoint("stage2-step10", stage=2, step=10),
    Checkpoint("main"),
)
SAME = SameBytes(("the input matrix",), ("step0", "step202000"))


def report(rows: tuple[Checkpoint, ...] = ROWS, *repeats: SameBytes) -> CheckpointReport:
    return CheckpointReport("a/model", rows, repeats, (), {})


def traces(result: CheckpointReport, scale: str = "log") -> dict[str, Any]:
    return {trace.name: trace for trace in chart.figure(result, scale=scale).data}


def test_markers_stand_at_their_steps_and_a_wide_gap_is_wide() -> None:
    drawn = traces(report(), "linear")
    assert list(drawn["loaded"].x) == [0, 2000, 202_000]
    assert list(drawn["listed"].x) == [1000, 10, 203_000]
    log = traces(report())
    assert list(log["loaded"].x) == pytest.approx([0, math.log10(2001), math.log10(202_001)])


def test_each_stage_has_a_lane_and_main_the_last() -> None:
    drawn = chart.figure(report())
    assert list(drawn.layout.yaxis.ticktext) == ["stage 1", "stage 2", "main"]
    assert list(traces(report())["listed"].y) == [0, -1, -2]
    alone = chart.figure(report(ROWS[:3]))
    assert list(alone.layout.yaxis.ticktext) == ["training"]


def test_equal_bytes_have_another_symbol_and_are_joined() -> None:
    drawn = traces(report(ROWS, SAME), "linear")
    same = drawn["same bytes as another"]
    assert list(same.x) == [0, 202_000]
    assert list(drawn["loaded"].x) == [2000]
    assert same.marker.symbol != drawn["loaded"].marker.symbol
    assert "same bytes as step202000" in same.hovertext[0]
    back = list(drawn["joined: the same bytes"].x)
    assert back[:3] == [0, 202_000, None]
    assert len([x for x in back if x == 0]) == 3
    assert list(traces(report())["joined: the same bytes"].x) == []


def test_what_was_left_out_is_a_cross_with_its_reason_and_names_are_no_markup() -> None:
    skipped = traces(report())["could not be read"]
    assert skipped.marker.symbol == "x-thin"
    assert "lacks &lt;b&gt;&#36;x&#36;" in skipped.hovertext[0]
    assert "step203000&lt;b&gt;" in skipped.hovertext[0]


def test_the_traces_are_always_the_same_and_the_chosen_one_is_ringed() -> None:
    none = chart.spec(None)["data"]
    chosen = chart.spec(report(ROWS, SAME), "linear", "step2000")["data"]
    assert [part["name"] for part in none] == [part["name"] for part in chosen]
    [ring] = [part for part in chosen if part["name"] == "chosen"]
    assert (list(ring["x"]), list(ring["y"])) == ([2000], [0])
    [ring] = [part for part in chart.spec(report())["data"] if part["name"] == "chosen"]
    assert list(ring["x"]) == []


def test_names_by_tokens_alone_are_not_put_on_an_axis_of_steps() -> None:
    rows = (*ROWS[:2], Checkpoint("tokens2T", tokens=2 * 10**12))
    drawn = chart.figure(report(rows), scale="linear")
    assert drawn.layout.xaxis.range[1] < 2000
    assert "1 that give tokens but no step are not drawn" in chart.caption(report(rows))
    alone = chart.figure(report(rows[2:]), scale="linear")
    assert alone.layout.xaxis.title.text == "tokens"


def test_the_sentences_say_what_was_found() -> None:
    assert "3 of 6 checkpoints loaded, no two hold the same bytes" in chart.headline(report())
    assert "2 of these hold the same bytes" in chart.headline(report(ROWS, SAME))
    listed = (Checkpoint("step0", step=0), Checkpoint("step7000", step=7000))
    said = chart.headline(report(listed))
    assert said == "a/model has 2 checkpoints from step 0 to 7,000; none is loaded."
    said = chart.text(None, report(ROWS, SAME))
    assert "step0" in said
    assert "same bytes as step202000" in said
    assert "'m' lacks" in said


def test_ticks_of_the_slider_are_true_to_the_steps_and_marked() -> None:
    shown = ticks(report(ROWS, SAME), log=False)
    assert shown["kinds"] == ["same", "listed", "loaded", "same", "skipped", "listed", "listed"]
    at = shown["places"]
    assert at == sorted(at)
    assert (at[3] - at[2]) == pytest.approx(200 * (at[2] - at[1]))
    assert [track["label"] for track in shown["tracks"]] == ["stage 1", "stage 2", "main"]
    labels = [mark["label"] for mark in shown["marks"]]
    assert labels[0] == "0"
    assert "203k" in labels


def test_a_readout_gives_step_tokens_and_distance() -> None:
    assert readout(report(), ROWS[1]) == (
        "step 1,000 · 2 B tokens · 1,000 steps after the one before"
    )
    assert readout(report(), ROWS[5]) == "stage 2 · step 10"
    assert readout(report(), ROWS[6]) == "main"
    assert readout(report(), ROWS[4]).endswith("could not be read")


def test_numbers_are_short() -> None:
    assert [count(n) for n in (0, 512, 1000, 143_000, 1_431_000)] == [
        "0",
        "512",
        "1k",
        "143k",
        "1.431M",
    ]
    assert tokens(1384 * 10**9) == "1.384 T tokens"
    assert tokens(12) == "12 tokens"


@pytest.mark.parametrize(("first", "last"), [(0, 700), (0, 143_000), (1000, 2000), (5, 5), (0, 1)])
@pytest.mark.parametrize("log", [True, False])
def test_marks_lie_between_the_ends(first: int, last: int, log: bool) -> None:
    values = round_values(first, last, log)
    assert all(first <= value <= last for value in values)
    assert values == sorted(values)
    assert len(values) <= 16


def test_one_checkpoint_is_not_compared_and_what_was_not_found_is_named() -> None:
    rows = (*ROWS[1:3], Checkpoint("foo", state="skipped", reason="no checkpoint 'foo'"))
    asked = CheckpointReport("a/model", rows, (), (), {"revisions": ["step2000", "foo"]})
    assert chart.headline(asked) == (
        "a/model: 1 of 2 checkpoints loaded, too few to be compared; not found or not read: foo."
    )


@pytest.mark.parametrize("scale", ["log", "linear"])
@pytest.mark.parametrize("last", [700, 1000, 1020, 143_000])
def test_the_last_step_has_a_tick_that_no_other_comes_close_to(scale: str, last: int) -> None:
    steps = (0, 50, 150, last)
    drawn = chart.spec(report(tuple(Checkpoint(f"step{n}", step=n) for n in steps)), scale)
    axis = drawn["layout"]["xaxis"]
    assert axis["ticktext"][-1] == count(last)
    at = axis["tickvals"]
    assert at[-1] - at[-2] > 0.05 * (at[-1] - at[0])


def test_a_figure_of_one_lane_is_no_strip() -> None:
    assert chart.figure(report(ROWS[:3])).layout.height >= 400
    assert '"height":480' in result_page(chart.plots(report(ROWS[:3])), "{}")[-20_000:]
