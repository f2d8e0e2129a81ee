"""Panels of the staircase on real jobs: a training that grows on the page, is stopped, and is run
again to its end."""

from pathlib import Path

import pytest

from embtie_widgets.jobs import staircase, training_runs
from embtie_widgets.panels.signatures import SignaturesPanel
from embtie_widgets.panels.staircase import StaircasePanel
from embtie_widgets.requests import SignaturesRequest, StaircaseRequest
from tests.jobs.trainings import small
from tests.panels.live import stopped_while_growing


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(staircase, "_SHOWN_SECONDS", 0.0)
    monkeypatch.setattr(training_runs, "_PICTURE_SECONDS", 0.0)


def test_a_toy_training_is_stopped_with_what_it_has_and_runs_again_to_its_end() -> None:
    request = StaircaseRequest(
        operation="sum", tokens=6, length=2, modulus=6, model="attention", width=8, epochs=300,
        snapshots=8, probe_steps=5, folds=3,
    )  # fmt: skip
    panel = StaircasePanel(request, parts={"estimate": lambda _: None})

    def enough() -> bool:
        return any(run.tracks for run in panel.result.runs.values())

    stopped_while_growing(panel, enough)
    kept = panel.result.runs["attention alone"]
    assert panel.state.unfinished
    assert panel.cards["scrub"].layout.display == ""
    assert kept.track("attention, layer 1", "embedding") is not None
    whole = panel.run()
    assert whole.runs["attention alone"].steps[-1] == 300
    assert not panel.state.unfinished
    drawn = {name for name, part in panel.extras.parts.items() if part.box.layout.display == ""}
    assert drawn == {"attention", "frequencies"}


def test_twins_are_followed_while_they_train_and_after_a_stop(tmp_path: Path) -> None:
    request = SignaturesRequest(
        **small(tmp_path), source="train", steps=16, anchors=6, probe_steps=5
    )
    panel = SignaturesPanel(request, parts={"estimate": lambda _: None})
    stopped_while_growing(panel, lambda: any(run.tracks for run in panel.result.runs.values()))
    assert panel.state.unfinished
    whole = panel.run()
    assert {name: int(run.steps[-1]) for name, run in whole.runs.items()} == {
        "untied": 16, "tied": 16,
    }  # fmt: skip
    assert "tied W of tied" in panel.headline.value
