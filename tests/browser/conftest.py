import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser

from embtie_widgets.app.serve import check_port
from tests.browser.visit import Visit

_SERVE = """
from pathlib import Path
from embtie_widgets.app import serve
notebook = {notebook!r}
if notebook:
    serve.notebook = lambda name="": Path(notebook)
settings = serve.settings
def below(*given):
    known = settings(*given)
    return {{**known, "Voila": {{**known["Voila"], "base_url": {base!r}}}}}
serve.settings = below
serve.serve(port={port}, open_browser=False)
"""
_SLOW = """
import time
import embtie_widgets as ew
from embtie_widgets.jobs import runner

def slow(request, *, progress):
    for done in range(600):
        progress("forming products", done, 600)
        time.sleep(0.1)

runner._run = slow
app = ew.dashboard()
app
"""


@contextmanager
def served(folder: Path, notebook: str = "", base: str = "/") -> Iterator[str]:
    """The address of a server of its own, started from a folder that has nothing to do with it."""
    port = check_port(0)
    environment = {**os.environ, "EMBTIE_CACHE": "off", "HF_HUB_OFFLINE": "1"}
    environment.pop("PYTEST_CURRENT_TEST", None)
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVE.format(port=port, notebook=notebook, base=base)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        assert server.stdout is not None
        said = iter(server.stdout.readline, "")
        line = next((text for text in said if "embtie is at" in text), "")
        assert line, "the server ended before it gave its address"
        threading.Thread(target=lambda: [None for _ in said], daemon=True).start()
        yield f"http://localhost:{port}{base}"
    finally:
        server.terminate()
        server.wait(30)


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The dashboard, served."""
    with served(tmp_path_factory.mktemp("elsewhere")) as found:
        yield found


@pytest.fixture
def address_below(tmp_path: Path) -> Iterator[str]:
    """The dashboard as one service among others, under a path of its own."""
    with served(tmp_path, base="/hub/ann/") as found:
        yield found


@pytest.fixture
def slow_address(tmp_path: Path) -> Iterator[str]:
    """The dashboard with work that takes a minute, whatever is asked."""
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(_SLOW)])
    path = tmp_path / "slow.ipynb"
    nbformat.write(book, path)
    with served(tmp_path, str(path)) as found:
        yield found


@pytest.fixture
def visit(chromium: Browser, address: str) -> Iterator[Callable[..., Visit]]:
    """Open the dashboard as a visitor with no network beyond this machine."""
    opened: list[Visit] = []

    def open_one(
        scheme: str = "light",
        width: int = 1400,
        scale: float = 1,
        query: str = "",
        at: str = "",
    ) -> Visit:
        opened.append(Visit(chromium, (at or address) + query, scheme, width, scale))
        return opened[-1]

    yield open_one
    for one in opened:
        one.close()
        assert one.asked_outside == []
        assert one.errors == []


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """Where screenshots go: EMBTIE_SCREENSHOTS, to look at them, else away with the test."""
    folder = Path(os.environ.get("EMBTIE_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
