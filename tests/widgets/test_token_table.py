"""The token table: what it refuses and sends, and how it behaves under a real hand."""

import math
from collections.abc import Callable

import pytest
from traitlets import TraitError

from embtie_widgets.widgets import TokenTable
from tests.widgets.widget_harness import HarnessPage

COLUMNS = [
    {"name": "token", "label": "Token", "kind": "text"},
    {"name": "count", "label": "Count", "kind": "integer"},
    {"name": "cosine", "label": "Cosine", "kind": "number"},
]
ROWS = [
    [7, "␣the", "900", "0.91"],
    [3, "<img src=x onerror=alert(1)>", "12", "0.42"],
    [5, "a", "1", None],
]


def table_of(rows: list[list[object]] = ROWS, **options: object) -> TokenTable:
    table = TokenTable(columns=COLUMNS, sort="cosine")
    table.show(rows, shown=len(rows), total=4096, **options)  # type: ignore[arg-type]
    return table


def test_more_than_a_page_of_rows_is_refused() -> None:
    with pytest.raises(TraitError, match="201 rows given"):
        TokenTable(columns=COLUMNS, rows=[[i, "t", 1, 0.5] for i in range(201)])


def test_a_column_of_unknown_kind_is_refused() -> None:
    with pytest.raises(TraitError, match="kind"):
        TokenTable(columns=[{"name": "a", "label": "A", "kind": "html"}])


def test_an_order_by_a_column_that_is_not_there_is_refused() -> None:
    table = table_of()
    with pytest.raises(TraitError, match="no such column"):
        table.sort = "<b>"
    assert table.sort == "cosine"


def test_numbers_that_are_not_finite_travel_as_no_value() -> None:
    table = TokenTable(rows=[[1, math.nan, math.inf, 0.5]])
    assert table.rows == [[1, None, None, 0.5]]


def test_a_lone_surrogate_travels_as_its_escape() -> None:
    assert TokenTable(rows=[[1, "\ud800"]]).rows == [[1, "\\ud800"]]


def test_only_selected_ids_of_this_page_are_sent() -> None:
    assert table_of(selected=range(6)).selected == [3, 5]


def test_merged_keeps_what_was_selected_on_other_pages() -> None:
    table = table_of(selected=[3, 100])
    table.selected = [7]
    assert table.merged([3, 100]) == {7, 100}


@pytest.mark.browser
def test_one_page_is_one_message_of_some_kilobytes(open_page: Callable[..., HarnessPage]) -> None:
    browser = open_page()
    table = table_of()
    browser.mount(table)
    browser.bytes_sent = 0
    table.show([[i, f"token {i}", i, f"{i / 7:.4f}"] for i in range(200)], shown=200, total=4096)
    assert len(browser._outbox) == 1
    assert browser.bytes_sent < 12_000


@pytest.mark.browser
def test_token_text_is_shown_as_its_own_letters(open_page: Callable[..., HarnessPage]) -> None:
    browser = open_page()
    browser.mount(table_of())
    assert browser.page.locator("tbody tr").nth(1).locator("td").nth(1).text_content() == ROWS[1][1]
    assert browser.page.locator("img").count() == 0


@pytest.mark.browser
def test_a_long_token_is_cut_and_read_whole_in_its_title(
    open_page: Callable[..., HarnessPage],
) -> None:
    browser = open_page()
    browser.mount(table_of([[1, "x" * 500, 1, 0.5]]))
    cell = browser.page.locator("td.et-token")
    assert len(cell.text_content() or "") == 80
    assert cell.get_attribute("title") == "x" * 500


@pytest.mark.browser
def test_a_missing_number_reads_no_value(open_page: Callable[..., HarnessPage]) -> None:
    browser = open_page()
    browser.mount(table_of())
    assert (
        browser.page.locator("tbody tr").nth(2).locator("td").nth(3).text_content() == "\N{EN DASH}"
    )


@pytest.mark.browser
def test_enter_in_the_search_box_asks_the_kernel_at_once(
    open_page: Callable[..., HarnessPage],
) -> None:
    browser = open_page()
    table = table_of()
    table.page = 2
    browser.mount(table)
    browser.page.get_by_label("Search tokens").fill("the")
    browser.page.keyboard.press("Enter")
    browser.until(lambda: table.query == "the")
    assert table.page == 0


@pytest.mark.browser
def test_typing_is_sent_once_it_rests(open_page: Callable[..., HarnessPage]) -> None:
    browser = open_page()
    table = table_of()
    asked: list[str] = []
    table.observe(lambda change: asked.append(change.new), "query")
    browser.mount(table)
    browser.page.get_by_label("Search tokens").press_sequentially("token", delay=5)
    browser.until(lambda: asked)
    assert asked == ["token"]


@pytest.mark.browser
def test_headers_sort_by_keyboard_and_say_so(open_page: Callable[..., HarnessPage]) -> None:
    browser = open_page()
    table = table_of()
    browser.mount(table)
    browser.page.get_by_role("button", name="Count").press("Enter")
    browser.until(lambda: (table.sort, table.descending) == ("count", True))
    browser.page.get_by_role("button", name="Count").press("Enter")
    browser.until(lambda: (table.sort, table.descending) == ("count", False))
    header = browser.page.get_by_role("columnheader", name="Count")
    assert header.get_attribute("aria-sort") == "ascending"


