"""The picker with suggestions, by keyboard, pointer and free text."""

from collections.abc import Callable
from typing import Any

import pytest
from traitlets import TraitError

from embtie_widgets.widgets import SearchPicker
from tests.widgets.widget_harness import HarnessPage

OpenPage = Callable[..., HarnessPage]
NAMES = ["nano-tied", "nano-untied", "allenai/OLMo-1B-hf", "<img src=x onerror=alert(1)>"]


def picker_of(**traits: Any) -> SearchPicker:
    picker = SearchPicker(label="Model A", **traits)

    def answer(_change: Any) -> None:
        found = [name for name in NAMES if picker.query.lower() in name.lower()]
        picker.hits = [{"value": n, "label": f"{n} (label)", "detail": "bundled"} for n in found]

    picker.observe(answer, "query")
    answer(None)
    return picker


def box(browser: HarnessPage) -> Any:
    return browser.page.get_by_role("combobox", name="Model A")


def options(browser: HarnessPage) -> list[str]:
    browser.pump()
    return browser.page.locator("[role=option]:visible .et-hit").all_text_contents()


def test_more_than_fifty_hits_are_refused() -> None:
    with pytest.raises(TraitError, match="at most 50"):
        SearchPicker(hits=[{"value": str(i)} for i in range(51)])


def test_a_hit_without_value_is_refused() -> None:
    with pytest.raises(TraitError, match="value"):
        SearchPicker(hits=[{"label": "a"}])


@pytest.mark.browser
def test_typing_asks_the_kernel_and_shows_its_hits(open_page: OpenPage) -> None:
    browser = open_page()
    browser.mount(picker_of())
    box(browser).press_sequentially("untied")
    browser.until(lambda: options(browser) == ["nano-untied (label)"])
    assert box(browser).get_attribute("aria-expanded") == "true"


@pytest.mark.browser
def test_arrows_and_enter_pick(open_page: OpenPage) -> None:
    browser = open_page()
    picker = picker_of()
    browser.mount(picker)
    box(browser).press("ArrowDown")
    box(browser).press("ArrowDown")
    active = box(browser).get_attribute("aria-activedescendant")
    assert browser.page.locator(f"#{active}").get_attribute("aria-selected") == "true"
    box(browser).press("Enter")
    browser.until(lambda: picker.value == "nano-untied")
    assert box(browser).input_value() == "nano-untied (label)"
    assert options(browser) == []


@pytest.mark.browser
def test_a_click_picks(open_page: OpenPage) -> None:
    browser = open_page()
    picker = picker_of()
    browser.mount(picker)
    box(browser).click()
    browser.page.get_by_role("option").nth(2).click()
    browser.until(lambda: picker.value == "allenai/OLMo-1B-hf")


@pytest.mark.browser
def test_free_text_counts_on_enter(open_page: OpenPage) -> None:
    browser = open_page()
    picker = picker_of()
    browser.mount(picker)
    box(browser).fill("someone/model")
    box(browser).press("Enter")
    browser.until(lambda: picker.value == "someone/model")


@pytest.mark.browser
def test_without_free_text_the_first_hit_counts_and_other_text_is_dropped(
    open_page: OpenPage,
) -> None:
    browser = open_page()
    picker = picker_of(free_text=False, value="nano-tied")
    browser.mount(picker)
    box(browser).fill("olmo")
    browser.until(lambda: picker.query == "olmo")
    box(browser).press("Enter")
    browser.until(lambda: picker.value == "allenai/OLMo-1B-hf")
    box(browser).fill("nothing like it")
    box(browser).press("Tab")
    browser.pump()
    assert picker.value == "allenai/OLMo-1B-hf"
    assert box(browser).input_value() == "allenai/OLMo-1B-hf (label)"


@pytest.mark.browser
def test_escape_closes_and_keeps_the_value(open_page: OpenPage) -> None:
    browser = open_page()
    picker = picker_of(value="nano-tied")
    browser.mount(picker)
    box(browser).fill("x")
    box(browser).press("Escape")
    browser.pump()
    assert (picker.value, box(browser).input_value()) == ("nano-tied", "nano-tied")
    assert options(browser) == []


@pytest.mark.browser
def test_hits_are_shown_as_letters(open_page: OpenPage) -> None:
    browser = open_page()
    browser.mount(picker_of())
    box(browser).fill("img")
    browser.until(lambda: options(browser) == ["<img src=x onerror=alert(1)> (label)"])
    assert browser.page.locator("img").count() == 0


@pytest.mark.browser
def test_the_list_is_not_cut_off_by_a_box_around_it(open_page: OpenPage) -> None:
    browser = open_page()
    browser.page.add_style_tag(content="#w { overflow: auto; height: 60px }")
    browser.mount(picker_of())
    box(browser).click()
    last = browser.page.get_by_role("option").last
    spot = last.bounding_box()
    assert spot is not None
    hit = "([x, y]) => document.elementFromPoint(x, y).closest('[role=option]') !== null"
    assert browser.page.evaluate(hit, [spot["x"] + 5, spot["y"] + 5])


@pytest.mark.browser
def test_the_kernel_can_set_the_value(open_page: OpenPage) -> None:
    browser = open_page()
    picker = picker_of()
    browser.mount(picker)
    picker.value, picker.value_label = "7", "token seven"
    browser.pump()
    assert box(browser).input_value() == "token seven"


@pytest.mark.browser
def test_a_long_path_shows_its_end_and_a_long_title_its_start(open_page: OpenPage) -> None:
    browser = open_page(width=200)
    picker = picker_of(value="/home/somebody/models/of/last/summer/nano-untied")
    browser.mount(picker)

    def scrolled() -> float:
        return float(box(browser).evaluate("box => box.scrollLeft"))

    browser.until(lambda: scrolled() > 50)
    box(browser).focus()
    box(browser).press("Home")
    box(browser).blur()
    browser.until(lambda: scrolled() > 50)
    picker.value_label = "A pair of models with a title that is far longer than its box"
    browser.until(lambda: scrolled() == 0)


@pytest.mark.browser
def test_what_cannot_be_chosen_is_shown_with_its_reason_and_stays_so(open_page: OpenPage) -> None:
    browser = open_page()
    picker = SearchPicker(
        label="Model A",
        hits=[{"value": "large", "off": "too large for this page"}, {"value": "small"}],
    )
    browser.mount(picker)
    box(browser).click()
    large = browser.page.get_by_role("option", name="large too large for this page")
    assert large.get_attribute("aria-disabled") == "true"
    assert "too large for this page" in large.inner_text()
    large.click(force=True)  # as a reader would, who is not held back
    box(browser).press("ArrowDown")
    box(browser).press("Enter")
    browser.pump()
    assert picker.value == ""
    box(browser).press("ArrowDown")
    box(browser).press("Enter")
    browser.until(lambda: picker.value == "small")
