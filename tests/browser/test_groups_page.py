"""Tokens by kind and frequency in Voila: the filter, the means, and a link that keeps them."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
Open = Callable[..., Visit]
ROWS = "document.querySelectorAll('.embtie-table tbody tr').length"
FOUND = "text => document.querySelector('.ep-chosen').textContent.includes(text)"


def choose(one: Visit, label: str) -> None:
    one.page.get_by_label("kind of token", exact=True).select_option(label=label)


def found(one: Visit, text: str) -> None:
    one.page.wait_for_function(FOUND, arg=text)


def lit(one: Visit) -> int:
    """How many bars of tokens stand out in the histogram."""
    return int(
        one.evaluate(
            "() => document.querySelector('.js-plotly-plot').data"
            ".filter(trace => (trace.name || '').startsWith('selected')).length"
        )
    )


def test_a_kind_lights_up_in_every_chart_and_a_link_restores_it(visit: Open) -> None:
    one = visit()
    one.wait_for_figure()
    one.wait_for_scatter()
    choose(one, "number (22)")
    found(one, "22 found, lit in every chart")
    one.page.wait_for_function(f"{ROWS} === 22")
    one.page.wait_for_function(
        "() => document.querySelector('.js-plotly-plot').data"
        ".some(trace => (trace.name || '').startsWith('selected'))"
    )
    status = one.page.locator(".embtie-scatter > .et-status")
    status.filter(has_text="22 found").wait_for()
    one.page.wait_for_function("location.search.includes('view.kind=number')")
    other = visit(query=f"?{urlsplit(one.page.url).query}")
    other.wait_for_figure()
    found(other, "22 found")
    assert other.rows() == 22
    assert other.page.get_by_label("kind of token", exact=True).input_value() == "number (22)"


def test_the_keyboard_chooses_a_kind_and_searches_within_it(visit: Open) -> None:
    one = visit()
    one.wait_for_figure()
    control = one.page.get_by_label("kind of token", exact=True)
    control.focus()
    for letter in "num":
        one.page.keyboard.press(letter)
    found(one, "22 found")
    one.page.keyboard.press("Tab")
    one.page.keyboard.type("1")
    found(one, "5 found")
    texts = one.page.locator(".embtie-table tbody td.et-token").all_inner_texts()
    assert all("1" in text for text in texts)
    one.press("Select found")
    assert one.selected() == 5
    assert control.input_value() == "every token"


def test_a_row_of_the_means_finds_its_tokens_everywhere(visit: Open) -> None:
    one = visit()
    one.wait_for_figure()
    table = one.page.get_by_role("table", name="Mean cosine by kind of token")
    table.get_by_role("button", name="byte").click()
    found(one, "128 found")
    assert one.page.get_by_label("kind of token", exact=True).input_value() == "byte (128)"
    often = one.page.get_by_role("table", name="Mean cosine by times in the corpus")
    often.get_by_role("button", name="10,000 times and more").press("Enter")
    found(one, "35 found")
    table.locator('button[aria-pressed="false"]', has_text="byte").wait_for()
    often.get_by_role("button", name="10,000 times and more").press("Enter")
    one.page.wait_for_function(f"{ROWS} === 100")


def test_the_means_of_a_column_end_below_their_head(visit: Open) -> None:
    one = visit()
    one.wait_for_figure()
    far = one.evaluate(
        """() => [...document.querySelectorAll('.embtie-groups table')].flatMap(table => {
          const end = node => { const range = document.createRange();
            range.selectNodeContents(node); return range.getBoundingClientRect().right; };
          return [2, 3, 4].map(n => end(table.tHead.rows[0].cells[n])
            - Math.max(...[...table.tBodies[0].rows].map(row =>
                Math.max(...[...row.cells[n].childNodes].filter(node => node.textContent.trim())
                  .map(end)))));
        })"""
    )
    assert len(far) == 6
    assert all(-0.5 <= gap <= 8 for gap in far), far


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_it_fits_the_page(visit: Open, pictures: Path, scheme: str, width: int) -> None:
    one = visit(scheme=scheme, width=width, scale=1)
    one.wait_for_figure()
    one.wait_for_scatter()
    choose(one, "punctuation (61)")
    found(one, "61 found")
    one.page.wait_for_function(f"{ROWS} === 61")
    assert one.evaluate("document.documentElement.scrollWidth <= innerWidth")
    one.page.locator(".ep-tokens").screenshot(path=pictures / f"filter-{scheme}-{width}.png")
    for number, card in enumerate(one.page.locator(".ep-card:has(.embtie-groups)").all()):
        card.screenshot(path=pictures / f"groups{number}-{scheme}-{width}.png")
    one.page.screenshot(path=pictures / f"groups-page-{scheme}-{width}.png", full_page=True)
