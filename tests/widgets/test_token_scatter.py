"""The token scatter: what it sends, and that a real browser draws and selects every point."""

import math
import struct
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from traitlets import TraitError

from embtie_widgets.widgets import TokenScatter, shade
from tests.widgets.widget_harness import HarnessPage

CLUSTERS = {0: (0.2, 0.2), 1: (0.2, 0.8), 2: (0.8, 0.2), 3: (0.8, 0.8)}
WHOLE = {"x_range": (0.0, 1.0), "y_range": (0.0, 1.0)}


def scatter_of(n: int = 400, **traits: Any) -> TokenScatter:
    """Four clusters in the corners; token i sits in cluster i % 4, ids count from 1000."""
    random = np.random.default_rng(0)
    centres = np.array([CLUSTERS[i % 4] for i in range(n)])
    places = centres + random.uniform(-0.05, 0.05, (n, 2))
    scatter = TokenScatter(x_label="cosine in", y_label="cosine out", role="output")
    scatter.show(places[:, 0], places[:, 1], ids=np.arange(1000, 1000 + n), **WHOLE, **traits)
    return scatter


def mount(browser: HarnessPage, scatter: TokenScatter) -> HarnessPage:
    browser.mount(scatter)
    browser.page.wait_for_selector("[data-drawn]")
    return browser


def drawn(browser: HarnessPage) -> int:
    return int(browser.page.locator(".embtie-scatter").get_attribute("data-drawn") or -1)


def place(browser: HarnessPage, x: float, y: float) -> tuple[float, float]:
    """Where a value lies on the page, in pixels (view on the whole unit square)."""
    box = browser.page.locator(".et-pixels").bounding_box()
    assert box is not None
    return box["x"] + x * box["width"], box["y"] + (1 - y) * box["height"]


def drag(browser: HarnessPage, *values: tuple[float, float]) -> None:
    spots = [place(browser, *value) for value in values]
    browser.page.mouse.move(*spots[0])
    browser.page.mouse.down()
    for spot in spots[1:]:
        browser.page.mouse.move(*spot, steps=4)
    browser.page.mouse.up()


def around(cluster: int, half: float = 0.09) -> list[tuple[float, float]]:
    x, y = CLUSTERS[cluster]
    return [
        (x - half, y - half),
        (x + half, y - half),
        (x + half, y + half),
        (x - half, y + half),
    ]


def ids_of(*clusters: int, n: int = 400) -> list[int]:
    return [1000 + i for i in range(n) if i % 4 in clusters]


# Read from a copy: reading the chart's own canvas would change how the browser keeps it.
READ = """(x, y, w, h) => {
  const chart = document.querySelector('.et-pixels');
  const copy = new OffscreenCanvas(w, h).getContext('2d', { willReadFrequently: true });
  const at = [Math.round(x * chart.width), Math.round(y * chart.height)];
  copy.drawImage(chart, ...at, w, h, 0, 0, w, h);
  return copy.getImageData(0, 0, w, h).data;
}"""


def pixel(browser: HarnessPage, x: float, y: float) -> list[int]:
    script = f"([x, y]) => [...({READ})(x, 1 - y, 1, 1)].slice(0, 3)"
    return list(browser.page.evaluate(script, [x, y]))


def marked_pixels(browser: HarnessPage, cluster: int) -> set[tuple[int, ...]]:
    """The colours within a cluster's square."""
    script = f"""([x, y, half]) => {{
      const data = ({READ})(x - half, 1 - y - half, 80, 40);
      const seen = new Set();
      for (let k = 0; k < data.length; k += 4) seen.add([...data.slice(k, k + 3)].join());
      return [...seen];
    }}"""
    found = browser.page.evaluate(script, [*CLUSTERS[cluster], 0.05])
    return {tuple(map(int, colour.split(","))) for colour in found}


def orange(colours: set[tuple[int, ...]]) -> int:
    return sum(red - blue > 80 for red, _, blue in colours)


# ---- kernel side ----


def test_points_of_unequal_number_are_refused() -> None:
    with pytest.raises(ValueError, match="equal length"):
        TokenScatter().show(np.zeros(3), np.zeros(4))


