"""One control leaves out the rows that copy the mean row, and the counts on screen change."""

import html
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from embtie_widgets.panels.alignment import AlignmentPanel
from embtie_widgets.panels.geometry import GeometryPanel
from embtie_widgets.panels.norms import NormFrequencyPanel
from embtie_widgets.requests import AlignRequest
from embtie_widgets.requests.link import decode, encode
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.sample_geometry import geometry_result
from tests.sample_norms import norms_result
from tests.sample_results import pair_result

SAMPLES: dict[type, Callable[..., Any]] = {
    AlignmentPanel: pair_result,
    GeometryPanel: geometry_result,
    NormFrequencyPanel: norms_result,
}


def words(widget: Any) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", widget.value)))


@pytest.mark.parametrize("kind", SAMPLES)
def test_every_panel_of_a_pair_asks_for_it_and_says_what_it_did(kind: type) -> None:
    runner = FakeRunner()
    panel = kind(parts=parts(runner, Cost()))
    whole = SAMPLES[kind]()
    runner.jobs[-1].finish(whole)
    assert "copies the mean row" not in words(panel.headline)
    assert "left out in A" not in words(panel.facts)
    panel.without_copies.value = True
    assert panel.request == replace(panel.asks(), leave_out_copies=True)
    assert runner.jobs[-1].request == panel.request
    counts = {**whole.counts, "left_out_a": 8, "left_out_b": 8}
    runner.jobs[-1].finish(replace(whole, counts=counts))
    assert "8 tokens are left out, having a row that copies the mean row." in words(panel.headline)
    assert "left out in A left out in B" in words(panel.facts)


def test_a_link_ticks_it() -> None:
    asked = decode(encode(AlignRequest(leave_out_copies=True))).request
    assert AlignmentPanel(asked, parts=parts(FakeRunner(), Cost())).without_copies.value is True
    assert AlignmentPanel(parts=parts(FakeRunner(), Cost())).without_copies.value is False
