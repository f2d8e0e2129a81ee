"""The lens's panel on real jobs: a training that grows on the page, is stopped, and goes on."""

from pathlib import Path

import pytest

from embtie_widgets.jobs import lens_store, lens_training
from embtie_widgets.jobs.lens_files import trained_lens
from embtie_widgets.panels.lens import LensPanel
from embtie_widgets.requests import LensRequest, ModelRef
from tests.jobs.lens_models import words, write_model
from tests.panels.live import stopped_while_growing


@pytest.fixture
def request_(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LensRequest:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(lens_training, "_PICTURE_SECONDS", 0.0)
    lens_store.forget()
    return LensRequest(
        ModelRef(write_model(tmp_path / "untied")),
        ModelRef(write_model(tmp_path / "tied", tied=True, seed=1)),
        text=words(1_500),
        length=16,
        positions=200,
        train_tokens=600,
        steps=30,
    )


def test_a_training_is_drawn_as_it_grows_is_kept_on_cancel_and_goes_on(
    request_: LensRequest,
) -> None:
    panel = LensPanel(request_, parts={"estimate": lambda _: None})
    said: list[str] = []

    def enough() -> bool:
        said.append(panel.result.progress)
        return True

    stopped_while_growing(panel, enough)
    assert panel.state.unfinished
    assert "steps of untied" in said[0]
    assert "press Run to go on" in panel.outdated.value
    assert panel.cards["training"].layout.display == ""
    whole = panel.run()
    assert (whole.progress, panel.state.unfinished, panel.outdated.value) == ("", False, "")
    assert list(whole.lenses) == ["A", "B"]
    assert whole.training["A"]["step"][-1] == 30
    assert trained_lens(whole, "A")
