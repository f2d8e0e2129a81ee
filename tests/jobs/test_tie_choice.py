"""'Treat as tied' is the user's choice, and every result says so wherever it goes."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

import embtie_widgets as ew
from embtie_widgets.charts.alignment import plots
from embtie_widgets.charts.files import result_page
from embtie_widgets.cli import main
from embtie_widgets.jobs.exports import files, summary_json
from embtie_widgets.panels.pair import pair_facts
from embtie_widgets.requests.code import to_code
from embtie_widgets.requests.link import decode, encode
from embtie_widgets.requests.reading import to_json
from tests.sources.models import handmade

NAME = "model.embed_tokens.weight"
CHOSEN = "Treated as tied by the user's choice"


@pytest.fixture(scope="module")
def request_(tmp_path_factory: pytest.TempPathFactory) -> ew.AlignRequest:
    """A base model without head, twice: once as it is, once treated as tied."""
    config = {"architectures": ["LlamaModel"], "model_type": "llama", "tie_word_embeddings": True}
    table = torch.randn(200, 8, generator=torch.Generator().manual_seed(0))
    folder = str(handmade(tmp_path_factory.mktemp("base"), config, **{NAME: table}))
    b = ew.ModelRef(folder, treat_as_tied=True)
    return ew.AlignRequest(a=ew.ModelRef(folder), b=b, map="orthogonal")


@pytest.fixture(scope="module")
def result(request_: ew.AlignRequest) -> Any:
    return ew.run(request_)


def test_the_choice_and_the_configurations_word_are_on_the_result(result: Any) -> None:
    as_it_is, chosen = result.models["A"], result.models["B"]
    assert (as_it_is["tied"], as_it_is["tied_by_choice"]) == ("input only", False)
    assert (chosen["tied"], chosen["tied_by_choice"]) == ("tied", True)
    assert (as_it_is["config_says"], chosen["config_says"]) == ("tied", "tied")
    assert any(CHOSEN in note for note in result.notes)


def test_every_file_of_the_result_says_so(request_: ew.AlignRequest, result: Any) -> None:
    page = result_page(plots(result), summary_json(request_, result))
    written = files(request_, result) | {"figure.html": page.encode()}
    assert '"treat_as_tied": true' in written["request.json"].decode()
    for name in ("result.json", "tokens.csv", "figure.html"):
        text = written[name].decode()
        assert '"tied_by_choice": true' in text, name
        assert CHOSEN in text, name


def test_link_and_code_make_the_same_choice(
    request_: ew.AlignRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = decode(encode(request_))
    assert again is not None
    assert again.request == request_
    made: dict[str, Any] = {}
    monkeypatch.setattr(ew, "run", lambda request: request, raising=False)
    exec(to_code(request_), made)
    assert made["result"] == request_


def test_the_command_line_says_so(
    request_: ew.AlignRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "request.json").write_text(to_json(request_))
    assert main(["run", str(tmp_path / "request.json"), "--out", str(tmp_path / "out")]) == 0
    assert CHOSEN in capsys.readouterr().out
    models = json.loads((tmp_path / "out" / "result.json").read_text())["models"]
    assert models["B"]["tied_by_choice"] is True


def test_the_panel_says_so_beside_the_configurations_word(result: Any) -> None:
    page = pair_facts(result)
    assert "tied by your choice, not by what is stored" in page
    assert "the configuration says" in page
