"""Reports, in a real browser without any network: saved, opened again, and read from a file."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.axe import violations
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
HEAD = ".embtie-app .ep-reports"
CHOSEN = ".ep-lens .mod-active"
OVERFLOW = "document.documentElement.scrollWidth - innerWidth"


def given(one: Visit, label: str, folder: Path) -> Path:
    """The file that a button of the page's head gives."""
    with one.page.expect_download() as found:
        one.page.locator(HEAD).get_by_role("button", name=label, exact=True).click()
    path = folder / found.value.suggested_filename
    found.value.save_as(path)
    return path


def taken(one: Visit, path: Path) -> None:
    """Choose a file for Open report."""
    one.page.locator(f"{HEAD} input[type=file]").set_input_files(str(path))


def read(browser: Browser, path: Path, scheme: str, width: int) -> tuple[Any, list[str], Any]:
    """The page of a report from disk, every chart drawn; what went wrong; and its context."""
    context = browser.new_context(
        color_scheme=scheme,  # type: ignore[arg-type]
        viewport={"width": width, "height": 1000},
        offline=True,
    )
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    page.on("request", lambda one: wrong.append(one.url) if one.url.startswith("http") else None)
    page.goto(path.as_uri())
    for box in page.locator(".er-plot").all():
        box.scroll_into_view_if_needed()
        box.locator(".main-svg").first.wait_for()
    return page, wrong, context


def test_a_report_of_the_page_opens_to_the_same_state_and_reads_without_network(
    visit: Callable[..., Visit], chromium: Browser, tmp_path: Path
) -> None:
    one = visit()
    one.wait_for_figure()
    one.wait_for_scatter()
    one.lasso()
    chosen = one.selected()
    one.open_tab("Lens")
    one.page.locator(".ep-lens button", has_text="Entropy").first.click()
    one.page.locator(CHOSEN, has_text="Entropy").wait_for()
    page, archive = given(one, "Report", tmp_path), given(one, "Report ZIP", tmp_path)
    alone = one.saved("Report", tmp_path)
    one.leave_well()

    other = visit()
    other.wait_for_figure()
    taken(other, archive)
    other.page.locator(".embtie-panel h2", has_text="Lens").wait_for()
    other.page.locator(CHOSEN, has_text="Entropy").wait_for()
    other.page.locator(".ep-outdated", has_text="Opened from a report").wait_for()
    assert "kind=lens" in other.evaluate("location.search")
    other.open_tab("Alignment")
    assert other.selected() == chosen
    taken(other, page)  # a page is no archive
    other.page.locator("[role=alert]", has_text="no whole zip").wait_for()
    other.leave_well()

    for path, parts in ((page, 2), (alone, 1)):
        for scheme, width in (("light", 1400), ("dark", 390)):
            shown, wrong, context = read(chromium, path, scheme, width)
            assert shown.locator(".er-part[data-part]").count() == parts
            assert shown.locator(".ep-lens").get_by_text("Entropy", exact=True).count() == 1
            assert shown.evaluate(OVERFLOW) <= 1
            assert "Click a row" not in shown.locator("body").inner_text()
            shown.get_by_text("Method and how to read it").last.click()
            shown.locator("math").last.wait_for(state="attached")
            # In a report of one panel its name is the h1, and the h3 of its parts follow: no rule
            # of WCAG, and the price of one markup for page and report.
            broken = [one for one in violations(shown) if not one.startswith("heading-order")]
            assert broken == []
            assert wrong == []
            context.close()