def test_the_selection_follows_the_ids_into_new_points() -> None:
    scatter = scatter_of()
    scatter.select([1003, 1007, 5])
    scatter.show(np.zeros(3), np.zeros(3), ids=np.array([1007, 9, 1003]))
    assert scatter.selected_ids.tolist() == [1007, 1003]


def test_without_ids_points_count_from_zero() -> None:
    scatter = TokenScatter()
    scatter.show(np.zeros(5), np.zeros(5))
    scatter.select([4, 2])
    assert scatter.selected_ids.tolist() == [2, 4]


def test_the_same_limits_keep_the_view_and_others_reset_it() -> None:
    scatter = scatter_of()
    scatter.view = [0.1, 0.2, 0.1, 0.2]
    scatter.show(np.ones(4), np.ones(4), **WHOLE)
    assert scatter.view == [0.1, 0.2, 0.1, 0.2]
    scatter.show(np.ones(4), np.ones(4))
    assert scatter.view == []


def test_a_shade_without_value_is_kept_apart() -> None:
    assert list(shade(np.array([0, 1, np.nan]), (0, 1))) == [0, 254, 255]


# ---- in the browser ----


@pytest.mark.browser
def test_a_change_of_one_axis_sends_two_bytes_a_point(
    open_page: Callable[..., HarnessPage],
) -> None:
    browser, n = open_page(), 50_304
    x, y = np.random.default_rng(0).random((2, n))
    scatter = TokenScatter()
    scatter.show(x, y, **WHOLE)
    browser.mount(scatter)
    browser.bytes_sent = 0
    scatter.show(x, y**2, **WHOLE)
    assert 2 * n < browser.bytes_sent < 2 * n + 1000


@pytest.mark.browser
def test_every_point_is_drawn_and_those_without_value_are_told(
    open_page: Callable[..., HarnessPage],
) -> None:
    scatter, values = TokenScatter(), np.random.default_rng(0).random((2, 50_304))
    values[0, :7], values[1, 5:10] = np.nan, np.inf
    scatter.show(*values)
    browser = mount(open_page(), scatter)
    assert drawn(browser) == 50_294
    told = browser.page.locator(".et-status").text_content()
    assert told == "50,294 tokens \N{MIDDLE DOT} 10 without a value, not drawn"


@pytest.mark.browser
def test_a_point_leaves_its_colour_where_it_belongs(
    open_page: Callable[..., HarnessPage],
) -> None:
    scatter = TokenScatter(role="input")
    scatter.show(np.array([0.3]), np.array([0.7]), **WHOLE)
    browser = mount(open_page(), scatter)
    red, _, blue = pixel(browser, 0.3, 0.7)
    assert blue - red > 80
    assert pixel(browser, 0.33, 0.75) == [255, 255, 255]


@pytest.mark.browser
@pytest.mark.parametrize("n", [0, 1, 1000])
def test_columns_of_one_value_and_no_points_are_no_trouble(
    open_page: Callable[..., HarnessPage], n: int
) -> None:
    scatter = TokenScatter()
    scatter.show(np.ones(n), np.ones(n))
    browser = mount(open_page(), scatter)
    assert drawn(browser) == n
    assert browser.page.locator(".et-status").text_content() == f"{n:,} tokens"


@pytest.mark.browser
def test_the_largest_vocabulary_on_one_line_answers_the_pointer(
    open_page: Callable[..., HarnessPage],
) -> None:
    scatter, n = TokenScatter(), 151_936
    scatter.show(np.linspace(0, 1, n), np.ones(n), x_range=(0, 1), y_range=(0, 2))
    browser = mount(open_page(), scatter)
    browser.page.mouse.click(*place(browser, 0.5, 0.5))
    browser.until(lambda: scatter.clicked >= 0)
    assert drawn(browser) == n
    assert abs(scatter.clicked - n / 2) < n / 100


