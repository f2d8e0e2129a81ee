"""Whatever letters a token has, every message of the panel can be sent and none of it is markup."""

import json
from dataclasses import replace
from typing import Any

import pytest
from ipywidgets import Widget
from ipywidgets.widgets.widget import _instances

from embtie_widgets.jobs.exports import csv_bytes
from embtie_widgets.panels.alignment import AlignmentPanel
from tests.browser.rehearsal import HOSTILE
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.sample_results import pair_result

KEYS = tuple(text.encode("utf-8", "surrogatepass") for text in HOSTILE)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Every message, as the kernel's encoder takes it: UTF-8 or an error."""
    messages: list[dict[str, Any]] = []

    def send(widget: Widget, msg: dict[str, Any], buffers: Any = None) -> None:
        json.dumps(msg, ensure_ascii=False, default=str).encode("utf-8")
        messages.append(msg)

    monkeypatch.setattr(Widget, "_send", send)
    return messages


def test_every_token_of_the_case_is_its_own_letters_everywhere(sent: list[dict[str, Any]]) -> None:
    runner = FakeRunner()
    panel = AlignmentPanel(parts={**parts(runner, Cost()), "ask": lambda *_: None})
    panel.start()
    result = pair_result()
    runner.jobs[-1].finish(replace(result, tokens=(*KEYS, *result.tokens[len(KEYS) :])))
    panel.tokens.table.sort, panel.tokens.table.descending = "row_a", False
    assert [row[1] for row in panel.tokens.table.rows][: len(KEYS)] == list(HOSTILE.values())
    lines = csv_bytes(panel.request, panel.result).decode("utf-8")
    for place, (text, shown) in enumerate(HOSTILE.items()):
        assert panel.scatter.scatter.describe(place).splitlines()[0] == shown
        panel.tokens.table.clicked = place
        whole = text if len(text) > len(shown) and text.isalnum() else shown
        assert panel.card.card.token == whole
        assert whole.replace('"', '""') in lines
        panel.tokens.table.query = shown.rstrip("…")
        assert place in [row[0] for row in panel.tokens.table.rows]
        panel.tokens.table.query = ""
    assert sent
    panel.close()


def test_other_models_twenty_times_over_leave_as_many_widgets() -> None:
    runner = FakeRunner(at_once=True)
    panel = AlignmentPanel(parts={**parts(runner, Cost()), "ask": lambda *_: None})
    panel.pair.a.ref.value = "nano-tied"
    before, ran = len(_instances), len(runner.jobs)
    for turn in range(20):
        panel.pair.a.ref.value = ("nano-untied", "nano-tied")[turn % 2]
    assert len(runner.jobs) == ran + 20
    assert len(_instances) == before
    panel.close()
