"""One toggle between output matrices as stored and centred, and both sides next to each other."""

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

FACTS = {"rows": 300, "zero": 0, "length": 0.5, "share": 0.4, "bound_ratio": None, "sha256": "ee55"}
CENTRED: dict[str, Any] = {
    "mu_centered": True,
    "mean rows taken off": {"Out": FACTS, "Tied": FACTS},
}
SAMPLES: dict[type, Callable[..., Any]] = {
    AlignmentPanel: pair_result,
    GeometryPanel: geometry_result,
    NormFrequencyPanel: norms_result,
}


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def panel(runner: FakeRunner) -> AlignmentPanel:
    """A panel that shows the pair as stored."""
    panel = AlignmentPanel(parts=parts(runner, Cost()))
    runner.jobs[-1].finish(pair_result())
    return panel


def turn(panel: Any, centred: bool) -> None:
    panel.sides.toggle.value = centred


def shown(panel: Any) -> bool:
    return panel.sides.card.layout.display != "none"


def text(panel: Any) -> str:
    return str(panel.sides._text.value)


@pytest.mark.parametrize("kind", SAMPLES)
def test_every_panel_of_a_pair_shows_both_sides_once_it_has_seen_them(
    kind: type, runner: FakeRunner
) -> None:
    panel = kind(parts=parts(runner, Cost()))
    runner.jobs[-1].finish(SAMPLES[kind]())
    assert not shown(panel)
    turn(panel, True)
    assert runner.jobs[-1].request == replace(panel.asks(), mu_centered=True)
    runner.jobs[-1].finish(SAMPLES[kind](**CENTRED))
    assert shown(panel)
    assert "before and after centring, by matrix" in text(panel)
    assert "Output matrices are centred: Out and Tied without mean row." in panel.headline.value
    assert "Out and Tied without mean row" in panel.basis(panel.result)
    assert "ee55" in panel.facts.value


def test_turning_back_and_forth_is_no_work(panel: AlignmentPanel, runner: FakeRunner) -> None:
    turn(panel, True)
    runner.jobs[-1].finish(pair_result(shift=0.1, **CENTRED))
    jobs, looks = len(runner.jobs), len(runner.looks)
    for centred in (False, True, False):
        turn(panel, centred)
        assert panel.result.settings.get("mu_centered", False) is centred
        assert panel.state.answers(panel.request)
        assert shown(panel)
    assert (len(runner.jobs), len(runner.looks)) == (jobs, looks)
    assert "Computed before." in panel.runbar.text.value


def test_a_change_is_told_with_both_numbers_and_none_where_there_is_none(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    turn(panel, True)
    runner.jobs[-1].finish(pair_result(shift=0.1, **CENTRED))
    before, after = (r.comparisons["Out->Tied"].heldout_mean for r in panel.sides._seen.values())
    low, high = sorted((before, after))
    assert f"{low:.3f} → {high:.3f} <small>+0.100</small>" in text(panel)
    assert "1.000 <small>unchanged</small>" in text(panel)


def test_a_link_to_the_centred_side_says_what_can_change_and_how_to_compare(
    runner: FakeRunner,
) -> None:
    asked = decode(encode(AlignRequest(mu_centered=True))).request
    panel = AlignmentPanel(asked, parts=parts(runner, Cost()))
    assert panel.sides.toggle.value is True
    runner.jobs[-1].finish(pair_result(**CENTRED))
    assert "No cosine can change here" in text(panel)
    assert "see the other side" in text(panel)
    assert "<table" not in text(panel)


def test_another_setting_forgets_the_other_side(panel: AlignmentPanel, runner: FakeRunner) -> None:
    turn(panel, True)
    runner.jobs[-1].finish(pair_result(**CENTRED))
    panel.seed.value = 4
    runner.jobs[-1].finish(pair_result(seed=4, **CENTRED))
    assert "<table" not in text(panel)
    jobs = len(runner.jobs)
    turn(panel, False)
    assert len(runner.jobs) == jobs + 1


def test_the_other_side_of_what_is_shown_may_take_longer_by_itself_than_anything_else(
    runner: FakeRunner,
) -> None:
    cost = Cost(8.0)
    panel = AlignmentPanel(parts=parts(runner, cost, known=pair_result()))
    panel.seed.value = 4
    assert not runner.jobs
    panel.seed.value = 0
    turn(panel, True)
    assert runner.jobs[-1].request.mu_centered
    runner.jobs[-1].finish(pair_result(**CENTRED))
    panel.seed.value, cost.seconds = 4, 500.0
    turn(panel, False)
    assert len(runner.jobs) == 1
    assert "Expected: about 8 min 20 s" in panel.runbar.text.value


def test_a_preview_is_not_set_against_a_whole_result(runner: FakeRunner) -> None:
    panel = GeometryPanel(parts=parts(runner, Cost(8.0), known=geometry_result()))
    turn(panel, True)
    job = runner.jobs[-1]
    job.preview(replace(job.request, sample=50), geometry_result(**CENTRED))
    assert not shown(panel)
    job.finish(geometry_result(**CENTRED))
    assert shown(panel)
    assert "<table" in text(panel)