@pytest.mark.browser
def test_a_lasso_selects_what_it_encloses(open_page: Callable[..., HarnessPage]) -> None:
    scatter = scatter_of(mode="lasso")
    browser = mount(open_page(), scatter)
    drag(browser, *around(1))
    browser.until(lambda: len(scatter.selected_ids))
    assert scatter.selected_ids.tolist() == ids_of(1)


@pytest.mark.browser
def test_a_lasso_agrees_with_plane_geometry(open_page: Callable[..., HarnessPage]) -> None:
    values = np.random.default_rng(3).random((2, 20_000))
    scatter = TokenScatter(mode="lasso")
    scatter.show(*values, **WHOLE)
    browser = mount(open_page(), scatter)
    corners = np.array([(0.1, 0.1), (0.9, 0.2), (0.5, 0.4), (0.85, 0.9), (0.3, 0.6)])
    drag(browser, *map(tuple, corners))
    browser.until(lambda: len(scatter.selected_ids))
    inside, far = np.zeros(20_000, bool), np.full(20_000, np.inf)
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        crosses = (a[1] > values[1]) != (b[1] > values[1])
        inside ^= crosses & (values[0] < (b[0] - a[0]) * (values[1] - a[1]) / (b[1] - a[1]) + a[0])
        along = np.clip(((values.T - a) @ (b - a)) / ((b - a) @ (b - a)), 0, 1)
        far = np.minimum(far, np.linalg.norm(values.T - a - along[:, None] * (b - a), axis=1))
    selected = np.isin(np.arange(20_000), scatter.selected_ids)
    clear = far > 0.006
    assert 5000 < selected.sum() < 9000
    assert (selected == inside)[clear].all()


@pytest.mark.browser
def test_a_box_selects_and_modifiers_add_and_remove(
    open_page: Callable[..., HarnessPage],
) -> None:
    scatter = scatter_of(mode="box")
    browser = mount(open_page(), scatter)
    drag(browser, around(0)[0], around(0)[2])
    browser.until(lambda: scatter.selected_ids.tolist() == ids_of(0))
    browser.page.keyboard.down("Shift")
    drag(browser, around(3)[0], around(3)[2])
    browser.page.keyboard.up("Shift")
    browser.until(lambda: scatter.selected_ids.tolist() == ids_of(0, 3))
    browser.page.keyboard.down("Alt")
    drag(browser, around(0)[0], around(0)[2])
    browser.page.keyboard.up("Alt")
    browser.until(lambda: scatter.selected_ids.tolist() == ids_of(3))


@pytest.mark.browser
def test_selecting_dims_the_rest_and_hides_nothing(
    open_page: Callable[..., HarnessPage],
) -> None:
    scatter = scatter_of()
    browser = mount(open_page(), scatter)
    assert orange(marked_pixels(browser, 0)) > 3
    scatter.select(ids_of(3))
    browser.pump()
    browser.until(lambda: orange(marked_pixels(browser, 0)) == 0)
    assert orange(marked_pixels(browser, 3)) > 3
    assert len(marked_pixels(browser, 0)) > 3
    assert drawn(browser) == 400


@pytest.mark.browser
def test_a_click_selects_one_and_escape_clears(open_page: Callable[..., HarnessPage]) -> None:
    scatter = TokenScatter()
    scatter.show(np.array([0.25, 0.75]), np.array([0.5, 0.5]), ids=np.array([70, 80]), **WHOLE)
    browser = mount(open_page(), scatter)
    browser.page.mouse.click(*place(browser, 0.75, 0.5))
    browser.until(lambda: scatter.clicked == 80)
    assert scatter.selected_ids.tolist() == [80]
    browser.page.mouse.click(*place(browser, 0.5, 0.9))
    browser.page.keyboard.press("Escape")
    browser.until(lambda: scatter.clicked == -1)
    assert scatter.selected_ids.tolist() == []


