"""A notebook run whole, as a reader would who runs every cell, and what its cells have printed."""

from pathlib import Path
from typing import Any

import nbclient
import nbformat

from embtie_widgets.app.serve import notebook


def executed(name: str, folder: Path, parameters: tuple[str, str] | None = None) -> Any:
    """The notebook after every cell; with its cell of parameters, which has to be the first of
    `parameters`, set to the second."""
    book: Any = nbformat.read(notebook(name), as_version=4)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in book.cells)
    assert "widgets" not in book.metadata
    if parameters is not None:
        (cell,) = (c for c in book.cells if "parameters" in c.metadata.get("tags", ()))
        before, cell.source = cell.source, parameters[1]
        assert before == parameters[0]
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(book, timeout=300, resources=resources).execute()
    return book


def assert_ran(book: Any) -> None:
    """Every cell has come to its end."""
    outputs = [out for cell in book.cells for out in cell.get("outputs", [])]
    assert outputs
    assert not any(out.output_type == "error" for out in outputs)


def lines(book: Any, name: str) -> list[str]:
    """What a cell has printed."""
    outputs = next(cell for cell in book.cells if cell.id == name).outputs
    return "".join(out.get("text", "") for out in outputs).splitlines()
