"""The story of norms and frequency, run as it stands."""

import re
from typing import Any

import pytest

from tests.app.stories import assert_ran, executed, lines


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return executed("norm_frequency.ipynb", tmp_path_factory.mktemp("story"))


def numbers(book: Any, name: str) -> dict[str, list[float]]:
    """The numbers of each line that a cell has printed, by what stands before its colon."""
    parts = (line.split(": ", 1) for line in lines(book, name))
    return {head: [float(n) for n in re.findall(r"-?\d+\.\d+", rest)] for head, rest in parts}


def test_every_cell_runs(ran: Any) -> None:
    assert_ran(ran)


def test_noise_is_within_chance_and_a_planted_trend_is_found(ran: Any) -> None:
    found = numbers(ran, "noise")
    assert abs(found["noise"][0]) <= found["noise"][1] < 0.06
    assert found["planted"][0] >= 0.99


def test_tied_goes_with_out_and_not_with_in_as_the_story_says(ran: Any) -> None:
    found = numbers(ran, "twins")
    assert found["Out, Tied"][1] > 0.9
    assert found["In, Tied"][0] < 0.5


def test_rows_that_never_occur_are_as_the_story_says(ran: Any) -> None:
    found = numbers(ran, "unseen")
    for name in ("Out", "Tied"):
        assert found[name][0] > 5 * found["In"][0]
        assert found[name][1] > 0.95
    assert abs(found["In"][1]) < 0.2
