"""The story of the gradient's two paths, run as it stands but with shorter trainings."""

import re
from typing import Any

import pytest

from tests.app.stories import assert_ran, executed, lines

STEPS = 24


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return executed(
        "gradient_flow.ipynb", tmp_path_factory.mktemp("story"), ("STEPS = 300", f"STEPS = {STEPS}")
    )


def numbers(line: str) -> list[float]:
    return [float(n) for n in re.findall(r"\d+\.\d+(?:e-?\d+)?", line)]


def test_every_cell_runs(ran: Any) -> None:
    assert_ran(ran)


def test_a_row_that_is_not_in_the_text_is_written_by_the_output_alone(ran: Any) -> None:
    _, seen, absent, check = lines(ran, "split")
    assert all(numbers(seen))
    assert numbers(absent)[0] == 0 < numbers(absent)[1]
    assert numbers(check)[0] < 1e-4


def test_both_twins_are_split_and_the_parts_add_up(ran: Any) -> None:
    tied, untied, check = lines(ran, "run")
    assert (tied.split(":")[0], untied.split(":")[0]) == ("tied", "untied")
    assert all(0 < share < 1.5 for share in (*numbers(tied), *numbers(untied)))
    assert numbers(check)[0] < 1e-3


def test_the_share_depends_on_the_batch(ran: Any) -> None:
    small, large = (numbers(line)[0] for line in lines(ran, "batches"))
    assert small != large


def test_tokens_that_were_never_seen_are_the_outputs(ran: Any) -> None:
    seen, never = numbers(lines(ran, "tokens")[1])
    assert seen < never == 1


def test_rows_have_turned_since_the_start(ran: Any) -> None:
    for line in lines(ran, "turned"):
        assert 0 < numbers(line)[0] < 1
