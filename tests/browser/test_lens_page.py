"""The tab of the lens, seen by a real browser without any network."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from embtie_widgets.charts.files import stamp_of
from embtie_widgets.requests import LensRequest, read_request
from tests.browser.reading import cut_words, faint_texts, nameless, overhang
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
Open = Callable[..., Visit]
LOGIT = "?embtie=1&kind=lens&lens=logit&positions=300&floor=false"
PLOT = ".ep-lens .js-plotly-plot"
GRID = ".ep-grid .js-plotly-plot"
LABELS = f"[...document.querySelectorAll('{PLOT} .annotation-text')].map((t) => t.textContent)"


def opened(visit: Open, **how: object) -> Visit:
    """The dashboard at the link of a quick logit lens, run."""
    one = visit(query=LOGIT, **how)
    one.page.locator(".embtie-panel h2", has_text="Lens").wait_for()
    one.wait_for_answer()
    one.page.wait_for_function(f"document.querySelector('{GRID} .heatmaplayer image')")
    return one


def card(one: Visit) -> str:
    return one.page.locator(".ep-cell").inner_text()


def test_both_curves_carry_their_names_and_the_grid_its_tokens(visit: Open) -> None:
    one = opened(visit)
    said = " ".join(one.evaluate(LABELS))
    assert "nano-untied" in said
    assert "nano-tied" in said
    assert one.page.locator(f"{PLOT} path.js-line").count() >= 2
    words = one.page.locator(f"{GRID} .heatmap-label").all_text_contents()
    assert len([word for word in words if word.strip()]) >= 60


def test_a_click_on_a_cell_and_the_keys_of_a_slider_open_its_card(visit: Open) -> None:
    one = opened(visit)
    before = card(one)
    one.page.locator(GRID).scroll_into_view_if_needed()
    at = one.evaluate(
        f"""() => {{ const plot = document.querySelector('{GRID}'), box =
        plot.getBoundingClientRect(), {{ xaxis: x, yaxis: y }} = plot._fullLayout;
        return [box.x + x._offset + x.l2p(4), box.y + y._offset + y.l2p(1)]; }}"""
    )
    one.page.mouse.click(*at)
    one.page.wait_for_function(
        "document.querySelector('.ep-cell').innerText.includes('after layer 1')"
    )
    clicked = card(one)
    assert clicked != before
    assert "In the end it says" in clicked
    one.page.locator(".ep-chooser .noUi-handle").nth(1).press("ArrowRight")
    one.page.wait_for_function(
        "document.querySelector('.ep-cell').innerText.includes('after layer 2')"
    )


def test_another_curve_says_what_it_means(visit: Open) -> None:
    one = opened(visit)
    one.press("Mean rank")
    one.page.get_by_text("1 is the first, the size of the vocabulary the last").wait_for()
    title = f"document.querySelector('{PLOT} .ytitle')?.textContent"
    one.page.wait_for_function(f"/rank/.test({title})")


def test_files_are_made_in_the_page_with_their_settings(visit: Open, tmp_path: Path) -> None:
    one = opened(visit)
    asked = LensRequest(lens="logit", positions=300, floor=False)
    head = one.saved("CSV", tmp_path).read_bytes().split(b"\n")[0]
    assert read_request(json.loads(head[2:])["request"]) == asked
    assert read_request(stamp_of(one.saved("PNG", tmp_path).read_bytes())["request"]) == asked
    assert "logit lens" in one.saved("SVG", tmp_path).read_text()
    assert b'id="embtie-settings"' in one.saved("HTML", tmp_path).read_bytes()
    assert one.saved("Grid PNG", tmp_path).stat().st_size > 5_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_on_wide_and_narrow_pages(visit: Open, scheme: str, pictures: Path) -> None:
    one = opened(visit, scheme=scheme)
    assert faint_texts(one) == {}
    assert nameless(one) == []
    for width in (2000, 1400, 390):
        one.resize(width)
        assert one.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
        assert cut_words(one) == []
        assert overhang(one) == []
        path = pictures / f"lens-{scheme}-{width}.png"
        one.page.screenshot(path=path, full_page=True)
