"""The doors of a live server, by what goes over the wire."""

import http.cookiejar
import json
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tornado.ioloop import IOLoop
from tornado.websocket import WebSocketClientConnection, websocket_connect

from embtie_widgets.app.channels import PROTOCOL
from embtie_widgets.app.memory import held_bytes
from tests.browser.servers import voila

_KERNEL = re.compile(r'"kernelId": "([^"]+)"')
_PATIENCE = 60.0
PYTHON = [sys.executable, "-c"]
LESSON = "voila/render/index.ipynb"


class Guest:
    """A visitor with cookies; `jar` holds them."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.jar = http.cookiejar.CookieJar()
        self.pages: list[str] = []
        cookies = urllib.request.HTTPCookieProcessor(self.jar)
        self._opener = urllib.request.build_opener(cookies)

    def get(self, path: str = "", **form: str) -> str:
        """What is there; with a form, what comes of sending it."""
        data = urllib.parse.urlencode(form).encode() if form else None
        with self._opener.open(f"{self.address}{path}", data, timeout=_PATIENCE) as answer:
            return str(answer.read().decode())

    def open(self, path: str = "") -> str:
        """The page there, but for the number that its scripts have this time."""
        self.pages.append(re.sub(r' nonce="[^"]*"', "", self.get(path)))
        return self.pages[-1]

    def leave_all(self) -> None:
        """Leave every page."""
        for page in self.pages:
            self.leave(page)

    def status(self, path: str) -> int:
        """The number that an address answers with."""
        try:
            self.get(path)
        except urllib.error.HTTPError as error:
            return error.code
        return 200

    def ask(self, path: str) -> dict[str, Any]:
        """What is there, as a program reads it."""
        return dict(json.loads(self.get(path)))

    def leave(self, page: str, query: str = "") -> None:
        """Say that a page is left at this address."""
        self.get(f"api/embtie/leave/{kernel(page)}", query=query)

    def connect(self, page: str) -> WebSocketClientConnection:
        """Reach the kernel as the page does."""
        at = self.address.replace("http", "ws", 1)
        url = f"{at}api/kernels/{kernel(page)}/channels?session_id=a"
        return run(lambda: websocket_connect(url, subprotocols=[PROTOCOL]))


def run(start: Callable[[], Any]) -> Any:
    return IOLoop.current().run_sync(start, timeout=_PATIENCE)


def kernel(page: str) -> str:
    found = _KERNEL.search(page)
    assert found, page[:2000]
    return found[1]


def until(condition: Callable[[], Any]) -> Any:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.2)
    pytest.fail("it did not come about")


def kernel_process(name: str) -> psutil.Process | None:
    """The process of a kernel: its connection file has its name."""
    return next((process for process in kernels() if name in words_of(process)), None)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A page of two places that keeps what was left for three seconds."""
    folder = tmp_path_factory.mktemp("served")
    with voila(folder, base="/below/", visitors=2, ready=0, keep_seconds=3) as found:
        yield found


def kernels() -> list[psutil.Process]:
    """The kernels of the servers that the tests have started."""
    found = psutil.Process().children(recursive=True)
    return [process for process in found if "ipykernel" in words_of(process)]


def words_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


@pytest.fixture
def guest(address: str) -> Iterator[Callable[[], Guest]]:
    """Visitors, after whom the house is empty again."""
    came: list[Guest] = []

    def come() -> Guest:
        came.append(Guest(address))
        return came[-1]

    yield come
    for one in came:
        one.leave_all()
    until(lambda: not kernels())


