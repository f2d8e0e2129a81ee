"""What a panel gives away, and what it opens from a link."""

import io
import json
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from embtie_widgets.charts.files import stamp_of
from embtie_widgets.panels.alignment import AlignmentPanel
from embtie_widgets.requests import AlignRequest, read_request
from embtie_widgets.requests.link import decode
from tests.charts.test_chart_files import tiny_png
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.sample_results import pair_result


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner(at_once=True)


@pytest.fixture
def panel(runner: FakeRunner) -> AlignmentPanel:
    return AlignmentPanel(parts={**parts(runner, Cost()), "ask": lambda *_: None})


def sent(widget: Any, monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, Any], list[bytes]]]:
    messages: list[tuple[dict[str, Any], list[bytes]]] = []
    monkeypatch.setattr(
        widget, "send", lambda content, buffers=None: messages.append((content, buffers or []))
    )
    return messages


def saved(panel: AlignmentPanel, label: str, monkeypatch: pytest.MonkeyPatch) -> tuple[str, bytes]:
    button = panel.exports.files[label]
    assert not button.disabled
    messages = sent(button, monkeypatch)
    button._receive(button, {"kind": "ask"}, [])
    [(content, buffers)] = messages
    return content["filename"], buffers[0]


def open_page(panel: AlignmentPanel, query: str, host: str = "voila") -> None:
    panel.link.page.page = {
        "query": query,
        "origin": "https://lab.example",
        "path": "/base/",
        "host": host,
    }


