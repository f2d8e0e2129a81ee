"""`embtie reproduce`: the papers' numbers from the command line."""

import json
from pathlib import Path

import pytest

from embtie_widgets.cli import main
from embtie_widgets.requests.papers import ITEMS, PAPERS, PaperTablesRequest
from embtie_widgets.requests.reading import to_json

Printed = pytest.CaptureFixture[str]


def test_the_list_has_every_item_under_its_paper(capsys: Printed) -> None:
    assert main(["reproduce", "--list"]) == 0
    parts = capsys.readouterr().out.split("\n\n")
    assert [part.split()[0] for part in parts] == list(PAPERS)
    for part in parts:
        paper, *lines = part.splitlines()
        names = [line.split()[0] for line in lines]
        assert names == [name for name, of in ITEMS.items() if of == paper.split()[0]]
        assert all(len(line.split()) > 2 for line in lines)


def test_it_does_what_the_request_does_and_writes_the_same(tmp_path: Path, capsys: Printed) -> None:
    named = ["figure-4", "table-6"]
    request = PaperTablesRequest(items=tuple(named), stand_in=False)
    assert main(["reproduce", *named, "--no-stand-in", "--out", str(tmp_path / "a")]) == 0
    said = capsys.readouterr().out.replace(str(tmp_path / "a"), "")
    (tmp_path / "request.json").write_text(to_json(request))
    out = str(tmp_path / "b")
    assert main(["run", str(tmp_path / "request.json"), "--out", out]) == 0
    assert capsys.readouterr().out.replace(out, "") == said
    for name in ("request.json", "result.json", "table.csv"):
        assert (tmp_path / "a" / name).read_text() == (tmp_path / "b" / name).read_text()
    assert json.loads((tmp_path / "a" / "request.json").read_text()) == json.loads(to_json(request))


def test_a_table_says_what_is_printed_and_what_is_missing_with_its_size(capsys: Printed) -> None:
    assert main(["reproduce", "centering-time", "table-3", "--no-stand-in"]) == 0
    said = capsys.readouterr().out
    lines = {" ".join(line.split()) for line in said.splitlines()}
    assert any(line.startswith("16M, untied z-loss 6.4 %") and "missing" in line for line in lines)
    assert any(line.startswith("Pythia 1B untied 1011.8 M") and "agrees" in line for line in lines)
    assert "63 kB" in said.replace("\n    ", " ")
    assert max(map(len, said.splitlines())) <= 100


def test_recorded_runs_are_named_by_their_folder(shared: Path, capsys: Printed) -> None:
    assert main(["reproduce", "centering-bound", "--data", str(shared / "data")]) == 0
    said = capsys.readouterr().out
    assert said.count("agrees") >= 35
    assert str(shared) not in said


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (["figure-44"], "No table or figure is called 'figure-44'"),
        (["figure-4", "--data", "nowhere"], "no folder called 'nowhere'"),
    ],
)
def test_what_cannot_be_is_said_and_ends_with_2(
    typed: list[str], expected: str, capsys: Printed
) -> None:
    assert main(["reproduce", *typed]) == 2
    assert expected in capsys.readouterr().err
