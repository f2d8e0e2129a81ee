"""The tabs of the staircase, seen by a real browser."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.reading import assert_readable
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
READOUT = ".ep-scrub .et-readout"
POINTS = ".ep-scrub .scatterlayer .points path"
# Where the line at the step stands in the first chart of the curves.
STEM = ".ep-climb .shapelayer path"


def opened(visit: Callable[..., Visit], tab: str, scheme: str = "light") -> Visit:
    one = visit(scheme)
    one.wait_for_figure()
    one.page.locator(".ep-tabs button", has_text=tab).click()
    one.page.locator(".embtie-panel h2", has_text=tab).wait_for()
    one.page.wait_for_selector(POINTS, state="attached")
    one.page.wait_for_selector(STEM, state="attached")
    return one


def place_of(one: Visit, selector: str) -> str:
    return str(one.page.locator(selector).first.get_attribute("d"))


def test_a_training_plays_and_stops_where_a_reader_wants(
    visit: Callable[..., Visit], pictures: Path
) -> None:
    one = opened(visit, "Context staircase")
    last = one.page.locator(READOUT).inner_text()
    stem = place_of(one, STEM)
    one.press("Play")
    one.page.wait_for_function(
        "([where, last]) => document.querySelector(where).textContent !== last", arg=[READOUT, last]
    )
    one.press("Pause")
    one.page.wait_for_function("location.search.includes('view.at=')")
    one.page.wait_for_function(
        "([where, last]) => document.querySelector(where).getAttribute('d') !== last",
        arg=[STEM, stem],
    )
    assert_readable(one, pictures / "staircase")
    one.page.locator(".ep-scrub [role=slider]").press("End")
    one.page.wait_for_function("!location.search.includes('view.at=')")
    assert one.page.locator(READOUT).inner_text() == last


def test_signatures_of_text_are_readable_and_light_up_together(
    visit: Callable[..., Visit], pictures: Path
) -> None:
    one = opened(visit, "Signatures in text", "dark")
    assert_readable(one, pictures / "signatures")
    one.resize(1400)
    one.page.locator(".embtie-table tbody tr input").first.check()
    one.page.wait_for_function(
        "where => [...document.querySelectorAll(where)].some((p) => p.style.opacity === '0.22')",
        arg=POINTS,
    )
