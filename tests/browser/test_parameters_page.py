"""The tab of parameter counts, seen by a real browser without any network."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from embtie_widgets.jobs.packaged import configurations
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
BARS = ".ep-parameters .barlayer .trace.bars .point path"
WIDTHS = f"""() => {{
  const bars = [...document.querySelectorAll({BARS!r})].map((bar) => bar.getBoundingClientRect());
  return bars.map((bar) => bar.width);
}}"""


def opened(visit: Callable[..., Visit], **how: object) -> Visit:
    """The dashboard, turned to the tab once the first figure is there."""
    one = visit(**how)
    one.wait_for_figure()
    one.page.get_by_role("tab", name="Parameters", exact=True).click()
    wait_for_bars(one)
    return one


def wait_for_bars(one: Visit, count: int = 45) -> None:
    one.page.wait_for_function(
        "([bars, count]) => document.querySelectorAll(bars).length === count", arg=[BARS, count]
    )


def fits(one: Visit) -> bool:
    """Whether nothing sticks out of the page sideways."""
    return bool(one.evaluate("document.documentElement.scrollWidth <= innerWidth + 1"))


def test_the_bars_are_drawn_the_first_time_the_tab_is_opened(visit: Callable[..., Visit]) -> None:
    one = opened(visit)
    widths = one.evaluate(WIDTHS)
    assert len(widths) == 45
    assert sum(width > 1 for width in widths) == 45
    plot = one.page.locator(".ep-parameters .js-plotly-plot")
    assert plot.bounding_box()["width"] > 700
    one.page.locator(".ep-headline").get_by_text(
        "Token matrices are 66.7 % of nano-untied"
    ).wait_for()


def test_another_model_and_another_scale_redraw_the_bars(visit: Callable[..., Visit]) -> None:
    one = opened(visit)
    before = one.evaluate(WIDTHS)
    box = one.page.get_by_label("Model", exact=True)
    box.fill("Qwen/Qwen3-4B")
    box.press("Enter")
    said = one.page.locator(".ep-headline")
    said.get_by_text("Token matrices are 17.6 % of Qwen3 4B").wait_for()
    one.page.wait_for_function(f"(old) => ({WIDTHS})()[0] < old / 2", arg=before[0])
    shares = one.evaluate(WIDTHS)
    one.page.get_by_role("button", name="parameters", exact=True).click()
    one.page.wait_for_function(f"(old) => ({WIDTHS})()[1] < old / 20", arg=shares[1])
    assert "kind=parameters" in one.page.url
    one.page.wait_for_function("location.search.includes('view.scale=number')")


def test_a_link_opens_the_tab(visit: Callable[..., Visit]) -> None:
    one = visit(query="?embtie=1&kind=parameters&model=Qwen/Qwen3-8B&view.view=families")
    one.page.get_by_text("gpt_neox", exact=True).wait_for()
    assert one.page.get_by_label("Model", exact=True).input_value() == "Qwen/Qwen3-8B"
    one.page.get_by_role("button", name="Counts").click()
    wait_for_bars(one)


def test_the_keyboard_reaches_configuration_and_views(visit: Callable[..., Visit]) -> None:
    one = opened(visit)
    one.page.get_by_label("Model", exact=True).focus()
    for _ in range(8):
        one.page.keyboard.press("Tab")
        if one.evaluate("document.activeElement.tagName") == "TEXTAREA":
            break
    one.page.keyboard.insert_text(json.dumps(configurations()["EleutherAI/pythia-160m"]))
    one.page.keyboard.press("Tab")
    one.page.get_by_text("By its configuration, a").first.wait_for()
    one.page.get_by_role("button", name="Families").focus()
    one.page.keyboard.press("Enter")
    one.page.get_by_text("gpt_neox", exact=True).wait_for()
    assert not one.page.locator(".ep-parameters").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
def test_it_fits_the_page_in_light_and_dark(
    visit: Callable[..., Visit], pictures: Path, scheme: str, width: int
) -> None:
    one = opened(visit, scheme=scheme, width=width)
    assert fits(one)
    one.page.wait_for_timeout(300)
    one.page.screenshot(path=pictures / f"parameters-{scheme}-{width}.png", full_page=True)
    one.page.get_by_role("button", name="Families").click()
    one.page.get_by_text("gpt_neox", exact=True).wait_for()
    assert fits(one)
    one.page.screenshot(path=pictures / f"families-{scheme}-{width}.png")
