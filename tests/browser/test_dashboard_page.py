"""The dashboard in Voila, seen by a real browser without any network."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from embtie_widgets.charts.theme import contrast
from tests.browser.visit import MARKS, Visit

pytestmark = pytest.mark.browser


def hexadecimal(color: str) -> str:
    red, green, blue = (int(part) for part in re.findall(r"\d+", color)[:3])
    return f"#{red:02x}{green:02x}{blue:02x}"


def test_text_is_there_before_any_script_and_then_a_real_figure(
    visit: Callable[..., Visit],
) -> None:
    one = visit()
    one.page.wait_for_selector("#loading h1, .embtie-app h1")
    one.wait_for_figure()
    assert one.page.query_selector("#loading") is None
    outlines = one.outlines()
    assert len(outlines) == 3
    assert all(len(re.findall(r"[HVL]", path)) >= 80 for path in outlines)
    assert len(one.page.query_selector_all(".scatterlayer .trace .points path")) == 9
    one.page.get_by_text("The tied matrix is closer to the untied output").wait_for()
    assert len(one.page.query_selector_all(".embtie-table tbody tr")) == 100


def test_another_map_redraws_the_figure_and_says_so(visit: Callable[..., Visit]) -> None:
    one = visit()
    one.wait_for_figure()
    before = one.outlines()
    one.page.get_by_role("button", name="Orthogonal").click()
    one.page.get_by_text("orthogonal map, centred").wait_for()
    one.page.wait_for_function(
        "([marks, old]) => document.querySelector(marks).getAttribute('d') !== old",
        arg=[MARKS, before[0]],
    )
    assert len(one.outlines()) == 3
    one.page.get_by_text("Computed in").wait_for()
    assert one.page.query_selector(".ep-stale") is None


def test_a_missing_model_is_told_in_the_page_and_the_earlier_result_stays(
    visit: Callable[..., Visit],
) -> None:
    one = visit()
    one.wait_for_figure()
    before = one.outlines()
    box = one.page.get_by_label("Model A")
    box.fill("nobody/no-such-model")
    box.press("Enter")
    one.page.get_by_text("Settings changed: run to update.").wait_for()
    one.page.get_by_role("button", name="Run").click()
    alert = one.page.get_by_role("alert")
    alert.wait_for()
    assert "no-such-model" in alert.inner_text()
    assert "Traceback" not in alert.inner_text()
    assert one.outlines() == before
    assert one.page.query_selector(".ep-stale") is not None
    assert one.page.get_by_role("button", name="Run").is_enabled()


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


@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_reads_and_fits_in_light_and_dark_wide_and_narrow(
    visit: Callable[..., Visit], pictures: Path, scheme: str, width: int
) -> None:
    one = visit(scheme, width)
    one.wait_for_figure()
    paper = hexadecimal(one.style(".ep-card", "background-color"))
    one.page.wait_for_function(
        "paper => getComputedStyle(document.querySelector('.js-plotly-plot .main-svg'))"
        ".backgroundColor === paper",
        arg=one.style(".ep-card", "background-color"),
    )
    for selector in (".ep-headline p", ".ep-caption p", ".ep-table td", ".embtie-table td"):
        ground = paper if "headline" not in selector else one.style("body", "background-color")
        ground = ground if ground.startswith("#") else hexadecimal(ground)
        assert contrast(hexadecimal(one.style(selector, "color")), ground) >= 4.5
    assert contrast(hexadecimal(one.style(".xtick text", "fill")), paper) >= 4.5
    assert (contrast(paper, "#ffffff") < 1.5) == (scheme == "light")
    assert one.evaluate("document.documentElement.scrollWidth <= innerWidth")
    one.page.screenshot(path=pictures / f"dashboard-{scheme}-{width}.png", full_page=True)


def test_the_picture_of_the_readme(visit: Callable[..., Visit], pictures: Path) -> None:
    """`EMBTIE_SCREENSHOTS=notebooks/images pytest tests/browser -k readme` makes it anew."""
    one = visit(scale=1.5)
    one.wait_for_figure()
    one.page.wait_for_timeout(600)
    one.page.screenshot(path=pictures / "dashboard.png")
    assert (pictures / "dashboard.png").stat().st_size > 20_000
