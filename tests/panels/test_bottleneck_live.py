"""The panel of the gradient bottleneck on real jobs: a training that grows on the page, is stopped,
goes on and is shown again from its folder; and a bundled model on a text."""

from pathlib import Path

import numpy as np
import pytest

from embtie_widgets.jobs import training_runs
from embtie_widgets.panels.bottleneck import BottleneckPanel
from embtie_widgets.requests import BottleneckRequest, ModelRef
from tests.panels.live import stopped_while_growing

STEPS = 10


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(training_runs, "_PICTURE_SECONDS", 0.0)
    monkeypatch.setattr(training_runs, "_WORTH", 0)


def test_a_training_is_drawn_as_it_grows_is_kept_on_cancel_and_shown_from_its_folder(
    tmp_path: Path,
) -> None:
    asked = BottleneckRequest(source="train", steps=STEPS, batch=2, length=16, warmup=2)
    panel = BottleneckPanel(asked, parts={"estimate": lambda _: None})
    steps: list[int] = []

    def enough() -> bool:
        steps.append(max(len(run.curves["step"]) for run in panel.result.runs.values()))
        return steps[-1] > 0

    stopped_while_growing(panel, enough)
    assert len(panel.chart.shown["data"]) > 1
    assert "press Run to go on" in panel.outdated.value
    whole = panel.run()
    assert {run.tied for run in whole.runs.values()} == {True, False}
    for run in whole.runs.values():
        r, c = run.curves["destroyed"], run.curves["visible_cosine"]
        assert r**2 + c**2 == pytest.approx(np.ones(STEPS), abs=1e-6)
    folder = next(path.parent for path in (tmp_path / "cache").rglob("manifest.json"))
    again = BottleneckPanel(parts={"estimate": lambda _: None, "known": lambda _: None})
    again.source.source.value = "run"
    again.source.form.file.path.value = str(folder)
    (run,) = again.run().runs.values()
    assert len(run.curves["step"]) == STEPS
    assert "does not transmit r = " in again.headline.value
    assert str(tmp_path) not in again.headline.value + again.facts.value


def test_a_bundled_model_is_measured_on_a_pasted_text() -> None:
    one = ModelRef("nano-tied")
    panel = BottleneckPanel(
        model=one, other=one, text="To be, or not to be: that is the question.", positions=40,
        length=16, gram=20, parts={"estimate": lambda _: None},
    )  # fmt: skip
    (model,) = panel.run().models.values()
    b = model.bottleneck
    assert b.destroyed**2 + b.visible_cosine**2 == pytest.approx(1, abs=1e-6)
    shown = panel.strip.figure.shown["data"][0]["text"][0]
    assert "be" in " ".join(shown)
    panel.strip.figure.clicked(0, (0, 2))
    assert panel.views.card.place == int(b.targets[2])
    assert panel.views.scatter.scatter.n == b.rows
