"""What trainings and splits are said to cost, before they are run."""

from dataclasses import replace

import pytest

from embtie_widgets.jobs import training_cost
from embtie_widgets.jobs.estimate import Experience
from embtie_widgets.jobs.training_cost import (
    estimate_flow,
    saw_rows,
    saw_sizes,
    training_work,
    work_of,
)
from embtie_widgets.panels.frame import AT_ONCE_SECONDS
from embtie_widgets.requests import GradientFlowRequest, ModelRef
from tests.fresh import run_fresh

TWINS = GradientFlowRequest()
MODEL = {"parameters": 10**8, "rows": 50_000, "width": 768, "layers": 12}


@pytest.fixture(autouse=True)
def new_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_cost, "experience", Experience())
    monkeypatch.setattr(training_cost, "_rows", {})
    monkeypatch.setattr(training_cost, "_sizes", {})


def test_the_default_training_is_known_at_once_and_without_torch() -> None:
    cost = estimate_flow(TWINS)
    assert cost is not None
    assert 20 < cost.seconds < 240
    assert 10**7 < cost.bytes < 10**9
    run_fresh(
        "from embtie_widgets.jobs.run import estimate;"
        "from embtie_widgets.requests import GradientFlowRequest;"
        "assert estimate(GradientFlowRequest()).seconds > 1",
        "torch",
    )


def test_operations_grow_with_steps_batch_and_runs() -> None:
    one = training_work(TWINS, 1, 0).operations
    assert training_work(replace(TWINS, steps=600), 1, 0).operations == pytest.approx(2 * one)
    assert training_work(TWINS, 3, 0).operations == pytest.approx(3 * one)
    wide = training_work(replace(TWINS, batch=16), 1, 0)
    assert one < wide.operations < 2 * one
    assert wide.bytes > training_work(TWINS, 1, 0).bytes
    assert training_work(TWINS, 0, 1).operations > one


def test_a_tokenizer_that_was_never_seen_says_nothing() -> None:
    own = replace(TWINS, tokenizer="somebody/model")
    assert estimate_flow(own) is None
    saw_rows(own, 50_000)
    assert estimate_flow(own).seconds > estimate_flow(TWINS).seconds


def test_a_tokenizer_that_will_be_trained_has_as_many_tokens_as_asked_for() -> None:
    few = replace(TWINS, tokenizer="train", vocabulary=1_000)
    saw_rows(few, 999_999)
    assert work_of(few).operations < work_of(TWINS).operations


def test_a_split_is_known_once_the_model_was_looked_at() -> None:
    split = replace(TWINS, source="text", model="somebody/model")
    assert estimate_flow(split) is None
    saw_sizes(ModelRef("somebody/model"), MODEL)
    cost = estimate_flow(split)
    assert cost.bytes > 4 * MODEL["parameters"]
    more = estimate_flow(replace(split, batches=8))
    assert more.seconds > cost.seconds
    assert more.bytes == cost.bytes


def test_a_recorded_file_is_read_at_once_and_of_a_run_nothing_can_be_said() -> None:
    file = replace(TWINS, source="file", file="somewhere")
    assert estimate_flow(file).seconds < AT_ONCE_SECONDS
    assert estimate_flow(replace(file, source="run")) is None


def test_all_trainings_learn_from_each_other_how_fast_the_machine_is() -> None:
    work = work_of(TWINS)
    before = estimate_flow(TWINS).seconds
    training_cost.experience.took(work, 10 * before)
    assert estimate_flow(replace(TWINS, steps=150)).seconds > before
