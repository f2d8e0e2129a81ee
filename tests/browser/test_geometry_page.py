"""The tab of neighbours and spectra, by hand of a real browser."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser.visit import PATIENCE, Visit

pytestmark = pytest.mark.browser
LINES = ".ep-spectra .scatterlayer .js-line"


def opened(visit: Callable[..., Visit], query: str = "", **options: object) -> Visit:
    one = visit(query=f"?embtie=1&kind=geometry{query}", **options)
    one.page.locator(".ep-overlap .scatterlayer .js-line").first.wait_for(state="attached")
    one.page.locator(LINES).first.wait_for(state="attached")
    return one


def overlays(one: Visit) -> int:
    """How many outlines the overlap chart has, each drawn or hidden for lack of a selection."""
    return int(one.page.locator(".ep-overlap .scatterlayer .js-line").count())


def answered(one: Visit, words: str) -> None:
    """Until the caption says so; where that is costly here, Run is pressed."""
    asks = "document.querySelector('.ep-status')?.textContent.includes('Expected:')"
    there = f"document.querySelector('.ep-overlap .ep-caption')?.textContent.includes({words!r})"
    for _ in range(PATIENCE // 500):
        if one.evaluate(there):
            break
        # What it would cost is said anew for every change on the way to the last one.
        if one.evaluate(asks):
            one.press("Run")
        one.page.wait_for_timeout(500)
    assert one.evaluate(there)


def test_the_tab_opens_with_both_charts_and_their_numbers(visit: Callable[..., Visit]) -> None:
    one = visit()
    one.wait_for_figure()
    one.open_tab("Neighbours and spectra")
    one.page.locator(LINES).first.wait_for(state="attached")
    assert one.page.locator(LINES).count() == 3
    said = one.page.locator(".ep-headline").inner_text()
    assert "closer to the untied output" in said
    assert "times what chance gives" in said
    one.page.wait_for_function("location.search.includes('kind=geometry')")


def test_a_click_shows_three_lists_and_a_selection_lights_both_charts(
    visit: Callable[..., Visit], pictures: Path
) -> None:
    one = opened(visit)
    one.page.locator(".embtie-table tbody td.et-token").nth(3).click()
    one.page.wait_for_selector(".embtie-card .et-list li")
    assert one.page.locator(".embtie-card .et-head").all_inner_texts() == ["In", "Out", "Tied"]
    assert one.page.locator(".embtie-card .et-list li").count() == 30
    assert (
        "10 nearest of the matched tokens by cosine"
        in one.page.locator(".embtie-card .et-near > .et-status").inner_text()
    )
    before = overlays(one)
    for row in range(4):
        one.page.locator(".embtie-table tbody input").nth(row).check()
    one.page.wait_for_function(
        f"document.querySelectorAll({LINES!r}).length === 6"
    )  # thin lines for the rows of the four
    assert overlays(one) == before + 3
    one.page.screenshot(path=pictures / "neighbours-selected.png", full_page=True)
    one.press("Clear selection")
    one.page.wait_for_function(f"document.querySelectorAll({LINES!r}).length === 3")


def test_another_k_runs_again_and_the_address_restores_it(visit: Callable[..., Visit]) -> None:
    one = opened(visit)
    one.page.get_by_label("spectral distance", exact=True).uncheck()
    k = one.page.get_by_label("k", exact=True)
    k.fill("3")
    k.press("Enter")
    answered(one, "3 nearest by cosine")
    assert "KNN@3" in one.page.locator(".ep-headline").inner_text()
    one.page.locator(".embtie-table tbody input").nth(1).check()
    one.page.wait_for_function("location.search.includes('tokens=')")
    other = visit(query=f"?{urlsplit(one.page.url).query}")
    answered(other, "3 nearest by cosine")
    assert other.selected() == 1
    assert other.page.get_by_label("k", exact=True).input_value() == "3"
    assert not other.page.get_by_label("spectral distance", exact=True).is_checked()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 390)])
def test_it_fits_wide_and_narrow(
    visit: Callable[..., Visit], pictures: Path, scheme: str, width: int
) -> None:
    one = opened(visit, scheme=scheme, width=width)
    assert one.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for name in (".ep-overlap", ".ep-spectra"):
        box = one.page.locator(f"{name} .js-plotly-plot").bounding_box()
        assert box is not None
        assert box["width"] > 0.6 * min(width, 900)
    one.page.wait_for_timeout(500)
    one.page.screenshot(path=pictures / f"neighbours-{scheme}-{width}.png", full_page=True)
