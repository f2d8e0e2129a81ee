"""What was found about the shipped models is found again without torch, while they stay."""

import os
import shutil
from pathlib import Path

import pytest

import embtie_widgets as ew
from embtie_widgets.jobs import shipped
from embtie_widgets.jobs.run import look, run
from embtie_widgets.requests import ModelRef
from tests.fresh import run_fresh

_ASKED = ew.AlignRequest(map="orthogonal")
_WITHOUT_TORCH = """
import embtie_widgets as ew
from embtie_widgets.jobs.run import look, run
request = ew.AlignRequest(map="orthogonal")
assert run(request).settings["cached"] and look(request) is not None
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_another_process_has_the_same_result_without_torch() -> None:
    made = run(_ASKED)
    run_fresh(_WITHOUT_TORCH, "torch")
    assert look(_ASKED).summary() == made.summary()
    assert look(_ASKED).hashes == made.hashes


def test_models_that_have_changed_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(_ASKED)
    copied = tmp_path / "nano"
    shutil.copytree(shipped._MODELS, copied)  # with the times of the files
    monkeypatch.setattr(shipped, "_MODELS", copied)
    assert shipped.found(_ASKED) is not None
    file = next((copied / "nano-tied").iterdir())
    os.utime(file, (1, 1))
    assert shipped.found(_ASKED) is None


@pytest.mark.parametrize(
    "request_",
    [
        ew.AlignRequest(map="linear"),
        ew.AlignRequest(b=ModelRef("nano-tied", treat_as_tied=True), map="orthogonal"),
        ew.AlignRequest(b=ModelRef("nano-untied"), map="orthogonal"),
        ew.GeometryRequest(),
        ew.NormFrequencyRequest(),
    ],
)
def test_nothing_else_is_taken_for_it(request_: ew.AlignRequest) -> None:
    run(_ASKED)
    assert shipped.found(request_) is None


def test_a_damaged_entry_is_made_anew(folder: Path) -> None:
    made = run(_ASKED)
    for entry in folder.glob("*.npz"):
        entry.write_bytes(entry.read_bytes()[:-100])
    assert shipped.found(_ASKED) is None
    assert run(_ASKED).summary() == made.summary()
    assert shipped.found(_ASKED) is not None
