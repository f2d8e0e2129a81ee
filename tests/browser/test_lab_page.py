"""The dashboard's notebook in JupyterLab, seen by a real browser without any network."""

import os
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from embtie_widgets.app.serve import check_port, notebook
from embtie_widgets.charts.theme import contrast
from tests.browser.test_dashboard_page import hexadecimal
from tests.browser.visit import MARKS, Visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]
_IDLE = ".jp-Notebook-ExecutionIndicator[data-status='idle']"
_WAIT_SECONDS = 90


@pytest.fixture(scope="module")
def lab_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """JupyterLab with the notebook in an empty folder, its state kept away from the user's."""
    home, port = tmp_path_factory.mktemp("lab"), check_port(0)
    shutil.copy(notebook(), home / "dashboard.ipynb")
    options = {
        "ServerApp.root_dir": str(home),
        "ServerApp.port": str(port),
        "ServerApp.open_browser": "False",
        "ServerApp.allow_root": "True",
        "IdentityProvider.token": "",
        "ServerApp.password": "",
        "LabApp.expose_app_in_browser": "True",
        "LabApp.extension_manager": "readonly",
        "LabApp.workspaces_dir": str(home / "workspaces"),
        "LabApp.user_settings_dir": str(home / "settings"),
    }
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyter", "lab", *(f"--{k}={v}" for k, v in options.items())],
        cwd=home,
        env={**os.environ, "EMBTIE_CACHE": "off", "HF_HUB_OFFLINE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://localhost:{port}/lab"
    try:
        _wait_until_served(address)
        yield address
    finally:
        server.terminate()
        server.wait(30)


def _wait_until_served(address: str) -> None:
    for _ in range(_WAIT_SECONDS * 2):
        try:
            urllib.request.urlopen(address, timeout=5).close()
        except OSError:
            time.sleep(0.5)
        else:
            return
    pytest.fail("JupyterLab did not start")


@pytest.fixture
def lab(chromium: Browser, lab_address: str) -> Iterator[Callable[[int], Visit]]:
    """Open the notebook in a fresh workspace and run all of it."""
    opened: list[Visit] = []

    def open_one(width: int) -> Visit:
        address = f"{lab_address}/workspaces/test-{width}/tree/dashboard.ipynb?reset"
        one = Visit(chromium, address, "light", width, 1)
        opened.append(one)
        one.page.wait_for_selector(_IDLE)
        one.page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
        one.wait_for_figure()
        return one

    yield open_one
    for one in opened:
        one.close()
        assert one.asked_outside == []
        assert [error for error in one.errors if "Failed to load resource" not in error] == []


def test_the_notebook_draws_its_marks_and_a_map_change_redraws_them(
    lab: Callable[[int], Visit], pictures: Path
) -> None:
    one = lab(1400)
    prompts = one.page.query_selector_all(".jp-CodeCell .jp-InputArea-prompt")
    assert [prompt.inner_text().strip() for prompt in prompts] == ["[1]:"]
    before = one.outlines()
    assert len(before) == 3
    one.page.get_by_role("button", name="Orthogonal").click()
    one.page.wait_for_function(
        "([marks, old]) => document.querySelector(marks).getAttribute('d') !== old",
        arg=[MARKS, before[0]],
    )
    one.page.screenshot(path=pictures / "lab-light.png")


def test_the_dark_theme_of_the_host_is_followed_and_readable(
    lab: Callable[[int], Visit], pictures: Path
) -> None:
    one = lab(1400)
    one.page.evaluate(
        "window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Dark'})"
    )
    one.page.wait_for_selector("body[data-jp-theme-light='false']", state="attached")
    one.page.wait_for_function(
        "() => { const text = document.querySelector('.js-plotly-plot .xtick text');"
        " const channels = getComputedStyle(text).fill.match(/\\d+/g).map(Number);"
        " return channels[0] > 128; }"
    )
    one.page.screenshot(path=pictures / "lab-dark.png")
    paper = hexadecimal(one.style(".ep-card", "background-color"))
    assert contrast(hexadecimal(one.style(".xtick text", "fill")), paper) >= 4.5
