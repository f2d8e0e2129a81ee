"""The story of the lens, run as it stands."""

import re
from typing import Any

import pytest

from tests.app.stories import assert_ran, executed, lines


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return executed("lens.ipynb", tmp_path_factory.mktemp("story"))


def numbers(book: Any, name: str) -> list[list[float]]:
    """The numbers of each line that a cell has printed."""
    return [[float(n) for n in re.findall(r"\d+\.\d+", line)] for line in lines(book, name)]


def test_every_cell_runs(ran: Any) -> None:
    assert_ran(ran)


def test_both_lenses_fall_to_the_models_own_answer(ran: Any) -> None:
    for name in ("logit", "tuned"):
        for *curve, check in numbers(ran, name):
            assert curve == sorted(curve, reverse=True)
            assert (curve[-1], check) == (0, 0)


def test_training_takes_most_of_the_distance_at_the_embedding(ran: Any) -> None:
    for logit, tuned in zip(numbers(ran, "logit"), numbers(ran, "tuned"), strict=True):
        assert tuned[0] < 0.6 * logit[0]


def test_the_tuned_lens_is_above_the_floor_but_near(ran: Any) -> None:
    for lens, floor in numbers(ran, "bits"):
        assert floor < lens < floor + 0.5