@pytest.mark.browser
def test_hover_shows_the_words_of_the_kernel_as_letters_and_changes_nothing(
    open_page: Callable[..., HarnessPage],
) -> None:
    scatter = TokenScatter(x_label="cosine")
    scatter.show(np.array([0.5]), np.array([0.5]), ids=np.array([42]), **WHOLE)
    scatter.describe = lambda token: f"<img src=x onerror=alert(1)> %{{x}} {token}"
    browser = mount(open_page(), scatter)
    browser.page.mouse.move(*place(browser, 0.5, 0.5))
    browser.page.wait_for_selector(".et-tip:not([hidden])")
    assert "cosine: 0.500" in (browser.page.locator(".et-tip").text_content() or "")
    words = "<img src=x onerror=alert(1)> %{x} 42"
    browser.until(lambda: browser.page.locator(".et-tip").text_content() == words)
    assert (scatter.clicked, len(scatter.selected_ids)) == (-1, 0)
    browser.page.mouse.move(*place(browser, 0.9, 0.9))
    browser.page.wait_for_selector(".et-tip", state="hidden")


@pytest.mark.browser
def test_the_wheel_zooms_at_the_pointer_and_a_double_click_goes_back(
    open_page: Callable[..., HarnessPage],
) -> None:
    scatter = scatter_of()
    browser = mount(open_page(), scatter)
    browser.page.mouse.move(*place(browser, 0.75, 0.5))
    browser.page.mouse.wheel(0, -300)
    browser.until(lambda: scatter.view)
    left, right, bottom, top = scatter.view
    assert right - left < 0.7
    assert (0.75 - left) / (right - left) == pytest.approx(0.75, abs=0.01)
    assert (0.5 - bottom) / (top - bottom) == pytest.approx(0.5, abs=0.01)
    browser.page.mouse.dblclick(*place(browser, 0.5, 0.5))
    browser.until(lambda: scatter.view == [])


@pytest.mark.browser
def test_a_drag_in_pan_mode_moves_the_view(open_page: Callable[..., HarnessPage]) -> None:
    scatter = scatter_of()
    browser = mount(open_page(), scatter)
    drag(browser, (0.5, 0.5), (0.6, 0.4))
    browser.until(lambda: scatter.view)
    assert scatter.view == pytest.approx([-0.1, 0.9, 0.1, 1.1], abs=0.01)
    assert len(scatter.selected_ids) == 0


@pytest.mark.browser
def test_the_keyboard_reaches_tools_and_view(open_page: Callable[..., HarnessPage]) -> None:
    scatter = scatter_of()
    browser = mount(open_page(), scatter)
    for _ in range(2):
        browser.page.keyboard.press("Tab")
    browser.page.keyboard.press("Enter")
    browser.until(lambda: scatter.mode == "lasso")
    for _ in range(5):
        browser.page.keyboard.press("Tab")
    browser.page.keyboard.press("+")
    browser.until(lambda: scatter.view)
    assert scatter.view[1] - scatter.view[0] == pytest.approx(1 / 1.5, abs=0.01)
    browser.page.keyboard.press("0")
    browser.until(lambda: scatter.view == [])


@pytest.mark.browser
def test_every_tool_has_a_name_and_a_word_of_help(open_page: Callable[..., HarnessPage]) -> None:
    browser = mount(open_page(), scatter_of())
    tools = browser.page.locator(".et-tools button")
    named = tools.evaluate_all("all => all.map(b => [b.ariaLabel, b.title].every(Boolean))")
    assert named == [True] * 6


@pytest.mark.browser
def test_the_chart_that_was_used_keeps_its_keys_from_the_notebook(
    open_page: Callable[..., HarnessPage],
) -> None:
    browser = mount(open_page(), scatter_of(mode="lasso"))
    drag(browser, *around(1))
    focused = "document.activeElement.matches('.et-plot[data-lm-suppress-shortcuts]')"
    assert browser.page.evaluate(focused)


@pytest.mark.browser
def test_the_view_of_the_kernel_is_shown(open_page: Callable[..., HarnessPage]) -> None:
    browser = mount(open_page(), scatter := scatter_of())
    scatter.view = [0.0, 0.5, 0.0, 0.5]
    browser.until(lambda: drawn(browser) == 100)


