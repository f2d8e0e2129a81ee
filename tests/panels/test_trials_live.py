"""The panel of bottleneck trials on real jobs: runs that grow on the page, are stopped, go on."""

from pathlib import Path

import pytest

from embtie_widgets.jobs import cells, training_runs
from embtie_widgets.panels.trials import BottleneckTrialsPanel
from embtie_widgets.requests import BottleneckTrialsRequest
from tests.jobs.trainings import small
from tests.panels.live import stopped_while_growing


def test_runs_are_drawn_kept_on_cancel_and_go_on_to_their_excess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(training_runs, "_PICTURE_SECONDS", 0.0)
    monkeypatch.setattr(training_runs, "_WORTH", 0)
    monkeypatch.setattr(cells, "_TOLD_SECONDS", 0.0)
    request = BottleneckTrialsRequest(
        **small(tmp_path), steps=60, ways=("full", "backward"), ranks=(2, 4)
    )
    panel = BottleneckTrialsPanel(request, parts={"estimate": lambda _: None})

    def enough() -> bool:
        states = [run.state for run in panel.result.trials]
        return states[:2] == ["done", "running"] and bool(panel.result.trials[1].curves)

    stopped_while_growing(panel, enough)
    assert panel.cards["excess"].layout.display == "none"
    assert panel.state.unfinished
    whole = panel.run()
    assert [run.state for run in whole.trials] == ["done"] * 3
    assert panel.cards["excess"].layout.display == ""
    assert "at rank 2 of" in panel.headline.value
    assert {t["yaxis"] for t in panel.chart.shown["data"]} == {"y", "y2"}