def test_a_reload_gets_the_same_page_and_a_stranger_another(guest: Callable[[], Guest]) -> None:
    ann, bob = guest(), guest()
    page = ann.open("?embtie=1&kind=lens")
    [cookie] = [cookie for cookie in ann.jar if cookie.name == "embtie-visitor"]
    assert cookie.path == "/below/"
    assert cookie.has_nonstandard_attr("HttpOnly")
    assert cookie.get_nonstandard_attr("SameSite") == "Lax"
    line = ann.connect(page)
    ann.leave(page, "?embtie=1&kind=lens&layer=2")
    line.close()
    assert ann.open("?embtie=1&kind=lens&layer=2&theme=dark") == page
    there = {"there": True, "reached": False, "missed": False}
    until(lambda: ann.ask(f"api/embtie/kernel/{kernel(page)}") == there)
    ann.leave(page, "?embtie=1&kind=lens&layer=2")
    assert kernel(bob.open("?embtie=1&kind=lens&layer=2")) != kernel(page)


def test_a_left_kernel_ends_and_the_page_can_ask_why(guest: Callable[[], Guest]) -> None:
    ann = guest()
    page = ann.open()
    process = until(lambda: kernel_process(kernel(page)))
    ann.leave(page)
    until(lambda: not process.is_running())
    told = ann.ask(f"api/embtie/kernel/{kernel(page)}")
    assert (told["there"], told["why"]) == (False, "left")
    assert ann.ask(f"api/embtie/kernel/{'0' * 8}-0000-0000-0000-{'0' * 12}")["why"] == "unknown"


def test_a_killed_kernel_does_not_come_back_empty(guest: Callable[[], Guest]) -> None:
    ann = guest()
    page = ann.open()
    line = ann.connect(page)
    until(lambda: kernel_process(kernel(page))).send_signal(signal.SIGKILL)
    until(lambda: ann.ask(f"api/embtie/kernel/{kernel(page)}").get("why") == "died")
    line.close()
    again = ann.open()
    assert kernel(again) != kernel(page)
    assert kernel_process(kernel(page)) is None


def test_who_finds_no_place_lands_and_comes_in_in_turn(guest: Callable[[], Guest]) -> None:
    inside = [guest(), guest()]
    pages = [one.open() for one in inside]
    ann, bob = guest(), guest()
    landing = ann.get("?embtie=1&theme=dark")
    assert "all 2 places are taken" in landing
    assert '<meta http-equiv="refresh"' in landing
    assert "color-scheme: dark" in landing
    assert not _KERNEL.search(landing)
    assert "http://" not in landing
    assert not ann.ask("api/embtie/door")["open"]
    assert "One visitor waits before you." in bob.get()
    inside[0].leave(pages[0])
    until(lambda: ann.ask("api/embtie/door")["open"])
    assert not bob.ask("api/embtie/door")["open"]
    assert kernel(ann.open()) not in map(kernel, pages)


@pytest.mark.parametrize("path", ["x", "dashboard.ipynb", "voila/render/a.ipynb", "%00", "..%2fx"])
def test_what_is_no_page_takes_no_kernel(guest: Callable[[], Guest], path: str) -> None:
    ann = guest()
    assert ann.status(path) == 404
    assert not kernels()


def test_a_page_of_the_lessons_is_found_again(tmp_path: Path) -> None:
    with voila(tmp_path, base="/class/", lessons=True, sign_in="token", token="a" * 32) as found:
        ann = Guest(found)
        assert 'type="password"' in ann.get(LESSON)
        ann.get(f"{LESSON}?token={'a' * 32}")
        first = ann.open(LESSON)
        ann.leave(first)
        assert ann.open(LESSON) == first
        assert ann.status("voila/render/none.ipynb") == 404
        assert ann.status("voila/render/..%2findex.ipynb") == 404


def test_what_a_process_and_its_children_hold_is_counted() -> None:
    here = psutil.Process().pid
    before = held_bytes({"a": here})["a"]
    hold = "block = bytearray(64 << 20); block[::4096] = b'x' * 16384; print(flush=True); input()"
    child = [sys.executable, "-c", f"import subprocess, sys; subprocess.run([*{PYTHON}, {hold!r}])"]
    with subprocess.Popen(child, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        held = held_bytes({"a": here, "child": process.pid})
        process.communicate(b"\n")
    assert held["child"] > 60 << 20
    assert held["a"] - before >= held["child"] - (1 << 20)
    assert held_bytes({"gone": 2**22 - 1}) == {"gone": 0}
