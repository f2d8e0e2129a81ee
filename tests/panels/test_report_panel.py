"""A panel as a report: the page shows what the panel does, and the zip opens to the same state."""

import base64
import hashlib
import io
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import ipywidgets as w
import pytest

from embtie_widgets.app.dashboard import TABS
from embtie_widgets.charts import cloud
from embtie_widgets.charts.columns import Columns, levels, shared_columns
from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.first import first_result
from embtie_widgets.jobs.report import Saved, read_report
from embtie_widgets.panels.alignment import AlignmentPanel
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.lens import LensPanel
from embtie_widgets.panels.report import archive_of, page_of, report_offers, state_of
from embtie_widgets.panels.snapshot import snapshot
from embtie_widgets.requests import AlignRequest
from embtie_widgets.requests.reading import to_json
from embtie_widgets.results.storage import to_bytes
from embtie_widgets.widgets import TokenCard
from tests.browser.rehearsal import HOSTILE
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.sample_results import pair_result

MADE = "2026-11-30T12:00:00+00:00"
KEYS = tuple(text.encode("utf-8", "surrogatepass") for text in HOSTILE)


def without_scripts(page: str) -> str:
    return re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)


def block(page: str, name: str) -> Any:
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page)
    assert found is not None
    return json.loads(found[1])


def faked(result: Any = None) -> Panel:
    runner = FakeRunner()
    panel = AlignmentPanel(parts={**parts(runner, Cost()), "ask": lambda *_: None})
    panel.start()
    runner.jobs[-1].finish(pair_result() if result is None else result)
    return panel


@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.kind)
def test_every_panel_is_saved_and_opens_to_the_same_state(tab: Any) -> None:
    one, other = tab.make(), tab.make()
    if one.result is None:
        pytest.skip("this kind ships no result")
    opened = read_report(archive_of([one], one, MADE))
    other.open_saved(opened.panels[0], "Opened from a file.")
    assert (other.request, other.state.answered) == (one.request, one.state.answered)
    assert to_bytes(other.result) == to_bytes(one.result)
    assert (other.selection, other.state.view) == (one.selection, one.state.view)
    assert "Opened from a file." in other.outdated.value
    assert other.notice.words == ""
    before, after = (snapshot(panel.results) for panel in (one, other))
    assert after.html == before.html
    assert len(after.charts) == len(before.charts) > 0


def test_the_page_shows_the_view_as_it_stands() -> None:
    panel = LensPanel()
    measure = next(value for _, value in panel.measure.options if value != panel.measure.value)
    before = page_of([panel], MADE)
    panel.measure.value = measure
    after = page_of([panel], MADE)
    assert block(before, "embtie-charts")["charts"] != block(after, "embtie-charts")["charts"]
    assert f"<b>{panel.measure.label}</b>" in after
    assert f"<b>{panel.measure.label}</b>" not in before


def test_view_and_selection_come_back() -> None:
    one, other = AlignmentPanel(), AlignmentPanel()
    one.selection = range(0, 4000, 7)
    across = next(name for _, name in one.scatter.x.options if name != one.scatter.x.value)
    one.scatter.x.value, one.state.only = across, True
    opened = read_report(archive_of([one], one, MADE))
    other.open_saved(opened.panels[0], "x")
    assert other.selection == one.selection
    assert (other.scatter.x.value, other.state.only) == (across, True)
    assert "572 selected" in without_scripts(page_of([other], MADE))


def test_a_panel_says_what_it_was_made_of() -> None:
    panel = AlignmentPanel()
    page = without_scripts(page_of([panel], MADE))
    for hash_ in panel.result.hashes.values():
        assert hash_ in page
    assert "2026-11-30 at 12:00 UTC" in page
    assert "ew.run(ew.AlignRequest(" in page
    assert to_json(panel.request, indent=2).splitlines()[1] in page.replace("&quot;", '"')
    assert "arXiv:2603.26663" in page
    assert "Pitfalls" in page
    settings = block(page_of([panel], MADE), "embtie-settings")
    assert settings["request"]["kind"] == "align"


def test_nothing_is_asked_for_from_outside_and_two_scripts_alone_may_run() -> None:
    page = page_of([AlignmentPanel()], MADE)
    ours = without_scripts(page)
    assert not re.search(r"<(img|iframe|link|object|embed|base|form)\b", ours)
    assert "src=" not in ours
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    script = re.search(r"script-src ([^;]*);", policy[1])
    assert script is not None
    run = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in run]
    assert script[1].split() == [f"'sha256-{one}'" for one in hashes]
    assert len(run) == 2


