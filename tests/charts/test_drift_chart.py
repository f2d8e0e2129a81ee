"""The pictures and words of a drift."""

from typing import Any

import numpy as np
import pytest

from embtie_widgets.charts import drift as chart
from embtie_widgets.charts.drift_lines import EVERY, View
from embtie_widgets.charts.files import result_page
from embtie_widgets.measures.drift import DriftMeter, drift
from embtie_widgets.results.checkpoints import Checkpoint
from embtie_widgets.results.drift import Drift
from tests.sample_drift import STEPS, drift_report, turned, untied


def curves(spec: Any) -> dict[str, Any]:
    """The traces that have a place in the legend, by name."""
    return {t["name"]: t for t in spec["data"] if t.get("showlegend")}


def known(values: Any) -> list[float]:
    return [round(v, 6) for v in values if v is not None and np.isfinite(v)]


def test_each_matrix_has_its_colour_and_its_values_at_its_steps() -> None:
    report = drift_report()
    found = curves(chart.spec(report, View("linear")))
    assert list(found) == ["input", "output", "tied"]
    assert found["input"]["line"]["color"].startswith("rgba(38,115,217")
    assert found["output"]["line"]["color"].startswith("rgba(201,120,26")
    assert found["tied"]["line"]["color"].startswith("rgba(221,63,151")
    assert found["output"]["y"] == report.runs["one"].output_to_first.tolist()
    assert found["input"]["x"] == pytest.approx([step / 1000 for step in STEPS])


def test_on_a_logarithmic_axis_places_are_true_to_the_step_counted_from_one() -> None:
    found = curves(chart.spec(drift_report(), View("log")))["input"]["x"]
    whole = np.log10(1001)
    assert found == pytest.approx([np.log10(step + 1) / whole for step in STEPS])


def test_a_change_is_as_wide_as_its_distance_and_wide_ones_are_labelled() -> None:
    report = drift_report()
    spec = chart.change(report, View("linear"))
    stairs = curves(spec)["output"]
    assert stairs["x"] == pytest.approx([0, 0.01, 0.01, 0.1, 0.1, 1])
    assert stairs["y"][::2] == pytest.approx(report.runs["one"].output_to_previous[1:].tolist())
    assert [note["text"] for note in spec["layout"]["annotations"]] == ["+900"]
    assert "from 10 steps to 900 steps" in chart.change_caption(report)


def test_even_distances_are_not_labelled() -> None:
    report = drift_report({"one": untied((0, 10, 20, 30))})
    assert chart.change(report)["layout"]["annotations"] == []
    assert "differ" not in chart.change_caption(report)


def test_degrees_per_step_divide_by_the_distance() -> None:
    spec = chart.change(drift_report(), View("linear", change="turn"))
    slow, fast = (curves(spec)[name]["y"] for name in ("input", "output"))
    assert known(slow)[0] == pytest.approx(2.2 / 10, rel=0.01)
    assert known(fast)[-1] == pytest.approx(11 / 900, rel=0.02)
    assert spec["layout"]["yaxis"]["type"] == "log"


def test_chance_is_drawn_for_each_matrix_and_named_once() -> None:
    report = drift_report()
    drawn = [t for t in chart.spec(report)["data"] if t["name"].startswith("chance")]
    assert [t["name"] for t in drawn] == ["chance, input", "chance, output", "chance, tied"]
    assert drawn[0]["y"] == report.runs["one"].chance["input_to_first"].tolist()
    assert [bool(t["text"]) for t in drawn] == [True, False, False]


def test_a_band_has_its_own_line_and_every_band_a_strength_of_its_own() -> None:
    report = drift_report()
    alone = curves(chart.spec(report, View(band="10 to 99 times")))
    assert alone["input"]["y"][-1] == report.runs["one"].rows["input_to_first"][2]
    every = [t for t in chart.spec(report, View(band=EVERY))["data"] if t["name"] == "output"]
    assert len(every) == 5
    assert len({t["line"]["color"] for t in every}) == 5
    assert [t["showlegend"] for t in every] == [False] * 4 + [True]
    assert "from faint (0 times) to strong (1,000 to 9,999 times)" in chart.caption(report, EVERY)


def test_the_choice_of_bands_has_those_that_hold_tokens() -> None:
    names = [name for _, name in chart.band_choices(drift_report())]
    assert names[1:-1] == ["0 times", "1 to 9 times", "10 to 99 times", "100 to 999 times",
                           "1,000 to 9,999 times"]  # fmt: skip
    assert chart.band_choices(drift_report({"one": without_counts()})) == [("all together", "")]


def without_counts() -> Drift:
    return drift([(s, turned("input", i), turned("output", i)) for i, s in enumerate(STEPS)])


def test_equal_bytes_are_marked_where_they_are_and_said() -> None:
    kept = [(s, turned("input", min(i, 2)), turned("output", i)) for i, s in enumerate(STEPS)]
    report = drift_report({"one": drift(kept)})
    same = chart.spec(report, View("linear"))["data"][-1]
    assert same["name"] == "same bytes as another"
    assert same["x"] == pytest.approx([0.1, 1.0])
    assert same["showlegend"]
    said = chart.cautions(report)
    assert len(said) == 1
    assert "the input matrix is the same, byte for byte, at step 100, step 1,000" in said[0]
    assert chart.cautions(drift_report()) == []
    assert not chart.spec(drift_report())["data"][-1]["showlegend"]


