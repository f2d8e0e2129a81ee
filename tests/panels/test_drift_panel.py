"""The panel of drift."""

import io
import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.exports import csv_bytes
from embtie_widgets.panels.drift import DriftPanel
from embtie_widgets.requests import DriftRequest, read_request
from embtie_widgets.requests.link import decode
from embtie_widgets.results.drift import DriftReport
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.panels.test_exports_and_links import open_page, saved
from tests.sample_drift import STEPS, drift_report, turned, untied


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def panel(runner: FakeRunner) -> DriftPanel:
    return DriftPanel(parts=parts(runner, None, drift_report()))


def drawn(figure: Any) -> dict[str, Any]:
    return {trace["name"]: trace for trace in figure.shown["data"]}


def seen(*widgets: Any) -> list[bool]:
    return [widget.layout.display != "none" for widget in widgets]


def test_it_opens_with_the_bundled_twins() -> None:
    panel = DriftPanel()
    assert list(panel.result.runs) == ["nano-untied", "nano-tied"]
    assert "turned about as far as the untied output" in panel.headline.value
    assert len(drawn(panel.chart)["tied"]["x"]) == 6


def test_options_by_name_go_into_the_request_and_the_controls(runner: FakeRunner) -> None:
    options = {"model": "a/b", "other": "c/d", "revisions": ("step0", "main"), "count": 7}
    panel = DriftPanel(**options, parts=parts(runner))
    assert panel.request == DriftRequest(**options)
    assert (panel.series.count.value, panel.series.beside.value) == (7, True)
    assert panel.series.revisions.value == "step0, main"
    assert panel.series.count.disabled
    assert panel.series.other.value.ref == "c/d"
    with pytest.raises(EmbtieError, match="count"):
        DriftPanel(count=1)


def test_a_second_model_stands_beside_the_first_only_where_it_is_wanted(
    panel: DriftPanel, runner: FakeRunner
) -> None:
    assert seen(panel.series.other) == [True]
    panel.series.beside.value = False
    assert [model.ref for model in panel.request.models] == ["nano-untied"]
    assert seen(panel.series.other) == [False]
    panel.series.beside.value = True
    assert panel.request == DriftRequest()
    panel.request = DriftRequest(model="a/b")
    assert (panel.series.beside.value, panel.request.other) == (False, None)
    assert panel.request == DriftRequest(model="a/b")


@pytest.mark.parametrize("source", ["model", "train", "file", "run"])
def test_each_source_asks_for_what_it_needs(panel: DriftPanel, source: str) -> None:
    panel.source.source.value = source
    models, trains = seen(panel.series.section, panel.training.preset)
    assert (models, trains) == (source == "model", source == "train")
    assert seen(panel.source.form) == [source in ("file", "run")]
    if source in ("model", "train"):
        assert panel.request.source == source
    else:
        assert panel.request.source == "model"  # until a file is named


def test_scale_band_and_change_draw_anew_without_a_run(
    panel: DriftPanel, runner: FakeRunner
) -> None:
    before = drawn(panel.chart)["input"]["x"]
    panel.scale.value = "linear"
    assert drawn(panel.chart)["input"]["x"] != before
    panel.band.value = "10 to 99 times"
    assert (
        drawn(panel.chart)["input"]["y"][-1] == panel.result.runs["one"].rows["input_to_first"][2]
    )
    assert "only tokens that occur 10 to 99 times" in panel.caption.value
    panel.change.value = "turn"
    assert panel.changes.shown["layout"]["yaxis"]["title"]["text"] == "turn, degrees per step"
    assert "degrees per step" in panel.change_caption.value
    assert runner.jobs == []


def test_the_view_is_in_the_link_and_comes_back(panel: DriftPanel, runner: FakeRunner) -> None:
    open_page(panel, "")
    panel.scale.value, panel.change.value = "linear", "turn"
    panel.band.value = "every band"
    panel.selection = [2, 3]
    link = decode(panel.link.page.query)
    assert link is not None
    other = DriftPanel(parts=parts(runner, None, drift_report()))
    other.open_link(link)
    assert other.request == panel.request
    assert (other.scale.value, other.change.value, other.band.value) == (
        "linear", "turn", "every band"
    )  # fmt: skip
    assert other.selection == {2, 3}


