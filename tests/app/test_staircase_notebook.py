"""The story of the staircase, run as it stands but with a smaller task."""

import re
from typing import Any

import pytest

from tests.app.stories import assert_ran, executed, lines


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return executed(
        "staircase.ipynb",
        tmp_path_factory.mktemp("story"),
        ("TOKENS, EPOCHS = 40, 400", "TOKENS, EPOCHS = 28, 200"),
    )


def numbers(line: str) -> list[float]:
    return [float(n) for n in re.findall(r"-?\d+\.\d+", line.split(": ", 1)[1])]


def test_every_cell_runs(ran: Any) -> None:
    assert_ran(ran)


def test_by_hand_neighbours_share_labels_and_orders_sum_to_those_below(ran: Any) -> None:
    *rows, sums, below = lines(ran, "signature")
    assert rows[0] == "token 0: [0.33 0.33 0.33 0.   0.  ]"
    assert sums == "each sums to 1, order 1 too: 1"
    assert float(below.split()[-1]) < 1e-12


def test_modular_addition_is_the_same_to_order_zero_alone(ran: Any) -> None:
    zero, one = (float(line.split()[-1]) for line in lines(ran, "modular"))
    assert zero == 0 < one


def test_order_zero_comes_first_and_falls(ran: Any) -> None:
    start, top, end = (numbers(line) for line in lines(ran, "run"))
    assert top[0] > 0.9 > 0.5 > max(start[0], end[0])
    assert end[1] > 0.8 > start[1]


def test_a_probe_fits_more_than_it_has_learned(ran: Any) -> None:
    found = dict(line.split(": ", 1) for line in lines(ran, "probe"))
    first = {name: float(said.split()[0]) for name, said in found.items()}
    assert first["in_sample"] > 0.15 > first["held_out"]


def test_a_large_start_takes_the_first_step_away(ran: Any) -> None:
    large, small = (numbers(line)[0] for line in lines(ran, "gamma"))
    assert small > 0.9 > 0.4 > large


def test_signatures_alone_solve_min_max_and_not_modular_addition(ran: Any) -> None:
    signatures, model, modular = (int(line.split()[-1][:-1]) for line in lines(ran, "extremes"))
    assert signatures == 100
    assert model > 80
    assert modular < 30