@pytest.mark.browser
@pytest.mark.parametrize(
    "beyond",
    [
        [0.5, math.nextafter(0.5, 1), 0.0, 1.0],
        [-1e308, 1e308, 0.0, 1.0],
        [0.0, 1.0, 1e9, 1e9 + 1],
    ],
)
def test_a_view_that_no_hand_reaches_shows_everything(
    open_page: Callable[..., HarnessPage], beyond: list[float]
) -> None:
    browser = mount(open_page(), scatter := scatter_of())
    scatter.view = [0.0, 0.5, 0.0, 0.5]
    browser.until(lambda: drawn(browser) == 100)
    scatter.view = beyond
    browser.until(lambda: drawn(browser) == 400)


@pytest.mark.browser
def test_a_picture_comes_back_with_axes_and_title(open_page: Callable[..., HarnessPage]) -> None:
    browser = mount(open_page(), scatter := scatter_of(title="All tokens"))
    got: list[bytes] = []
    scatter.png(got.append, pytest.fail, scale=2)
    browser.until(lambda: got)
    assert got[0].startswith(b"\x89PNG\r\n")
    width, height = struct.unpack(">II", got[0][16:24])
    plot = browser.page.locator(".et-plot").bounding_box()
    assert plot is not None
    assert width == 2 * plot["width"]
    assert height > 2 * plot["height"]


@pytest.mark.browser
def test_a_picture_is_higher_by_its_caption(open_page: Callable[..., HarnessPage]) -> None:
    browser = mount(open_page(), scatter := scatter_of())
    heights = []
    for caption in ("", "n = 5; a model", "n = 5; " + "a model with a long name; " * 20):
        got: list[bytes] = []
        scatter.png(got.append, pytest.fail, scale=1, caption=caption)
        browser.until(lambda got=got: got)
        heights.append(struct.unpack(">I", got[0][20:24])[0])
    assert heights[1] == heights[0] + 18
    assert heights[2] > heights[1] + 18


NOTE_TEXTS = """() => {
  window.told = {};
  const { fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillText = function (words, x, y) {
    window.told[words] = { x, y, wide: this.measureText(words).width };
    fillText.call(this, words, x, y);
  };
}"""


@pytest.mark.browser
@pytest.mark.parametrize("width", [320, 1000])
@pytest.mark.parametrize(("one", "other"), [(0.3, 0.34), (0.9, 0.98), (0.02, 0.05)])
def test_each_line_has_its_name_beside_it_and_no_name_covers_another(
    open_page: Callable[..., HarnessPage], width: int, one: float, other: float
) -> None:
    lines = [
        {"axis": axis, "value": value, "label": f"{axis} {value}"}
        for axis in "xy"
        for value in (one, other)
    ]
    browser = open_page(width=width)
    browser.page.evaluate(NOTE_TEXTS)
    mount(browser, scatter_of(reference_lines=lines))
    told = browser.page.evaluate("window.told")
    plot = browser.page.locator(".et-plot").bounding_box()
    boxes = [told[line["label"]] for line in lines]
    for line, box in zip(lines, boxes, strict=True):
        [rival] = [other for other in lines if other["axis"] == line["axis"] and other != line]
        x, y = place(browser, rival["value"], rival["value"])
        left, middle = box["x"] + plot["x"], box["y"] + plot["y"]
        if one != 0.3:
            continue  # at an edge there is no room on the other side
        if line["axis"] == "y":
            assert abs(middle - y) > 8
        else:
            assert not left < x < left + box["wide"]
    for line, box in zip(lines, boxes, strict=True):
        at = place(browser, line["value"], line["value"])
        if line["axis"] == "x":
            left = box["x"] + plot["x"]
            assert min(abs(left - at[0]), abs(left + box["wide"] - at[0])) < 12
        else:
            assert abs(box["y"] + plot["y"] - at[1]) < 18
    for i, first in enumerate(boxes):
        for second in boxes[:i]:
            apart = abs(first["y"] - second["y"]) >= 16
            first_end, second_end = first["x"] + first["wide"], second["x"] + second["wide"]
            assert apart or first_end < second["x"] or second_end < first["x"]


