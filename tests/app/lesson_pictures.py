"""The pictures that let the lessons be read without a kernel, made by the chapters themselves.

    python -m tests.app.lesson_pictures             all of them; some minutes
    python -m tests.app.lesson_pictures 05 07       those of these chapters

A cell of text with the tag "picture" names an image: SVG, which is small and sharp, or PNG for a
chart with thousands of points.  It is the first chart that the cell of code
before it shows, once the chapter has been read to its end, at full length and every guess made.
"""

import ast
import base64
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import nbclient
import nbformat
from playwright.sync_api import Page, sync_playwright

from embtie_widgets.app.serve import notebook
from tests.app.lesson_reader import READ_ON
from tests.app.stories import PATIENCE

FOLDER = notebook().parent / "lessons"
WIDTH, SCALES, MOST_BYTES = 760, (1.5, 1.2, 1.0), 150_000
IMAGE = re.compile(r"!\[[^\]]+\]\(images/([^)]+\.(?:png|svg))\)")
_KEEP = """
import json, pathlib
from embtie_widgets.charts.figures import figure
from tests.app.lesson_reader import drawing
for _name, _shown in _pictures.items():
    _plot = figure(drawing(_shown), "light")
    pathlib.Path({folder!r}, _name + ".json").write_text(_plot.to_json())
"""
_DRAW = """async ([figure, format, width, scale]) => {
  const height = figure.layout.height || 450;
  const box = document.createElement("div");
  document.body.replaceChildren(box);
  await Plotly.newPlot(box, figure.data, { ...figure.layout, width, height });
  return Plotly.toImage(box, { format, width, height, scale });
}"""


def specs(chapter: Path, folder: Path) -> dict[str, Any]:
    """The charts of a chapter's tagged cells, in plotly's terms, by name."""
    book: Any = nbformat.read(chapter, as_version=4)
    for name, cell in pictured(book).items():
        cell.source = _keeping(cell.source, name)
    book.cells = [one for cell in book.cells for one in _followed(cell)]
    book.cells.insert(0, nbformat.v4.new_code_cell("_pictures = {}"))
    book.cells.append(nbformat.v4.new_code_cell(_KEEP.format(folder=str(folder))))
    nbclient.NotebookClient(book, timeout=PATIENCE).execute()
    return {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}


def pictured(book: Any) -> dict[str, Any]:
    """The cells of code whose first chart is kept as an image, by the image's name."""
    found, shown = {}, None
    for cell in book.cells:
        if cell.cell_type == "code":
            shown = cell
        elif "picture" in cell.metadata.get("tags", ()):
            found |= dict.fromkeys(IMAGE.findall(cell.source), shown)
    return found


def _followed(cell: Any) -> list[Any]:
    """A cell, and what the reader does after it."""
    return [cell, nbformat.v4.new_code_cell(READ_ON)] if cell.cell_type == "code" else [cell]


def _keeping(source: str, name: str) -> str:
    """The code with its last expression kept under a name."""
    last = ast.parse(source).body[-1]
    lines = source.splitlines()
    before, shown = lines[: last.lineno - 1], lines[last.lineno - 1 :]
    return "\n".join([*before, f"_pictures[{name!r}] = (", *shown, ")"])


def drawn(page: Page, spec: Any, kind: str) -> bytes:
    """A chart as a browser draws it; a PNG in the finest scale that is small enough."""
    for scale in SCALES if kind == "png" else (1,):
        head, _, data = page.evaluate(_DRAW, [spec, kind, WIDTH, scale]).partition(",")
        picture = base64.b64decode(data) if "base64" in head else unquote(data).encode()
        if len(picture) < MOST_BYTES:
            break
    return picture


def main(chosen: list[str]) -> None:
    """Draw the pictures of the chapters that begin with one of these, or of all."""
    from embtie_widgets.widgets.figure import plotly_script

    chapters = [
        path for path in sorted(FOLDER.glob("0*.ipynb")) if not chosen or path.name[:2] in chosen
    ]
    (FOLDER / "images").mkdir(exist_ok=True)
    with sync_playwright() as play:
        found = shutil.which("chromium") or play.chromium.executable_path
        page = play.chromium.launch(executable_path=found, args=["--no-sandbox"]).new_page()
        page.add_script_tag(path=str(plotly_script()))
        for chapter in chapters:
            with tempfile.TemporaryDirectory() as folder:
                for name, spec in specs(chapter, Path(folder)).items():
                    picture = drawn(page, spec, name[-3:])
                    (FOLDER / "images" / name).write_bytes(picture)
                    print(f"{name}: {len(picture):,} bytes", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
