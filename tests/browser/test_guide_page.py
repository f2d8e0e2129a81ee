"""The guide of a panel, opened inside the page by a real browser without any network."""

from collections.abc import Callable

import pytest

from embtie_widgets.guide import SECTIONS
from tests.browser import reading
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_guide_opens_and_closes_by_the_keyboard(
    visit: Callable[..., Visit], scheme: str
) -> None:
    one = visit(scheme=scheme)
    one.wait_for_figure()
    button = one.page.get_by_role("button", name="Guide", exact=True)
    assert button.get_attribute("aria-expanded") == "false"
    button.press("Enter")
    text = one.page.locator(".ep-guide-text")
    text.wait_for()
    assert button.get_attribute("aria-expanded") == "true"
    assert tuple(text.locator("h3").all_inner_texts()) == SECTIONS
    assert min(box["width"] for box in map(_box, text.locator("math").all())) > 4
    for width in (1400, 390):
        one.resize(width)
        assert reading.faint_texts(one) == {}
        assert reading.cut_words(one) == []
        assert reading.overhang(one) == []
    one.page.get_by_role("button", name="Close the guide").press("Enter")
    text.wait_for(state="hidden")
    assert button.get_attribute("aria-expanded") == "false"
    one.page.wait_for_function("document.activeElement.textContent.includes('Guide')")


def _box(place: object) -> dict[str, float]:
    return place.bounding_box()  # type: ignore[attr-defined, no-any-return]
