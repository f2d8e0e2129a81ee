"""The kind of token as a filter: it joins the search, and every view follows."""

from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from embtie_widgets.panels.alignment import AlignmentPanel
from embtie_widgets.panels.geometry import GeometryPanel
from embtie_widgets.panels.norms import NormFrequencyPanel
from embtie_widgets.requests import AlignRequest
from embtie_widgets.requests.link import decode
from embtie_widgets.results.groups import BY_FREQUENCY, BY_KIND, CODES, groups_of
from embtie_widgets.widgets.codes import pack_selection
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.panels.test_exports_and_links import open_page, saved
from tests.sample_geometry import geometry_result
from tests.sample_norms import norms_result
from tests.sample_results import pair_result


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner(at_once=True)


@pytest.fixture
def panel(runner: FakeRunner) -> AlignmentPanel:
    return AlignmentPanel(parts={**parts(runner, Cost()), "ask": lambda *_: None})


def members(name: str, result: Any = None) -> set[int]:
    mask = groups_of(pair_result() if result is None else result)[name]
    return set(np.flatnonzero(mask).tolist())


def shown(panel: AlignmentPanel) -> list[int]:
    return [row[0] for row in panel.tokens.table.rows]


def choose(panel: AlignmentPanel, name: str) -> None:
    panel.tokens.kind.control.value = name


def offered(panel: AlignmentPanel) -> dict[str, str]:
    return {name: label for label, name in panel.tokens.kind.control.options}


def on_page(widget: Any) -> bool:
    return widget.layout.display != "none"


def without_groups() -> Any:
    tokens = (None,) * 300
    return replace(pair_result(), tokens=tokens, kinds=None, groups=(), token_counts=None)


def only_words() -> Any:
    kinds = np.full(300, CODES["continuation"], np.uint8)
    groups = tuple(g for g in pair_result().groups if g["group"] == "continuation")
    return replace(pair_result(), kinds=kinds, groups=groups, token_counts=None)


def give(runner: FakeRunner, panel: AlignmentPanel, result: Any) -> None:
    runner.at_once = False
    panel.start()
    runner.jobs[-1].finish(result)


def test_every_group_is_offered_with_its_size(panel: AlignmentPanel) -> None:
    labels = offered(panel)
    assert labels[""] == "every token"
    assert labels["whitespace"] == "whitespace (2)"
    assert labels["0 times"] == "0 times in the corpus (1)"
    assert list(labels)[1:] == [group["group"] for group in panel.result.groups]


@pytest.mark.parametrize("kind", ["whitespace", "byte", "10 to 99 times"])
def test_a_group_lights_up_in_every_chart_and_is_what_the_table_lists(
    panel: AlignmentPanel, kind: str
) -> None:
    choose(panel, kind)
    assert panel.state.found == members(kind)
    assert set(panel.scatter.scatter.selected_ids) == members(kind)
    assert set(shown(panel)) == members(kind)
    overlays = [
        trace for trace in go.Figure(panel.chart.shown).data if trace.name.startswith("selected")
    ]
    cosine = panel.result.comparisons["In->Out"].cosine
    assert sum(overlays[0].y) == np.isfinite(cosine[sorted(members(kind))]).sum()
    assert f"{len(members(kind))} found" in panel.selection_bar.text.value
    choose(panel, "")
    assert panel.state.found is None
    assert len(shown(panel)) == 100


def test_a_search_is_held_to_the_group_whichever_came_first(panel: AlignmentPanel) -> None:
    table, both = panel.tokens.table, members("1,000 to 9,999 times")
    hits = {i for i, key in enumerate(pair_result().tokens) if b"word1" in key}
    table.query = "word1"
    choose(panel, "1,000 to 9,999 times")
    assert panel.state.found == hits & both != hits
    assert set(shown(panel)) <= hits & both
    table.query = ""
    assert panel.state.found == both
    table.query = "word1"
    assert panel.state.found == hits & both
    choose(panel, "")
    assert panel.state.found == hits


