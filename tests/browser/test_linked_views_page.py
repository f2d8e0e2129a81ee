"""Links, the token card and files in Voila, by hand of a real browser."""

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from embtie_widgets.charts.files import stamp_of
from embtie_widgets.requests import AlignRequest, read_request
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
Open = Callable[..., Visit]


def test_the_address_reopens_the_same_state(visit: Open) -> None:
    one = visit(query="?theme=light")
    one.wait_for_figure()
    one.page.get_by_role("button", name="Orthogonal").click()
    one.page.get_by_text("orthogonal map, centred").wait_for()
    one.page.locator(".embtie-table tbody input").nth(2).check()
    one.page.wait_for_function("location.search.includes('tokens=')")
    query = urlsplit(one.page.url).query
    assert "theme=light" in query
    token = one.page.locator(".embtie-table tbody td.et-token").nth(2).inner_text()
    other = visit(query=f"?{query.replace('theme=light', '')}")
    other.page.get_by_text("orthogonal map, centred").wait_for()
    assert other.selected() == 1
    pressed = (
        other.page.locator(".ep-segments", has_text="Linear").locator(".mod-active").inner_text()
    )
    assert pressed == "Orthogonal"
    other.page.get_by_role("button", name="Selected only").click()
    other.page.wait_for_function("document.querySelectorAll('.embtie-table tbody tr').length === 1")
    assert other.page.locator(".embtie-table tbody td.et-token").inner_text() == token


def test_a_link_opens_below_a_path_and_on_a_kernel_started_beforehand(
    address_below: str, visit: Open
) -> None:
    one = visit(at=address_below, query="?embtie=1&kind=align&map=orthogonal&tokens=5")
    one.page.get_by_text("orthogonal map, centred").wait_for()
    assert one.selected() == 1
    assert (
        one.page.locator(".ep-segments", has_text="Linear").locator(".mod-active").inner_text()
        == "Orthogonal"
    )
    one.page.get_by_role("button", name="Identity").click()
    one.page.wait_for_function("location.search.includes('map=identity')")
    assert one.page.url.startswith(f"{address_below}?embtie=1")


def test_a_broken_link_is_told_and_the_default_opens(visit: Open) -> None:
    one = visit(query="?embtie=1&kind=align&map=%3Cimg%20src=x%3E")
    one.wait_for_figure()
    alert = one.page.get_by_role("alert")
    alert.wait_for()
    assert "This link cannot be opened" in alert.inner_text()
    assert "<img src=x>" in alert.inner_text()


def test_a_click_shows_the_neighbours_and_one_leads_to_the_next(visit: Open) -> None:
    one = visit()
    one.wait_for_figure()
    one.page.locator(".embtie-table tbody td.et-token").nth(3).click()
    one.page.wait_for_selector(".embtie-card .et-list li")
    heads = one.page.locator(".embtie-card .et-head").all_inner_texts()
    assert heads == ["In", "Out", "Tied"]
    assert len(one.page.query_selector_all(".embtie-card .et-list li")) == 30
    near = one.page.locator(".embtie-card .et-list li button").nth(12)
    name = near.locator(".et-token").inner_text()
    near.click()
    about = one.page.locator(".embtie-card .et-about > .et-token")
    one.page.wait_for_function(
        "name => document.querySelector('.embtie-card .et-about > .et-token').textContent === name",
        arg=name,
    )
    assert about.inner_text() == name


def test_every_file_is_made_in_the_page_and_holds_its_settings(visit: Open, tmp_path: Path) -> None:
    one = visit()
    one.wait_for_figure()
    one.wait_for_scatter()

    def saved(label: str) -> bytes:
        return one.saved(label, tmp_path).read_bytes()

    table = json.loads(saved("CSV").split(b"\n")[0].removeprefix(b"# "))
    assert read_request(table["request"]) == AlignRequest()
    for label in ("PNG", "Scatter PNG"):
        assert read_request(stamp_of(saved(label))["request"]) == AlignRequest()
    assert b'id="embtie-settings"' in saved("HTML")
    drawing = saved("SVG").decode()
    settings, outlines = one.evaluate(
        f"(() => {{ const found = new DOMParser().parseFromString({json.dumps(drawing)},"
        " 'image/svg+xml'); return [found.querySelector('metadata').textContent,"
        " found.querySelectorAll('.scatterlayer .js-line').length]; })()"
    )
    assert read_request(json.loads(settings)["request"]) == AlignRequest()
    assert outlines == 3
    assert "4,096" in drawing
    assert "http://localhost" not in drawing
