"""The tab of output centering, seen by a real browser without any network."""

from collections.abc import Callable
from pathlib import Path

import pytest

from embtie_widgets.charts.files import stamp_of
from embtie_widgets.requests import CenteringRequest, read_request
from tests.browser.reading import assert_readable
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
Open = Callable[..., Visit]
SMALL = (
    "?embtie=1&kind=centering&steps=12&batch=2&length=16&warmup=2&every=1&sizes=micro"
    "&methods=none,mu-centering&rates=0.003,0.1"
)
ASKED = CenteringRequest(
    steps=12, batch=2, length=16, warmup=2, every=1, sizes=("micro",),
    methods=("none", "mu-centering"), rates=(0.003, 0.1),
)  # fmt: skip
CURVES, GRID = ".ep-curves .js-plotly-plot", ".ep-sweep .js-plotly-plot"
LONGEST = f"Math.max(0, ...(document.querySelector('{CURVES}')?.data ?? []).map((t) => t.x.length))"


def test_a_sweep_fills_before_the_reader_and_a_cell_opens_its_run(
    visit: Open, pictures: Path, tmp_path: Path
) -> None:
    one = visit(query=SMALL)
    one.page.locator(".embtie-panel h2", has_text="Output centering").wait_for()
    one.page.locator(".ep-chips .mod-active", has_text="0.1").wait_for()
    one.page.wait_for_function(
        "document.querySelector('.ep-status').innerText.includes('Expected')"
    )
    one.press("Run")
    one.page.wait_for_function(f"{LONGEST} > 0")
    one.wait_for_answer()
    assert one.evaluate(LONGEST) == ASKED.steps
    assert_cell_opens(one, 1, 0, "μ-centering, rate 0.003, micro, seed 0")
    one.page.wait_for_function("location.search.includes('view.run=micro')")
    png = one.saved("PNG", tmp_path).read_bytes()
    assert read_request(stamp_of(png)["request"]) == ASKED
    assert_readable(one, pictures / "centering-light", lambda: assert_filled(one))
    dark = visit(query=SMALL, scheme="dark")
    dark.page.locator(".embtie-panel h2", has_text="Output centering").wait_for()
    dark.wait_for_answer()
    assert_readable(dark, pictures / "centering-dark", lambda: assert_filled(dark))


def assert_cell_opens(one: Visit, row: int, column: int, title: str) -> None:
    """Click into a cell of two rows and two columns."""
    field = one.page.locator(f"{GRID} .nsewdrag").first
    field.scroll_into_view_if_needed()
    box = field.bounding_box()
    assert box is not None
    x, y = (column + 0.5) / 2 * box["width"], (row + 0.5) / 2 * box["height"]
    one.page.mouse.click(box["x"] + x, box["y"] + y)
    one.page.locator(".ep-one h4", has_text=title).wait_for()


def assert_filled(one: Visit) -> None:
    """The heat map has the width of its card, however few its rates."""
    filled = f"document.querySelector('{GRID}').clientWidth >= 0.9 * "
    assert one.evaluate(filled + "document.querySelector('.ep-sweep .ep-caption').clientWidth")
