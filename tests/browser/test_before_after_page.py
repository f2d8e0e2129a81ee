"""Output matrices as stored and centred, turned by one click in a real browser."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
Open = Callable[..., Visit]
CARD = ".ep-before-after"
CENTRED = "Output matrices are centred: Out and Tied without mean row."


def turn(one: Visit, side: str) -> None:
    one.page.get_by_role("button", name=side, exact=True).click()


def test_one_click_shows_the_other_side_and_both_next_to_each_other(
    visit: Open, pictures: Path
) -> None:
    one = visit()
    one.wait_for_figure()
    one.open_tab("Norm-frequency")
    assert not one.page.locator(CARD).is_visible()
    turn(one, "Centred")
    one.page.get_by_text(CENTRED).wait_for()
    one.wait_for_answer()
    one.page.locator(f"{CARD} table").first.wait_for()
    assert "mu_centered=true" in one.page.url
    for scheme in ("light", "dark"):
        one.wear(scheme)
        for width in (1400, 390):
            one.resize(width)
            assert one.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
            one.page.locator(CARD).screenshot(path=pictures / f"sides-{scheme}-{width}.png")
    turn(one, "As stored")
    one.page.get_by_text(CENTRED).wait_for(state="detached")
    assert one.page.locator(f"{CARD} table").first.is_visible()
    one.page.locator(".ep-status", has_text="Computed before.").wait_for()
    assert "mu_centered" not in one.page.url


def test_a_link_opens_the_centred_side(visit: Open) -> None:
    one = visit(query="?embtie=1&kind=align&center=false&map=identity&mu_centered=true")
    one.page.get_by_text(CENTRED).wait_for()
    one.page.locator(CARD, has_text="to see the other side").wait_for()
    said = one.page.locator(CARD).inner_text()
    assert "can change, since column means are left in" in said