@pytest.mark.browser
def test_a_chart_that_is_not_shown_says_so_instead_of_a_picture(
    open_page: Callable[..., HarnessPage],
) -> None:
    browser = mount(open_page(), scatter := scatter_of())
    browser.page.add_style_tag(content="#w { display: none }")
    said: list[str] = []
    scatter.png(pytest.fail, said.append, patience=60)
    browser.until(lambda: said)
    assert "not on the page" in said[0]


@pytest.mark.browser
def test_a_chart_scrolled_out_of_sight_gives_its_picture(
    open_page: Callable[..., HarnessPage],
) -> None:
    browser = mount(open_page(), scatter := scatter_of())
    browser.page.evaluate("document.body.style.paddingTop = '5000px'")
    got: list[bytes] = []
    scatter.png(got.append, pytest.fail)
    browser.until(lambda: got)


def test_where_no_page_answers_a_picture_is_given_up() -> None:
    given_up, said = threading.Event(), []
    scatter_of().png(pytest.fail, lambda why: (said.append(why), given_up.set()), patience=0.01)
    assert given_up.wait(10)
    assert "try again" in said[0]


def test_a_view_is_four_finite_numbers_or_none() -> None:
    scatter = scatter_of()
    for bad in ([1.0], [0.0, 1.0, 0.0, float("nan")]):
        with pytest.raises(TraitError, match="four finite"):
            scatter.view = bad
    for backwards in ([1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 1.0]):
        with pytest.raises(TraitError, match="left to right"):
            scatter.view = backwards
    scatter.view = [0.0, 1.0, 0.0, 1.0]


@pytest.mark.browser
def test_a_chart_born_in_a_hidden_tab_draws_when_it_is_opened(
    open_page: Callable[..., HarnessPage],
) -> None:
    browser = open_page()
    browser.page.add_style_tag(content=".hide #w { display: none }")
    browser.page.evaluate("document.body.className = 'hide'")
    browser.mount(scatter_of())
    assert browser.page.locator("[data-drawn]").count() == 0
    browser.page.evaluate("document.body.className = ''")
    browser.page.wait_for_selector("[data-drawn='400']")


@pytest.mark.browser
def test_the_chart_follows_its_width(open_page: Callable[..., HarnessPage]) -> None:
    browser = mount(open_page(), scatter_of())
    browser.page.set_viewport_size({"width": 390, "height": 700})
    browser.until(lambda: browser.page.locator(".et-pixels").bounding_box()["width"] < 380)
    assert browser.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert browser.page.locator(".et-pixels").bounding_box()["width"] > 250


@pytest.mark.browser
def test_dark_paper_under_dark_hosts(open_page: Callable[..., HarnessPage]) -> None:
    browser = mount(open_page(theme="dark"), scatter_of())
    assert max(pixel(browser, 0.52, 0.47)) < 60
    browser.page.evaluate("document.body.dataset.jpThemeLight = 'true'")
    browser.until(lambda: min(pixel(browser, 0.52, 0.47)) == 255)


@pytest.mark.browser
def test_twenty_changes_leave_one_chart_with_all_its_points(
    open_page: Callable[..., HarnessPage],
) -> None:
    browser = mount(open_page(), scatter := scatter_of())
    for k in range(20):
        scatter.show(np.random.default_rng(k).random(300 + k), np.zeros(300 + k))
        browser.pump()
    browser.until(lambda: drawn(browser) == 319)
    assert browser.page.locator("canvas").count() == 2


@pytest.mark.browser
def test_until_the_first_points_are_drawn_the_empty_chart_says_so(
    open_page: Callable[..., HarnessPage],
) -> None:
    browser = open_page()
    browser.page.evaluate("void (window.requestAnimationFrame = () => 1)")
    browser.mount(scatter_of())
    said = "getComputedStyle(document.querySelector('.et-plot'), '::before').content"
    browser.page.wait_for_selector(".et-plot", state="attached")
    assert browser.page.evaluate(said) == '"Drawing the points…"'
    browser = mount(open_page(), scatter_of())
    assert browser.page.evaluate(said) == "none"
