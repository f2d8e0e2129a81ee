"""The story of neighbours and spectra, run as it stands."""

import re
from typing import Any

import pytest

from tests.app.stories import assert_ran, executed


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return executed("neighbours.ipynb", tmp_path_factory.mktemp("story"))


def numbers(book: Any, name: str) -> list[list[float]]:
    """The numbers that a cell prints, line by line."""
    cell = next(cell for cell in book.cells if cell.id == name)
    printed = "".join(out.text for out in cell.outputs if out.get("name") == "stdout")
    found = (
        re.findall(r"(?<![@\w])\d+(?:\.\d+)?(?:e-\d+)?", line) for line in printed.splitlines()
    )
    return [[float(number) for number in line] for line in found]


def test_every_cell_runs(ran: Any) -> None:
    assert_ran(ran)
    outputs = [out for cell in ran.cells for out in cell.get("outputs", [])]
    assert any("application/vnd.jupyter.widget-view+json" in out.get("data", {}) for out in outputs)


def test_noise_stands_on_its_floor_and_a_turned_matrix_keeps_its_neighbours(ran: Any) -> None:
    (noise, floor), (turned,) = numbers(ran, "noise")
    assert noise == pytest.approx(floor, abs=0.002)
    assert turned == pytest.approx(1, abs=0.001)


def test_the_twins_show_what_the_text_says(ran: Any) -> None:
    own, out, into = (line[0] for line in numbers(ran, "twins"))
    assert out > into > own
    assert all(line[1] > 5 for line in numbers(ran, "twins"))


def test_shuffling_keeps_the_spectrum_and_loses_the_neighbours(ran: Any) -> None:
    (apart,), (overlap, floor) = numbers(ran, "shuffled")
    assert apart < 1e-9
    assert overlap == pytest.approx(floor, abs=0.002)


def test_there_are_three_questions(ran: Any) -> None:
    text = next(cell for cell in ran.cells if cell.id == "try").source
    assert [line[0] for line in text.splitlines() if line[:1].isdigit()] == ["1", "2", "3"]
