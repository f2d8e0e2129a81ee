"""`embtie run --cluster`."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from embtie_widgets.cli import main
from embtie_widgets.jobs.places import place, use_cluster
from embtie_widgets.requests import AlignRequest, CenteringRequest
from embtie_widgets.requests.reading import to_json


@pytest.fixture(autouse=True)
def back_again() -> Iterator[None]:
    yield
    use_cluster(None)


def written(folder: Path, request: AlignRequest | CenteringRequest) -> str:
    path = folder / "request.json"
    path.write_text(to_json(request))
    return str(path)


def test_where_nobody_answers_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from embtie_widgets.jobs import cluster

    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 0.5)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    request = written(tmp_path, CenteringRequest(methods=("none",), steps=2, batch=1, length=8))
    assert main(["run", request, "--cluster", f"127.0.0.1:{port}"]) == 2
    told = capsys.readouterr().err
    assert f"No Dask scheduler that fits answers at tcp://127.0.0.1:{port}." in told
    assert "Traceback" not in told
    assert place().kind == "cluster"


def test_what_is_no_address_is_told_before_any_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = written(tmp_path, CenteringRequest())
    assert main(["run", request, "--cluster", "elsewhere"]) == 2
    assert "'elsewhere' is no address of a Dask scheduler." in capsys.readouterr().err


def test_a_request_without_runs_is_not_sent_to_a_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request = written(tmp_path, AlignRequest())
    assert main(["run", request, "--cluster", "local:2"]) == 2
    assert f"of the kind '{AlignRequest.kind}'" in capsys.readouterr().err
    assert place().kind == "here"
