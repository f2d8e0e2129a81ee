"""`embtie train-nano`: what it is doing is said before it takes its time."""

from pathlib import Path
from typing import Any

import pytest

from embtie_widgets.cli import main
from embtie_widgets.progress import Progress


@pytest.mark.parametrize(
    ("given", "text"),
    [([], "the bundled sample of the corpus"), (["--corpus", "some/where.txt"], "where.txt")],
)
def test_what_is_done_is_said_first_and_each_stage_as_it_begins(
    given: list[str],
    text: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    first = f"A tied and an untied model will be trained on {text}.\n"

    def train(*, progress: Progress, out: Path, **_given: Any) -> Path:
        assert capsys.readouterr().out == first
        progress("training the tokenizer", 0, 1)
        assert capsys.readouterr().out == "Training the tokenizer\n"
        return out

    monkeypatch.setattr("embtie_widgets.training.nano.train_nano", train)
    assert main(["train-nano", *given, "--out", str(tmp_path)]) == 0
