"""The walk through a new measure: every block is run as it stands, and works all the way."""

import io
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest

import embtie_widgets as ew
from embtie_widgets.charts.files import result_page
from embtie_widgets.jobs.exports import csv_bytes, summary_json
from embtie_widgets.requests.kinds import KINDS, Kind
from embtie_widgets.results import storage

PAGE = Path(__file__).parents[2] / ".github" / "CONTRIBUTING.md"


def blocks() -> dict[str, str]:
    """Every block of code by its first line."""
    found = re.findall(r"```python\n# (.+?)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return dict(found)


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[dict[str, ModuleType]]:
    """The modules of the walk, in the places that they name, until the test is over."""
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path))
    known = dict(storage._KNOWN)
    made = {}
    for name, code in blocks().items():
        if name.endswith(".py") and name.startswith("embtie_widgets/"):
            if Path(name).parts[1] == "charts":
                entered(monkeypatch, made)
            made[name] = module(monkeypatch, name, code)
    yield made
    storage._KNOWN.clear()
    storage._KNOWN.update(known)


def module(monkeypatch: pytest.MonkeyPatch, name: str, code: str) -> ModuleType:
    """A module of this code, imported by its path."""
    made = ModuleType(name.removesuffix(".py").replace("/", "."))
    monkeypatch.setitem(sys.modules, made.__name__, made)
    above, _, below = made.__name__.rpartition(".")
    monkeypatch.setattr(import_module(above), below, made, raising=False)
    exec(compile(code, name, "exec"), made.__dict__)
    return made


def entered(monkeypatch: pytest.MonkeyPatch, made: dict[str, ModuleType]) -> None:
    """The kind, in the list of all."""
    (code,) = (code for name, code in blocks().items() if "KINDS" in name)
    request = made["embtie_widgets/requests/peaks.py"].PeaksRequest
    monkeypatch.setitem(KINDS, "peaks", eval(code, {"Kind": Kind, "PeaksRequest": request}))


def test_the_walk_holds_a_file_for_each_part(measure: dict[str, ModuleType]) -> None:
    floors = [Path(name).parts[1] for name in measure]
    assert floors == ["results", "measures", "requests", "jobs", "charts", "panels"]


def test_the_request_runs_is_kept_and_gives_files(measure: dict[str, ModuleType]) -> None:
    request = measure["embtie_widgets/requests/peaks.py"].PeaksRequest()
    result = ew.run({"embtie": 1, "kind": "peaks"})
    squares = ew.load("nano-untied").input.double().numpy() ** 2
    np.testing.assert_allclose(result.share, squares.max(1) / squares.sum(1), rtol=1e-12)
    assert ew.run(request).settings["cached"]
    frame = pd.read_csv(io.BytesIO(csv_bytes(request, result)), skiprows=1)
    np.testing.assert_allclose(frame["share"], result.share)
    page = result_page(KINDS["peaks"].part("plots")(result), summary_json(request, result))
    for said in KINDS["peaks"].part("text")(request, result).split("\n\n"):
        assert said in page


def test_the_panel_draws_it(measure: dict[str, ModuleType]) -> None:
    panel = measure["embtie_widgets/panels/peaks.py"].PeaksPanel()
    result = panel.run()
    assert f"{result.mean:.1%}" in panel.headline.value
    assert sum(panel.chart.shown["data"][0]["y"]) == np.isfinite(result.share).sum()
    assert set(panel.exports.files) >= {"CSV", "HTML"}
    panel.seed.value = 4
    assert panel.run().settings["seed"] == 4


def test_the_tests_of_the_walk_pass(measure: dict[str, ModuleType]) -> None:
    (code,) = (code for name, code in blocks().items() if name.startswith("tests/"))
    here: dict[str, Any] = {}
    exec(code, here)
    tests = [value for name, value in here.items() if name.startswith("test_")]
    assert len(tests) == 2
    for test in tests:
        test()