class Tags(HTMLParser):
    """How often each tag is opened, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.opened: Counter[str] = Counter()
        self.text = ""
        self.feed(without_scripts(page))

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.opened[tag] += 1

    def handle_data(self, data: str) -> None:
        self.text += data


def chosen_page(tokens: tuple[bytes | None, ...]) -> str:
    panel = faked(replace(pair_result(), tokens=tokens))
    panel.tokens.table.sort, panel.tokens.table.descending = "row_a", False
    panel.selection = range(5)
    panel.open_card(2)
    return page_of([panel], MADE)


def test_token_text_is_its_own_letters_and_never_markup() -> None:
    plain = pair_result().tokens
    page = chosen_page((*KEYS, *plain[len(KEYS) :]))
    hostile, harmless = Tags(page), Tags(chosen_page(plain))
    assert hostile.opened == harmless.opened
    for shown in HOSTILE.values():
        assert shown in hostile.text
    charts = block(page, "embtie-charts")["charts"][0]
    names = {str(text) for one in charts for trace in one["data"] for text in trace.get("text", ())}
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in names
    assert not any("<" in name or "$" in name for name in names)
    page.encode("utf-8")


def test_a_preview_or_a_stale_result_is_called_so() -> None:
    panel = faked()
    panel._estimate = lambda _request: Cost(seconds=60.0)
    panel.request = replace(panel.request, seed=9)
    panel._stop()
    assert "of other settings" in page_of([panel], MADE)
    saved = state_of(panel)
    assert (saved.request.seed, saved.answered.seed) == (9, 0)
    other = AlignmentPanel(parts=parts(FakeRunner(), Cost()))
    other.open_saved(saved, "From a file.")
    assert other.request.seed == 9
    assert "of other settings" in other.outdated.value


def test_a_preview_comes_back_as_one() -> None:
    asked, quick = AlignRequest(), AlignRequest(holdout=0.1)
    panel = AlignmentPanel(parts=parts(FakeRunner(), Cost(60.0)))
    panel.open_saved(Saved(asked, quick, asked, first_result(AlignRequest())), "From a file.")
    assert panel.state.previewing
    assert "From a file. Preview:" in panel.outdated.value
    assert state_of(panel).preview_of == asked


def test_a_panel_without_a_result_is_opened_like_a_link() -> None:
    runner = FakeRunner()
    panel = AlignmentPanel(parts=parts(runner, Cost(60.0)))
    panel.open_saved(Saved(AlignRequest(seed=5), view={"x": "count"}), "From a file.")
    assert panel.request.seed == 5
    assert panel.state.wanted.view == {"x": "count"}
    assert panel.state.origin == ""


def test_a_panel_without_a_result_is_saved_as_what_it_asks_for() -> None:
    runner = FakeRunner()
    panel = AlignmentPanel(parts={**parts(runner, Cost()), "ask": lambda *_: None})
    panel.start()
    page = page_of([panel], MADE)
    seen = without_scripts(page)
    assert "Nothing was computed when this was saved" in seen
    assert "page 1" not in seen
    assert block(page, "embtie-charts")["charts"] == [[]]
    assert "AlignRequest(" in seen
    assert "Nothing was computed" not in page_of([faked()], MADE)


def test_what_the_zip_leaves_out_is_said_on_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def page() -> str:
        with zipfile.ZipFile(io.BytesIO(archive_of([panel], panel, MADE))) as zipped:
            return without_scripts(zipped.read("report.html").decode())

    panel = faked()
    assert "in the ZIP" not in page()
    monkeypatch.setattr("embtie_widgets.jobs.report._MOST_OF_RESULT", 1000)
    monkeypatch.setattr("embtie_widgets.jobs.report.MOST_BYTES", 1000)
    said = page()
    assert "is not in the ZIP, since at most 1 kB" in said
    assert "UTC. This ZIP has more than the 1 kB" in said


def test_what_is_under_way_is_not_heard_of_any_more() -> None:
    runner = FakeRunner()
    panel = AlignmentPanel(parts=parts(runner, Cost()))
    panel.start()
    result = first_result(AlignRequest())
    panel.open_saved(Saved(AlignRequest(), AlignRequest(), None, result), "From a file.")
    runner.jobs[-1].finish(pair_result())
    assert (panel.result, panel.state.phase) == (result, "idle")


def test_a_result_that_does_not_hold_together_leaves_what_was_shown() -> None:
    panel = AlignmentPanel()
    before, shown = panel.result, snapshot(panel.results).html
    bad = replace(before, tokens=before.tokens[:5])
    with pytest.raises(EmbtieError, match="does not hold together"):
        panel.open_saved(Saved(AlignRequest(seed=1), AlignRequest(seed=1), None, bad), "x")
    assert panel.result is before
    assert snapshot(panel.results).html == shown.replace("ep-results", "ep-results ep-stale", 1)


def test_the_origin_goes_with_the_next_result() -> None:
    runner = FakeRunner()
    panel = AlignmentPanel(parts=parts(runner, Cost()))
    result = first_result(AlignRequest())
    panel.open_saved(Saved(AlignRequest(), AlignRequest(), None, result), "From a file.")
    assert "From a file." in panel.outdated.value
    panel.start()
    runner.jobs[-1].finish(pair_result())
    assert panel.outdated.value == ""


def test_both_buttons_give_their_file() -> None:
    panel = faked()
    page, archive = report_offers(panel)
    assert page.make is not None
    assert archive.make is not None
    assert page.make(None, None).startswith(b"<!doctype html>")
    with zipfile.ZipFile(io.BytesIO(archive.make(None, None))) as zipped:
        assert "report.json" in zipped.namelist()
    assert {"Report", "Report ZIP"} <= set(panel.exports.files)


def widgets() -> list[tuple[w.Widget, str]]:
    hidden = w.HTML("secret")
    hidden.layout.display = "none"
    return [
        (hidden, ""),
        (w.Button(description="press"), ""),
        (w.VBox([w.HTML('<h3 class="ep-heading">Alone</h3>')]), ""),
        (w.Checkbox(value=True, description="a < b"), "a &lt; b: <b>yes</b>"),
        (w.Dropdown(options=[("<one>", 1)], value=1, description="which"), "<b>&lt;one&gt;</b>"),
        (w.IntSlider(value=4, description="layer"), "layer: <b>4</b>"),
    ]


@pytest.mark.parametrize(("widget", "wanted"), widgets())
def test_a_widget_stands_still(widget: w.Widget, wanted: str) -> None:
    html = snapshot(widget).html
    assert wanted in html
    assert bool(html) == bool(wanted)


def test_a_tokens_neighbours_keep_their_signs() -> None:
    rows = [[1, "<the>", "0.9", "all"], [2, "a", "0.8", "some"], [3, "it", "0.7", ""]]
    lists = [{"name": "In", "role": "input", "rows": rows}]
    html = snapshot(TokenCard(token="his", lists=lists, status="● in every list")).html
    assert "● &lt;the&gt;" in html
    assert "○ a" in html
    assert "● in every list" in html
    assert "Click" not in html


@pytest.mark.parametrize("chosen", [0, 3])
def test_of_many_tokens_a_told_sample_is_drawn(
    chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloud, "MOST", 50)
    result = pair_result()
    columns = Columns(result, shared_columns(result))
    x, y = (columns.by_name[name] for name in ("row_a", "bytes"))
    drawn: Callable[..., Any] = cloud.spec
    traces = drawn(columns, x, y, range(chosen), (0, 9, 0, 5))["data"]
    assert len(traces[0]["x"]) == 50
    assert traces[0]["x"][[0, -1]].tolist() == x.values[[0, -1]].tolist()
    assert [len(one["x"]) for one in traces[1:]] == [chosen] * bool(chosen)
    said = cloud.note(len(result.tokens), chosen)
    assert said == f"50 of {len(result.tokens)} tokens are drawn."
    assert cloud.note(50, 0) == ""


def test_labels_of_close_levels_keep_clear_of_each_other() -> None:
    result = pair_result()
    columns = Columns(result, shared_columns(result))
    levelled = replace(columns.by_name["bytes"], lines=levels(0.3, 0.2))
    shapes = cloud.spec(columns, levelled, columns.by_name["row_a"])["layout"]["shapes"]
    where = [(one["label"]["text"], one["label"]["textposition"]) for one in shapes]
    assert where == [("mean 0.300", "end"), ("chance 0.200", "start")]
