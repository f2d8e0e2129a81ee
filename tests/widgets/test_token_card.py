"""The card of a token in a real browser."""

from collections.abc import Callable

import pytest
import traitlets

from embtie_widgets.widgets import TokenCard
from tests.widgets.widget_harness import HarnessPage

OpenPage = Callable[..., HarnessPage]
HOSTILE = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "%{x}", "$x$", "\ud800"]


def card_of(texts: list[str]) -> TokenCard:
    rows = [[i, text, "0.5", {1: "all", 2: "some"}.get(i, "")] for i, text in enumerate(texts)]
    lists = [
        {"name": name, "role": name.lower(), "rows": rows} for name in ("Input", "Output", "Tied")
    ]
    return TokenCard(token=texts[0], note="3 bytes", facts=[["count", texts[1]]], lists=lists)


def test_a_list_is_bounded_and_a_lone_surrogate_is_its_escape() -> None:
    assert card_of(HOSTILE).lists[0]["rows"][4][1] == "\\ud800"
    with pytest.raises(traitlets.TraitError, match="at most 50"):
        card_of(["x"] * 51)


@pytest.mark.browser
def test_token_texts_are_letters_wherever_they_stand(open_page: OpenPage) -> None:
    browser = open_page()
    browser.mount(card_of(HOSTILE))
    assert browser.page.query_selector("#w img, #w script") is None
    shown = browser.page.locator("#w li .et-token").all_inner_texts()
    assert shown[:4] == HOSTILE[:4]
    assert browser.page.locator("#w .et-about > .et-token").inner_text() == HOSTILE[0]


@pytest.mark.browser
def test_common_neighbours_are_marked_by_sign_and_words(open_page: OpenPage) -> None:
    browser = open_page()
    browser.mount(card_of(["a", "b", "c"]))
    marked = browser.page.locator("#w li button.et-common")
    assert marked.count() == 3
    assert "●" in marked.first.inner_text()
    assert "in every list" in (marked.first.get_attribute("title") or "")
    twice = browser.page.locator("#w li button", has_text="○")
    assert twice.count() == 3
    assert "in another list too" in (twice.first.get_attribute("title") or "")


@pytest.mark.browser
def test_a_neighbour_is_reached_and_chosen_by_keyboard(open_page: OpenPage) -> None:
    browser = open_page()
    card = card_of(["a", "b", "c"])
    browser.mount(card)
    browser.page.keyboard.press("Tab")
    browser.page.keyboard.press("Tab")
    browser.page.keyboard.press("Enter")
    browser.until(lambda: card.clicked == 1)


@pytest.mark.browser
def test_without_a_token_there_is_a_hint(open_page: OpenPage) -> None:
    browser = open_page()
    browser.mount(TokenCard(hint="Click a point."))
    assert browser.page.locator("#w").inner_text() == "Click a point."
