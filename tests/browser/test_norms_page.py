"""The tab of norms and frequency, seen by a real browser without any network."""

import json
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from embtie_widgets.charts.files import stamp_of
from embtie_widgets.requests import CorpusRef, NormFrequencyRequest, read_request
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
Open = Callable[..., Visit]
PLOT = ".ep-norms .js-plotly-plot"
TEXTS = f"[...document.querySelectorAll('{PLOT} .textpoint text')].map((t) => t.textContent)"
LINES = f"[...document.querySelectorAll('{PLOT} path.js-line')].map((p) => p.getAttribute('d'))"


def opened(visit: Open, **how: object) -> Visit:
    """The dashboard, turned to the tab, its figure and its scatter drawn."""
    one = visit(**how)
    one.wait_for_figure()
    one.open_tab("Norm-frequency")
    one.wait_for_scatter()
    return one


def wait_for_texts(one: Visit, count: int) -> list[str]:
    one.page.wait_for_function(f"count => {TEXTS}.length === count", arg=count)
    return list(one.evaluate(TEXTS))


def fits(one: Visit) -> bool:
    """Whether nothing sticks out of the page sideways."""
    return bool(one.evaluate("document.documentElement.scrollWidth <= innerWidth + 1"))


def test_the_tab_opens_with_lines_points_and_numbers(visit: Open) -> None:
    one = opened(visit)
    assert len([line for line in one.evaluate(LINES) if line and len(line) > 100]) >= 6
    points = one.page.locator(f"{PLOT} .points path.point")
    assert points.count() > 4_000
    assert one.page.locator(PLOT).bounding_box()["width"] > 700  # type: ignore[index]
    said = one.page.locator(".ep-headline")
    said.get_by_text("Token by token, the norms of Tied go with those of Out").wait_for()
    one.page.get_by_text("counts of the training text of nano-untied").first.wait_for()
    assert one.page.locator("table[aria-label='correlation of norm and frequency'] tr").count() == 4


def test_the_second_picture_of_the_readme(visit: Open, pictures: Path) -> None:
    """Headline and chart with some frequent tokens lit; made anew like the first one."""
    one = opened(visit, scale=1.25)
    for row in (0, 1, 3, 8):
        one.page.locator(".embtie-table tbody input").nth(row).check()
    wait_for_texts(one, 4)
    one.page.mouse.move(0, 0)
    one.evaluate("scrollTo(0, 0)")
    one.page.wait_for_timeout(600)
    head = one.page.locator(".ep-headline").bounding_box()
    card = one.page.locator(".ep-norms").bounding_box()
    assert head is not None
    assert card is not None
    top, end = head["y"] - 12, card["y"] + card["height"] + 12
    left, width = card["x"] - 12, card["width"] + 24
    one.page.screenshot(
        path=pictures / "norms.png",
        full_page=True,
        clip={"x": left, "y": top, "width": width, "height": end - top},
    )
    assert (pictures / "norms.png").stat().st_size > 20_000


def test_a_lasso_labels_its_tokens_in_the_chart(visit: Open) -> None:
    one = opened(visit)
    one.lasso()
    chosen = one.selected()
    assert chosen > 0
    one.page.wait_for_function(f"{TEXTS}.length > 0")
    shown = one.evaluate(TEXTS)
    assert len(shown) <= min(chosen, 30)
    listed = one.page.locator(".embtie-table tbody td.et-token").all_inner_texts()
    assert set(shown) <= set(listed)
    one.page.get_by_role("button", name="Clear selection").click()
    wait_for_texts(one, 0)


def test_a_token_that_looks_like_markup_is_its_own_letters(visit: Open) -> None:
    one = opened(visit)
    one.fill("Search tokens", "<|")
    assert wait_for_texts(one, 1) == ["<|endoftext|>"]


def test_another_corpus_counts_and_draws_anew_and_can_be_cancelled(visit: Open) -> None:
    one = opened(visit)
    before = one.evaluate(LINES)
    one.page.get_by_label("Tokens are counted in").select_option("the bundled English text")
    one.fill("read at most, MB", "1")
    one.page.wait_for_timeout(1_000)
    if "run to update" in one.page.locator(".ep-status").inner_text():
        one.press("Run")  # a busy machine expects to take too long to begin by itself
    one.wait_for_answer()
    one.page.get_by_text(
        "counts of bundled English in the public domain, the first 1 MB"
    ).wait_for()
    assert one.evaluate(LINES) != before
    query = urlsplit(one.page.url).query
    assert "corpus=bundled" in query
    assert "corpus.limit_mb=1" in query


def test_a_path_of_the_server_is_refused_and_the_figure_stays(visit: Open) -> None:
    one = opened(visit)
    one.page.get_by_label("Tokens are counted in").select_option("another text or count file")
    one.fill("its name", "/etc/hostname")
    alert = one.page.get_by_role("alert").first
    if "Expected:" in one.page.locator(".ep-status").inner_text() or not alert.is_visible():
        one.press("Run")
    one.page.get_by_text("On a shared page only texts that its owner has laid out").wait_for()
    assert "/etc" not in one.page.locator("body").inner_text()
    assert one.page.locator(f"{PLOT} path.js-line").count() >= 6


def test_a_link_restores_corpus_scale_and_tokens(visit: Open) -> None:
    query = "?embtie=1&kind=norm-frequency&seed=3&view.scale=log&tokens=260.274"
    one = visit(query=query)
    one.page.locator(".embtie-panel h2", has_text="Norm-frequency").wait_for()
    assert one.selected() == 2
    assert sorted(wait_for_texts(one, 2)) == ["␣and", "␣the"]
    pressed = one.page.locator(".ep-norms .ep-segments .mod-active").inner_text()
    assert pressed == "Logarithmic"
    assert one.page.get_by_label("seed").input_value() == "3"


def test_files_are_made_in_the_page_with_their_settings(visit: Open, tmp_path: Path) -> None:
    one = opened(visit)
    asked = NormFrequencyRequest()
    head = one.saved("CSV", tmp_path).read_bytes().split(b"\n")[0]
    assert read_request(json.loads(head[2:])["request"]) == asked
    assert read_request(stamp_of(one.saved("PNG", tmp_path).read_bytes())["request"]) == asked
    drawing = one.saved("SVG", tmp_path).read_text()
    assert "norm-frequency" in drawing
    assert "3,908 tokens that occur" in " ".join(drawing.split())
    assert b'id="embtie-settings"' in one.saved("HTML", tmp_path).read_bytes()
    assert one.saved("Counts CSV", tmp_path).read_bytes().startswith(b"# {")
    assert asked.corpus == CorpusRef()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_wide_and_narrow_pages(visit: Open, scheme: str, pictures: Path) -> None:
    one = opened(visit, scheme=scheme)
    for width in (1400, 390):
        one.resize(width)
        assert fits(one)
        one.page.locator(".ep-norms").screenshot(path=pictures / f"norms-{scheme}-{width}.png")
