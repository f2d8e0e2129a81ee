"""The dashboard with work to order, for a notebook of the browser tests: the seed says how it goes.

Both hosts run the same notebook, so that one opened page is enough for what needs slow, broken or
large work beside the real one.
"""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import ipywidgets as w
import nbformat
import numpy as np
from safetensors.numpy import save_file

import embtie_widgets as ew
from embtie_widgets.jobs import run as doors
from embtie_widgets.panels import frame
from tests.sample_results import pair_result

SLOW, BROKEN, LARGE = 600, 13, 46
LARGEST, LONG = 151_936, 500
SECRET = "/srv/secret"

# Every text that C018 names, and what is seen of it.
HOSTILE = {
    "<b>": "<b>",
    "</b>": "</b>",
    "<br>": "<br>",
    "<script>alert(1)</script>": "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>": "<img␣src=x␣onerror=alert(1)>",
    "&lt;": "&lt;",
    "%{x}": "%{x}",
    "%{customdata[0]}": "%{customdata[0]}",
    "$x$": "$x$",
    "$\\alpha$": "$\\alpha$",
    "\n": "⏎",
    "\t": "⇥",
    "\0": "[U+0000]",
    "\u200b": "[U+200B]",
    "\u202e": "[U+202E]",
    "\ud800": "\\xed\\xa0\\x80",
    "": "(empty)",
    " ": "␣",
    "w" * LONG: "w" * 59 + "…",
}
MODEL_NAMES = ("<img src=x onerror=alert(1)>", "$x$ %{x} <b>")


def write_notebook(folder: Path) -> Path:
    """A notebook whose one code cell shows the dashboard of this module."""
    root = Path(__file__).parents[2]
    lines = (
        f"import sys\nsys.path.insert(0, {str(root)!r})\n"
        "from tests.browser.rehearsal import rehearsed\napp = rehearsed()\napp"
    )
    path = folder / "rehearsal.ipynb"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    book = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(lines)], metadata={"kernelspec": kernel}
    )
    nbformat.write(book, path)
    return path


def rehearsed() -> w.Widget:
    """The dashboard; seeds SLOW, BROKEN and LARGE are not carried out as usual."""
    known: dict[Any, Any] = {}
    usual, start = doors.run, frame.Panel.start

    def run(request: Any, *, progress: Any) -> Any:
        if request.seed == LARGE:
            return equal_cosines(LARGEST)
        for done in range(600 if request.seed == SLOW else 0):
            progress("forming products", done, 600)
            time.sleep(0.1)
        if request not in known:
            known[request] = usual(request, progress=progress)
        return known[request]

    def start_or_break(panel: frame.Panel) -> Any:
        if panel.request.seed == BROKEN:
            raise ValueError(f"nothing below {SECRET}")
        return start(panel)

    doors.run, frame.Panel.start = run, start_or_break
    frame.AT_ONCE_SECONDS = 1e9  # on a busy machine too, a change runs without a click
    return ew.dashboard()


def equal_cosines(n: int) -> Any:
    """A result as of a tied model against itself: n tokens, every cosine 1."""
    result = pair_result(n)
    ones = {
        name: replace(part, cosine=np.ones(n), mean=1.0, median=1.0, interval=(1.0, 1.0))
        for name, part in result.comparisons.items()
    }
    return replace(result, comparisons=ones)


def write_hostile_pair(folder: Path) -> tuple[str, str]:
    """An untied and a tied model of 320 x 8 with hostile names, whose first tokens are HOSTILE."""
    tokens = [*HOSTILE, *(f"word{i}" for i in range(320 - len(HOSTILE)))]
    vocabulary = {"model": {"type": "WordLevel", "vocab": {t: i for i, t in enumerate(tokens)}}}
    chance = np.random.default_rng(0)
    for name, tied in zip(MODEL_NAMES, (False, True), strict=True):
        home = folder / name
        home.mkdir()
        config = {"model_type": "llama", "vocab_size": 320, "hidden_size": 8}
        (home / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": tied}))
        (home / "tokenizer.json").write_text(json.dumps(vocabulary))
        held = (
            ["model.embed_tokens.weight"]
            if tied
            else ["model.embed_tokens.weight", "lm_head.weight"]
        )
        drawn = {one: chance.normal(size=(320, 8)).astype(np.float32) for one in held}
        save_file(drawn, home / "model.safetensors")
    return str(folder / MODEL_NAMES[0]), str(folder / MODEL_NAMES[1])
