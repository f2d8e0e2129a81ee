"""One selection for scatter, table, histogram and card."""

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.panels.alignment import AlignmentPanel
from embtie_widgets.panels.state import PanelState
from embtie_widgets.results import carried
from embtie_widgets.widgets.codes import pack_selection
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.sample_results import TOKENS, pair_result


class Neighbours:
    """Answers a card at once, or when it is told to, from a thread of its own."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, int, Any]] = []

    def __call__(self, request: Any, place: int, answer: Any, failed: Any) -> None:
        self.asked.append((request, place, answer))
        self.failed = failed

    def answer(self, which: int = -1) -> None:
        _, place, answer = self.asked[which]
        shared, own = [(2, 0.9), (4, 0.8)], {"In": 5, "Out": 8, "Tied": 8}
        lists = {name: [*shared, (last, 0.123)] for name, last in own.items()}
        found = type("Found", (), {"position": place, "neighbours": lists})()
        worker = threading.Thread(target=answer, args=(found,))
        worker.start()
        worker.join(5)


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner(at_once=True)


@pytest.fixture
def near() -> Neighbours:
    return Neighbours()


@pytest.fixture
def panel(runner: FakeRunner, near: Neighbours) -> AlignmentPanel:
    return AlignmentPanel(parts={**parts(runner, Cost()), "ask": near})


def lasso(panel: AlignmentPanel, *ids: int) -> None:
    scatter = panel.scatter.scatter
    scatter.selection = pack_selection(np.array(ids), scatter.n)


def shown(panel: AlignmentPanel) -> list[int]:
    return [row[0] for row in panel.tokens.table.rows]


def traces(panel: AlignmentPanel) -> list[Any]:
    return list(go.Figure(panel.chart.shown).data)


def overlays(panel: AlignmentPanel) -> list[Any]:
    return [trace for trace in traces(panel) if trace.name.startswith("selected")]


def strength(trace: Any) -> float:
    return float(trace.line.color.rstrip(")").rsplit(",", 1)[1])


def test_a_lasso_filters_the_table_and_clearing_shows_all_again(panel: AlignmentPanel) -> None:
    lasso(panel, 5, 250, 7)
    assert panel.selection == {5, 7, 250}
    assert sorted(shown(panel)) == [5, 7, 250]
    assert panel.selection_bar.only.value
    assert "3 selected" in panel.selection_bar.text.value
    panel.selection_bar.clear.click()
    assert panel.selection == frozenset()
    assert len(shown(panel)) == 100
    assert not panel.selection_bar.only.value
    assert panel.scatter.scatter.selected_ids.size == 0


def test_the_table_may_show_all_tokens_with_the_selection_kept(panel: AlignmentPanel) -> None:
    lasso(panel, 5, 250)
    panel.selection_bar.only.value = False
    assert len(shown(panel)) == 100
    assert panel.selection == {5, 250}


def test_a_ticked_row_lights_up_in_scatter_and_histogram(panel: AlignmentPanel) -> None:
    panel.tokens.table.selected = [shown(panel)[0], shown(panel)[1]]
    assert set(panel.scatter.scatter.selected_ids) == set(shown(panel)[:2])
    assert [sum(trace.y) for trace in overlays(panel)] == [2, 2, 2]
    assert len(shown(panel)) == 100


def test_search_hits_light_up_and_the_selection_comes_back_after_it(panel: AlignmentPanel) -> None:
    panel.selection = {200}
    panel.tokens.table.query = "word24"
    hits = {i for i, key in enumerate(pair_result().tokens) if b"word24" in key}
    assert set(panel.scatter.scatter.selected_ids) == hits
    assert sum(overlays(panel)[0].y) == len(hits)
    assert panel.scatter.scatter.lit_word == "found"
    assert panel.selection == {200}
    panel.tokens.table.query = ""
    assert set(panel.scatter.scatter.selected_ids) == {200}
    assert panel.scatter.scatter.lit_word == "selected"


def test_what_was_found_can_be_selected(panel: AlignmentPanel) -> None:
    panel.tokens.table.query = "word24"
    hits = set(panel.scatter.scatter.selected_ids)
    panel.selection_bar.take.click()
    assert panel.selection == hits == set(shown(panel))
    assert panel.tokens.table.query == ""


def test_hits_outside_the_selection_are_said_to_be_no_rows_of_it(panel: AlignmentPanel) -> None:
    lasso(panel, 5, 7)
    table, bar = panel.tokens.table, panel.selection_bar
    table.query = "word24"
    assert "11 found</b>, lit in every chart; none of them among the 2 selected" in bar.text.value
    assert (shown(panel), table.nothing) == ([], "No selected token matches.")
    bar.only.value = False
    assert "none of them" not in bar.text.value
    assert len(shown(panel)) == 11


def test_where_nothing_is_found_nothing_is_said_to_be_lit(panel: AlignmentPanel) -> None:
    panel.tokens.table.query = "no such token"
    assert "0 found" in panel.selection_bar.text.value
    assert "lit" not in panel.selection_bar.text.value
    assert panel.tokens.table.nothing == "No token matches."


def test_a_lasso_ends_a_search(panel: AlignmentPanel) -> None:
    panel.tokens.table.query = "word24"
    lasso(panel, 1, 2)
    assert panel.tokens.table.query == ""
    assert sorted(shown(panel)) == [1, 2]


def test_unselected_tokens_are_dimmed_and_all_are_still_drawn(panel: AlignmentPanel) -> None:
    before = [list(trace.y) for trace in traces(panel)[:3]]
    lasso(panel, 5, 7)
    assert [list(trace.y) for trace in traces(panel)[:3]] == before
    assert all(0 < strength(trace) < 1 for trace in traces(panel)[:3])
    assert all(strength(trace) == 1 for trace in overlays(panel))
    assert all(trace.visible for trace in overlays(panel))
    assert panel.scatter.scatter.n == 300
    panel.selection_bar.clear.click()
    assert all(strength(trace) == 1 for trace in traces(panel)[:3])
    assert not any(trace.visible for trace in overlays(panel))


def test_the_selection_survives_a_change_of_map_in_every_view(panel: AlignmentPanel) -> None:
    lasso(panel, 5, 250)
    panel.map.value = "orthogonal"
    assert panel.selection == {5, 250}
    assert set(panel.scatter.scatter.selected_ids) == {5, 250} == set(shown(panel))
    assert sum(overlays(panel)[0].y) == 2


def test_the_selection_goes_over_to_another_pair_by_token_bytes(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    lasso(panel, 1, 100, 250)
    runner.at_once = False
    panel.start()
    other = pair_result()
    moved = replace(other, tokens=(b"word91", *other.tokens[1:100], b"gone", *other.tokens[101:]))
    runner.jobs[-1].finish(moved)
    assert moved.tokens[0] == other.tokens[100]
    assert panel.selection == {0, 1, 250}
    assert set(panel.scatter.scatter.selected_ids) == {0, 1, 250}


def test_rows_without_token_are_not_carried_to_other_rows() -> None:
    assert carried([b"a", None], [None, b"a"], {0, 1}) == {1}
    assert carried([b"a", None], [b"a", None], {1}) == {1}
    assert carried([b"a"], [b"b"], {0, 7}) == frozenset()


def test_an_axis_shows_its_column_with_label_role_and_lines(panel: AlignmentPanel) -> None:
    scatter = panel.scatter.scatter
    panel.scatter.y.value = "In->Tied"
    assert (scatter.y_label, scatter.role) == ("cosine In → Tied", "input")
    part = panel.result.comparisons["In->Tied"]
    lines = {line["value"]: line for line in scatter.reference_lines if line["axis"] == "y"}
    assert lines.keys() == {part.mean, part.floor_mean}
    assert lines[part.floor_mean]["style"] == "dash"
    panel.scatter.x.value = "bytes"
    assert not any(line["axis"] == "x" for line in scatter.reference_lines)
    panel.map.value = "orthogonal"
    assert (panel.scatter.x.value, scatter.x_label) == ("bytes", "token length in bytes")


def test_chance_is_always_on_the_axis(panel: AlignmentPanel) -> None:
    part = panel.result.comparisons["Out->Tied"]
    assert part.floor_mean < np.nanmin(part.cosine)
    low, high = panel.scatter.scatter.y_range
    assert low < part.floor_mean < high


def test_every_column_of_the_issue_can_be_chosen(panel: AlignmentPanel) -> None:
    names = {name for _, name in panel.scatter.x.options}
    wanted = {"Out->Tied", "In->Tied", "In->Out", "log_count", "bytes"}
    assert names == wanted | {"norm In", "norm Out", "norm Tied"}


def test_hover_words_are_plain_text_of_the_token(panel: AlignmentPanel) -> None:
    words = panel.scatter.scatter.describe(8)
    assert words.splitlines()[0] == TOKENS[8].decode()
    assert "cosine Out → Tied: 0." in words
    assert panel.scatter.scatter.describe(10**9) == ""


def test_a_click_shows_the_card_and_then_its_neighbours(
    panel: AlignmentPanel, near: Neighbours
) -> None:
    panel.scatter.scatter.clicked = 5
    card = panel.card.card
    assert card.token == "⏎"
    assert "0a" in card.note
    assert panel.tokens.table.clicked == 5
    assert card.lists == []
    near.answer()
    assert [one["name"] for one in card.lists] == ["In", "Out", "Tied"]
    assert [row[3] for row in card.lists[0]["rows"]] == ["all", "all", ""]
    assert [row[3] for row in card.lists[1]["rows"]] == ["all", "all", "some"]
    assert card.lists[0]["rows"][0][1] == "<b>"
    assert card.status.startswith("Ten nearest of the matched tokens by cosine.")


def test_of_very_many_neighbours_the_first_are_shown_and_marked_by_all(
    panel: AlignmentPanel, near: Neighbours
) -> None:
    panel.tokens.table.clicked = 5
    lists = {
        "In": [(i, 0.5) for i in range(10, 70)],
        "Out": [(i, 0.5) for i in range(69, 9, -1)],
        "Tied": [(10, 0.5)],
    }
    near.asked[-1][2](type("Found", (), {"neighbours": lists})())
    card = panel.card.card
    assert [len(one["rows"]) for one in card.lists] == [50, 50, 1]
    assert [row[3] for row in card.lists[0]["rows"]] == ["all", *["some"] * 49]
    assert "The first 50 are shown." in card.status


def test_a_click_on_a_neighbour_moves_to_it_in_every_view(
    panel: AlignmentPanel, near: Neighbours
) -> None:
    panel.tokens.table.clicked = 5
    near.answer()
    panel.card.card.clicked = 4
    assert panel.card.card.token == "$x$"
    assert panel.scatter.scatter.clicked == panel.tokens.table.clicked == 4
    assert near.asked[-1][:2] == (panel.state.answered, 4)


def test_a_late_answer_for_another_token_is_dropped(
    panel: AlignmentPanel, near: Neighbours
) -> None:
    panel.tokens.table.clicked = 5
    panel.tokens.table.clicked = 6
    assert [place for _, place, _ in near.asked] == [5, 6]
    near.answer(0)
    assert panel.card.card.lists == []
    near.answer(1)
    assert panel.card.card.lists


def test_neighbours_that_cannot_be_found_are_told_on_the_card(
    panel: AlignmentPanel, near: Neighbours
) -> None:
    panel.tokens.table.clicked = 5
    near.failed(EmbtieError("The model is gone.", "Run again."))
    assert "The model is gone. Run again." in panel.card.card.status
    assert panel.card.card.token == "⏎"


def test_the_card_follows_its_token_into_another_result(
    panel: AlignmentPanel, runner: FakeRunner
) -> None:
    panel.tokens.table.clicked = 100
    runner.at_once = False
    panel.start()
    other = pair_result(shift=0.01)
    tokens = (other.tokens[100], *other.tokens[1:100], b"else", *other.tokens[101:])
    runner.jobs[-1].finish(replace(other, tokens=tokens))
    assert panel.card.card.token == "word91"
    assert panel.scatter.scatter.clicked == 0


def test_an_empty_selection_is_never_shown_alone() -> None:
    state = PanelState()
    state.choose([3], only=True)
    assert state.only
    state.choose([], only=True)
    assert not state.only
