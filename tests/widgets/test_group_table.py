"""The table of groups in a real browser."""

from collections.abc import Callable

import pytest
import traitlets

from embtie_widgets.widgets import GroupTable
from tests.widgets.widget_harness import HarnessPage

OpenPage = Callable[..., HarnessPage]
NAMES = ["word start", "byte", "<b>10 times"]


def table_of(names: list[str], chosen: str = "") -> GroupTable:
    columns = [{"label": "tokens", "role": ""}, {"label": "Out → Tied", "role": "output"}]
    rows = [
        {"name": name, "title": f"about {name}", "cells": [["1,234", ""], ["0.500", "[0.4, 0.6]"]]}
        for name in names
    ]
    return GroupTable(
        heading="kind of token", label="means", columns=columns, rows=rows, chosen=chosen
    )


def pressed(browser: HarnessPage) -> list[str]:
    return browser.page.locator("#w button[aria-pressed=true]").all_inner_texts()


def test_its_rows_are_bounded() -> None:
    with pytest.raises(traitlets.TraitError, match="101 rows"):
        table_of(["x"] * 101)


@pytest.mark.browser
def test_it_is_a_table_with_names_for_rows_and_columns(open_page: OpenPage) -> None:
    browser = open_page()
    browser.mount(table_of(NAMES))
    table = browser.page.get_by_role("table", name="means")
    heads = table.get_by_role("columnheader").all_inner_texts()
    assert heads == ["kind of token", "tokens", "Out → Tied"]
    buttons = table.get_by_role("rowheader").get_by_role("button")
    assert buttons.all_inner_texts() == NAMES
    assert browser.page.locator("#w td").nth(1).inner_text() == "0.500 [0.4, 0.6]"
    assert buttons.first.get_attribute("title") == "about word start"
    about = browser.page.locator("#w .et-about").first
    assert about.inner_text() == "about word start"
    browser.page.set_viewport_size({"width": 500, "height": 700})
    assert not about.is_visible()


@pytest.mark.browser
def test_a_click_anywhere_in_a_row_chooses_it_and_a_second_takes_it_back(
    open_page: OpenPage,
) -> None:
    browser = open_page()
    table = table_of(NAMES)
    browser.mount(table)
    browser.page.locator("#w tbody tr").nth(1).locator("td").first.click()
    browser.until(lambda: table.chosen == "byte")
    assert pressed(browser) == ["byte"]
    browser.page.get_by_role("button", name="byte").click()
    browser.until(lambda: table.chosen == "")
    assert pressed(browser) == []


@pytest.mark.browser
def test_the_keyboard_chooses_and_keeps_its_place_when_rows_are_drawn_again(
    open_page: OpenPage,
) -> None:
    browser = open_page()
    table = table_of(NAMES)
    browser.mount(table)
    for key in ("Tab", "Tab", "Enter"):
        browser.page.keyboard.press(key)
    browser.until(lambda: table.chosen == "byte")
    table.rows = table_of(["byte", "number"]).rows
    browser.until(lambda: browser.page.locator("#w tbody tr").count() == 2)
    assert browser.page.evaluate("document.activeElement.textContent") == "byte"
    browser.page.keyboard.press(" ")
    browser.until(lambda: table.chosen == "")


@pytest.mark.browser
def test_what_the_kernel_chooses_is_shown_and_a_name_without_row_is_none(
    open_page: OpenPage,
) -> None:
    browser = open_page()
    table = table_of(NAMES, chosen=NAMES[2])
    browser.mount(table)
    assert pressed(browser) == [NAMES[2]]
    table.chosen = "not here"
    browser.until(lambda: pressed(browser) == [])


@pytest.mark.browser
def test_texts_are_letters(open_page: OpenPage) -> None:
    browser = open_page()
    browser.mount(table_of(["<img src=x onerror=alert(1)>"]))
    assert browser.page.query_selector("#w img") is None


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_narrow_page_the_names_stay_while_the_numbers_scroll(
    open_page: OpenPage, theme: str
) -> None:
    browser = open_page(width=260, theme=theme)
    browser.mount(table_of(NAMES))
    scroll = browser.page.locator("#w .et-scroll")
    assert scroll.evaluate("box => box.scrollWidth > box.clientWidth")
    left = "cell => cell.getBoundingClientRect().left"
    name = browser.page.locator("#w tbody th").first
    before = name.evaluate(left)
    scroll.evaluate("box => { box.scrollLeft = 100; }")
    assert name.evaluate(left) == before
    assert browser.page.evaluate("document.body.scrollWidth <= innerWidth")
