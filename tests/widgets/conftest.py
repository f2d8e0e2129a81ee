import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.widgets.widget_harness import HarnessPage


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as play:
        found = shutil.which("chromium") or play.chromium.executable_path
        if not Path(found).exists():
            pytest.skip("no Chromium on this machine; `playwright install chromium` brings one")
        arguments = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        browser = play.chromium.launch(executable_path=found, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Callable[..., HarnessPage]]:
    opened: list[HarnessPage] = []

    def open_one(**options: Any) -> HarnessPage:
        opened.append(HarnessPage(chromium, **options))
        return opened[-1]

    yield open_one
    for page in opened:
        page.close()
