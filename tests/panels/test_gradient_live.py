"""The gradient flow's panel on real jobs: a training that grows on the page, is stopped, goes on;
and a recorded run that is read as it stands."""

from pathlib import Path

import numpy as np
import pytest

from embtie_widgets.jobs import training_runs
from embtie_widgets.panels.gradient import GradientFlowPanel
from embtie_widgets.requests import GradientFlowRequest
from tests.panels.live import stopped_while_growing

STEPS = 16


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GradientFlowRequest:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(training_runs, "_PICTURE_SECONDS", 0.0)
    monkeypatch.setattr(training_runs, "_WORTH", 0)
    return GradientFlowRequest(steps=STEPS, batch=2, length=16, warmup=4)


def test_a_training_is_drawn_as_it_grows_is_kept_on_cancel_and_goes_on(
    request_: GradientFlowRequest,
) -> None:
    panel = GradientFlowPanel(request_, parts={"estimate": lambda _: None})
    said: list[tuple[str, int]] = []

    def enough() -> bool:
        said.append((panel.result.progress, len(panel.result.runs["tied"].curves["step"])))
        return True

    stopped_while_growing(panel, enough)
    words, steps = said[0]
    assert "steps of the tied run" in words
    assert 0 < steps < STEPS
    assert len(panel.chart.shown["data"][-1]["x"]) > 0
    assert "press Run to go on" in panel.outdated.value
    whole = panel.run()
    assert (whole.progress, panel.state.unfinished) == ("", False)
    for run in whole.runs.values():
        assert run.curves["step"].tolist() == list(range(1, STEPS + 1))
        assert np.isfinite(run.curves["output_share"]).all()
    assert panel.views.scatter.scatter.n == len(whole.tokens)
    assert float(whole.runs["tied"].curve("check").max()) < 1e-3


def test_the_folder_of_a_finished_run_is_shown(
    request_: GradientFlowRequest, tmp_path: Path
) -> None:
    GradientFlowPanel(request_, parts={"estimate": lambda _: None}).run()
    folder = next(path.parent for path in (tmp_path / "cache").rglob("manifest.json"))
    panel = GradientFlowPanel(parts={"estimate": lambda _: None})
    panel.source.source.value = "run"
    panel.source.form.file.path.value = str(folder)
    assert panel.request == GradientFlowRequest(source="run", file=str(folder))
    assert f"{STEPS} of {STEPS} steps, done" in panel.source.form.said.value
    (run,) = panel.run().runs.values()
    assert len(run.curves["step"]) == STEPS
    assert "writes" in panel.headline.value
