from pathlib import Path

import pandas as pd
import pytest

from embtie_widgets.cli import main


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.txt"
    path.write_text("the and the and 7 the\n" * 3)
    return path


def test_the_counts_are_told_and_written(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "counts.csv"
    assert main(["count", "nano-tied", str(text), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("a.txt (1 text, ")
    table = pd.read_csv(out, skiprows=1).set_index("bytes")["count"]
    assert table[b" the".hex()] == 6
    assert len(table) == 4096
    assert f"{table.sum():,} tokens; {(table > 0).sum()} of 4,096 rows occur" in said


def test_what_was_written_is_a_corpus_again(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    assert main(["count", "nano-tied", str(text), "--out", str(first)]) == 0
    assert main(["count", "nano-untied", str(first), "--out", str(second)]) == 0
    assert pd.read_csv(first, skiprows=1).equals(pd.read_csv(second, skiprows=1))
    assert "1.csv\n" in capsys.readouterr().out


def test_column_and_limit_are_passed_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"body": "' + "the " * 500_000 + '"}\n')
    given = ["count", "nano-tied", str(path), "--column", "body", "--limit-mb", "1"]
    assert main(given) == 0
    assert "a.jsonl, the first 1 MB (1 text, 1 MB)" in capsys.readouterr().out


def test_without_out_nothing_is_written(text: Path) -> None:
    assert main(["count", "nano-tied", str(text)]) == 0
    assert [path.name for path in text.parent.iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["nano-tied", "gone.txt"], "There is no file gone.txt"),
        (["nano-tide", "bundled"], "nano-tied"),
        (["nano-tied", "bundled", "--out", "/proc/x/counts.csv"], "cannot be written"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(
    given: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert main(["count", *given]) == 2
    said = capsys.readouterr()
    assert words in said.err
    assert said.out == ""
