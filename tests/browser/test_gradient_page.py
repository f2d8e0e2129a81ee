"""The tab of the gradient flow, seen by a real browser without any network."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from embtie_widgets.charts.files import stamp_of
from embtie_widgets.requests import GradientFlowRequest, read_request
from tests.browser.reading import assert_readable
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
Open = Callable[..., Visit]
SHIPPED = GradientFlowRequest().steps
SMALL = GradientFlowRequest(steps=24, batch=2, length=16, warmup=6)
LINK = "?embtie=1&kind=gradient-flow&steps=24&batch=2&length=16&warmup=6"
PLOT = ".ep-flow .js-plotly-plot"
LINES = f"document.querySelectorAll('{PLOT} path.js-line').length"
# How often the figure was drawn with other steps than before: more than once means live.
COUNT = f"""() => {{ const seen = new Set(), plot = () => document.querySelector('{PLOT}');
window.setInterval(() => {{ const one = plot()?.data?.[0]; if (one) seen.add(one.x.length); }}, 15);
window.stepsSeen = seen; }}"""


def trained(visit: Open, **how: object) -> Visit:
    """The dashboard at the link of a short training, run."""
    one = visit(query=LINK, **how)
    one.page.locator(".embtie-panel h2", has_text="Gradient flow").wait_for()
    one.evaluate(COUNT)
    one.wait_for_answer()
    one.page.wait_for_function(f"{LINES} >= 7")
    one.wait_for_scatter()
    return one


def test_a_training_grows_on_the_page_and_its_tokens_are_one_selection(
    visit: Open, tmp_path: Path, pictures: Path
) -> None:
    one = trained(visit)
    lengths = [n for n in one.evaluate("[...window.stepsSeen]") if n != SHIPPED]
    assert max(lengths) == SMALL.steps
    assert len(lengths) > 1, "the curves were not drawn before the training was over"
    assert "The output writes" in one.page.locator(".ep-headline").inner_text()
    one.lasso()
    assert one.selected() == len(
        one.saved("CSV of selection", tmp_path).read_text().strip().splitlines()[2:]
    )
    one.press("Paper")
    title = f"document.querySelector('{PLOT} .y2title')?.textContent"
    one.page.wait_for_function(f"/paper/.test({title})")
    assert read_request(stamp_of(one.saved("PNG", tmp_path).read_bytes())["request"]) == SMALL
    head = one.saved("Tokens CSV", tmp_path).read_bytes().split(b"\n")[0]
    assert read_request(json.loads(head[2:])["request"]) == SMALL
    assert one.saved("Bands PNG", tmp_path).stat().st_size > 3_000
    assert_readable(one, pictures / "gradient-light")


def test_a_model_is_split_on_a_text_without_training(visit: Open) -> None:
    query = "?embtie=1&kind=gradient-flow&source=text&batches=2&batch=2&length=32"
    one = visit(query=query)
    one.page.locator(".embtie-panel h2", has_text="Gradient flow").wait_for()
    one.wait_for_answer()
    said = one.page.locator(".ep-headline")
    said.get_by_text("on this text: the output's share is").wait_for()
    assert one.page.get_by_label("batches", exact=True).is_visible()
    assert not one.page.get_by_label("warm-up", exact=True).is_visible()


def test_it_can_be_read_on_a_dark_and_narrow_page(visit: Open, pictures: Path) -> None:
    assert_readable(trained(visit, scheme="dark"), pictures / "gradient-dark")
