import http.client
import logging
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from embtie_widgets import cli
from embtie_widgets.app import serve
from embtie_widgets.app.address import address, local
from embtie_widgets.app.channels import PROTOCOL
from embtie_widgets.app.settings import ServeSettings
from embtie_widgets.charts.figures import quick_imports
from embtie_widgets.errors import EmbtieError


@pytest.mark.parametrize(("lessons", "again"), [(False, "embtie"), (True, "embtie lessons")])
def test_a_taken_port_is_told_before_anything_starts(lessons: bool, again: str) -> None:
    with socket.socket() as other:
        other.bind(("localhost", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(EmbtieError) as caught:
            serve.serve(ServeSettings(port=port, open_browser=False), lessons=lessons)
    assert str(port) in caught.value.message
    assert f"`{again} --port 0`" in caught.value.hint


def test_port_0_takes_a_free_one_and_a_free_one_stays() -> None:
    free = serve.check_port(0)
    assert 0 < free < 2**16
    assert serve.check_port(free) == free


def test_an_impossible_port_or_host_is_told() -> None:
    with pytest.raises(EmbtieError, match="no port"):
        serve.check_port(99999)
    with pytest.raises(EmbtieError, match="no address"):
        serve.check_port(0, "host.invalid")


def test_a_shared_page_shows_no_traceback_and_never_moves_its_port() -> None:
    known = serve.settings(ServeSettings(port=8000))
    assert known["VoilaConfiguration"]["show_tracebacks"] is False
    assert known["VoilaConfiguration"]["strip_sources"] is True
    assert "file_allowlist" not in known["VoilaConfiguration"]
    assert known["Voila"]["port_retries"] == 0
    assert "tornado_settings" not in known["Voila"]  # a shorter wait for pings cuts pages off
    assert known["MappingKernelManager"]["cull_idle_timeout"] == 0  # the doors end kernels


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_the_link_that_is_said_is_one_that_others_can_use(
    host: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(socket, "getfqdn", lambda: "box.lab.example")
    known = ServeSettings(host=host, sign_in="token", token="a" * 16)
    serve._say_started(known, True)
    link, public = capsys.readouterr().out.splitlines()
    assert f"http://box.lab.example:8866/?token={'a' * 16} " in link
    assert public.startswith("open to strangers: ")
    assert "--no-public" in public
    assert address(local(known)) == f"http://{'[::1]' if host == '::' else '127.0.0.1'}:8866/"
    monkeypatch.setattr(socket, "getfqdn", lambda: "localhost")
    monkeypatch.setattr(socket, "gethostname", lambda: "box")
    assert address(known) == "http://box:8866/"
    serve._say_started(replace(known, public=False), True)
    assert "strangers" not in capsys.readouterr().out


def test_the_notebook_is_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert serve.notebook().is_file()
    with pytest.raises(EmbtieError, match="missing"):
        serve.notebook("none.ipynb")


def test_the_template_asks_no_other_host() -> None:
    folder = Path(serve.__file__).parent / "jupyter/voila/templates/embtie"
    for file in folder.iterdir():
        assert "://" not in file.read_text(encoding="utf-8")


def test_quick_imports_hide_the_slow_package_only_inside() -> None:
    before = sys.modules.pop("rfc3987_syntax", None)
    try:
        with quick_imports():
            assert sys.modules["rfc3987_syntax"] is None
        assert "rfc3987_syntax" not in sys.modules
    finally:
        if before is not None:
            sys.modules["rfc3987_syntax"] = before


def test_quick_imports_leave_a_loaded_package_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = type(sys)("rfc3987_syntax")
    monkeypatch.setitem(sys.modules, "rfc3987_syntax", loaded)
    with quick_imports():
        assert sys.modules["rfc3987_syntax"] is loaded
    assert sys.modules["rfc3987_syntax"] is loaded


_START = "import sys; from embtie_widgets.cli import main; sys.exit(main())"


@contextmanager
def running(folder: Path, port: int) -> Iterator[list[str]]:
    """embtie as a user starts it, without a browser on the machine; the lines that it says."""
    said: list[str] = []
    environment = {**os.environ, "PATH": str(folder), "EMBTIE_CACHE": "off", "DISPLAY": ""}
    process = subprocess.Popen(
        [sys.executable, "-c", _START, "--port", str(port)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    listener = threading.Thread(target=lambda: said.extend(process.stdout or ()), daemon=True)
    listener.start()
    try:
        _until(lambda: _fetched(port, "/voila/static/plotly.min.js"), process)
        yield said
    finally:
        process.terminate()
        process.wait(30)
        listener.join(10)


def _until(condition: Callable[[], Any], process: "subprocess.Popen[str]") -> None:
    for _ in range(600):
        assert process.poll() is None
        if condition():
            return
        time.sleep(0.2)
    pytest.fail("embtie did not start")


def _fetched(port: int, path: str) -> bytes:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
            return bytes(answer.read())
    except OSError:
        return b""


def test_a_start_and_a_visit_say_the_address_and_nothing_else(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    port = serve.check_port(0)
    with running(tmp_path, port) as said:
        page = _fetched(port, "/").decode()
        kernel = re.search(r'"kernelId": "([^"]+)"', page)
        assert kernel is not None
        _shake_hands(port, f"/api/kernels/{kernel[1]}/channels?session_id=a")
        assert _status(port, "rebound.example") == 403
        assert cli.main(["--port", str(port), "--no-browser"]) == cli.FAULT
        assert f"embtie is already running at http://127.0.0.1:{port}/" in capfd.readouterr().err
        # Before it is stopped: a kernel that is stopped while it still starts may say that it was.
        first, *rest = said
        assert first == f"embtie is at http://127.0.0.1:{port}/ (Ctrl+C stops it)\n"
        (refused,) = rest
        assert "asked for as 'rebound.example'" in refused


def _status(port: int, name: str) -> int:
    """What a page is answered that asks by this name."""
    asked = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    asked.request("GET", "/", headers={"Host": f"{name}:{port}"})
    return asked.getresponse().status


def _shake_hands(port: int, path: str) -> None:
    """Open the page's websocket: what there is to warn about is said then."""
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Origin: http://127.0.0.1:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: ZW1idGllIGlzIHF1aWV0IQ==",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Protocol: {PROTOCOL}",
    ]
    with socket.create_connection(("127.0.0.1", port), 60) as line:
        line.sendall("\r\n".join([*lines, "", ""]).encode())
        assert b"101" in line.recv(200)


def test_what_goes_wrong_is_still_said() -> None:
    def record(level: int, words: str) -> logging.LogRecord:
        return logging.LogRecord("Voila", level, "", 0, words, (), None)

    assert not serve._is_news(record(logging.WARNING, "Notebook a.ipynb is not trusted"))
    assert serve._is_news(record(logging.ERROR, "the page is not trusted"))
    assert serve._is_news(record(logging.WARNING, "Kernel died"))
