"""The story of drift, run as it stands."""

import re
from typing import Any

import pytest

from tests.app.stories import assert_ran, executed, lines


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return executed("drift.ipynb", tmp_path_factory.mktemp("story"))


def printed(book: Any, name: str) -> dict[str, list[float]]:
    """The numbers of each line that a cell has printed, by what stands before its colon."""
    parts = (line.split(": ", 1) for line in lines(book, name))
    return {head: [float(n) for n in re.findall(r"-?\d+\.\d+", rest)] for head, rest in parts}


def test_every_cell_runs(ran: Any) -> None:
    assert_ran(ran)


def test_a_known_angle_has_its_cosine_and_noise_is_at_chance(ran: Any) -> None:
    found = printed(ran, "known")
    assert found["turned by 30 degrees"][0] == found["turned by 30 degrees"][1]
    drawn, chance = found["drawn anew"]
    assert abs(drawn - chance) < 0.02


def test_tied_turns_like_the_output_as_the_story_says(ran: Any) -> None:
    found = printed(ran, "twins")
    into, out, tied = found["step 1000"]
    assert abs(tied - out) < 0.02 < into - tied


def test_rows_never_seen_are_as_the_story_says(ran: Any) -> None:
    found = printed(ran, "unseen")
    into, out, tied = found["never seen, 188 tokens"]
    assert into == 1.0
    assert max(out, tied) < 0.05


def test_the_output_is_faster_first_and_the_input_later(ran: Any) -> None:
    (into, out), *later = printed(ran, "speed").values()
    assert 2.5 < out / into < 3.5
    assert all(into > out for into, out in later)
