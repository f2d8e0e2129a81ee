"""The story of input scaling, run as it stands."""

import re
from typing import Any

import nbclient
import nbformat
import pytest

from embtie_widgets.app.serve import notebook


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Any:
    book = nbformat.read(notebook("input_scaling.ipynb"), as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in book.cells)
    assert "widgets" not in book.metadata
    place = str(tmp_path_factory.mktemp("story"))
    nbclient.NotebookClient(book, timeout=300, resources={"metadata": {"path": place}}).execute()
    return book


def lines(book: Any, name: str) -> list[str]:
    outputs = next(cell for cell in book.cells if cell.id == name).outputs
    return "".join(out.get("text", "") for out in outputs).splitlines()


def test_every_cell_runs(ran: Any) -> None:
    outputs = [out for cell in ran.cells for out in cell.get("outputs", [])]
    assert outputs
    assert not any(out.output_type == "error" for out in outputs)


def test_the_shipped_runs_go_the_way_that_is_told(ran: Any) -> None:
    rows = [[float(n) for n in re.findall(r"\d+\.\d+", line)] for line in lines(ran, "numbers")]
    plain, strongest = rows[0], rows[-1]
    assert strongest[0] > plain[0]
    assert strongest[1] < plain[1]


def test_ten_times_the_inputs_gradient_is_just_that(ran: Any) -> None:
    into, out = (re.findall(r"\d+\.\d+", line) for line in lines(ran, "small"))
    assert float(into[1]) == pytest.approx(10 * float(into[0]), rel=0.01)
    assert out[0] == out[1]
