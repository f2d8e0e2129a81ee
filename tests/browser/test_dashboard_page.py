"""The dashboard in Voila, seen by a real browser without any network."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from embtie_widgets.charts.theme import contrast
from tests.browser import reading
from tests.browser.servers import plain_voila
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser


def hexadecimal(color: str) -> str:
    red, green, blue = (int(part) for part in re.findall(r"\d+", color)[:3])
    return f"#{red:02x}{green:02x}{blue:02x}"


def test_text_is_there_before_any_script_and_then_a_real_figure(
    visit: Callable[..., Visit],
) -> None:
    one = visit()
    one.page.wait_for_selector("#loading h1, .embtie-app h1")
    assert one.page.title().startswith("embtie")
    one.wait_for_figure()
    assert one.page.query_selector("#loading") is None
    outlines = one.outlines()
    assert len(outlines) == 3
    assert all(len(re.findall(r"[HVL]", path)) >= 80 for path in outlines)
    assert len(one.page.query_selector_all(".scatterlayer .trace .points path")) == 9
    one.page.locator("p", has_text="The tied matrix is closer to the untied output").wait_for()
    assert len(one.page.query_selector_all(".embtie-table tbody tr")) == 100


def test_a_first_cell_that_fails_is_told_in_words_and_without_paths(
    broken_address: str, visit: Callable[..., Visit]
) -> None:
    one = visit(at=broken_address)
    alert = one.page.get_by_role("alert")
    alert.wait_for()
    assert "The dashboard could not start." in alert.inner_text()
    shown = one.page.locator("body").inner_text()
    assert "embtie_gone" not in shown
    assert not re.search(r"Traceback|/\w+/\w+", shown)


def test_the_table_searches_in_the_kernel(visit: Callable[..., Visit]) -> None:
    one = visit()
    one.wait_for_figure()
    one.page.get_by_placeholder("Search tokens").fill("king")
    one.page.wait_for_function(
        "() => { const rows = document.querySelectorAll('.embtie-table tbody tr');"
        " return rows.length > 0 && rows.length < 100; }"
    )
    tokens = one.evaluate(
        "[...document.querySelectorAll('.embtie-table td.et-token')].map(cell => cell.textContent)"
    )
    assert tokens
    assert all("king" in token.lower() for token in tokens)


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1400)])
def test_it_reads_and_fits_as_first_opened(
    visit: Callable[..., Visit], pictures: Path, scheme: str, width: int
) -> None:
    one = visit(scheme, width)
    one.wait_for_figure()
    paper = hexadecimal(one.style(".ep-card", "background-color"))
    assert (contrast(paper, "#ffffff") < 1.5) == (scheme == "light")
    for tab in one.tabs():
        one.open_tab(tab)
        assert reading.faint_texts(one) == {}
        assert reading.overhang(one) == []
        assert one.evaluate("document.documentElement.scrollWidth <= innerWidth")
        picture = pictures / f"dashboard-{tab}-{scheme}-{width}.png"
        one.page.screenshot(path=picture, full_page=True)


def test_the_picture_of_the_readme(visit: Callable[..., Visit], pictures: Path) -> None:
    """`EMBTIE_SCREENSHOTS=notebooks/images pytest tests/browser -k readme` makes it anew."""
    one = visit(scale=1.5)
    one.wait_for_figure()
    one.page.wait_for_timeout(600)
    one.page.screenshot(path=pictures / "dashboard.png")
    assert (pictures / "dashboard.png").stat().st_size > 20_000


def test_somebodys_own_voila_draws_it_too_where_it_gives_out_no_script(
    chromium: Browser, tmp_path: Path
) -> None:
    with plain_voila(tmp_path) as address:
        one = Visit(chromium, address, "light", 1400, 1)
        # The script is refused before the figure asks for it, which is the harder case.
        one.wait_for_figure()
        one.close()
    assert one.asked_outside == []
    assert all("Failed to load resource" in error for error in one.errors)
