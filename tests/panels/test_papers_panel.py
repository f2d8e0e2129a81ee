"""The panel of the papers' tables: choosing, what is asked, what is missing, links and files."""

import io
import json
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from embtie_widgets.panels.papers import PaperTablesPanel
from embtie_widgets.requests import PaperTablesRequest, read_request
from embtie_widgets.requests.link import Link, decode, encode
from embtie_widgets.results.papers import PaperTables
from tests import sample_papers as sample
from tests.fresh import run_fresh
from tests.panels.fake_jobs import FakeRunner, parts
from tests.panels.test_exports_and_links import saved


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def panel(runner: FakeRunner) -> PaperTablesPanel:
    return PaperTablesPanel(parts=parts(runner, None, sample.tables()))


def shown(panel: PaperTablesPanel) -> set[str]:
    return {name for name, one in panel.cards.items() if one.layout.display != "none"}


def framed(panel: PaperTablesPanel) -> str:
    """The item whose bar has the frame, by its label."""
    return next(
        text
        for text in panel.overview.shown["layout"]["yaxis"]["ticktext"]
        if text.startswith("<b>")
    )


def test_it_opens_with_what_ships_and_the_first_table(
    panel: PaperTablesPanel, runner: FakeRunner
) -> None:
    assert panel.request == PaperTablesRequest()
    assert runner.jobs == []
    assert "Of 76 printed numbers" in panel.headline.value
    assert shown(panel) == {"overview", "item", "missing", "facts"}
    assert panel.item is not None
    assert panel.item.name == "table-1"
    assert panel.state.view == {}
    assert panel.runbar.run.description == "Recompute"


def test_one_click_recomputes_all(panel: PaperTablesPanel, runner: FakeRunner) -> None:
    panel.runbar.run.click()
    assert runner.jobs[-1].request == PaperTablesRequest()
    runner.jobs[-1].finish(sample.broken())
    assert "Figure 3 could not be computed" in panel.headline.value
    assert "&lt;metrics&gt;" in panel.headline.value


def test_controls_go_into_the_request(panel: PaperTablesPanel) -> None:
    panel.items.chips["centering"].value = True
    panel.items.others.value = "table-1"
    panel.fetch.value, panel.stand_in.value, panel.data.value = True, False, " runs "
    panel.seed.value = 3.0
    assert panel.request == PaperTablesRequest(
        ("centering", "table-1"), fetch=True, data="runs", stand_in=False, seed=3
    )
    panel.request = PaperTablesRequest(("norms",))
    assert (panel.items.others.value, panel.items.chips["centering"].value) == ("norms", False)


def test_a_table_that_is_not_there_is_refused_in_words(panel: PaperTablesPanel) -> None:
    before = panel.request
    panel.items.others.value = "table-99"
    assert "No table or figure is called 'table-99'" in panel.notice.words
    assert panel.request == before


def test_a_choice_and_a_click_open_an_item(panel: PaperTablesPanel) -> None:
    panel.menu.value = "figure-2"
    assert "KL of the tuned lens" in panel.about.value
    assert panel.chart.shown["data"][0]["name"] == "untied, printed"
    assert framed(panel) == "<b>Figure 2</b>"
    panel.overview.clicked(0, (list(panel.result.items).index("norms"),))
    assert panel.menu.value == "norms"
    assert framed(panel) == "<b>Norms</b>"
    panel.overview.clicked(0, (999,))
    assert panel.menu.value == "norms"


def test_the_table_has_numbers_verdicts_and_reasons_as_text(panel: PaperTablesPanel) -> None:
    table = panel.numbers.value
    assert "<b>0.5790</b>" in table
    assert "−0.0900" in table
    assert "≠ differs" in table
    assert "&lt;b&gt;strings&lt;/b&gt;" in table
    assert "<b>strings" not in table
    assert table.count("<tr>") == 1 + 18
    assert ">chance<" in table
    panel.menu.value = "table-3"
    assert ">chance<" not in panel.numbers.value


def test_one_verdict_can_be_seen_alone(panel: PaperTablesPanel) -> None:
    panel.only.value = "differs"
    assert panel.numbers.value.count("<tr>") == 1 + 3
    panel.menu.value = "table-7"
    assert [value for _, value in panel.only.options] == ["", "print only"]
    assert panel.only.value == ""
    assert panel.numbers.value.count("<tr>") == 1 + 3


def test_what_is_missing_has_its_size_and_a_command_to_copy(panel: PaperTablesPanel) -> None:
    assert "412 MB" in panel.missing.value
    assert panel.copy.text.startswith("embtie fetch Qwen/Qwen3-8B allenai/OLMo-1B-0724-hf@step")
    assert panel.copy.text in panel.command.value
    alone = PaperTables({"norms": sample.norms()}, sample.tables().settings)
    panel.start()
    panel._runner.jobs[-1].finish(alone)
    assert shown(panel) == {"overview", "item", "facts"}


def test_a_choice_outlasts_a_result_that_grows(panel: PaperTablesPanel, runner: FakeRunner) -> None:
    panel.menu.value = "figure-2"
    whole = sample.tables()
    request = PaperTablesRequest(seed=5)
    panel.request = request
    panel.start()
    items = {"table-1": whole.items["table-1"]}
    grown = replace(whole, items=items, settings=request.to_dict())
    runner.jobs[-1].preview(request, grown)
    assert panel.menu.value == "table-1"
    assert panel.part_of(grown) == "1 of 24 tables and figures"
    runner.jobs[-1].finish(whole)
    assert panel.menu.value == "figure-2"


def test_a_link_opens_item_and_verdict(panel: PaperTablesPanel, runner: FakeRunner) -> None:
    panel.menu.value, panel.only.value = "figure-2", "differs"
    link = decode(encode(panel.request, (), panel.state.view))
    assert link is not None
    other = PaperTablesPanel(parts=parts(runner, None, sample.tables()))
    other.open_link(link)
    assert (other.menu.value, other.only.value) == ("figure-2", "differs")
    other.open_link(Link(PaperTablesRequest(), frozenset(), {"item": "table-99"}))
    assert "a view that there is not here" in other.notice.words
    assert other.menu.value == "figure-2"


def test_files_hold_every_number(panel: PaperTablesPanel, monkeypatch: pytest.MonkeyPatch) -> None:
    name, data = saved(panel, "CSV", monkeypatch)
    assert name.startswith("embtie-paper-tables-")
    frame = pd.read_csv(io.BytesIO(data), skiprows=1)
    assert len(frame) == 76
    row = frame[(frame["item"] == "table-1") & (frame["verdict"] == "differs")].iloc[0]
    assert row["difference"] == pytest.approx(-0.09)
    head: dict[str, Any] = json.loads(data.decode().splitlines()[0].removeprefix("# "))
    assert read_request(head["request"]) == PaperTablesRequest()
    assert b"embtie-settings" in saved(panel, "HTML", monkeypatch)[1]


def test_an_item_of_which_nothing_was_read_says_so(panel: PaperTablesPanel) -> None:
    assert "50,304" in panel.facts.value
    panel.menu.value = "table-7"
    assert "Nothing was computed for it" in panel.facts.value


def test_what_ships_is_shown_without_torch() -> None:
    code = (
        "import embtie_widgets as ew; panel = ew.PaperTablesPanel();"
        "assert len(panel.result.items) == 24; assert 'Table 1' in panel.about.value"
    )
    run_fresh(code, "torch", "transformers", "pandas")