def test_a_group_starts_on_its_first_page(panel: AlignmentPanel) -> None:
    panel.tokens.table.page = 2
    choose(panel, "1,000 to 9,999 times")
    assert panel.tokens.table.page == 0
    assert len(shown(panel)) == 100


def test_what_was_found_can_be_selected_and_ends_the_search(panel: AlignmentPanel) -> None:
    panel.tokens.table.query = "w"
    choose(panel, "10 to 99 times")
    found = panel.state.found
    assert found
    panel.selection_bar.take.click()
    assert panel.selection == found == set(shown(panel))
    assert (panel.state.kind, panel.tokens.table.query, panel.state.found) == ("", "", None)
    assert panel.tokens.kind.control.value == ""


def test_a_lasso_ends_a_group_as_it_ends_a_search(panel: AlignmentPanel) -> None:
    choose(panel, "byte")
    panel.scatter.scatter.selection = pack_selection(np.array([5, 7]), 300)
    assert panel.state.kind == ""
    assert set(panel.scatter.scatter.selected_ids) == {5, 7}
    assert sorted(shown(panel)) == [5, 7]


def test_charts_are_drawn_once_for_a_search_and_a_group_that_end_together(
    panel: AlignmentPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel.tokens.table.query = "w"
    choose(panel, "10 to 99 times")
    drawn: list[Any] = []
    monkeypatch.setattr(panel, "draw_charts", lambda _, lit: drawn.append(len(lit)))
    panel.state.choose(())
    assert drawn == [0]


def test_the_group_stays_when_the_result_is_replaced(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    choose(panel, "byte")
    tokens = pair_result().tokens
    kinds = pair_result().kinds
    assert kinds is not None
    turned = replace(pair_result(), tokens=tokens[::-1], kinds=kinds[::-1])
    give(runner, panel, turned)
    assert panel.state.kind == "byte"
    assert panel.state.found == {299 - place for place in members("byte")}
    assert set(shown(panel)) == panel.state.found


def test_a_group_that_a_new_result_has_none_of_says_so_and_comes_back(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    choose(panel, "byte")
    give(runner, panel, only_words())
    assert panel.state.found == frozenset()
    assert offered(panel)["byte"] == "byte (none here)"
    assert "“byte”" in panel.tokens.table.nothing
    assert shown(panel) == []
    assert "0 found" in panel.selection_bar.text.value
    give(runner, panel, pair_result())
    assert panel.state.found == members("byte")
    assert offered(panel)["byte"] == "byte (1)"


def test_a_result_without_tokens_has_no_control_unless_a_group_is_chosen(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    control = panel.tokens.kind.control
    assert on_page(control)
    give(runner, panel, without_groups())
    assert not on_page(control)
    give(runner, panel, pair_result())
    assert on_page(control)
    choose(panel, "byte")
    give(runner, panel, without_groups())
    assert on_page(control)
    assert panel.state.found == frozenset()
    choose(panel, "")
    assert not on_page(control)
    assert len(shown(panel)) == 100


def test_before_the_first_result_there_is_no_control(runner: FakeRunner) -> None:
    runner.at_once = False
    assert not on_page(AlignmentPanel(parts=parts(runner, None)).tokens.kind.control)


def test_a_link_carries_the_group_and_restores_it(panel: AlignmentPanel) -> None:
    open_page(panel, "")
    panel.tokens.table.query = "w"
    choose(panel, "1,000 to 9,999 times")
    link = decode(panel.link.page.query)
    assert link is not None
    assert link.view["kind"] == "1,000 to 9,999 times"
    again = AlignmentPanel(
        parts={**parts(FakeRunner(at_once=True), Cost()), "ask": lambda *_: None}
    )
    open_page(again, panel.link.page.query)
    assert again.state.kind == again.tokens.kind.control.value == "1,000 to 9,999 times"
    assert again.state.found == panel.state.found
    assert again.link.page.query == panel.link.page.query


def test_a_link_may_name_a_group_that_this_result_has_none_of(panel: AlignmentPanel) -> None:
    panel.state.kind = "number"
    open_page(panel, "")
    query = panel.link.page.query
    again = AlignmentPanel(
        parts={**parts(FakeRunner(at_once=True), Cost()), "ask": lambda *_: None}
    )
    open_page(again, query)
    assert offered(again)["number"] == "number (none here)"
    assert again.state.found == frozenset()


def test_a_link_with_an_unknown_group_is_told_and_the_rest_is_shown(panel: AlignmentPanel) -> None:
    choose(panel, "byte")
    open_page(panel, "")
    query = panel.link.page.query.replace("byte", "%3Cb%3E")
    again = AlignmentPanel(
        parts={**parts(FakeRunner(at_once=True), Cost()), "ask": lambda *_: None}
    )
    open_page(again, query)
    assert again.state.kind == ""
    assert "view that there is not here" in again.notice.words
    assert "<b>" not in again.notice.words


def test_the_card_of_a_token_tells_its_kind(panel: AlignmentPanel) -> None:
    panel.open_card(6)
    assert ["kind of token", "byte"] in [list(fact) for fact in panel.card.card.facts]


def test_a_picture_says_which_group_is_lit(panel: AlignmentPanel) -> None:
    choose(panel, "whitespace")
    said = panel.with_lit(lambda _: "Caption.")(panel.result)
    assert said == "Caption. Lit: 2 tokens found in the group “whitespace”."


def test_the_csv_names_kinds_and_carries_the_means(
    panel: AlignmentPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, data = saved(panel, "CSV", monkeypatch)
    head, columns, *_ = data.decode().splitlines()
    assert '"group": "word start"' in head
    assert "kind" in columns.split(",")


def test_the_means_of_groups_stand_in_two_cards_and_follow_the_result(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    kinds, bands = (panel.groups.tables[heading] for heading in (BY_KIND, BY_FREQUENCY))
    assert [row["name"] for row in [*kinds.rows, *bands.rows]] == [
        group["group"] for group in panel.result.groups
    ]
    assert kinds.label == "Mean cosine by kind of token"
    give(runner, panel, without_groups())
    assert not on_page(kinds)
    assert not on_page(bands)
    assert "No token counts are known" in panel.groups.notes[BY_FREQUENCY].value


def test_a_click_on_a_group_holds_the_search_to_it_and_a_second_lets_go(
    panel: AlignmentPanel,
) -> None:
    kinds, bands = (panel.groups.tables[heading] for heading in (BY_KIND, BY_FREQUENCY))
    kinds.chosen = "whitespace"
    assert panel.tokens.kind.control.value == "whitespace"
    assert panel.state.found == members("whitespace")
    bands.chosen = "10 to 99 times"
    assert panel.state.kind == kinds.chosen == "10 to 99 times"
    bands.chosen = ""
    assert (panel.state.kind, kinds.chosen, panel.state.found) == ("", "", None)


def test_a_panel_that_opens_with_its_stored_result_offers_its_groups() -> None:
    panel = AlignmentPanel(AlignRequest(), parts={"runner": FakeRunner(), "ask": lambda *_: None})
    assert offered(panel)["number"] == "number (22)"
    choose(panel, "number")
    assert len(shown(panel)) == 22


EVERY_KIND = {
    AlignmentPanel: pair_result,
    GeometryPanel: geometry_result,
    NormFrequencyPanel: norms_result,
}


@pytest.mark.parametrize("kind", EVERY_KIND, ids=lambda kind: kind.__name__)
def test_every_panel_of_tokens_has_the_filter_and_the_means(kind: Any) -> None:
    result = EVERY_KIND[kind]()
    known = {**parts(FakeRunner(), Cost(), result), "ask": lambda *_: None}
    panel = kind(parts=known)
    assert panel.result is result
    assert list(offered(panel))[1:] == [group["group"] for group in result.groups] != []
    choose(panel, "continuation")
    assert panel.state.found == members("continuation", result)
    assert set(panel.scatter.scatter.selected_ids) == panel.state.found
    assert panel.tokens.table.shown == len(panel.state.found)
    assert panel.state.view["kind"] == "continuation"
    for table in panel.groups.tables.values():
        assert table.rows
        assert table.label.startswith(f"{kind.score} by")
    assert "kind" in result.to_frame().columns
    assert result.facts()["groups"] == result.groups
