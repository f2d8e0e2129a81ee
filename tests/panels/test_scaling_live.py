"""The panel of input scaling on real jobs: runs that grow on the page, are stopped, and go on."""

from pathlib import Path

import pytest

from embtie_widgets.jobs import training_runs
from embtie_widgets.panels.scaling import ScalingPanel
from embtie_widgets.requests import ScalingRequest
from tests.jobs.trainings import small
from tests.panels.live import stopped_while_growing

STEPS = 25


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScalingRequest:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(training_runs, "_PICTURE_SECONDS", 0.0)
    monkeypatch.setattr(training_runs, "_WORTH", 0)
    return ScalingRequest(
        **small(tmp_path),
        steps=STEPS,
        factors=(5.0,),
    )


def test_runs_are_drawn_as_they_grow_are_kept_on_cancel_and_go_on(
    request_: ScalingRequest,
) -> None:
    panel = ScalingPanel(request_, parts={"estimate": lambda _: None})
    said: list[str] = []

    def enough() -> bool:
        said.append(panel.result.progress)
        return "tied x5 model" in said[-1]

    stopped_while_growing(panel, enough)
    order = ("the untied model", "the tied model", "1 of 2 tied models", "the tied x5 model")
    first = [next(i for i, text in enumerate(said) if name in text) for name in order]
    assert first == sorted(first)
    assert panel.state.unfinished
    assert len(panel.chart.shown["data"][0]["x"]) == 1
    whole = panel.run()
    assert (whole.progress, panel.state.unfinished, panel.outdated.value) == ("", False, "")
    assert [run.factor for run in whole.whole] == [1, 5]
    assert whole.runs[1].curves["step"][-1] == STEPS
    assert panel.tokens.scatter.y.value == "moved"
