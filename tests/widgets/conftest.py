from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.widgets.widget_harness import HarnessPage


@pytest.fixture
def open_page(chromium: Browser) -> Iterator[Callable[..., HarnessPage]]:
    opened: list[HarnessPage] = []

    def open_one(**options: Any) -> HarnessPage:
        opened.append(HarnessPage(chromium, **options))
        return opened[-1]

    yield open_one
    for page in opened:
        page.close()
