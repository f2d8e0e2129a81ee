import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import embtie_widgets as ew
from embtie_widgets.cli import main
from embtie_widgets.requests import (
    COMPARISONS,
    AlignRequest,
    GradientFlowRequest,
    LensRequest,
    read_request,
)
from embtie_widgets.requests.reading import envelope, to_json

REQUEST = AlignRequest(map="orthogonal", center=False, seed=3)


def written(folder: Path, value: Any) -> str:
    """The path of a request file with this JSON value, or this text."""
    path = folder / "request.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `embtie run` leaves for REQUEST on the bundled pair."""
    folder = tmp_path_factory.mktemp("run")
    assert main(["run", written(folder, to_json(REQUEST)), "--out", str(folder / "out")]) == 0
    return folder / "out"


def test_the_numbers_are_printed_beside_hold_out_and_floor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", written(tmp_path, to_json(REQUEST))]) == 0
    text = capsys.readouterr().out
    heads, *rows = [line.split() for line in text.splitlines() if "->" in line or "floor" in line]
    assert heads[:4] == ["comparison", "mean", "held-out", "floor"]
    assert [row[0] for row in rows] == list(COMPARISONS)
    mean, held_out, floor = map(float, rows[1][1:4])
    assert mean > held_out > floor


def test_the_kinds_of_tokens_are_printed_with_their_means(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", written(tmp_path, to_json(REQUEST))]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["number", "22"] in [line[:2] for line in lines]
    assert ["word", "start", "2,055"] in [line[:3] for line in lines]


def test_without_a_hold_out_there_is_a_dash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", written(tmp_path, to_json(AlignRequest(holdout=0.0)))]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if "->" in line]
    assert [row[2] for row in rows] == ["-", "-", "-"]


def test_a_result_from_the_cache_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBTIE_CACHE", str(tmp_path / "kept"))
    said = []
    for _ in range(2):
        assert main(["run", written(tmp_path, to_json(REQUEST))]) == 0
        said.append(capsys.readouterr().out)
    assert ["computed before" in text for text in said] == [False, True]


def test_without_out_nothing_is_written(tmp_path: Path) -> None:
    assert main(["run", written(tmp_path, to_json(REQUEST))]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["request.json"]


def test_out_holds_exactly_the_four_files(outcome: Path) -> None:
    names = {path.name for path in outcome.iterdir()}
    assert names == {"request.json", "result.json", "tokens.csv", "figure.html"}


def test_the_written_request_is_the_one_that_was_run(outcome: Path) -> None:
    assert read_request(outcome / "request.json") == REQUEST


def test_the_written_result_says_how_it_came_about(outcome: Path) -> None:
    result = json.loads((outcome / "result.json").read_text())
    assert result["request"] == envelope(REQUEST)
    assert [line["comparison"] for line in result["summary"]] == [
        "In->Out",
        "Out->Tied",
        "In->Tied",
    ]
    assert result["hashes"]
    assert result["checks"]
    assert result["settings"]["seed"] == 3


def test_the_token_table_agrees_with_the_summary(outcome: Path) -> None:
    tokens = pd.read_csv(outcome / "tokens.csv", skiprows=1)
    summary = json.loads((outcome / "result.json").read_text())["summary"]
    assert tokens["Out->Tied"].mean() == pytest.approx(summary[1]["mean"], abs=1e-6)
    assert tokens["Out->Tied"].count() == summary[1]["tokens"]


def test_the_figure_asks_nothing_of_the_network(outcome: Path) -> None:
    page = (outcome / "figure.html").read_text(encoding="utf-8")
    assert not re.search(r"<(script|link|img)[^>]*\s(src|href)=", page)
    assert "Plotly.newPlot" in page


def test_running_again_replaces_the_files(outcome: Path, tmp_path: Path) -> None:
    before = (outcome / "tokens.csv").read_bytes()
    assert main(["run", written(tmp_path, to_json(REQUEST)), "--out", str(outcome)]) == 0
    assert (outcome / "tokens.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ('{"kind": "align", ', "not valid JSON (line 1)"),
        ("[1, 2]", "not a JSON object"),
        ({"embtie": 1, "kind": "sing"}, "kind is 'sing'; expected one of 'align'"),
        ({"embtie": 1, "kind": "align", "bend": 2}, "unknown field 'bend'"),
        ({"embtie": 1, "kind": "align", "holdout": 2}, "expected a number from 0 to 0.9"),
        ({"embtie": 99, "kind": "align"}, "reads up to 1"),
        ({"kind": "align"}, 'Add "embtie": 1'),
        ({"embtie": 1, "kind": "align", "a": "no-such-folder/x"}, "no-such-folder"),
    ],
)
def test_a_request_that_cannot_be_run_is_one_sentence(
    value: Any, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", written(tmp_path, value)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err


def test_a_folder_in_place_of_the_request_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(tmp_path)]) == 2
    assert "cannot be read as text" in capsys.readouterr().err


def test_a_file_in_place_of_the_out_folder_is_named_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("embtie_widgets.jobs.run.run", lambda *_a, **_k: pytest.fail("it ran"))
    request = written(tmp_path, to_json(REQUEST))
    assert main(["run", request, "--out", request]) == 2
    assert "'request.json' cannot be written" in capsys.readouterr().err


def test_an_out_folder_without_the_right_to_write_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(*_args: object, **_options: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("tempfile.TemporaryFile", deny)  # root may write everywhere
    request = written(tmp_path, to_json(REQUEST))
    assert main(["run", request, "--out", str(tmp_path / "locked")]) == 2
    assert "'locked' cannot be written: permission denied" in capsys.readouterr().err


def test_the_request_of_the_handbook_gives_the_numbers_of_the_handbook(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(ew.__file__).parent / "guide/handbook/requests.md").read_text(encoding="utf-8")
    (request,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (promised,) = re.findall(r"```text\n(A: .*?)```", page, re.DOTALL)
    assert main(["run", written(tmp_path, request)]) == 0
    found = capsys.readouterr().out.split()
    for said, word in zip(promised.split(), found, strict=True):
        assert word == said or float(word) == pytest.approx(float(said), abs=2e-4)


def test_a_lens_prints_its_layers_and_leaves_a_table_and_a_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = LensRequest(lens="logit", positions=300, floor=False)
    path = written(tmp_path, to_json(request))
    assert main(["run", path, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    for words in ("nano-untied", "nano-tied", "embedding", "kl_bits"):
        assert words in said
    names = {file.name for file in (tmp_path / "out").iterdir()}
    assert names == {"request.json", "result.json", "table.csv", "figure.html"}
    table = pd.read_csv(tmp_path / "out" / "table.csv", skiprows=1)
    for _, part in table.groupby("model"):
        assert part["point"].iloc[0] == "embedding"
        assert part["kl_bits"].iloc[0] > 1
        assert abs(part["kl_bits"].iloc[-1]) < 1e-5
    facts = json.loads((tmp_path / "out" / "result.json").read_text())
    assert facts["models"]["B"]["tied"] == "tied"
    assert read_request(facts["request"]) == request


def test_a_split_gradient_is_said_and_leaves_its_steps_and_its_tokens(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = GradientFlowRequest(source="text", batches=2, batch=1, length=16)
    path = written(tmp_path, to_json(request))
    assert main(["run", path, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "nano-tied" in said
    assert "output_share" in said
    steps, tokens = (
        pd.read_csv(tmp_path / "out" / name, skiprows=1) for name in ("table.csv", "tokens.csv")
    )
    assert (len(steps), len(tokens)) == (2, 4_096)
    shown = f"{steps['output_share'].mean():.3f}"
    assert shown in said