def staged() -> Drift:
    meter = DriftMeter()
    places = [
        Checkpoint("step0", step=0), Checkpoint("step1000", step=1000),
        Checkpoint("stage2-step5", stage=2, step=5), Checkpoint("stage2-step50", stage=2, step=50),
        Checkpoint("main"),
    ]  # fmt: skip
    for number, place in enumerate(places):
        meter.add(place, turned("input", min(number, 3)) * (1 + number), None)
    return meter.result()


def test_a_second_stage_stands_beside_the_first_and_main_at_the_end() -> None:
    spec = chart.spec(drift_report({"one": staged()}), View("linear"))
    line = curves(spec)["input"]
    at = [x for x in line["x"] if x is not None]
    assert at == sorted(at)
    assert at[0] == 0
    assert at[-1] == 1.0
    assert line["x"].count(None) == 2  # broken from stage to stage
    assert at[2] - at[1] < 0.1
    assert "main" in spec["layout"]["xaxis"]["ticktext"]
    assert len(spec["layout"]["shapes"]) == 1
    words = [note["text"] for note in spec["layout"]["annotations"]]
    assert words == ["stage 1", "stage 2"]
    assert "2 changes without a known distance" in chart.change_caption(
        drift_report({"one": staged()})
    )


def test_no_two_ticks_stand_on_each_other() -> None:
    for scale in ("log", "linear"):
        at = chart.spec(drift_report(), View(scale))["layout"]["xaxis"]["tickvals"]
        assert min(np.diff(at)) > 0.05


def test_the_headline_says_which_side_turned_further_and_what_tied_follows() -> None:
    said = chart.headline(drift_report())
    assert "the output has turned further than the input" in said
    assert "It has turned about as far as the untied output, not as the input." in said
    alike = drift([(s, turned("input", i), turned("input", i) * 2) for i, s in enumerate(STEPS)])
    assert "both matrices have turned alike" in chart.headline(drift_report({"x": alike}))
    alone = untied(STEPS[:1])
    assert "One checkpoint so far" in chart.headline(drift_report({"x": alone}))


def test_two_trainings_of_a_kind_are_told_apart() -> None:
    found = curves(chart.spec(drift_report({"a": untied(), "b": untied()})))
    assert list(found) == ["input of a", "output of a", "input of b", "output of b"]
    assert found["input of b"]["line"]["dash"] == "dot"
    assert found["input of b"]["marker"]["symbol"].endswith("-open")


def test_a_training_that_failed_has_its_reason_in_the_picture_and_in_the_text() -> None:
    report = drift_report({"one": untied()}, failed={"two": "No <i>weights</i>."})
    notes = [note["text"] for note in chart.spec(report)["layout"]["annotations"]]
    assert notes == ["<b>two</b>: No &lt;i&gt;weights&lt;/i&gt;."]
    assert "two: No <i>weights</i>." in chart.text(None, report)


def test_a_recorded_series_without_rows_or_names_is_drawn() -> None:
    steps = np.array([0, 10, 30])
    gaps = np.full(3, np.nan)
    read = Drift(
        steps, np.array([1, 0.9, np.nan]), gaps, np.array([1, 0.9, 0.8]), gaps,
        since=np.array([0, 10, 20]), settings={"model": "a<b>"},
    )  # fmt: skip
    report = drift_report({"file": read}, tokens=(), token_counts=None, kinds=None)
    assert list(curves(chart.spec(report))) == ["input"]
    assert known(curves(chart.change(report))["input"]["y"]) == [0.9, 0.9, 0.8, 0.8]
    assert not chart.has_rows(report)
    assert "file of a<b>: 3 checkpoints, step 0 to step 30" in chart.caption(report)
    assert "step 30" in chart.text(None, report)


def test_columns_are_by_matrix_with_mean_and_chance() -> None:
    found = {column.name: column for column in chart.columns(drift_report())}
    assert {"first In", "first Out", "first Tied", "previous Tied", "count", "row"} <= set(found)
    assert found["first Out"].role == "output"
    assert found["first Tied"].role == "tied"
    assert [style for *_, style in found["first In"].lines] == ["solid", "dash"]
    report = drift_report({"a": untied(), "b": untied()})
    assert list(report.labels) == ["In", "Out", "b: In", "b: Out"]
    assert list(report.token_frame())[-8:-6] == ["In to_first", "In to_previous"]


def test_the_page_holds_both_pictures_and_its_settings() -> None:
    page = result_page(chart.plots(drift_report()), '{"a": "</script>"}')
    assert page.count("plotly-graph-div") == 2
    assert "</script>" not in page.split('id="embtie-settings">')[1].split("</script>")[0]


def test_without_a_result_there_are_axes_alone() -> None:
    for spec in (chart.spec(None), chart.change(None)):
        assert all(len(trace["x"]) == 0 for trace in spec["data"])
        assert spec["layout"]["height"]


def test_hostile_names_are_no_markup() -> None:
    report = drift_report({"<b>$x$": untied()})
    spec = chart.spec(report)
    shown = str([t.get("hovertext") for t in spec["data"]] + [t["name"] for t in spec["data"]])
    assert "<b>$x$" not in shown
    assert "&lt;b&gt;&#36;x&#36;" in shown
