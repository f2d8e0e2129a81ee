"""The story of input scaling, run as it stands."""

import re
from typing import Any

import pytest

from tests.app.stories import assert_ran, executed, lines


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return executed("input_scaling.ipynb", tmp_path_factory.mktemp("story"))


def test_every_cell_runs(ran: Any) -> None:
    assert_ran(ran)


def test_the_shipped_runs_go_the_way_that_is_told(ran: Any) -> None:
    rows = [[float(n) for n in re.findall(r"\d+\.\d+", line)] for line in lines(ran, "numbers")]
    plain, strongest = rows[0], rows[-1]
    assert strongest[0] > plain[0]
    assert strongest[1] < plain[1]


def test_ten_times_the_inputs_gradient_is_just_that(ran: Any) -> None:
    into, out = (re.findall(r"\d+\.\d+", line) for line in lines(ran, "small"))
    assert float(into[1]) == pytest.approx(10 * float(into[0]), rel=0.01)
    assert out[0] == out[1]
