"""The story of the logits that run away, run as it stands but with shorter and milder trainings."""

import re
from typing import Any

import pytest

from embtie_widgets.requests.centering import METHODS
from tests.app.stories import assert_ran, executed, lines

STEPS, RATE = 24, 0.01


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return executed(
        "centering.ipynb",
        tmp_path_factory.mktemp("story"),
        ("STEPS, RATE = 1_500, 0.1", f"STEPS, RATE = {STEPS}, {RATE}"),
    )


def numbers(line: str) -> list[float]:
    return [float(n) for n in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", line)]


def test_every_cell_runs(ran: Any) -> None:
    assert_ran(ran)


def test_by_hand_a_subtraction_changes_a_prediction_only_under_a_cap(ran: Any) -> None:
    mean, change, capped = (numbers(line) for line in lines(ran, "subtract"))
    assert abs(mean[0]) > 1
    assert mean[1] == 0
    assert change[0] < 1e-12 < 1e-3 < capped[0]


def test_each_method_has_a_run_and_centering_leaves_no_mean(ran: Any) -> None:
    told = dict(line.split(": ", 1) for line in lines(ran, "run"))
    assert tuple(told) == METHODS
    found = {method: numbers(line) for method, line in told.items()}
    mean, _spread, _most, length, _loss = found["mu-centering"]
    assert abs(mean) < 0.01
    assert length < 1e-3
    mean, _spread, _most, length, _loss = found["none"]
    assert abs(mean) > 0.05
    assert length > 0.01


def test_adam_alone_moves_the_mean_row(ran: Any) -> None:
    start = None
    for line in lines(ran, "movers"):
        method, (first, last) = line.split(":")[0], numbers(line)
        if method == "none":
            assert last > 2 * first
        else:
            start = start or first
            assert first == last == start
    assert start


def test_a_planted_shift_costs_in_low_precision_and_one_subtraction_takes_it_back(ran: Any) -> None:
    shifts = [numbers(line.split(":", 1)[1]) for line in lines(ran, "planted")]
    exact, coarse, centred = zip(*shifts, strict=True)
    assert max(exact) - min(exact) < 2e-3
    assert coarse[-1] > coarse[-2] > exact[0] + 0.3
    assert max(abs(one - exact[0]) for one in centred) < 0.01


def test_the_effects_say_where_a_subtraction_is_not_harmless(ran: Any) -> None:
    moved: dict[str, float] = {}
    for line in lines(ran, "effects"):
        name, said = line.split(": ", 1)
        moved.setdefault(name, numbers(said)[0])
    assert moved["untied, not capped"] < 1e-12
    assert all(value > 1e-9 for name, value in moved.items() if name != "untied, not capped")
    assert {name.split(",")[0] for name in moved} == {"tied", "untied"}


def test_the_sensitivity_is_the_papers(ran: Any) -> None:
    assert numbers(lines(ran, "sensitivity")[0]) == [0.05]
