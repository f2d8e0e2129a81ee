"""The slider over checkpoints in a real browser."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from embtie_widgets.widgets import StepSlider
from tests.widgets.widget_harness import HarnessPage

OpenPage = Callable[..., HarnessPage]
PLACES = [0.0, 0.1, 0.15, 0.8, 0.8, 1.0]
KINDS = ["loaded", "listed", "same", "same", "skipped", "listed"]


def slider_of(places: list[float] = PLACES, kinds: list[str] = KINDS, index: int = 0) -> StepSlider:
    slider = StepSlider(label="Checkpoint")
    readouts = [f"step {round(place * 1000):,}" for place in places]
    tracks = [
        {"start": 0.0, "end": 0.8, "label": "stage 1", "short": "s1"},
        {"start": 1.0, "end": 1.0, "label": "main", "short": "main"},
    ]
    marks = [{"place": place, "label": f"{place:g}"} for place in places]
    slider.show(places, readouts, kinds, tracks, marks, index)
    return slider


def drawn(browser: HarnessPage, slider: StepSlider) -> None:
    browser.mount(slider)
    browser.page.wait_for_selector("#w .et-thumb", state="attached")


def rail(browser: HarnessPage) -> Any:
    return browser.page.get_by_role("slider", name="Checkpoint")


def test_lists_of_other_lengths_and_too_many_ticks_are_refused() -> None:
    with pytest.raises(ValueError, match="lengths"):
        StepSlider().show([0.0], [], ["listed"])
    with pytest.raises(ValueError, match="at most"):
        StepSlider().show([0.5] * 5001, [""] * 5001, ["listed"] * 5001)


def test_an_index_beyond_the_ticks_is_none() -> None:
    slider = slider_of(index=5)
    assert slider.index == 5
    slider.index = 6
    assert slider.index == -1


@pytest.mark.browser
def test_keys_go_from_checkpoint_to_checkpoint_and_to_the_ends(open_page: OpenPage) -> None:
    browser = open_page()
    slider = slider_of([i / 30 for i in range(31)], ["listed"] * 31)
    drawn(browser, slider)
    browser.page.keyboard.press("Tab")
    browser.page.keyboard.press("Tab")
    assert browser.page.evaluate("document.activeElement.getAttribute('role')") == "slider"
    for key, index in [
        ("ArrowRight", 1),
        ("ArrowUp", 2),
        ("ArrowLeft", 1),
        ("PageUp", 11),
        ("End", 30),
        ("ArrowRight", 30),
        ("PageDown", 20),
        ("Home", 0),
        ("ArrowDown", 0),
    ]:
        browser.page.keyboard.press(key)
        browser.until(lambda index=index: slider.index == index)
        assert rail(browser).get_attribute("aria-valuenow") == str(index)
        assert rail(browser).get_attribute("aria-valuetext") == slider.readouts[index]


@pytest.mark.browser
def test_the_pointer_takes_the_nearest_checkpoint_and_drags(open_page: OpenPage) -> None:
    browser = open_page()
    slider = slider_of(index=-1)
    drawn(browser, slider)
    box = rail(browser).bounding_box()

    def x(place: float) -> float:
        return float(box["x"] + 12 + place * (box["width"] - 24))

    browser.page.mouse.move(x(0.5), box["y"] + 40)
    browser.page.mouse.down()
    browser.until(lambda: slider.index == 3)
    browser.page.mouse.move(x(0.12), box["y"] + 40)
    browser.until(lambda: slider.index == 1)
    browser.page.mouse.up()
    browser.page.mouse.move(x(1.0), box["y"] + 40)
    browser.pump()
    assert slider.index == 1


@pytest.mark.browser
def test_two_checkpoints_at_one_place_are_both_reached_by_the_buttons(open_page: OpenPage) -> None:
    browser = open_page()
    slider = slider_of(index=2)
    drawn(browser, slider)
    for index in (3, 4, 5):
        browser.page.get_by_role("button", name="Next checkpoint").click()
        browser.until(lambda index=index: slider.index == index)
    assert browser.page.get_by_role("button", name="Next checkpoint").is_disabled()


@pytest.mark.browser
def test_ticks_stand_at_their_places_and_differ_by_shape(open_page: OpenPage) -> None:
    browser = open_page()
    drawn(browser, slider_of())
    paths = browser.page.evaluate(
        "Object.fromEntries([...document.querySelectorAll('#w path.et-tick')]"
        ".map(p => [p.getAttribute('class'), p.getAttribute('d')]))"
    )
    counts = {name.split("et-")[-1]: d.count("M") for name, d in paths.items()}
    assert counts == {"loaded": 1, "listed": 2, "same": 2, "diamonds": 2, "skipped": 1}
    box = rail(browser).bounding_box()
    first, last = (12 + place * (box["width"] - 24) for place in (0.1, 1.0))
    starts = [float(part.split(" ")[0]) for part in paths["et-tick et-listed"].split("M")[1:]]
    assert starts == pytest.approx([first, last], abs=0.02)
    for said in ("◆ same bytes", "× could not be read", "long tick: loaded"):
        assert said in browser.page.locator("#w .et-note").inner_text()


@pytest.mark.browser
def test_the_kernel_can_show_other_ticks_and_text_is_no_markup(open_page: OpenPage) -> None:
    browser = open_page()
    slider = slider_of(index=3)
    drawn(browser, slider)
    hostile = "<img src=x onerror=alert(1)>"
    track = {"start": 0.0, "end": 0.4, "label": hostile, "short": "s"}
    tracks = [track, {**track, "start": 0.6, "end": 1.0}]
    slider.show([0.0, 1.0], ["one", hostile], ["listed"] * 2, tracks, [], 1)
    browser.pump()
    assert browser.page.locator("#w .et-readout").inner_text() == hostile
    browser.page.wait_for_function("document.querySelectorAll('#w text').length === 2")
    assert browser.page.locator("#w img").count() == 0
    slider.show([], [], [])
    browser.pump()
    assert browser.page.locator("#w .et-readout").inner_text() == "No checkpoints"


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1000, 390])
@pytest.mark.parametrize("count", [154, 700])
def test_a_whole_suite_fits_and_its_numbers_do_not_overlap(
    open_page: OpenPage, tmp_path: Path, theme: str, width: int, count: int
) -> None:
    browser = open_page(theme=theme, width=width)
    places = [i / (count - 1) for i in range(count)]
    kinds = ["same" if i % 3 == 0 else "loaded" if i % 10 == 1 else "listed" for i in range(count)]
    drawn(browser, slider_of(places, kinds, count // 2))
    boxes = browser.page.evaluate(
        "[...document.querySelectorAll('#w text[text-anchor]')].map(t => t.getBoundingClientRect())"
        ".map(b => [b.left, b.right])"
    )
    assert len(boxes) >= 5
    assert all(a[1] < b[0] for a, b in itertools.pairwise(boxes))
    assert boxes[-1][1] <= width
    assert browser.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.browser
def test_it_plays_from_the_first_tick_to_the_last_and_stops_there(open_page: OpenPage) -> None:
    browser = open_page()
    browser.page.emulate_media(reduced_motion="no-preference")
    slider = slider_of([i / 4 for i in range(5)], ["listed"] * 5, index=4)
    slider.playable, slider.interval = True, 100
    seen: list[int] = []
    slider.observe(lambda change: seen.append(change["new"]), "index")
    drawn(browser, slider)
    browser.page.get_by_role("button", name="Play").click()
    browser.until(lambda: len(seen) > 1 and slider.index == 4, 20)
    browser.page.get_by_role("button", name="Play").wait_for()
    assert seen == sorted(seen)


@pytest.mark.browser
def test_a_key_stops_it_and_less_motion_is_one_tick_a_second(open_page: OpenPage) -> None:
    browser = open_page()
    browser.page.evaluate(
        "window.waits = []; const real = window.setInterval;"
        "window.setInterval = (act, wait) => { waits.push(wait); return real(act, wait); }"
    )
    slider = slider_of([i / 30 for i in range(31)], ["listed"] * 31)
    slider.playable = True
    drawn(browser, slider)
    browser.page.get_by_role("button", name="Play").click()
    rail(browser).press("ArrowRight")
    browser.page.get_by_role("button", name="Play").wait_for()
    browser.page.emulate_media(reduced_motion="no-preference")
    browser.page.get_by_role("button", name="Play").click()
    browser.page.get_by_role("button", name="Pause").click()
    assert browser.page.evaluate("waits.filter((wait) => wait)") == [1000, 150]


@pytest.mark.browser
def test_a_slider_that_cannot_play_has_no_such_button(open_page: OpenPage) -> None:
    browser = open_page()
    drawn(browser, slider_of())
    assert browser.page.get_by_role("button", name="Play").count() == 0
