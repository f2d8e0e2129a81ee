"""The plotly figure in a page: the newest data, the page's theme, the width of its box."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from embtie_widgets.charts.theme import PALETTES, templates
from embtie_widgets.widgets import PlotFigure, figure
from tests.widgets.widget_harness import HarnessPage

OpenPage = Callable[..., HarnessPage]
DRAWN = "document.querySelector('#w .js-plotly-plot')"


def spec(level: float, **layout: Any) -> dict[str, Any]:
    line = {"type": "scatter", "mode": "lines", "x": np.arange(3), "y": np.full(3, level)}
    return {"data": [line], "layout": {"height": 300, **layout}}


def plot(level: float = 1) -> PlotFigure:
    return PlotFigure(templates(), spec(level))


def level(browser: HarnessPage, name: str = "w") -> Any:
    return browser.page.evaluate(
        f"document.querySelector('#{name} .js-plotly-plot')?.data?.[0]?.y?.[0]"
    )


def until_level(browser: HarnessPage, wanted: float) -> None:
    browser.until(lambda: level(browser) == wanted, 20)


def paper(browser: HarnessPage) -> Any:
    return browser.page.evaluate(f"{DRAWN}._fullLayout.paper_bgcolor")


def test_arrays_travel_as_bytes_and_what_is_no_number_as_nothing() -> None:
    numbers = {"a": np.array([1, 2]), "b": np.array([0.5], "float32"), "c": [np.nan, np.int64(3)]}
    sent = PlotFigure({}, {"data": [numbers]}).get_state()["figure"]["data"][0]
    assert np.frombuffer(sent["a"]["bytes"], sent["a"]["dtype"]).tolist() == [1, 2]
    assert np.frombuffer(sent["b"]["bytes"], sent["b"]["dtype"]).tolist() == [0.5]
    assert sent["c"] == [None, 3]


def test_the_state_carries_no_script_of_plotly() -> None:
    assert len(str(plot().get_state())) < 100_000
    assert figure.plotly_script().stat().st_size > 1_000_000


def test_a_redraw_is_sent_while_the_pages_word_is_still_being_taken_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, sent = plot(), []
    taking, over = threading.Event(), threading.Event()

    def slow() -> Any:
        taking.set()
        assert over.wait(10)
        return real()

    real = figure.plotly_script
    monkeypatch.setattr(figure, "plotly_script", slow)
    monkeypatch.setattr(one.comm, "send", lambda **message: sent.append(message))
    word = {"content": {"data": {"method": "custom", "content": {"kind": "script"}}}, "buffers": []}
    page = threading.Thread(target=one._handle_msg, args=(word,))
    page.start()
    assert taking.wait(10)
    redrawing = threading.Thread(target=one.show, args=(spec(7),))
    redrawing.start()
    redrawing.join(10)
    told = [buffer for message in sent for buffer in message["buffers"]]
    over.set()
    page.join(10)
    assert np.full(3, 7.0).tobytes() in told


@pytest.mark.browser
def test_the_page_ends_on_the_newest_of_many_quick_changes(open_page: OpenPage) -> None:
    browser, one = open_page(), plot()
    browser.mount(one)
    for value in range(2, 40):
        one.show(spec(value))
        if value % 7 == 0:
            browser.pump()
    until_level(browser, 39)
    browser.page.wait_for_timeout(200)
    assert level(browser) == 39


@pytest.mark.browser
def test_the_page_answers_no_change_with_state_of_its_own(open_page: OpenPage) -> None:
    browser, one = open_page(), plot()
    said: list[str] = []
    deliver = browser._deliver

    def listen(message: dict[str, Any]) -> None:
        said.append(message["data"]["method"])
        deliver(message)

    browser._deliver = listen  # type: ignore[method-assign]
    browser.mount(one)
    until_level(browser, 1)
    one.show(spec(2, xaxis={"range": [0, 5]}))
    until_level(browser, 2)
    browser.page.mouse.dblclick(300, 150)
    browser.page.wait_for_timeout(100)
    browser.pump()
    assert said == ["custom"]


@pytest.mark.browser
def test_the_script_comes_once_for_all_figures_of_a_page(open_page: OpenPage) -> None:
    browser, first, second = open_page(), plot(), plot(5)
    browser.mount(first)
    browser.mount(second, "v")
    browser.until(lambda: level(browser) == 1 and level(browser, "v") == 5, 20)
    size = figure.plotly_script().stat().st_size
    assert size < browser.bytes_sent < size + 200_000
    assert browser.page.evaluate("window.Plotly") is None


@pytest.mark.browser
def test_the_theme_of_the_page_is_followed_and_the_data_stay(open_page: OpenPage) -> None:
    browser = open_page(theme="dark")
    browser.mount(plot())
    until_level(browser, 1)
    assert paper(browser) == PALETTES["dark"].paper
    browser.page.evaluate("document.body.dataset.jpThemeLight = 'true'")
    browser.until(lambda: paper(browser) == PALETTES["light"].paper)
    assert level(browser) == 1


@pytest.mark.browser
def test_without_a_host_the_readers_own_setting_counts(open_page: OpenPage) -> None:
    browser = open_page(color_scheme="dark")
    browser.page.evaluate("delete document.body.dataset.jpThemeLight")
    browser.mount(plot())
    until_level(browser, 1)
    assert paper(browser) == PALETTES["dark"].paper
    browser.page.emulate_media(color_scheme="light")
    browser.until(lambda: paper(browser) == PALETTES["light"].paper)


@pytest.mark.browser
def test_a_figure_is_as_wide_as_its_box_also_when_that_changes_or_was_hidden(
    open_page: OpenPage,
) -> None:
    browser, one = open_page(), plot()
    browser.page.add_style_tag(content="#w { width: 640px } .away { display: none }")
    browser.mount(one)
    until_level(browser, 1)
    width = f"{DRAWN}._fullLayout.width"
    assert browser.page.evaluate(width) == 640
    browser.page.evaluate("document.querySelector('#w').style.width = '380px'")
    browser.until(lambda: browser.page.evaluate(width) == 380)
    browser.page.evaluate("document.querySelector('#w').className = 'away'")
    one.show(spec(8))
    browser.pump()
    browser.page.evaluate("document.querySelector('#w').className = ''")
    until_level(browser, 8)
    assert browser.page.evaluate(width) == 380


@pytest.mark.browser
def test_in_a_narrow_box_a_figure_takes_its_narrow_layout(open_page: OpenPage) -> None:
    browser = open_page()
    browser.page.add_style_tag(content="#w { width: 640px }")
    browser.mount(PlotFigure(templates(), {**spec(1), "narrow": {"height": 500}}))
    until_level(browser, 1)
    height = f"{DRAWN}._fullLayout.height"
    assert browser.page.evaluate(height) == 300
    browser.page.evaluate("document.querySelector('#w').style.width = '380px'")
    browser.until(lambda: browser.page.evaluate(height) == 500)
    browser.page.evaluate("document.querySelector('#w').style.width = '700px'")
    browser.until(lambda: browser.page.evaluate(height) == 300)


@pytest.mark.browser
def test_a_zoom_stays_while_its_axis_does(open_page: OpenPage) -> None:
    browser = open_page()
    one = PlotFigure(templates(), spec(1, uirevision="a", xaxis={"range": [0, 2]}))
    browser.mount(one)
    until_level(browser, 1)
    start, end = (browser.page.evaluate(f"{DRAWN}._fullLayout.xaxis.l2p({x}) + 80") for x in (1, 2))
    browser.page.mouse.move(start, 150)
    browser.page.mouse.down()
    browser.page.mouse.move((start + end) / 2, 150, steps=4)
    browser.page.mouse.up()
    zoomed = browser.page.evaluate(f"{DRAWN}._fullLayout.xaxis.range")
    assert zoomed != [0, 2]
    one.show(spec(2, uirevision="a", xaxis={"range": [0, 2]}))
    until_level(browser, 2)
    assert browser.page.evaluate(f"{DRAWN}._fullLayout.xaxis.range") == zoomed
    one.show(spec(3, uirevision="b", xaxis={"range": [0, 4]}))
    until_level(browser, 3)
    assert browser.page.evaluate(f"{DRAWN}._fullLayout.xaxis.range") == [0, 4]


@pytest.mark.browser
def test_the_mode_bar_offers_no_way_out_of_the_page(open_page: OpenPage) -> None:
    browser = open_page()
    browser.mount(plot())
    until_level(browser, 1)
    context = browser.page.evaluate(
        f"(({{ showSendToCloud, showLink, displaylogo, modeBarButtonsToRemove: gone }}) =>"
        f" ({{ showSendToCloud, showLink, displaylogo, gone }}))({DRAWN}._context)"
    )
    assert not any(context[name] for name in ("showSendToCloud", "showLink", "displaylogo"))
    assert "sendChartToCloud" in context["gone"]


@pytest.mark.browser
@pytest.mark.parametrize(("kind", "head"), [("svg", b"<svg"), ("png", b"\x89PNG")])
def test_a_picture_is_made_of_what_is_drawn(open_page: OpenPage, kind: str, head: bytes) -> None:
    browser, one = open_page(), plot()
    browser.mount(one)
    until_level(browser, 1)
    got: list[bytes] = []
    one.picture(kind, "a caption of <b> words", '{"a": 1}', got.append, pytest.fail)
    browser.until(lambda: bool(got))
    assert got[0].startswith(head)
    if kind == "svg":
        assert b'<metadata>{"a": 1}</metadata>' in got[0]
        assert b"&lt;b&gt;" in got[0]


def test_a_hidden_view_leaves_the_answer_to_another() -> None:
    one, got = plot(), []
    one.picture("png", "", "", got.append, pytest.fail)
    one._receive(one, {"kind": "hidden", "request": 0}, [])
    one._receive(one, {"kind": "picture", "request": 0}, [b"a picture"])
    one._receive(one, {"kind": "failed", "request": 0}, [])
    assert got == [b"a picture"]


@pytest.mark.browser
@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_figure_that_is_not_shown_says_so_instead_of_a_picture(
    open_page: OpenPage, kind: str
) -> None:
    browser, one = open_page(), plot()
    browser.mount(one)
    until_level(browser, 1)
    browser.page.add_style_tag(content="#w { display: none }")
    said: list[str] = []
    one.picture(kind, "", "", pytest.fail, said.append, patience=60)
    browser.until(lambda: said)
    assert "not on the page" in said[0]


def test_where_no_page_answers_that_is_said() -> None:
    said, given_up = [], threading.Event()
    plot().picture(
        "svg", "", "", pytest.fail, lambda why: (said.append(why), given_up.set()), patience=0.01
    )
    assert given_up.wait(10)
    assert "try again" in said[0]


@pytest.mark.browser
def test_a_click_on_a_point_or_a_cell_is_told_by_trace_and_place(open_page: OpenPage) -> None:
    cells = {"type": "heatmap", "z": [[1, 2, 3], [4, 5, 6]], "xaxis": "x2", "yaxis": "y2"}
    drawn = spec(1, xaxis2={"anchor": "y2", "domain": [0.6, 1]}, yaxis2={"anchor": "x2"})
    drawn["layout"]["xaxis"] = {"domain": [0, 0.4]}
    browser = open_page()
    told: list[object] = []
    one = PlotFigure(templates(), {**drawn, "data": [*drawn["data"], cells]})
    one.clicked = lambda trace, place: told.append((trace, place))
    browser.mount(one)
    until_level(browser, 1)
    for x, y, number in ((1, 1, ""), (2, 1, "2")):
        at = browser.page.evaluate(
            f"(() => {{ const plot = {DRAWN}, box = plot.getBoundingClientRect(),"
            f" {{ xaxis{number}: a, yaxis{number}: b }} = plot._fullLayout;"
            f" return [box.x + a._offset + a.l2p({x}), box.y + b._offset + b.l2p({y})]; }})()"
        )
        browser.page.mouse.move(*at)
        browser.page.wait_for_timeout(100)
        browser.page.mouse.click(*at)
        browser.page.wait_for_timeout(100)
        browser.pump()
    assert told == [(0, (1,)), (1, (1, 2))]


@pytest.mark.browser
def test_parts_of_the_layout_change_without_the_data_and_stay_when_the_theme_turns(
    open_page: OpenPage,
) -> None:
    browser = open_page()
    one = plot()
    browser.mount(one)
    until_level(browser, 1)
    before = browser.bytes_sent
    line = {"type": "line", "x0": 1, "x1": 1, "y0": 0, "y1": 1, "yref": "paper"}
    one.adapt(shapes=[line])
    assert browser.bytes_sent - before < 500
    places = f"{DRAWN}._fullLayout.shapes.map(s => s.x0)"
    browser.until(lambda: browser.page.evaluate(places) == [1], 20)
    browser.page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    browser.until(lambda: paper(browser) == PALETTES["dark"].paper, 20)
    assert browser.page.evaluate(places) == [1]
    assert one.shown["layout"]["shapes"] == [line]
    one.show(spec(2))
    until_level(browser, 2)
    assert browser.page.evaluate(places) == []
