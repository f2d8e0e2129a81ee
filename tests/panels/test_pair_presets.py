"""Choosing a pair of the catalogue fills both models and the role at once."""

import pytest

from embtie_widgets.jobs import catalogue
from embtie_widgets.panels.alignment import AlignmentPanel
from embtie_widgets.requests import AlignRequest, ModelRef
from tests.panels.fake_jobs import Cost, FakeRunner, parts


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner(at_once=True)


@pytest.fixture
def panel(runner: FakeRunner) -> AlignmentPanel:
    return AlignmentPanel(role_b="output", map="identity", parts=parts(runner, Cost()))


def test_a_pair_fills_both_models_and_the_role_in_one_step(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    before = len(runner.jobs)
    panel.pair.preset.value = "qwen3"
    wanted = AlignRequest(a="Qwen/Qwen3-8B", b="Qwen/Qwen3-4B", map="identity")  # type: ignore[arg-type]
    assert panel.request == wanted
    assert [job.request for job in runner.jobs[before:]] == [wanted]
    assert panel.pair.a.ref.value == "Qwen/Qwen3-8B"
    assert panel.pair.b.ref.value == "Qwen/Qwen3-4B"
    assert panel.pair.role.value == "auto"


def test_the_pair_of_a_request_is_named_and_another_has_no_name(panel: AlignmentPanel) -> None:
    preset = panel.pair.preset
    assert (preset.value, preset.value_label) == ("", "")
    panel.pair.role.value = "auto"
    assert (preset.value, preset.value_label) == ("nano", "nano twins")
    panel.request = AlignRequest(a=ModelRef("Qwen/Qwen3-8B"), b=ModelRef("Qwen/Qwen3-4B"))
    assert preset.value == "qwen3"
    panel.pair.b.revision.value = "step5"
    assert (preset.value, preset.value_label) == ("", "")


def test_naming_the_pair_runs_nothing(panel: AlignmentPanel, runner: FakeRunner) -> None:
    panel.pair.role.value = "auto"
    before = len(runner.jobs)
    panel.pair.preset.value = "nano"
    assert len(runner.jobs) == before


def test_pairs_are_found_by_their_models_and_papers(panel: AlignmentPanel) -> None:
    panel.pair.preset.query = "gpt-neo"
    assert [hit["value"] for hit in panel.pair.preset.hits] == ["pythia-neo"]
    panel.pair.preset.query = "2603.26663"
    assert len(panel.pair.preset.hits) == 3
    panel.pair.preset.query = ""
    assert len(panel.pair.preset.hits) == len(catalogue.pairs())
