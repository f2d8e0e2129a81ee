"""The tab of bottleneck trials, seen by a real browser without any network."""

from collections.abc import Callable
from pathlib import Path

import pytest

from embtie_widgets.charts.files import stamp_of
from embtie_widgets.requests import BottleneckTrialsRequest, read_request
from tests.browser.reading import assert_readable
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
Open = Callable[..., Visit]
SMALL = (
    "?embtie=1&kind=bottleneck-trials&experiment=spamlang&symbols=16&widths=8,16&lengths=1,8"
    "&amount=512&steps=20&every=1&warmup=2"
)
ASKED = BottleneckTrialsRequest(
    experiment="spamlang", symbols=(16,), widths=(8, 16), lengths=(1, 8), amount=512, steps=20,
    every=1, warmup=2,
)  # fmt: skip
CURVES, GRID = ".ep-curves .js-plotly-plot", ".ep-sweep .js-plotly-plot"
FURTHEST = (
    f"Math.max(0, ...(document.querySelector('{CURVES}')?.data ?? [])"
    ".flatMap((t) => Array.from(t.x).filter(Number.isFinite)))"
)


def test_runs_fill_the_heat_map_and_turn_from_positions_to_independent_sequences(
    visit: Open, pictures: Path, tmp_path: Path
) -> None:
    one = visit(query=SMALL)
    one.page.locator(".embtie-panel h2", has_text="Bottleneck trials").wait_for()
    one.page.wait_for_function(
        "document.querySelector('.ep-status').innerText.includes('Expected')"
    )
    one.press("Run")
    one.page.wait_for_function(
        "document.querySelector('.ep-status').innerText.includes('training')"
    )
    one.page.wait_for_function(f"{FURTHEST} > 0")
    one.wait_for_answer()
    assert one.evaluate(FURTHEST) == max(ASKED.draws(trial).positions for trial in ASKED.trials)
    assert_cell_opens(one, 0, 1, "16 symbols, width 16, length 1, untied")
    one.press("Independent sequences")
    one.page.wait_for_function("location.search.includes('view.across=sequences')")
    one.page.wait_for_function(
        f"document.querySelector('{CURVES}').layout.xaxis.title.text.includes('independent')"
    )
    png = one.saved("PNG", tmp_path).read_bytes()
    assert read_request(stamp_of(png)["request"]) == ASKED
    assert_readable(one, pictures / "trials-spamlang-light")


def test_what_ships_is_readable_in_the_dark(visit: Open, pictures: Path) -> None:
    one = visit(scheme="dark")
    one.wait_for_figure()
    one.open_tab("Bottleneck trials")
    one.page.locator(".ep-excess .js-plotly-plot path.js-line").first.wait_for(state="attached")
    assert "printed" in one.page.locator(".ep-excess .ep-caption").inner_text()
    assert_readable(one, pictures / "trials-ranks-dark")


def assert_cell_opens(one: Visit, row: int, column: int, title: str) -> None:
    """Click into a cell of two rows and two columns."""
    field = one.page.locator(f"{GRID} .nsewdrag").first
    field.scroll_into_view_if_needed()
    box = field.bounding_box()
    assert box is not None
    x, y = (column + 0.5) / 2 * box["width"], (row + 0.5) / 2 * box["height"]
    one.page.mouse.click(box["x"] + x, box["y"] + y)
    one.page.locator(".ep-one h4", has_text=title).wait_for()
