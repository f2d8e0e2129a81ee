"""Every chapter of the lessons as a class reads it: guesses made, experiments run, exercises
answered wrongly and rightly.  At short length here, at full length in a run marked slow."""

import ast
import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from tests.app.lesson_pictures import FOLDER, IMAGE, MOST_BYTES, pictured
from tests.app.lesson_reader import READ_ON
from tests.app.stories import assert_ran, executed, lines

CHAPTERS = sorted(path.stem for path in FOLDER.glob("0*.ipynb"))
_WORDS = "  # True: a smaller run, for a quick check that all of it works"
SHORT = (f"SHORT = False{_WORDS}", "SHORT = True")
_FINDINGS = """
import json
from dataclasses import asdict
from tests.app.lesson_reader import answered, said
print(json.dumps({"exercises": [asdict(one) for one in answered()], "said": said()}))
"""
_ANSWERS = {
    "09_design_your_own": """
class Mine(Intervention):
    splits = True

    def on_gradients(self, step):
        matrix = step.model.get_input_embeddings().weight
        matrix.grad.copy_(0.25 * step.parts.input + step.parts.output)

written.answer = Mine()
"""
}
"""What a reader answers by code."""


def _lengths() -> list[Any]:
    """Each chapter at its shortest, and those that can be shortened at full length too."""
    short = [name for name in CHAPTERS if SHORT[0] in json.dumps(cells(name, "code"))]
    slow = [pytest.param(n, None, marks=pytest.mark.slow, id=f"{n}-full") for n in short]
    return [*(pytest.param(n, SHORT if n in short else None, id=n) for n in CHAPTERS), *slow]


def cells(chapter: str, kind: str) -> list[Any]:
    book = nbformat.read(FOLDER / f"{chapter}.ipynb", as_version=4)
    return [cell for cell in book.cells if cell.cell_type == kind]


@pytest.mark.parametrize(("chapter", "length"), _lengths())
def test_a_chapter_is_read_to_its_end(
    chapter: str, length: tuple[str, str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    last = _ANSWERS.get(chapter, "") + _FINDINGS
    book = executed(f"lessons/{chapter}.ipynb", tmp_path, length, READ_ON, last)
    assert_ran(book)
    found = json.loads("".join(lines(book, "last")))
    assert 2 <= len(found["exercises"]) <= 4
    for one in found["exercises"]:
        assert one["refused"], one["question"]
        assert one["hinted"], one["question"]
        assert one["accepted"], one["question"]
    assert 'role="alert"' not in found["said"]
    assert 'class="ep-quiet"' not in found["said"]  # nothing waits for a guess or a run
    assert "As you thought" in found["said"] or "It came out otherwise" in found["said"]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_right_answers_are_computed_in_the_chapter(chapter: str) -> None:
    for cell in cells(chapter, "code"):
        for call in (n for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.Call)):
            for given in call.keywords:
                assert given.arg != "check" or not isinstance(given.value, ast.Constant)
            if isinstance(call.func, ast.Attribute) and call.func.attr == "reveal":
                assert not isinstance(call.args[0], ast.Constant)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_chapter_can_be_read_without_a_kernel(chapter: str) -> None:
    book = nbformat.read(FOLDER / f"{chapter}.ipynb", as_version=4)
    shown = pictured(book)
    assert shown
    for cell in cells(chapter, "markdown"):  # folded: a guess comes before its picture
        folded = "picture" in cell.metadata.get("tags", ())
        assert folded == cell.source.startswith("<details>")
        assert folded or "](images/" not in cell.source
    told = [
        "guess" if "ew.Prediction(" in cell.source else "answer"
        for cell in book.cells
        if "ew.Prediction(" in cell.source or cell.source.startswith("<details>")
    ]
    guesses = [place for place, one in enumerate(told) if one == "guess"]
    assert all("answer" in told[place + 1 : place + 2] for place in guesses)
    assert set(shown) == {
        name for cell in cells(chapter, "markdown") for name in IMAGE.findall(cell.source)
    }
    for name, cell in shown.items():
        assert isinstance(ast.parse(cell.source).body[-1], ast.Expr)
        assert name.startswith(chapter[:2])
        assert (FOLDER / "images" / name).stat().st_size < MOST_BYTES
