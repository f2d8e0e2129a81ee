"""The dashboard in Voila and in JupyterLab, by hand of a real browser without any network.

Each host is opened once.  A test finds the page as `one` leaves it: the bundled pair, the linear
map, nothing selected, light, and wide.
"""

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser import reading
from tests.browser.rehearsal import (
    BROKEN,
    HOSTILE,
    LARGE,
    LARGEST,
    LONG,
    MODEL_NAMES,
    SECRET,
    SLOW,
    write_hostile_pair,
)
from tests.browser.visit import MARKS, Visit

pytestmark = pytest.mark.browser
_USUAL = {"Model A": "nano-untied", "Model B": "nano-tied", "seed": "0"}


@pytest.fixture
def one(opened: Visit) -> Visit:
    opened.wait_for_figure()
    if opened.page.locator(".embtie-panel h2").inner_text() != "Alignment":
        opened.open_tab("Alignment")
    opened.wait_for_scatter()
    if opened.page.viewport_size != {"width": 1400, "height": 1000}:
        opened.resize(1400)
    opened.wear("light")
    for label, value in _USUAL.items():
        if opened.page.locator(".embtie-app").get_by_label(label).input_value() != value:
            opened.fill(label, value)
    opened.page.get_by_placeholder("Search tokens").fill("")
    opened.press("Linear")
    opened.page.get_by_text("linear map, centred").wait_for()
    opened.wait_for_answer()
    clear = opened.page.get_by_role("button", name="Clear selection")
    if clear.is_enabled():
        clear.click()
    assert opened.errors == []
    return opened


