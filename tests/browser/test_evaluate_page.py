"""The tab of the evaluation, seen by a real browser without any network."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from embtie_widgets.requests import EvaluateRequest, read_request
from tests.browser.reading import cut_words, faint_texts, nameless, overhang
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
Open = Callable[..., Visit]
TASK = "?embtie=1&kind=evaluate&tasks=line-end&limit=20&view.task=line-end"
CARD = ".ep-one"


def opened(visit: Open, **how: object) -> Visit:
    """The dashboard at the link of a few items, run."""
    one = visit(query=TASK, **how)
    one.page.locator(".embtie-panel h2", has_text="Evaluate").wait_for()
    one.wait_for_answer()
    one.page.locator(CARD, has_text="Item 1 of 20").wait_for()
    return one


def test_a_row_of_the_table_opens_its_item(visit: Open) -> None:
    one = opened(visit)
    one.page.locator(".ep-items tr[data-id='6'] td").nth(1).click()
    one.page.locator(CARD, has_text="Item 7 of 20").wait_for()
    card = one.page.locator(CARD).inner_text()
    assert "✓ right" in card
    assert "margin" in card


def test_a_point_of_the_plane_opens_its_item(visit: Open) -> None:
    one = opened(visit)
    plot = "document.querySelectorAll('.embtie-panel .js-plotly-plot')[2]"
    number, x, y = one.evaluate(
        f"""(() => {{ const plot = {plot}, trace = plot.data.find((t) => t.customdata?.length);
        plot.scrollIntoView({{block: 'center'}});
        const box = plot.getBoundingClientRect(), {{ xaxis, yaxis }} = plot._fullLayout;
        const last = trace.customdata.length - 1;
        return [trace.customdata[last], box.x + xaxis._offset + xaxis.d2p(trace.x[last]),
                box.y + yaxis._offset + yaxis.d2p(trace.y[last])]; }})()"""
    )
    one.page.mouse.click(x, y)
    one.page.locator(CARD, has_text=f"Item {number + 1} of 20").wait_for()


def test_the_items_are_saved_with_their_request(visit: Open, tmp_path: Path) -> None:
    one = opened(visit)
    head = one.saved("Items CSV", tmp_path).read_bytes().split(b"\n")[0]
    asked = EvaluateRequest(tasks=("line-end",), limit=20)
    assert read_request(json.loads(head[2:])["request"]) == asked


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 390)])
def test_every_word_can_be_read(visit: Open, scheme: str, width: int) -> None:
    one = opened(visit, scheme=scheme, width=width)
    assert overhang(one) == []
    assert faint_texts(one) == {}
    assert cut_words(one) == []
    assert nameless(one) == []
