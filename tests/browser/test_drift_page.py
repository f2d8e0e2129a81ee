"""The tab of drift, seen by a real browser."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
MARKS = ".ep-drift .scatterlayer .points path"


def opened(visit: Callable[..., Visit], scheme: str = "light", width: int = 1400) -> Visit:
    one = visit(scheme, width)
    one.wait_for_figure()
    one.page.get_by_role("tab", name="Drift", exact=True).click()
    one.page.wait_for_selector(MARKS, state="attached")
    one.page.wait_for_selector(".ep-changes .scatterlayer .points path", state="attached")
    return one


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 390)])
def test_the_tab_draws_at_once_and_fits(
    visit: Callable[..., Visit], pictures: Path, scheme: str, width: int
) -> None:
    one = opened(visit, scheme, width)
    assert one.page.locator(MARKS).count() == 18  # three matrices at six checkpoints
    said = one.page.locator(".ep-headline")
    said.get_by_text("turned about as far as the untied output").wait_for()
    assert one.evaluate("document.documentElement.scrollWidth <= innerWidth")
    one.page.get_by_role("button", name="Degrees per step").click()
    one.page.get_by_text("turn, degrees per step").wait_for()
    one.page.wait_for_function("location.search.includes('view.change=turn')")
    one.page.wait_for_timeout(500)
    one.page.screenshot(path=pictures / f"drift-{scheme}-{width}.png", full_page=True)
