"""The panel of checkpoints."""

import io
import json
import threading
from typing import Any

import pandas as pd
import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.exports import csv_bytes
from embtie_widgets.jobs.runner import Runner
from embtie_widgets.panels.checkpoints import CheckpointsPanel
from embtie_widgets.requests import ModelRef, read_request
from embtie_widgets.requests.checkpoints import CheckpointsRequest
from embtie_widgets.requests.link import decode
from embtie_widgets.results.checkpoints import Checkpoint, CheckpointReport, Distance, SameBytes
from embtie_widgets.sources import series
from tests.fresh import run_fresh
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.panels.test_exports_and_links import open_page

LOADED: dict[str, Any] = {"state": "loaded", "tied": "untied"}
ROWS = (
    Checkpoint("step0", step=0, hashes={"input": "aa" * 32, "output": "cc" * 32}, **LOADED),
    Checkpoint(
        "step1000-tokens2B",
        step=1000,
        tokens=2 * 10**9,
        hashes={"input": "bb" * 32},
        since=Distance("step0", 1000, None),
        since_loaded=Distance("step0", 1000, None),
        **LOADED,
    ),
    Checkpoint("step2000", step=2000, since=Distance("step1000-tokens2B", 1000, None)),
    Checkpoint("step143000", step=143_000, hashes={"input": "aa" * 32}, **LOADED),
    Checkpoint("step144000<i>", step=144_000, state="skipped", reason="No <i>weights</i>."),
    Checkpoint("main"),
)
SAME = SameBytes(("the input matrix",), ("step0", "step143000"))


def report(rows: tuple[Checkpoint, ...] = ROWS, **request: Any) -> CheckpointReport:
    settings = CheckpointsRequest(**{"model": "a/b", **request}).to_dict()
    notes = (str(SAME), "step144000<i> was left out: No <i>weights</i>.")
    hashes = {f"{row.name}: input": "aa" for row in rows}
    return CheckpointReport("a/b", rows, (SAME,), notes, settings, hashes)


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def panel(runner: FakeRunner) -> CheckpointsPanel:
    return CheckpointsPanel(model="a/b", parts=parts(runner, None, report()))


def drawn(panel: CheckpointsPanel) -> dict[str, Any]:
    return {trace["name"]: trace for trace in panel.chart.shown["data"]}


def names(trace: Any) -> list[str]:
    return [text.split("</b>")[0].removeprefix("<b>") for text in trace["hovertext"]]


def test_it_opens_with_the_bundled_training_drawn_and_without_torch() -> None:
    code = (
        "import embtie_widgets as ew; p = ew.CheckpointsPanel();"
        "assert [r.step for r in p.result.rows] == [0, 50, 150, 350, 700]"
    )
    run_fresh(code, "torch", "transformers")


def test_options_by_name_go_into_the_request_and_the_controls(runner: FakeRunner) -> None:
    options = {"model": "a/b", "revisions": ("step0", "main"), "count": 7, "depth": "files"}
    panel = CheckpointsPanel(**options, parts=parts(runner))
    assert panel.request == CheckpointsRequest(**options)
    assert (panel.count.value, panel.depth.value) == (7, "files")
    assert panel.revisions.value == "step0, main"
    assert panel.count.disabled
    with pytest.raises(EmbtieError, match="depth"):
        CheckpointsPanel(depth="deep")


def test_each_control_edits_its_field(panel: CheckpointsPanel, runner: FakeRunner) -> None:
    panel.count.value = 5
    panel.depth.value = "names"
    panel.revisions.value = "step0,\nstep9 , "
    panel.model.ref.value = "c/d"
    assert panel.request == CheckpointsRequest(
        model=ModelRef("c/d"), revisions=("step0", "step9"), count=5, depth="names"
    )
    assert panel.state.stale
    assert runner.jobs == []


def test_what_would_move_bytes_waits_for_run_and_little_work_does_not(runner: FakeRunner) -> None:
    panel = CheckpointsPanel(model="a/b", parts=parts(runner, None))
    assert runner.jobs == []
    panel.runbar.run.click()
    assert runner.jobs[0].request == CheckpointsRequest(ModelRef("a/b"))
    CheckpointsPanel(parts=parts(runner, Cost()))
    assert len(runner.jobs) == 2


def test_chart_table_and_notes_show_what_was_found(panel: CheckpointsPanel) -> None:
    assert names(drawn(panel)["same bytes as another"]) == ["step0", "step143000"]
    assert names(drawn(panel)["loaded"]) == ["step1000-tokens2B"]
    assert names(drawn(panel)["listed"]) == ["step2000", "main"]
    for said in ("1,000 steps", "2 B", "untied", "aaaaaaaa", "same bytes as step143000"):
        assert said in panel.table.value
    assert "step2000" not in panel.table.value
    assert "2 more are known" in panel.table.value
    assert "byte for byte" in panel.notes.value
    assert "2 of these hold the same bytes" in panel.headline.value


def test_names_and_reasons_are_no_markup(panel: CheckpointsPanel) -> None:
    panel.chosen = "step144000<i>"
    for part in (panel.table, panel.notes, panel.about, panel.headline, panel.caption):
        assert "<i>" not in part.value
    assert "&lt;i&gt;weights" in panel.about.value


