"""The token scatter by keys: from point to point, choosing, and what is heard of it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from embtie_widgets.widgets import TokenScatter
from tests.widgets.widget_harness import HarnessPage

pytestmark = pytest.mark.browser
OpenPage = Callable[..., HarnessPage]
WHOLE = {"x_range": (0.0, 1.0), "y_range": (0.0, 1.0)}
# Three rows of three, ids from 10 at the lower left, and two more in the place of the middle one.
GRID = [(x, y) for y in (0.25, 0.5, 0.75) for x in (0.25, 0.5, 0.75)]
PLACES = np.array([*GRID, GRID[4], GRID[4]])
LOUD = ".embtie-scatter > [role=status].et-hidden-label"


class Walk:
    """A scatter that has the focus, and which ids it has asked the kernel about."""

    def __init__(self, browser: HarnessPage, scatter: TokenScatter) -> None:
        self.browser, self.scatter, self.asked = browser, scatter, list[int]()
        scatter.describe = self._describe
        browser.mount(scatter)
        browser.page.wait_for_selector("[data-drawn]")
        browser.page.locator(".et-tools button").last.focus()
        browser.page.keyboard.press("Tab")

    def _describe(self, token: int) -> str:
        self.asked.append(token)
        return f"<b>word{token}\nmore of it"

    def press(self, *keys: str) -> None:
        for key in keys:
            self.browser.page.keyboard.press(key)

    def at(self, token: int) -> None:
        """The keys are on this token, or come there."""
        self.browser.until(lambda: self.asked[-1:] == [token])

    def says(self, *words: str) -> None:
        """What is spoken holds these words, or comes to."""

        def said() -> bool:
            text = self.browser.page.locator(LOUD).text_content() or ""
            return all(word in text for word in words)

        self.browser.until(said)

    def chosen(self, *tokens: int) -> None:
        """These are selected, or come to be."""
        self.browser.until(lambda: self.scatter.selected_ids.tolist() == list(tokens))

    def ringed(self) -> int:
        """How many pixels have the colour of the ring."""
        return int(
            self.browser.page.evaluate(
                """() => { const marks = document.querySelector('.et-marks');
                const { width, height } = marks;
                const ink = getComputedStyle(document.querySelector('.embtie-scatter'))
                  .getPropertyValue('--et-accent').match(/\\w\\w/g).map((h) => parseInt(h, 16));
                const copy = new OffscreenCanvas(width, height)
                  .getContext('2d', { willReadFrequently: true });
                copy.drawImage(marks, 0, 0);
                const { data } = copy.getImageData(0, 0, width, height);
                let count = 0;
                for (let k = 0; k < data.length; k += 4)
                  if (ink.every((c, i) => Math.abs(c - data[k + i]) < 8) && data[k + 3] > 200)
                    count += 1;
                return count; }"""
            )
        )


def grid(**traits: Any) -> TokenScatter:
    scatter = TokenScatter(x_label="across", y_label="up", role="output")
    scatter.show(*PLACES.T, ids=np.arange(10, 10 + len(PLACES)), **WHOLE, **traits)
    return scatter


@pytest.fixture
def walk(open_page: OpenPage) -> Walk:
    return Walk(open_page(), grid())


def test_arrows_go_to_the_nearest_point_that_way_from_the_middle_on(walk: Walk) -> None:
    walk.press("ArrowUp")  # the first key of all only shows where one is
    walk.at(14)
    for key, token in [("ArrowUp", 17), ("ArrowLeft", 16), ("ArrowDown", 13), ("ArrowDown", 10)]:
        walk.press(key)
        walk.at(token)
    walk.press("ArrowDown")
    walk.says("no point farther that way")
    assert walk.asked[-1] == 10


def test_the_point_is_ringed_named_and_spoken_as_letters(walk: Walk) -> None:
    assert walk.ringed() == 0
    walk.press("ArrowUp", "ArrowUp")
    walk.says("<b>word17, not selected, across: 0.500, up: 0.750")
    assert walk.browser.page.locator(".et-tip").inner_text() == "<b>word17\nmore of it"
    assert walk.ringed() > 40
    assert walk.browser.page.locator(".et-keys").is_visible()


def test_enter_and_space_choose_and_give_up_any_number(walk: Walk) -> None:
    walk.press("ArrowUp", "ArrowUp", "Enter")
    walk.chosen(17)
    walk.says("word17, selected")
    assert walk.scatter.clicked == 17
    walk.press("ArrowRight", " ")
    walk.chosen(17, 18)
    assert walk.scatter.clicked == 18
    walk.press("Enter")
    walk.chosen(17)
    walk.says("word18, not selected")


def test_escape_leaves_the_point_and_then_clears_the_selection(walk: Walk) -> None:
    walk.press("ArrowUp", "Enter", "Escape")
    walk.browser.page.wait_for_selector(".et-tip", state="hidden")
    walk.chosen(14)
    assert walk.ringed() == 0
    walk.press("Escape")
    walk.chosen()


def test_points_in_one_place_follow_one_another(walk: Walk) -> None:
    walk.press("ArrowUp")
    for token in (14, 19, 20, 15):
        walk.at(token)
        walk.press("ArrowRight")


def test_a_point_out_of_view_is_brought_into_it_and_keys_zoom_at_the_point(walk: Walk) -> None:
    walk.press("ArrowUp", "ArrowUp", *["+"] * 4)
    walk.browser.until(lambda: walk.scatter.view)
    left, right, bottom, top = walk.scatter.view
    assert left < 0.5 < right < 0.75
    assert bottom < 0.75 < top
    walk.press("ArrowRight")
    walk.at(18)
    walk.browser.until(lambda: walk.scatter.view[0] < 0.75 < walk.scatter.view[1])
    assert walk.ringed() > 40
    walk.press("0")
    walk.browser.until(lambda: walk.scatter.view == [])


def test_shift_and_arrows_move_the_view_and_choose_nothing(walk: Walk) -> None:
    walk.press("Shift+ArrowRight")
    walk.browser.until(lambda: walk.scatter.view)
    left, right, bottom, top = walk.scatter.view
    assert left > 0
    assert right > 1
    assert (bottom, top) == pytest.approx((0, 1), abs=1e-3)
    assert walk.asked == []


def test_who_leaves_the_chart_and_comes_back_is_where_they_were(walk: Walk) -> None:
    walk.press("ArrowUp", "ArrowUp", "Shift+Tab")
    walk.browser.page.wait_for_selector(".et-tip", state="hidden")
    walk.press("Tab", "ArrowUp")
    walk.browser.page.wait_for_selector(".et-tip:not([hidden])")
    walk.says("word17")
    walk.press("ArrowLeft")
    walk.at(16)


def test_a_pointer_that_rests_beside_the_points_takes_nothing_from_the_keys(walk: Walk) -> None:
    walk.press("ArrowUp", "ArrowUp")
    walk.at(17)
    box = walk.browser.page.locator(".et-pixels").bounding_box()
    assert box is not None
    walk.browser.page.mouse.move(box["x"] + 3, box["y"] + 3)
    assert walk.browser.page.locator(".et-tip").is_visible()
    walk.press("ArrowLeft")
    walk.at(16)


def nearest(places: np.ndarray[Any, Any], at: int, way: int, size: np.ndarray[Any, Any]) -> int:
    """The nearest point within 45 degrees of the way: 0 right, 1 up, 2 left, 3 down."""
    apart = (places - places[at]) * size
    along = apart[:, way % 2] * (1 if way < 2 else -1)
    across = np.abs(apart[:, 1 - way % 2])
    far = np.where((along > 0) & (across <= along), (apart**2).sum(axis=1), np.inf)
    return int(far.argmin())


def test_every_step_is_the_nearest_of_fifty_thousand(open_page: OpenPage) -> None:
    places = np.random.default_rng(4).random((50_304, 2))
    scatter = TokenScatter()
    scatter.show(*places.T, **WHOLE)
    walk = Walk(open_page(), scatter)
    box = walk.browser.page.locator(".et-pixels").bounding_box()
    assert box is not None
    size = np.array([box["width"], box["height"]])
    walk.press("ArrowRight")
    walk.browser.until(lambda: walk.asked)
    assert ((np.abs(places[walk.asked[-1]] - 0.5) * size) < 4).all()
    keys = ("ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown")
    for way in (0, 0, 1, 1, 2, 3, 3, 0):
        wanted = nearest(places, walk.asked[-1], way, size)
        walk.press(keys[way])
        walk.at(wanted)


def test_a_key_held_down_goes_in_longer_strides_to_the_end(open_page: OpenPage) -> None:
    scatter, n = TokenScatter(), 2_000
    scatter.show(np.linspace(0, 1, n), np.full(n, 0.5), **WHOLE)
    walk = Walk(open_page(), scatter)
    walk.press("ArrowRight")
    walk.browser.until(lambda: walk.asked)
    for _ in range(80):  # the browser tells of a key that is down and stays down as repeated
        walk.browser.page.keyboard.down("ArrowRight")
    walk.browser.page.keyboard.up("ArrowRight")
    walk.at(n - 1)