def test_tokens_are_searched_selected_and_given_away(
    panel: DriftPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = panel.views.tokens.table
    assert [c["name"] for c in table.columns][:4] == [
        "token",
        "first In",
        "first Out",
        "first Tied",
    ]
    table.query = "the"
    assert panel.state.found == {1}
    panel.state.choose([1, 3])
    _, data = saved(panel, "CSV of selection", monkeypatch)
    frame = pd.read_csv(io.BytesIO(data), skiprows=1)
    assert frame["row"].tolist() == [1, 3]
    assert list(frame)[-2:] == ["Tied to_first", "Tied to_previous"]


def test_the_csv_has_a_row_for_each_checkpoint_and_its_settings_inside(panel: DriftPanel) -> None:
    data = csv_bytes(panel.request, panel.result)
    head = json.loads(data.split(b"\n", 1)[0].removeprefix(b"# "))
    assert read_request(head["request"]) == panel.request
    frame = pd.read_csv(io.BytesIO(data), skiprows=1)
    assert frame["run"].tolist() == ["one"] * 4 + ["two"] * 4
    assert frame["step"].tolist() == [*STEPS, *STEPS]


def test_partial_results_are_drawn_as_they_come(runner: FakeRunner) -> None:
    panel = DriftPanel(source="train", parts=parts(runner, Cost(60.0), None))
    panel.start()
    for many in (1, 3):
        grown = drift_report({"untied": untied(STEPS[:many])}, progress=f"{many} steps")
        runner.jobs[0].preview(panel.request, grown)
        assert len(drawn(panel.chart)["input"]["x"]) == many
        assert f"{many} steps" in panel.outdated.value
    runner.jobs[0].finish(drift_report())
    assert list(drawn(panel.changes))[-2:] == ["tied", "same bytes as another"]


def test_equal_bytes_and_failures_stand_on_top(runner: FakeRunner) -> None:
    from embtie_widgets.measures.drift import drift

    kept = [(s, turned("input", min(i, 2)), turned("output", i)) for i, s in enumerate(STEPS)]
    report = drift_report({"<one>": drift(kept)}, failed={"two": "No <i>weights</i>."})
    panel = DriftPanel(parts=parts(runner, None, report))
    assert "byte for byte, at step 100, step 1,000" in panel.headline.value
    assert "&lt;one&gt;" in panel.headline.value
    assert "<i>" not in panel.headline.value
    assert panel.numbers.value.count("◆ step") == 2


def test_without_rows_there_are_curves_and_no_tokens(runner: FakeRunner) -> None:
    report = drift_report(tokens=(), token_counts=None, kinds=None)
    panel = DriftPanel(parts=parts(runner, None, report))
    assert not any(seen(*panel.views.cards))
    assert panel.exports.files["Tokens CSV"].disabled
    assert not panel.exports.files["CSV"].disabled


def test_a_result_that_is_only_a_start_is_drawn(runner: FakeRunner) -> None:
    report: DriftReport = drift_report({"untied": untied(STEPS[:1])})
    panel = DriftPanel(parts=parts(runner, None, report))
    assert "One checkpoint so far" in panel.headline.value
    assert np.isfinite(panel.chart.shown["layout"]["yaxis"]["range"]).all()


def test_the_groups_of_an_earlier_result_are_not_left_beside_a_recorded_series(
    runner: FakeRunner,
) -> None:
    panel = DriftPanel(parts=parts(runner))
    tables = set(panel.groups.tables.values())
    groups = [c for c in panel.results.children if tables & set(getattr(c, "children", ()))]
    assert len(groups) == 2
    by_kind = ({"heading": "kind", "group": "word start"},)
    for report, there in (
        (drift_report(groups=by_kind), [True, True]),
        (drift_report({"a": untied()}, tokens=(), token_counts=None, kinds=None), [False, False]),
    ):
        panel._arrange(report)
        assert seen(*groups) == there