def test_the_slider_stands_on_the_last_loaded_and_walks_through(panel: CheckpointsPanel) -> None:
    assert panel.slider.index == 3
    assert panel.slider.kinds == ["same", "loaded", "listed", "same", "skipped", "listed"]
    assert "aa" * 32 in panel.about.value
    panel.slider.index = 1
    assert panel.chosen == "step1000-tokens2B"
    assert panel.code.text == "ew.load('a/b', 'step1000-tokens2B')"
    assert "bb" * 32 in panel.about.value
    assert names(drawn(panel)["chosen"]) == ["step1000-tokens2B"]
    panel.chosen = "main"
    assert panel.slider.index == 5


def test_the_line_to_load_one_keeps_how_the_model_is_taken(runner: FakeRunner) -> None:
    model = ModelRef("a/b", treat_as_tied=True)
    panel = CheckpointsPanel(parts=parts(runner, None, report(model=model)))
    said = "ew.load(ew.ModelRef(ref='a/b', revision='step143000', treat_as_tied=True))"
    assert panel.code.text == said


def test_the_axis_changes_slider_and_figure_and_is_no_part_of_the_request(
    panel: CheckpointsPanel, runner: FakeRunner
) -> None:
    before = list(panel.slider.places), panel.request
    panel.slider.index = 1
    panel.scale.value = "linear"
    assert panel.slider.places != before[0]
    assert panel.slider.places[1] < 0.02
    assert panel.slider.index == 1
    assert drawn(panel)["loaded"]["x"] == [1000]
    assert panel.request == before[1]
    assert not panel.state.stale
    assert runner.jobs == []


def test_another_list_keeps_the_chosen_one_where_it_is_there(
    panel: CheckpointsPanel, runner: FakeRunner
) -> None:
    panel.slider.index = 1
    panel.start()
    runner.jobs[-1].finish(report(ROWS[1:]))
    assert (panel.chosen, panel.slider.index) == ("step1000-tokens2B", 0)
    panel.start()
    runner.jobs[-1].finish(report(ROWS[2:]))
    assert (panel.chosen, panel.slider.index) == ("", 1)


def test_a_link_reopens_request_axis_and_chosen_checkpoint(runner: FakeRunner) -> None:
    query = (
        "embtie=1&kind=checkpoints&model=a/b&revisions=step0,step1000-tokens2B&depth=files"
        "&view.scale=linear&view.at=step1000-tokens2B"
    )
    panel = CheckpointsPanel(parts=parts(runner))
    open_page(panel, query)  # type: ignore[arg-type]
    request = CheckpointsRequest(
        ModelRef("a/b"), revisions=("step0", "step1000-tokens2B"), depth="files"
    )
    assert panel.request == request
    panel.start()
    runner.jobs[-1].finish(report())
    assert (panel.chosen, panel.scale.value) == ("step1000-tokens2B", "linear")
    link = decode(panel.link.page.query)
    assert link is not None
    assert link.request == request
    assert link.view == {"scale": "linear", "at": "step1000-tokens2B"}


def test_a_link_to_a_checkpoint_that_is_not_there_is_told(runner: FakeRunner) -> None:
    panel = CheckpointsPanel(model="a/b", parts=parts(runner))
    open_page(panel, "embtie=1&kind=checkpoints&model=a/b&view.at=step5")  # type: ignore[arg-type]
    panel.start()
    runner.jobs[-1].finish(report())
    assert panel.chosen == ""
    assert "view that there is not" in panel.notice.words


def test_the_table_file_has_every_checkpoint_and_its_settings(panel: CheckpointsPanel) -> None:
    data = csv_bytes(panel.state.answered, panel.result)
    head = json.loads(data.split(b"\n")[0].removeprefix(b"# "))
    assert read_request(head["request"]) == panel.request
    assert head["hashes"]["step0: input"] == "aa"
    frame = pd.read_csv(io.BytesIO(data), skiprows=1, keep_default_na=False)
    assert frame["revision"].tolist() == [row.name for row in ROWS]
    assert {"CSV", "HTML", "SVG", "PNG"} <= set(panel.exports.files)


def test_cancel_between_two_checkpoints_keeps_the_earlier_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    second, go = threading.Event(), threading.Event()
    real, loaded = series.load, []

    def slow(at: ModelRef, progress: Any = None) -> Any:
        loaded.append(at.revision)
        if len(loaded) == 2:
            second.set()
            assert go.wait(60)
        return real(at)

    monkeypatch.setattr(series, "load", slow)
    panel = CheckpointsPanel(parts={"runner": Runner(), "estimate": lambda _: None})
    before = panel.result
    panel.count.value = 4
    answer = panel.start()
    assert second.wait(60)
    panel.cancel()
    assert answer.event.wait(60)
    go.set()
    assert panel.result is before
    assert panel.state.stale
    assert panel.state.ended.cancelled
    assert panel.runbar.run.disabled is False
    panel.count.value = 3
    assert [row.state for row in panel.run().rows].count("loaded") == 3
    assert len(loaded) == 5


@pytest.mark.parametrize("number", [-3, 0, 2.5, 257])
def test_a_number_of_checkpoints_that_cannot_be_is_refused_aloud(
    panel: CheckpointsPanel, number: float
) -> None:
    panel.count.value = number
    assert "expected a whole number from 1 to 256" in panel.notice.words
    assert panel.count.value == number