@pytest.fixture
def shoot(one: Visit, pictures: Path, request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Take a picture of the page, to be looked at by hand."""
    host = request.node.callspec.params["opened"]

    def take(name: str) -> None:
        one.page.screenshot(path=pictures / f"{host}-{name}.png", full_page=True)

    return take


def painted(one: Visit) -> int:
    """How many pixels of the scatter are not those of its paper."""
    return int(
        one.evaluate(
            """() => { const canvas = document.querySelector('.embtie-scatter canvas');
            const context = canvas.getContext('2d');
            const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
            const [paper, pixels] = [data.slice(0, 3), data.length / 4]; let count = 0;
            for (let i = 0; i < pixels; i += 1)
              if ([0, 1, 2].some((k) => data[4 * i + k] !== paper[k])) count += 1;
            return count; }"""
        )
    )


def test_marks_are_drawn_in_every_view(one: Visit) -> None:
    outlines = one.outlines()
    assert len(outlines) == 3
    assert all(len(re.findall(r"[HVL]", path)) >= 80 for path in outlines)
    assert one.page.locator(".scatterlayer .trace .points path").count() == 9
    assert painted(one) > 4096
    assert one.rows() == 100
    dashes = one.evaluate(
        f"[...document.querySelectorAll('{MARKS}')].map((e) => e.style.strokeDasharray)"
    )
    assert len(set(dashes)) == 3


def test_a_map_and_a_dropdown_redraw(one: Visit) -> None:
    before = one.outlines()
    one.press("Orthogonal")
    one.page.get_by_text("orthogonal map, centred").wait_for()
    one.wait_for_other_outlines(before)
    turned = one.outlines()
    one.page.get_by_label("Tied is, in B,").select_option("its output matrix")
    one.wait_for_answer()
    one.page.get_by_label("Tied is, in B,").select_option("the tied matrix")
    one.wait_for_answer()
    assert one.outlines() == turned
    label = ".embtie-scatter .et-plot"
    one.page.get_by_label("across").select_option("row norm of In")
    one.page.wait_for_function(
        f"document.querySelector('{label}').ariaLabel.includes('against row norm of In')"
    )
    one.page.get_by_label("across").select_option("cosine In → Tied")


def test_a_lasso_filters_the_table_survives_a_map_and_escape_clears_it(one: Visit) -> None:
    one.lasso()
    chosen = one.selected()
    assert 1 < chosen < 4096
    one.page.wait_for_function(f"document.querySelectorAll('{MARKS}').length === 6")
    one.page.get_by_text(f"{chosen:,} selected tokens").wait_for()
    assert one.rows() == min(chosen, 100)
    one.press("Orthogonal")
    one.page.get_by_text("orthogonal map, centred").wait_for()
    assert one.selected() == chosen
    assert f"{chosen:,} selected" in one.page.locator(".embtie-scatter > .et-status").inner_text()
    assert one.rows() == min(chosen, 100)
    one.page.locator(".embtie-scatter .et-plot").press("Escape")
    one.page.get_by_text("4,096 tokens", exact=True).first.wait_for()
    one.page.wait_for_function(f"document.querySelectorAll('{MARKS}').length === 3")


def test_long_work_shows_its_stage_and_cancel_frees_the_page(
    one: Visit, shoot: Callable[[str], None]
) -> None:
    before = one.outlines()
    one.fill("seed", str(SLOW))
    one.page.wait_for_function(
        "/forming products \\d+ of 600.*gone.*left/.test("
        "document.querySelector('.ep-status').textContent)"
    )
    assert one.page.locator(".ep-stale").count() == 1
    assert one.outlines() == before
    shoot("running")
    one.press("Cancel")
    one.page.locator("[data-stage]", has_text="Settings changed: run to update.").wait_for()
    assert one.page.get_by_role("button", name="Run", exact=True).is_enabled()
    assert one.outlines() == before
    one.fill("seed", "7")
    one.wait_for_answer()
    assert one.page.locator(".ep-caption").inner_text().count("seed 7") == 1


def test_a_missing_model_is_told_and_the_earlier_result_stays(
    one: Visit, shoot: Callable[[str], None]
) -> None:
    before = one.outlines()
    one.fill("Model A", "nobody/no-such-model")
    one.page.locator("[data-stage]", has_text="Settings changed: run to update.").wait_for()
    one.press("Run")
    alert = one.page.get_by_role("region", name="Messages").get_by_role("alert")
    alert.wait_for()
    assert "no-such-model" in alert.inner_text()
    assert "Traceback" not in alert.inner_text()
    assert one.outlines() == before
    assert one.page.locator(".ep-stale").count() == 1
    shoot("error")
    one.fill("Model A", "nano-untied")
    one.wait_for_answer()
    assert alert.count() == 0


def test_a_control_and_a_button_that_raise_are_told_without_paths(one: Visit) -> None:
    before = one.outlines()
    one.fill("seed", str(BROKEN))
    alert = one.page.get_by_role("region", name="Messages").get_by_role("alert").first
    alert.wait_for()
    one.fill("seed", "1")
    one.wait_for_answer()
    assert alert.count() == 0
    one.fill("seed", str(BROKEN))
    alert.wait_for()
    alert.get_by_text("Details").click()
    alert.get_by_text("ValueError").wait_for()
    one.press("Run")
    told = alert.text_content() or ""
    assert "Something in embtie itself went wrong." in told
    assert "ValueError" in told
    assert SECRET not in told
    assert not re.search(r"(^|\s)/|\.\./|Traceback", told)
    assert len(one.outlines()) == len(before)
    assert one.page.get_by_role("button", name="Run", exact=True).is_enabled()


def test_twenty_other_models_leave_the_same_charts_with_their_points(one: Visit) -> None:
    def charts() -> list[int]:
        return list(
            one.evaluate(
                "['.js-plotly-plot', '.embtie-scatter', 'canvas']"
                ".map((s) => document.querySelectorAll(`.embtie-app ${s}`).length)"
            )
        )

    before = charts()
    for turn in range(20):
        name = ("nano-tied", "nano-untied")[turn % 2]
        one.fill("Model A", name)
        one.page.wait_for_function(
            "name => document.querySelector('.ep-caption').textContent.includes(`; ${name}`)",
            arg=name,
        )
    one.wait_for_answer()
    assert charts() == before
    assert len(one.outlines()) == 3
    assert painted(one) > 4096


def test_the_largest_vocabulary_all_on_one_line_answers_hand_and_search(one: Visit) -> None:
    one.fill("seed", str(LARGE))
    one.page.get_by_text(f"{LARGEST:,} tokens").first.wait_for()
    plot = one.page.locator(".embtie-scatter .et-plot")
    plot.hover()
    assert one.page.locator("option").count() < 100
    one.page.get_by_placeholder("Search tokens").fill("word1")
    one.page.get_by_text(re.compile(rf"\d{{2}},\d{{3}} of {LARGEST:,} tokens")).wait_for()
    assert one.rows() == 100
    one.page.get_by_placeholder("Search tokens").fill("word1519")
    one.page.get_by_text(f"38 of {LARGEST:,} tokens", exact=True).wait_for()
    one.press("Select found")
    assert one.selected() == 38


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_reads_and_fits_wide_and_narrow(
    one: Visit, theme: str, shoot: Callable[[str], None]
) -> None:
    one.wear(theme)
    guide = one.page.get_by_role("button", name="Guide", exact=True).first
    guide.click()
    one.page.wait_for_selector(".ep-guide-text")
    one.page.locator(".embtie-table tbody td.et-token").nth(3).click()
    one.page.wait_for_selector(".embtie-card .et-list li")
    one.lasso()
    for width in (1400, 390):
        one.resize(width)
        assert reading.faint_texts(one) == {}
        assert reading.cut_words(one) == []
        assert reading.overhang(one) == []
        shoot(f"{theme}-{width}")
    guide.click()


def test_every_tab_draws_when_it_is_first_opened_and_fits(one: Visit) -> None:
    for tab in one.tabs():
        one.open_tab(tab)
        for width in (1400, 390):
            one.resize(width)
            assert reading.faint_texts(one) == {}
            assert reading.cut_words(one) == []
            assert reading.overhang(one) == []
            assert reading.nameless(one) == []
    one.open_tab(one.tabs()[0])


def test_every_control_has_a_name_and_is_reached_by_tab_in_order(one: Visit) -> None:
    assert reading.nameless(one) == []
    wanted = reading.stops(one)
    reached = reading.tabbed(one, len(wanted) + 10)
    within = [place for place in reached if place >= 0][: len(wanted)]
    assert within == list(range(len(wanted)))


def test_tokens_that_are_markup_or_cannot_be_seen_are_their_own_letters(
    one: Visit, tmp_path: Path
) -> None:
    untied, tied = write_hostile_pair(tmp_path)
    one.fill("Model A", untied)
    one.fill("Model B", tied)
    one.press("Run")
    one.page.get_by_text("320 tokens", exact=True).first.wait_for()
    one.page.locator(".embtie-table th").get_by_role("button", name="row in A").click()
    if one.page.locator(".embtie-table td.et-token").first.inner_text() != "<b>":
        one.page.locator(".embtie-table th").get_by_role("button", name="row in A").click()
    first = one.page.locator(".embtie-table tbody tr").nth(0)
    first.get_by_text("<b>", exact=True).wait_for()
    cells = one.page.locator(".embtie-table td.et-token")
    assert cells.all_text_contents()[: len(HOSTILE)] == list(HOSTILE.values())
    about = one.page.locator(".embtie-card .et-about > .et-token")
    for place, (token, shown) in enumerate(HOSTILE.items()):
        cells.nth(place).click()
        about.get_by_text(token if len(token) == LONG else shown, exact=True).wait_for()
    one.page.get_by_placeholder("Search tokens").fill("<script>")
    one.page.get_by_text("1 of 320 tokens").wait_for()
    assert cells.all_text_contents() == ["<script>alert(1)</script>"]
    files = {label: one.saved(label, tmp_path) for label in ("CSV", "HTML", "SVG")}
    lines = files["CSV"].read_text(encoding="utf-8").split("\n", 1)[1]
    tokens = [row["token"] for row in csv.DictReader(io.StringIO(lines))]
    assert [text for text in tokens[: len(HOSTILE)] if len(text) < LONG] == list(HOSTILE.values())[
        :-1
    ]
    assert tokens[len(HOSTILE) - 1] == "w" * LONG
    for label in ("HTML", "SVG"):
        _opens_quietly(one, files[label])
    assert one.page.locator(".embtie-app :is(script, img, b > b)").count() == 0
    assert MODEL_NAMES[0] in one.page.locator(".ep-caption").inner_text()


def _opens_quietly(one: Visit, path: Path) -> None:
    """The file in a page of its own: the model's name is letters, and nothing of it runs."""
    page = one.page.context.new_page()
    page.on("dialog", lambda said: one.errors.append(f"a dialog: {said.message}"))
    page.on("pageerror", lambda error: one.errors.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector(".scatterlayer .js-line", state="attached")
    assert page.locator("img, script[src]").count() == 0
    assert MODEL_NAMES[0] in page.locator(":root").text_content()
    page.close()
