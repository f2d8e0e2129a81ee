"""The tab of the gradient bottleneck, seen by a real browser without any network."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from embtie_widgets.charts.files import stamp_of
from embtie_widgets.requests import BottleneckRequest, read_request
from tests.browser.reading import assert_readable
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
Open = Callable[..., Visit]
SMALL = BottleneckRequest(source="train", steps=24, batch=2, length=16, warmup=6)
LINK = "?embtie=1&kind=bottleneck&source=train&steps=24&batch=2&length=16&warmup=6"
PLOT = ".ep-bottleneck .js-plotly-plot"
LINES = f"document.querySelectorAll('{PLOT} path.js-line').length"
CELL = ".ep-strip .js-plotly-plot .nsewdrag"


def test_the_text_is_read_token_by_token_and_tokens_are_one_selection(
    visit: Open, tmp_path: Path, pictures: Path
) -> None:
    one = visit()
    one.wait_for_figure()
    one.open_tab("Gradient bottleneck")
    one.wait_for_scatter()
    assert "does not transmit r = " in one.page.locator(".ep-headline").inner_text()
    assert "disputed" in one.page.locator(".ep-headline").inner_text()
    one.page.locator(CELL).click(position={"x": 300, "y": 45})
    one.page.wait_for_function(
        "document.querySelector('.ep-strip .widget-readout').textContent.trim() !== '1'"
    )
    one.page.locator(".ep-token .et-about").wait_for()
    one.press("Energy, c²")
    title = f"document.querySelector('{PLOT} .ytitle')?.textContent"
    one.page.wait_for_function(f"/energy/.test({title})")
    one.lasso()
    chosen = one.saved("CSV of selection", tmp_path).read_text().strip().splitlines()
    assert one.selected() == len(chosen[2:])
    assert read_request(json.loads(chosen[0][2:])["request"]) == BottleneckRequest()
    stamp = stamp_of(one.saved("Spectrum PNG", tmp_path).read_bytes())
    assert read_request(stamp["request"]) == BottleneckRequest()
    assert_readable(one, pictures / "bottleneck-light")


def test_a_training_is_read_on_a_dark_and_narrow_page(visit: Open, pictures: Path) -> None:
    one = visit(query=LINK, scheme="dark")
    one.page.locator(".embtie-panel h2", has_text="Gradient bottleneck").wait_for()
    one.wait_for_answer()
    one.page.wait_for_function(f"{LINES} >= 3")
    assert "over the last steps" in one.page.locator(".ep-headline").inner_text()
    assert not one.page.locator(".ep-strip").is_visible()
    assert_readable(one, pictures / "bottleneck-dark")
