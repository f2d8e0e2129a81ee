"""The panel of an evaluation on real jobs: stopped while it grows, and run again to its end."""

from pathlib import Path

import pytest

from embtie_widgets.panels.evaluate import EvaluatePanel
from embtie_widgets.requests.evaluate import EvaluateRequest
from tests.panels.live import stopped_while_growing


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))


def test_what_a_stopped_run_has_stays_and_the_next_one_goes_on() -> None:
    panel = EvaluatePanel(parts={"known": lambda _: None, "estimate": lambda _: None})
    panel.request = EvaluateRequest(letters=2_000, limit=4)
    stopped_while_growing(panel, lambda: True)
    assert panel.state.unfinished
    assert set(panel.result.models) == {"A"}
    whole = panel.run()
    assert set(whole.paired) == {"perplexity", "line-end"}
    assert panel.items.table.total == len(whole.items[panel.items.task.value].contexts)
    assert panel.request == EvaluateRequest(letters=2_000, limit=4)


def test_an_item_folder_that_is_not_there_is_said_in_the_page() -> None:
    panel = EvaluatePanel(parts={"known": lambda _: None, "estimate": lambda _: None})
    panel.request = EvaluateRequest(tasks=("piqa",), files="/nowhere/at-all")
    answer = panel.start()
    assert answer.event.wait(120)
    said = panel.notice.words
    assert "at-all" in said
    assert "/nowhere" not in said
    assert not panel.runbar.run.disabled
