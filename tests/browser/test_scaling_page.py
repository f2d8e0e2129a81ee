"""The tab of input scaling, seen by a real browser without any network."""

from collections.abc import Callable
from pathlib import Path

import pytest

from embtie_widgets.charts.files import stamp_of
from embtie_widgets.requests import ScalingRequest, read_request
from tests.browser.reading import assert_readable
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
Open = Callable[..., Visit]
SMALL = "?embtie=1&kind=input-scaling&steps=12&batch=2&length=16&warmup=2&factors=2.0,10.0"
ASKED = ScalingRequest(steps=12, batch=2, length=16, warmup=2, factors=(2.0, 10.0))
CHART, TRAINING = ".ep-scaling .js-plotly-plot", ".ep-training .js-plotly-plot"
LONGEST = (
    f"Math.max(0, ...(document.querySelector('{TRAINING}')?.data ?? []).map((t) => t.x.length))"
)


def test_runs_are_trained_before_the_reader_and_can_be_read_everywhere(
    visit: Open, pictures: Path, tmp_path: Path
) -> None:
    one = visit(query=SMALL)
    one.page.locator(".embtie-panel h2", has_text="Input scaling").wait_for()
    one.page.locator(".ep-chips button", has_text="×10").and_(
        one.page.locator(".mod-active")
    ).wait_for()
    one.page.wait_for_function(
        "document.querySelector('.ep-status').innerText.includes('Expected')"
    )
    one.press("Run")
    one.page.wait_for_function(f"{LONGEST} > 0")
    one.wait_for_answer()
    one.page.wait_for_function(f"{LONGEST} === {ASKED.steps}")
    one.page.wait_for_function(
        f"document.querySelectorAll('{CHART} .scatterlayer .trace .points path').length >= 12"
    )
    names = one.page.locator(f"{TRAINING} .legendtext").all_text_contents()
    assert names == ["untied", "×1", "×2", "×10"]
    one.wait_for_scatter()
    one.lasso()
    assert 0 < one.selected() == one.rows() or one.selected() > one.rows() > 0
    png = one.saved("PNG", tmp_path).read_bytes()
    assert read_request(stamp_of(png)["request"]) == ASKED
    assert_readable(one, pictures / "scaling-light")
    dark = visit(query=SMALL, scheme="dark")
    dark.page.locator(".embtie-panel h2", has_text="Input scaling").wait_for()
    dark.wait_for_answer()
    dark.wait_for_scatter()
    assert_readable(dark, pictures / "scaling-dark")
