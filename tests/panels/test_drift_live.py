"""The panel of drift on a real training: drawn as it grows, stopped, and gone on with."""

import threading
from pathlib import Path

import pytest

from embtie_widgets.errors import Cancelled
from embtie_widgets.panels.drift import DriftPanel
from embtie_widgets.requests import CorpusRef, DriftRequest
from tests.jobs.lens_models import words

LONG = 120


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DriftRequest:
    """Twins of 300 tokens, trained in a second."""
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "words.txt"
    path.write_text("\n\n".join(words(400, seed) for seed in range(60)))
    return DriftRequest(
        source="train",
        corpus=CorpusRef(str(path)),
        tokenizer="train",
        vocabulary=300,
        steps=12,
        batch=2,
        length=16,
        warmup=2,
        device="cpu",
    )


def test_a_training_is_drawn_as_it_grows_is_kept_on_cancel_and_goes_on(
    request_: DriftRequest,
) -> None:
    panel = DriftPanel(request_, parts={"estimate": lambda _: None})
    grown, said = threading.Event(), []

    def follow(_change: object) -> None:
        if panel.state.unfinished:
            said.append(panel.result.progress)
            panel.cancel()
            grown.set()

    panel.state.observe(follow, "result")
    answer = panel.start()
    assert grown.wait(LONG)
    assert answer.event.wait(LONG)
    assert isinstance(answer.error, Cancelled)
    assert panel.state.unfinished
    assert "steps of the untied run" in said[0]
    panel.state.unobserve(follow, "result")
    whole = panel.run()
    assert (whole.progress, panel.state.unfinished) == ("", False)
    assert list(whole.runs) == ["untied", "tied"]
    assert whole.runs["tied"].steps[-1] == 12
    drawn = {trace["name"]: trace for trace in panel.chart.shown["data"]}
    assert len(drawn["tied"]["x"]) == len(whole.runs["tied"].steps)
