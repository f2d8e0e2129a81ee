"""The tab of the papers' tables, seen by a real browser without any network."""

from collections.abc import Callable
from pathlib import Path

import pytest

from embtie_widgets.charts.files import stamp_of
from embtie_widgets.requests import PaperTablesRequest, read_request
from embtie_widgets.requests.papers import ITEMS
from tests.browser.reading import assert_readable, stops
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
Open = Callable[..., Visit]
ASKED = PaperTablesRequest(items=("table-3", "table-4"))
LINK = "?embtie=1&kind=paper-tables&items=table-3,table-4"
BARS = ".ep-overview .barlayer .point path"
DOTS = ".ep-item .scatterlayer .points path"


def opened(visit: Open, **how: object) -> Visit:
    """The dashboard, turned to the tab once the first figure is there."""
    one = visit(**how)
    one.wait_for_figure()
    one.open_tab("Paper tables")
    one.page.locator(BARS).first.wait_for(state="attached")
    return one


def test_what_ships_is_there_at_once_for_every_table_and_figure(
    visit: Open, pictures: Path
) -> None:
    one = opened(visit, scheme="dark")
    labels = one.page.locator(".ep-overview .yaxislayer-above .ytick").all_inner_texts()
    assert len(labels) == len(ITEMS)
    assert one.page.locator(".ep-headline").inner_text().startswith("Of ")
    assert one.page.locator(".ep-status").inner_text() == "Computed before."
    assert one.page.get_by_text("embtie fetch").first.is_visible()
    assert_readable(one, pictures / "papers-dark")


def test_two_tables_are_recomputed_with_one_click_and_opened_by_a_click_on_a_bar(
    visit: Open, pictures: Path, tmp_path: Path
) -> None:
    one = visit(query=LINK)
    one.page.locator(".embtie-panel h2", has_text="Paper tables").wait_for()
    one.press("Recompute")
    said = one.page.locator(".ep-headline")
    said.get_by_text("Of 25 printed numbers, 17 agree as printed and 8 differ.").wait_for()
    one.page.locator(".ep-item h4", has_text="Table 3").wait_for()
    before = one.page.locator(DOTS).count()
    click_bar(one, "Table 4")
    one.page.locator(".ep-item h4", has_text="Table 4").wait_for()
    one.page.wait_for_function("location.search.includes('view.item=table-4')")
    one.page.wait_for_function(
        "([dots, old]) => document.querySelectorAll(dots).length !== old", arg=[DOTS, before]
    )
    assert one.page.locator(".ep-papers tbody tr").count() == 10
    assert one.page.get_by_text("51.4 M divided by the nominal 70 M").is_visible()
    png = one.saved("PNG", tmp_path).read_bytes()
    assert read_request(stamp_of(png)["request"]) == ASKED
    assert_readable(one, pictures / "papers-light")


def test_every_total_stands_whole_on_a_phone(visit: Open) -> None:
    one = opened(visit)
    one.resize(390)
    one.page.wait_for_function(
        """() => { const chart = document.querySelector('.ep-overview .main-svg');
        const edge = chart.getBoundingClientRect().right;
        const texts = [...document.querySelectorAll('.ep-overview .annotation-text')];
        const totals = texts.filter((text) => /^\\d{3}$/.test(text.textContent));
        return totals.length && totals.every((t) => t.getBoundingClientRect().right <= edge); }""",
        timeout=10_000,
    )


def click_bar(one: Visit, label: str) -> None:
    """Click the bar that stands beside this label, once it stays where it is."""
    ticks = one.page.locator(".ep-overview .ytick", has_text=label)
    tick, before = ticks.bounding_box(), None
    while tick != before:
        one.page.wait_for_timeout(300)
        tick, before = ticks.bounding_box(), tick
    plot = one.page.locator(".ep-overview .nsewdrag").first.bounding_box()
    assert tick is not None
    assert plot is not None
    one.page.mouse.click(plot["x"] + plot["width"] * 0.1, tick["y"] + tick["height"] / 2)


def test_the_keyboard_chooses_a_table_and_a_verdict(visit: Open) -> None:
    one = opened(visit)
    assert "Recompute" in stops(one)
    one.page.get_by_label("table or figure", exact=True).focus()
    one.page.keyboard.press("ArrowDown")
    one.page.locator(".ep-item h4", has_text="Table 2").wait_for()
    one.page.keyboard.press("ArrowDown")
    one.page.keyboard.press("ArrowDown")
    one.page.locator(".ep-item h4", has_text="Table 4").wait_for()
    one.page.keyboard.press("Tab")
    one.page.keyboard.press("End")
    one.page.wait_for_function("location.search.includes('view.only=differs')")
    one.page.wait_for_function("document.querySelectorAll('.ep-papers tbody tr').length === 8")
