"""The panel of drift on a real training: drawn as it grows, stopped, and gone on with."""

from pathlib import Path

import pytest

from embtie_widgets.panels.drift import DriftPanel
from embtie_widgets.requests import DriftRequest
from tests.jobs.trainings import small
from tests.panels.live import stopped_while_growing


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DriftRequest:
    """Twins of 300 tokens, trained in a second."""
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    return DriftRequest(
        **small(tmp_path),
        steps=12,
        source="train",
    )


def test_a_training_is_drawn_as_it_grows_is_kept_on_cancel_and_goes_on(
    request_: DriftRequest,
) -> None:
    panel = DriftPanel(request_, parts={"estimate": lambda _: None})
    said: list[str] = []

    def enough() -> bool:
        said.append(panel.result.progress)
        return True

    stopped_while_growing(panel, enough)
    assert panel.state.unfinished
    assert "steps of the untied run" in said[0]
    whole = panel.run()
    assert (whole.progress, panel.state.unfinished) == ("", False)
    assert list(whole.runs) == ["untied", "tied"]
    assert whole.runs["tied"].steps[-1] == 12
    drawn = {trace["name"]: trace for trace in panel.chart.shown["data"]}
    assert len(drawn["tied"]["x"]) == len(whole.runs["tied"].steps)
