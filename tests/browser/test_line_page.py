"""Three visitors of one served page at one device, in real browsers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.reading import assert_readable
from tests.browser.servers import Running, running
from tests.browser.visit import Visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ASKED = "?embtie=1&kind=gradient-flow&steps=150&batch=2&length=16&warmup=6"
STATUS = "document.querySelector('.ep-status')?.textContent ?? ''"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    """The page, with a cache that all its visitors share."""
    with running(tmp_path, told={"EMBTIE_CACHE": str(tmp_path / "cache")}) as found:
        yield found


def _opened(chromium: Browser, address: str, scheme: str = "light", width: int = 1400) -> Visit:
    visit = Visit(chromium, address, scheme, width)
    visit.page.locator(".embtie-panel h2", has_text="Gradient flow").wait_for()
    visit.page.wait_for_function(f"{STATUS}.includes('Expected:')")
    return visit


def _until(visit: Visit, words: str) -> str:
    visit.page.wait_for_function(f"/{words}/.test({STATUS})")
    return str(visit.evaluate(STATUS))


def _numbers(visit: Visit) -> str:
    return str(visit.evaluate("document.querySelector('.ep-results .ep-table').textContent"))


def test_one_computes_the_next_waits_and_who_asks_for_the_same_gets_that(
    chromium: Browser, server: Running, pictures: Path
) -> None:
    first = _opened(chromium, server.address + ASKED)
    same = _opened(chromium, server.address + ASKED, "dark", 390)
    other = _opened(chromium, server.address + ASKED + "&seed=7")
    first.press("Run")
    _until(first, r"[\d,]+ of [\d,]+")
    same.press("Run")
    other.press("Run")
    _until(other, "waiting for the device, 1 before you")
    _until(same, "the same is under way for another visitor")
    assert_readable(other, pictures / "waiting.png")
    assert_readable(same, pictures / "following.png")
    assert "Computed in" in _until(first, "^Computed")
    assert _until(same, "^Computed") == "Computed before."
    assert "after a wait of" in _until(other, "^Computed")
    assert _numbers(same) == _numbers(first) != _numbers(other)
    for visit in (first, same, other):
        visit.leave_well()
