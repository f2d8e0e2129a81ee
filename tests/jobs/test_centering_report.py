"""What runs of a sweep come to, on made-up runs; what a sweep is said to cost."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embtie_widgets.jobs import centering_cost, training_cost
from embtie_widgets.jobs.centering_cost import estimate_centering, work_of
from embtie_widgets.jobs.centering_report import finished_run, sensitivities, why_diverged
from embtie_widgets.jobs.estimate import Experience
from embtie_widgets.jobs.places import place_of
from embtie_widgets.panels.frame import AT_ONCE_SECONDS
from embtie_widgets.requests import CenteringRequest
from embtie_widgets.requests.centering import Cell
from embtie_widgets.results.centering import (
    DIVERGED,
    DONE,
    FAILED,
    MISSING,
    RUNNING,
    WAITING,
    CenteringRun,
    Sensitivity,
)
from embtie_widgets.training.run_store import RunStore
from tests.fresh import run_fresh

CELL = Cell("nano", False, "none", None, 1e-2, 0)


def run(lr: float, loss: float, state: str = DONE, **more: Any) -> CenteringRun:
    return CenteringRun("none", False, lr, loss=loss, state=state, size="nano", seed=0, **more)


def only(runs: list[CenteringRun], initial: float = 8.0) -> Sensitivity:
    (found,) = sensitivities(runs, lambda _size: initial)
    return found


def test_a_sensitivity_is_the_mean_excess_over_the_best_rate() -> None:
    one = only([run(1e-2, 3.0), run(1e-1, 5.0), run(1e-3, 4.0)])
    assert one.value == pytest.approx((1 + 2) / 2)
    assert (one.best_lr, one.best_loss, one.unknown) == (1e-2, 3.0, 0)
    assert one.rates == (1e-3, 1e-2, 1e-1)


def test_a_diverged_run_counts_for_the_initial_loss() -> None:
    one = only([run(1e-2, 3.0), run(1e-1, math.nan, DIVERGED), run(1, 99.0, DIVERGED)])
    assert one.value == pytest.approx((5 + 5) / 2)
    assert one.rates == (1e-2, 1e-1, 1)


def test_what_is_not_known_is_left_out_and_counted() -> None:
    gaps = [run(10.0**n, math.nan, state) for n, state in enumerate((FAILED, MISSING, WAITING))]
    one = only([run(1e-2, 3.0), run(1e-1, 4.0), *gaps, run(7, 2.0, RUNNING)])
    assert (one.value, one.unknown, one.rates) == (pytest.approx(1.0), 4, (1e-2, 1e-1))
    alone = only([run(1e-2, 3.0), gaps[0]])
    assert math.isnan(alone.value)
    assert alone.best_lr == 1e-2
    none = only(gaps)
    assert math.isnan(none.best_lr)


def test_a_line_has_at_least_two_rates_and_one_of_everything_else() -> None:
    assert sensitivities([run(1e-2, 3.0)], lambda _size: 8.0) == ()
    others = [
        replace(run(rate, loss), **change)
        for change in ({"seed": 1}, {"tied": True}, {"coefficient": 0.1}, {"size": "mini"})
        for rate, loss in ((1e-2, 3.0), (1e-1, 4.0))
    ]
    found = sensitivities(others, {"nano": 8.0, "mini": 3.5}.__getitem__)
    assert [one.value for one in found] == [1.0, 1.0, 1.0, 0.5]
    assert [one.initial_loss for one in found] == [8.0, 8.0, 8.0, 3.5]


def test_without_an_initial_loss_there_is_no_sensitivity() -> None:
    assert math.isnan(only([run(1e-2, 3.0), run(1e-1, 4.0)], math.nan).value)


@pytest.mark.parametrize(
    ("step", "loss", "says"),
    [
        (None, 7.0, ""),
        (None, 9.0, "9.00, more than before it had learnt anything (8.00)"),
        (None, math.nan, "no finite number"),
        (None, math.inf, "no finite number"),
        (1_200, math.nan, "from step 1,200 on"),
    ],
)
def test_why_a_run_has_diverged_is_said_in_words(step: Any, loss: float, says: str) -> None:
    told = why_diverged(step, loss, 8.0)
    assert says in told
    assert bool(told) == bool(says)


def stored(folder: Path, losses: list[float], **manifest: Any) -> RunStore:
    store = RunStore.create(folder, name="a", tied=False, of=9, settings={"batch": 4})
    for step, loss in enumerate(losses, 1):
        store.append({"step": step, "run": "a", "loss": loss, "other": 1.0})
    store.set_state("done", len(losses), **manifest)
    return store


def test_a_run_is_judged_by_its_loss_held_out_and_by_how_it_began(tmp_path: Path) -> None:
    store = stored(tmp_path, [9.0, 7.0])
    states = {loss: finished_run(CELL, store, loss, 8.0).state for loss in (7.5, 8.5, 9.5)}
    assert states == {7.5: DONE, 8.5: DONE, 9.5: DIVERGED}
    unknown = finished_run(CELL, store, None, 8.0)
    assert (unknown.state, math.isnan(unknown.loss)) == (DONE, True)
    assert unknown.numbers == {"step": 2, "loss": 7.0}


def test_a_run_that_ended_early_says_where(tmp_path: Path) -> None:
    ended = finished_run(CELL, stored(tmp_path, [9.0, math.inf], diverged=2), math.nan, 8.0, "here")
    assert (ended.state, ended.step, ended.of) == (DIVERGED, 2, 9)
    assert "step 2" in ended.reason
    assert ended.about == {"batch": 4, "device": "cpu", "where": "here", "key": tmp_path.name}


@pytest.fixture
def new_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(centering_cost, "experience", Experience())
    monkeypatch.setattr(training_cost, "_rows", {})
    monkeypatch.delenv("EMBTIE_CLUSTER", raising=False)


def test_each_cell_costs_a_run(new_kernel: None) -> None:
    one = CenteringRequest(methods=("none",))
    cost = work_of(one)
    assert cost is not None
    for change in ({"rates": (1e-3, 1e-2)}, {"seeds": (0, 1)}, {"methods": ("none", "z-loss")}):
        more = work_of(replace(one, **change))
        assert more.operations == pytest.approx(2 * cost.operations)
        assert (more.seconds, more.bytes) == (2 * cost.seconds, cost.bytes)
    assert work_of(replace(one, tying=("tied",))).operations < cost.operations
    assert work_of(replace(one, extra_rows=5_000)).operations > cost.operations


def test_a_larger_size_costs_more(new_kernel: None) -> None:
    costs = [
        estimate_centering(CenteringRequest(methods=("none",), sizes=(size,)))
        for size in ("micro", "nano", "mini", "small")
    ]
    assert sorted(cost.seconds for cost in costs) == [cost.seconds for cost in costs]
    assert sorted(cost.bytes for cost in costs) == [cost.bytes for cost in costs]
    both = work_of(CenteringRequest(methods=("none",), sizes=("micro", "small")))
    assert both.bytes == costs[-1].bytes


def test_of_files_runs_and_clusters_is_said_what_is_known(
    new_kernel: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = CenteringRequest(source="file", file="sweep.csv")
    assert estimate_centering(file).seconds < AT_ONCE_SECONDS
    assert estimate_centering(replace(file, source="run")) is None
    assert estimate_centering(CenteringRequest(tokenizer="nobody/knows")) is None
    far = place_of("tcp://192.0.2.1:8786")
    monkeypatch.setattr(centering_cost, "place", lambda: far)
    assert estimate_centering(CenteringRequest()) is None


def test_the_cost_is_known_without_torch() -> None:
    run_fresh(
        "from embtie_widgets.jobs.run import estimate;"
        "from embtie_widgets.requests import CenteringRequest;"
        "assert estimate(CenteringRequest()).seconds > 1",
        "torch",
    )
