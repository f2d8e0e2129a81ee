import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from embtie_widgets.app.serve import check_port
from tests.browser.visit import Visit

_SERVE = "from embtie_widgets.app.serve import serve; serve(port={port}, open_browser=False)"


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The dashboard, served from a folder that has nothing to do with it."""
    port, folder = check_port(0), tmp_path_factory.mktemp("elsewhere")
    environment = {**os.environ, "EMBTIE_CACHE": "off", "HF_HUB_OFFLINE": "1"}
    environment.pop("PYTEST_CURRENT_TEST", None)
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVE.format(port=port)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert server.stdout is not None
    said = iter(server.stdout.readline, "")
    line = next((text for text in said if "embtie is at" in text), "")
    assert line, "the server ended before it gave its address"
    threading.Thread(target=lambda: [None for _ in said], daemon=True).start()
    yield f"http://localhost:{port}/"
    server.terminate()
    server.wait(30)


@pytest.fixture
def visit(chromium: Browser, address: str) -> Iterator[Callable[..., Visit]]:
    """Open the dashboard as a visitor with no network beyond this machine."""
    opened: list[Visit] = []

    def open_one(scheme: str = "light", width: int = 1400, scale: float = 1) -> Visit:
        opened.append(Visit(chromium, address, scheme, width, scale))
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