def test_csv_of_what_is_shown_and_of_the_selection_alone(
    panel: AlignmentPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel.map.value = "orthogonal"
    name, data = saved(panel, "CSV", monkeypatch)
    assert name.endswith(".csv")
    head = json.loads(data.split(b"\n")[0].removeprefix(b"# "))
    assert read_request(head["request"]) == AlignRequest(map="orthogonal")
    assert panel.exports.files["CSV of selection"].disabled
    panel.selection = {4, 9}
    _, data = saved(panel, "CSV of selection", monkeypatch)
    assert pd.read_csv(io.BytesIO(data), skiprows=1)["row_a"].tolist() == [4, 9]


def test_a_stale_panel_exports_what_it_shows(
    panel: AlignmentPanel, runner: FakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner.at_once = False
    panel.seed.value = 9
    _, data = saved(panel, "CSV", monkeypatch)
    head = json.loads(data.split(b"\n")[0].removeprefix(b"# "))
    assert read_request(head["request"]) == AlignRequest()


def test_the_page_is_the_one_of_the_command_line(
    panel: AlignmentPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, data = saved(panel, "HTML", monkeypatch)
    assert b'id="embtie-settings"' in data


def test_pictures_come_from_the_page_and_carry_the_settings(
    panel: AlignmentPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = sent(panel.chart, monkeypatch)
    for label, kind, data in (("SVG", "svg", b"<svg/>"), ("PNG", "png", tiny_png())):
        button = panel.exports.files[label]
        messages = sent(button, monkeypatch)
        button._receive(button, {"kind": "ask"}, [])
        content, _ = asked.pop()
        assert content["kind"] == kind
        assert "n = 299" in content["caption"]
        answer = {"kind": "picture", "request": content["request"]}
        panel.chart._receive(panel.chart, answer, [data])
        [(_, [file])] = messages
        settings = json.loads(content["settings"]) if kind == "svg" else stamp_of(file)
        assert read_request(settings["request"]) == AlignRequest()


def test_pictures_say_what_they_rest_on_and_how_many_tokens_are_lit(
    panel: AlignmentPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for label, source in (("Scatter PNG", panel.scatter.scatter), ("PNG", panel.chart)):
        asked = sent(source, monkeypatch)
        button = panel.exports.files[label]
        panel.selection = set()
        button._receive(button, {"kind": "ask"}, [])
        panel.selection = {4, 9}
        button._receive(button, {"kind": "ask"}, [])
        whole, lit = [content["caption"] for content, _ in asked if content.get("caption")]
        assert "nano-untied and nano-tied; linear map, centred" in whole
        assert "seed 0" in whole
        assert lit == f"{whole} Lit: 2 tokens selected."


def test_a_picture_that_cannot_be_made_is_told_on_the_button(
    panel: AlignmentPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = sent(panel.chart, monkeypatch)
    button = panel.exports.files["SVG"]
    messages = sent(button, monkeypatch)
    button._receive(button, {"kind": "ask"}, [])
    panel.chart._receive(panel.chart, {"kind": "failed", "request": asked[0][0]["request"]}, [])
    assert messages[0][0]["kind"] == "failed"


def test_a_file_that_cannot_be_made_is_told_on_button_and_page(
    panel: AlignmentPanel, monkeypatch: pytest.MonkeyPatch, logged_faults: list[str]
) -> None:
    button = panel.exports.files["CSV"]
    messages = sent(button, monkeypatch)
    panel.state.result = replace(panel.result, comparisons=None)
    with pytest.raises(AttributeError):
        button._receive(button, {"kind": "ask"}, [])
    assert messages[-1][0]["kind"] == "failed"
    assert "went wrong" in panel.notice.words
    logged_faults.clear()


def test_the_code_is_that_of_the_controls(
    panel: AlignmentPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel.map.value = "identity"
    names: dict[str, Any] = {}
    monkeypatch.setattr("embtie_widgets.run", lambda request: request, raising=False)
    exec(panel.exports.code.text, names)
    assert names["result"] == panel.request


def test_the_address_follows_the_controls_and_a_small_selection(panel: AlignmentPanel) -> None:
    open_page(panel, "")
    assert panel.link.page.query == ""
    panel.map.value = "orthogonal"
    panel.selection = {3, 250}
    link = decode(panel.link.page.query)
    assert link is not None
    assert (link.request, link.tokens) == (panel.request, panel.selection)
    assert panel.link.copy.text == f"https://lab.example/base/?{panel.link.page.query}"
    panel.selection = range(100)
    assert "tokens" not in panel.link.copy.text


def test_a_link_sets_controls_and_selection(panel: AlignmentPanel, runner: FakeRunner) -> None:
    open_page(panel, "embtie=1&kind=align&map=orthogonal&seed=4&tokens=7.200.999999")
    assert panel.request == AlignRequest(map="orthogonal", seed=4)
    assert (panel.map.value, panel.seed.value) == ("orthogonal", 4)
    assert runner.jobs[-1].request == panel.request
    assert panel.selection == {7, 200}
    assert decode(panel.link.page.query).tokens == {7, 200}  # type: ignore[union-attr]


def test_the_tokens_of_a_link_wait_for_its_result(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    runner.at_once = False
    open_page(panel, "embtie=1&kind=align&map=orthogonal&tokens=7")
    assert panel.selection == frozenset()
    runner.jobs[-1].finish()
    assert panel.selection == {7}


def test_a_link_is_taken_once_and_not_again_by_a_second_view(panel: AlignmentPanel) -> None:
    open_page(panel, "embtie=1&kind=align&map=orthogonal")
    panel.map.value = "identity"
    open_page(panel, "embtie=1&kind=align&map=orthogonal&x")
    assert panel.request.map == "identity"


def test_a_broken_link_is_told_and_the_page_shows_the_default(panel: AlignmentPanel) -> None:
    open_page(panel, "embtie=1&kind=align&map=<b>cubic</b>")
    assert "This link cannot be opened" in panel.notice.words
    assert panel.request == AlignRequest()
    assert not panel.link.copy.disabled
    assert panel.link.copy.text == "https://lab.example/base/"


def test_a_link_with_a_device_that_is_not_here_still_opens(panel: AlignmentPanel) -> None:
    open_page(panel, "embtie=1&kind=align&device=mps")
    assert panel.request.device == panel.device.value == "mps"


def test_a_notebook_has_no_link_of_its_own_to_copy(panel: AlignmentPanel) -> None:
    assert panel.link.copy.disabled
    open_page(panel, "embtie=1&kind=align&map=orthogonal", host="lab")
    assert panel.link.copy.disabled
    assert panel.request == AlignRequest()


def test_a_link_reopens_the_view_too(panel: AlignmentPanel, runner: FakeRunner) -> None:
    panel.scatter.x.value, panel.scatter.y.value = "bytes", "norm Tied"
    panel.scatter.scatter.view = [0.5, 2.25, -1.0, 3.0]
    table = panel.tokens.table
    table.sort, table.descending, table.query, table.page = "row_b", False, "wörd & <b>", 0
    table.clicked = 4
    open_page(panel, "")
    query = panel.link.page.query
    other = AlignmentPanel(parts={**parts(runner, Cost()), "ask": lambda *_: None})
    open_page(other, query)
    assert (other.scatter.x.value, other.scatter.y.value) == ("bytes", "norm Tied")
    assert other.scatter.scatter.view == [0.5, 2.25, -1.0, 3.0]
    shown = other.tokens.table
    assert (shown.sort, shown.descending, shown.query) == ("row_b", False, "wörd & <b>")
    assert other.card.card.token == "$x$"
    assert other.link.page.query == query


def test_a_view_as_usual_needs_no_word_in_the_link(panel: AlignmentPanel) -> None:
    open_page(panel, "")
    panel.scatter.x.value = "bytes"
    assert panel.link.page.query == "embtie=1&kind=align&view.x=bytes"
    panel.scatter.x.value = "In->Tied"
    assert panel.link.page.query == ""


def test_the_view_of_a_link_waits_for_its_result_and_stays_in_the_address(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    runner.at_once = False
    open_page(panel, query := "embtie=1&kind=align&map=orthogonal&view.x=bytes&tokens=7")
    assert panel.link.page.query == query
    runner.jobs[-1].finish()
    assert (panel.scatter.x.value, panel.selection) == ("bytes", {7})
    assert panel.link.page.query == query


@pytest.mark.parametrize(
    "view",
    ["x=<b>", "zoom=1,2", "zoom=nan,1,1,2", "page=x", "down=maybe", "shell=rm", "only=2"],
)
def test_a_view_that_is_not_here_is_told_and_the_rest_is_shown(
    panel: AlignmentPanel, view: str
) -> None:
    open_page(panel, f"embtie=1&kind=align&map=orthogonal&view.y=bytes&view.{view}")
    assert "view that" in panel.notice.words
    assert "<b>" not in panel.notice.words
    assert (panel.request.map, panel.scatter.y.value) == ("orthogonal", "bytes")


def test_the_scatter_picture_is_asked_of_the_page_and_told_where_it_is_not(
    panel: AlignmentPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    scatter = panel.scatter.scatter
    asked = sent(scatter, monkeypatch)
    button = panel.exports.files["Scatter PNG"]
    messages = sent(button, monkeypatch)
    button._receive(button, {"kind": "ask"}, [])
    scatter._receive(scatter, {"kind": "png", "request": asked[0][0]["request"]}, [tiny_png()])
    [(_, [file])] = messages
    assert read_request(stamp_of(file)["request"]) == AlignRequest()
    button._receive(button, {"kind": "ask"}, [])
    scatter._pictures.fail(asked[1][0]["request"])
    assert messages[-1][0] == {"kind": "failed", "message": "The chart is not on the page."}


def test_a_selection_too_large_for_a_link_leaves_no_empty_table(panel: AlignmentPanel) -> None:
    open_page(panel, "embtie=1&kind=align&map=orthogonal&view.only=true")
    assert not panel.state.only
    assert len(panel.tokens.table.rows) == 100


def test_a_link_whose_result_is_still_to_come_says_so_above_the_other_one(
    runner: FakeRunner,
) -> None:
    panel = AlignmentPanel(parts=parts(runner, Cost(seconds=60), pair_result()))
    runner.in_vain = False
    open_page(panel, "embtie=1&kind=align&a=somebody/model")
    assert "that of the link is on its way" in panel.outdated.value
    runner.looks[-1].find_nothing()
    assert "result of this link is not here yet" in panel.outdated.value


def test_settings_too_long_for_a_link_are_said_to_be_and_copied_as_code(
    panel: AlignmentPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_page(panel, "")
    monkeypatch.setattr("embtie_widgets.requests.link.LENGTH_LIMIT", 45)
    panel.map.value, panel.seed.value = "orthogonal", 123_456_789
    assert panel.link.copy.disabled
    assert "too long for a link" in panel.link.copy.title
    assert panel.link.page.query == ""
    assert "seed=123456789" in panel.exports.code.text
    panel.seed.value = 0
    assert not panel.link.copy.disabled
    assert "map=orthogonal" in panel.link.page.query
