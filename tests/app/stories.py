"""A notebook run whole, as a reader would who runs every cell, and what its cells have printed."""

from pathlib import Path
from typing import Any

import nbclient
import nbformat

from embtie_widgets.app.serve import notebook

PATIENCE = 1_200  # seconds for a cell, which may train models on a busy machine


def executed(
    name: str,
    folder: Path,
    parameters: tuple[str, str] | None = None,
    after_each: str = "",
    last: str = "",
) -> Any:
    """The notebook after every cell; with its cell of parameters, which has to be the first of
    `parameters`, set to the second.  `after_each` is code that runs after each cell of code, as
    what a reader does in between, `last` after all, as a cell with that name."""
    book: Any = nbformat.read(notebook(name), as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in book.cells)
    assert "widgets" not in book.metadata
    if parameters is not None:
        (cell,) = (c for c in book.cells if "parameters" in c.metadata.get("tags", ()))
        before, cell.source = cell.source, parameters[1]
        assert before == parameters[0]
    if after_each:
        book.cells = [one for cell in book.cells for one in _followed(cell, after_each)]
    if last:
        book.cells.append(nbformat.v4.new_code_cell(last, id="last"))
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(book, timeout=PATIENCE, resources=resources).execute()
    return book


def _followed(cell: Any, code: str) -> list[Any]:
    return [cell, nbformat.v4.new_code_cell(code)] if cell.cell_type == "code" else [cell]


def assert_ran(book: Any) -> None:
    """Every cell has come to its end."""
    outputs = [out for cell in book.cells for out in cell.get("outputs", [])]
    assert outputs
    assert not any(out.output_type == "error" for out in outputs)


def lines(book: Any, name: str) -> list[str]:
    """What a cell has printed."""
    outputs = next(cell for cell in book.cells if cell.id == name).outputs
    return "".join(out.get("text", "") for out in outputs).splitlines()
