"""The panel of output centering on real jobs: a sweep that grows on the page, is stopped, goes on;
a recorded one."""

import re
from pathlib import Path

import pytest

from embtie_widgets.jobs import cells, training_runs
from embtie_widgets.panels.centering import CenteringPanel
from embtie_widgets.requests import CenteringRequest
from tests.jobs.trainings import small
from tests.panels.live import stopped_while_growing

STEPS = 60


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CenteringRequest:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(training_runs, "_PICTURE_SECONDS", 0.0)
    monkeypatch.setattr(training_runs, "_WORTH", 0)
    monkeypatch.setattr(cells, "_TOLD_SECONDS", 0.0)
    return CenteringRequest(
        **small(tmp_path),
        steps=STEPS,
        sizes=("micro",),
        methods=("none", "mu-centering"),
        rates=(0.01, 0.1),
    )


def test_runs_fill_the_grid_are_kept_on_cancel_and_go_on(request_: CenteringRequest) -> None:
    panel = CenteringPanel(request_, parts={"estimate": lambda _: None})
    states: list[list[str]] = []

    def enough() -> bool:
        states.append([run.state for run in panel.result.runs])
        return states[-1][:2] == ["done", "running"] and bool(panel.result.runs[1].curves)

    stopped_while_growing(panel, enough)
    assert ["running", *["waiting"] * 3] in states
    assert panel.state.unfinished
    whole = panel.run()
    assert (whole.progress, panel.state.unfinished, panel.outdated.value) == ("", False, "")
    assert [run.state for run in whole.runs] == ["done"] * 4
    assert panel.measure.value == "held_loss"
    centred = [run for run in whole.runs if run.method == "mu-centering"]
    assert max(run.numbers["mu_output"] for run in centred) < 1e-6
    assert len(panel.grid.shown["data"][0]["z"]) == 2
    assert panel.cards["effects"].layout.display == ""


def test_the_released_sweep_is_read_with_the_papers_sensitivities(shared: Path) -> None:
    panel = CenteringPanel(parts={"estimate": lambda _: None})
    panel.source.source.value = "file"
    panel.source.form.file.value = str(shared / "data" / "oec_loss_overview.csv")
    assert panel.request.source == "file"
    panel.run()
    assert panel.cards["curves"].layout.display == "none"
    rows = [re.sub(r"<[^>]+>", " ", row).split() for row in panel.lines.value.split("<tr>")]
    known = {tuple(row[1:3]): row[3:5] for row in rows if "untied" not in row}
    assert known["baseline", "16M"] == ["0.306", "0.306"]
    assert known["μ-centering", "221M"] == ["0.061", "0.061"]
