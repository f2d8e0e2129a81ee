"""The tab of checkpoints, and the choice of a revision by step, seen by a real browser."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
MARKS = ".ep-checkpoints .scatterlayer .points path"


def opened(visit: Callable[..., Visit], scheme: str = "light", width: int = 1400) -> Visit:
    one = visit(scheme, width)
    one.wait_for_figure()
    one.page.get_by_role("tab", name="Checkpoints").click()
    one.page.wait_for_selector(MARKS, state="attached")
    one.page.wait_for_selector(".embtie-steps .et-thumb", state="attached")
    return one


def test_the_tab_draws_at_once_and_the_slider_walks_by_keyboard(
    visit: Callable[..., Visit],
) -> None:
    one = opened(visit)
    assert one.page.locator(MARKS).count() == 6  # five loaded ones and the ring
    slider = one.page.get_by_role("slider", name="Checkpoint")
    assert slider.get_attribute("aria-valuetext") == "step 700 · 350 steps after the one before"
    slider.focus()
    one.page.keyboard.press("ArrowLeft")
    one.page.get_by_text("ew.load('nano-untied', 'step-000350')").wait_for()
    one.page.keyboard.press("Home")
    one.page.get_by_text("ew.load('nano-untied', 'step-000000')").wait_for()
    assert slider.get_attribute("aria-valuenow") == "0"
    before = slider.locator("path.et-loaded").get_attribute("d")
    one.page.get_by_role("button", name="linear").click()
    one.page.wait_for_function(
        "old => document.querySelector('.et-rail path.et-loaded').getAttribute('d') !== old",
        arg=before,
    )
    one.page.wait_for_function("location.search.includes('view.at=step-000000')")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 390)])
def test_it_fits_wide_and_narrow(
    visit: Callable[..., Visit], pictures: Path, scheme: str, width: int
) -> None:
    one = opened(visit, scheme, width)
    assert one.evaluate("document.documentElement.scrollWidth <= innerWidth")
    rail = one.page.get_by_role("slider", name="Checkpoint").bounding_box()
    plot = one.page.locator(".ep-checkpoints .js-plotly-plot").bounding_box()
    assert rail is not None
    assert plot is not None
    assert min(rail["width"], plot["width"]) > 0.6 * min(width, 900)
    one.page.wait_for_timeout(500)
    one.page.screenshot(path=pictures / f"checkpoints-{scheme}-{width}.png", full_page=True)


def test_a_revision_is_chosen_by_step(visit: Callable[..., Visit], pictures: Path) -> None:
    one = visit()
    one.wait_for_figure()
    one.page.get_by_role("button", name="by step…").first.click()
    slider = one.page.get_by_role("slider", name="Checkpoint").first
    slider.wait_for()
    slider.focus()
    one.page.keyboard.press("End")
    one.page.keyboard.press("ArrowLeft")
    one.page.wait_for_function(
        "[...document.querySelectorAll('.ep-revision input')].some(i => i.value === 'step-000350')"
    )
    one.page.screenshot(path=pictures / "by-step.png")
