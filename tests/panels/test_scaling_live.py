"""The panel of input scaling on real jobs: runs that grow on the page, are stopped, and go on."""

import threading
from pathlib import Path

import pytest

from embtie_widgets.errors import Cancelled
from embtie_widgets.jobs import training_runs
from embtie_widgets.panels.scaling import ScalingPanel
from embtie_widgets.requests import CorpusRef, ScalingRequest
from tests.jobs.lens_models import words

LONG, STEPS = 120, 25


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScalingRequest:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(training_runs, "_PICTURE_SECONDS", 0.0)
    monkeypatch.setattr(training_runs, "_WORTH", 0)
    text = tmp_path / "words.txt"
    text.write_text("\n\n".join(words(400, seed) for seed in range(60)))
    return ScalingRequest(
        corpus=CorpusRef(str(text)), tokenizer="train", vocabulary=300, steps=STEPS, batch=2,
        length=16, warmup=2, device="cpu", factors=(5.0,),
    )  # fmt: skip


def test_runs_are_drawn_as_they_grow_are_kept_on_cancel_and_go_on(
    request_: ScalingRequest,
) -> None:
    panel = ScalingPanel(request_, parts={"estimate": lambda _: None})
    grown, said = threading.Event(), []

    def follow(_change: object) -> None:
        if panel.state.unfinished:
            said.append(panel.result.progress)
            if "tied x5 model" in said[-1]:
                grown.set()
                panel.cancel()

    panel.state.observe(follow, "result")
    answer = panel.start()
    assert grown.wait(LONG)
    assert answer.event.wait(LONG)
    assert isinstance(answer.error, Cancelled)
    panel.state.unobserve(follow, "result")
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
