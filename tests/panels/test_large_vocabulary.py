"""Real vocabularies: what goes over the wire, and that every token is drawn."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from ipywidgets import Widget

from embtie_widgets.panels.alignment import AlignmentPanel
from embtie_widgets.results import PairAlignment
from embtie_widgets.widgets.codes import decode, pack_selection
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.sample_results import pair_result

SIZES = [50_304, 151_936]
LIMIT = 500_000


class Wire:
    """Counts the bytes of every message that a widget sends."""

    def __init__(self) -> None:
        self.sent: dict[str, int] = {}

    def take(self, widget: Widget, msg: dict[str, Any], buffers: Any = None) -> None:
        size = len(json.dumps(msg, default=str)) + sum(memoryview(b).nbytes for b in buffers or [])
        kind = type(widget).__name__
        self.sent[kind] = self.sent.get(kind, 0) + size

    @property
    def total(self) -> int:
        return sum(self.sent.values())


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    found = Wire()
    monkeypatch.setattr(
        Widget, "_send", lambda self, msg, buffers=None: found.take(self, msg, buffers)
    )
    return found


@pytest.fixture(params=SIZES)
def large(request: pytest.FixtureRequest) -> Iterator[tuple[AlignmentPanel, FakeRunner, int]]:
    runner = FakeRunner()
    panel = AlignmentPanel(parts={**parts(runner, Cost()), "ask": lambda *_: None})
    panel.start()
    runner.jobs[-1].finish(pair_result(request.param))
    yield panel, runner, request.param
    panel.close()


def test_another_map_sends_less_than_half_a_megabyte(
    large: tuple[AlignmentPanel, FakeRunner, int], wire: Wire
) -> None:
    panel, runner, n = large
    panel.scatter.x.value = "log_count"
    wire.sent.clear()
    panel.map.value = "orthogonal"
    runner.jobs[-1].finish(_with_cosines(pair_result(n), lambda values: values[::-1]))
    assert wire.sent["TokenScatter"] >= 2 * n
    assert wire.total < LIMIT
    assert len(panel.tokens.table.rows) == 100


def test_a_lasso_of_half_of_all_sends_little(
    large: tuple[AlignmentPanel, FakeRunner, int], wire: Wire
) -> None:
    panel, _, n = large
    scatter = panel.scatter.scatter
    scatter.selection = pack_selection(np.arange(0, n, 2), n)
    assert wire.total - wire.sent["TokenScatter"] < 100_000
    assert len(panel.selection) == len(range(0, n, 2))
    assert len(panel.tokens.table.rows) == 100
    assert panel.tokens.table.shown == len(panel.selection)


def test_a_search_sends_hits_as_bits_and_one_page(
    large: tuple[AlignmentPanel, FakeRunner, int], wire: Wire
) -> None:
    panel, *_ = large
    panel.tokens.table.query = "word1"
    assert panel.tokens.table.shown > 10_000
    assert wire.total < 100_000


def test_every_token_with_a_value_is_in_the_scatter(
    large: tuple[AlignmentPanel, FakeRunner, int],
) -> None:
    panel, _, n = large
    seen = decode(panel.scatter.scatter.y, panel.scatter.scatter.y_range)
    assert len(seen) == n
    cosine = panel.result.comparisons["Out->Tied"].cosine
    np.testing.assert_allclose(seen, cosine, atol=1e-4, equal_nan=True)


def test_a_model_against_itself_is_a_chart_too() -> None:
    runner = FakeRunner()
    panel = AlignmentPanel(parts={**parts(runner, Cost()), "ask": lambda *_: None})
    panel.start()
    runner.jobs[-1].finish(_with_cosines(pair_result(SIZES[1]), np.ones_like))
    low, high = panel.scatter.scatter.y_range
    assert low < 1.0 < high
    assert sum(panel.chart.shown["data"][0]["y"]) == SIZES[1]


def _with_cosines(result: PairAlignment, change: Callable[[Any], Any]) -> PairAlignment:
    return replace(
        result,
        comparisons={
            name: replace(part, cosine=change(part.cosine))
            for name, part in result.comparisons.items()
        },
    )