@pytest.mark.browser
def test_a_click_names_the_token_and_arrows_move_on(open_page: Callable[..., HarnessPage]) -> None:
    browser = open_page()
    table = table_of()
    browser.mount(table)
    browser.page.locator("tbody tr").nth(0).click()
    browser.until(lambda: table.clicked == 7)
    focused = "document.activeElement.matches('tr[data-lm-suppress-shortcuts]')"
    assert browser.page.evaluate(focused)
    browser.page.keyboard.press("ArrowDown")
    browser.page.keyboard.press("Enter")
    browser.until(lambda: table.clicked == 3)


@pytest.mark.browser
def test_ctrl_click_space_and_box_change_the_selection(
    open_page: Callable[..., HarnessPage],
) -> None:
    browser = open_page()
    table = table_of()
    browser.mount(table)
    browser.page.locator("tbody tr").nth(0).click(modifiers=["Control"])
    browser.until(lambda: table.selected == [7])
    browser.page.locator("tbody tr").nth(1).locator("input").click()
    browser.until(lambda: table.selected == [7, 3])
    browser.page.keyboard.press("Space")
    browser.until(lambda: table.selected == [7])
    assert table.clicked == -1


@pytest.mark.browser
def test_shift_click_selects_the_rows_between(open_page: Callable[..., HarnessPage]) -> None:
    browser = open_page()
    table = table_of()
    browser.mount(table)
    browser.page.locator("tbody tr").nth(0).click()
    browser.page.locator("tbody tr").nth(2).click(modifiers=["Shift"])
    browser.until(lambda: table.selected == [7, 3, 5])


@pytest.mark.browser
def test_escape_asks_to_clear_the_whole_selection(open_page: Callable[..., HarnessPage]) -> None:
    browser = open_page()
    table = table_of()
    cleared: list[bool] = []
    table.on_clear(lambda: cleared.append(True))
    browser.mount(table)
    browser.page.locator("tbody tr").nth(0).press("Escape")
    browser.until(lambda: cleared == [True])


@pytest.mark.browser
def test_the_selection_of_the_kernel_is_highlighted(open_page: Callable[..., HarnessPage]) -> None:
    browser = open_page()
    table = table_of()
    browser.mount(table)
    table.selected = [3]
    browser.pump()
    marks = browser.page.locator("tbody tr").evaluate_all("rows => rows.map(r => r.ariaSelected)")
    assert marks == ["false", "true", "false"]


@pytest.mark.browser
def test_the_pager_asks_for_the_next_page(open_page: Callable[..., HarnessPage]) -> None:
    browser = open_page()
    table = table_of()
    table.shown = 250
    browser.mount(table)
    assert browser.page.get_by_label("Previous page").is_disabled()
    browser.page.get_by_label("Next page").click()
    browser.until(lambda: table.page == 1)
    assert "101\N{EN DASH}200 of 250" in (browser.page.locator(".et-pager").text_content() or "")


@pytest.mark.browser
@pytest.mark.parametrize("address", ["http://localhost/voila", "http://plain.test/voila"])
def test_copy_takes_the_selected_rows_with_and_without_a_clipboard(
    open_page: Callable[..., HarnessPage], address: str
) -> None:
    browser = open_page(address=address, permissions=["clipboard-read", "clipboard-write"])
    browser.mount(table_of(selected=[7]))
    assert browser.page.evaluate("isSecureContext") is ("localhost" in address)
    browser.page.get_by_role("button", name="Copy rows").click()
    browser.until(lambda: "Copied 1" in (browser.page.locator(".et-foot").text_content() or ""))
    browser.page.get_by_label("Search tokens").focus()
    browser.page.evaluate(
        "document.body.append(Object.assign(document.createElement('textarea'), {id: 'paste'}))"
    )
    browser.page.locator("#paste").press("Control+v")
    assert (
        browser.page.locator("#paste").input_value()
        == "id\tToken\tCount\tCosine\n7\t␣the\t900\t0.91"
    )


@pytest.mark.browser
def test_copied_rows_hold_no_formula(open_page: Callable[..., HarnessPage]) -> None:
    browser = open_page(permissions=["clipboard-read", "clipboard-write"])
    browser.mount(table_of([[7, "=1+1", "9", "-0.91"], [8, "-", "9", "0.5"]]))
    browser.page.get_by_role("button", name="Copy rows").click()
    browser.until(lambda: "Copied 2" in (browser.page.locator(".et-foot").text_content() or ""))
    lines = browser.page.evaluate("navigator.clipboard.readText()").split("\n")
    assert lines[1:] == ["7\t'=1+1\t9\t-0.91", "8\t-\t9\t0.5"]


@pytest.mark.browser
def test_the_table_fits_a_phone(open_page: Callable[..., HarnessPage]) -> None:
    browser = open_page(width=390)
    browser.mount(table_of())
    assert browser.page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.browser
def test_the_theme_follows_the_host(open_page: Callable[..., HarnessPage]) -> None:
    browser = open_page(theme="dark")
    browser.mount(table_of())
    assert browser.page.locator(".embtie").get_attribute("data-theme") == "dark"
    browser.page.evaluate("document.body.dataset.jpThemeLight = 'true'")
    browser.page.wait_for_selector(".embtie[data-theme=light]")
