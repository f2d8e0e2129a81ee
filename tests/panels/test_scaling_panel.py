"""The panel of input scaling: factors, live curves, tokens and their card, links, files."""

import json
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.lookup import Card
from embtie_widgets.jobs.previews import Preview
from embtie_widgets.panels.scaling import ScalingPanel
from embtie_widgets.requests import ScalingRequest, read_request
from embtie_widgets.requests.link import Link, decode, encode
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.sample_results import TOKENS
from tests.sample_scaling import ROWS, growing, report


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def asked() -> list[Any]:
    return []


@pytest.fixture
def panel(runner: FakeRunner, asked: list[Any]) -> ScalingPanel:
    def ask(*question: Any) -> None:
        asked.append(question)

    known = report(2.0, 10.0)
    return ScalingPanel(parts={**parts(runner, Cost(100), known), "ask": ask})


def shown(panel: ScalingPanel) -> list[str]:
    return [name for name, one in panel.cards.items() if one.layout.display != "none"]


def preview(runner: FakeRunner, result: Any) -> None:
    job = runner.jobs[-1]
    job.listener.previewed(Preview(job.request, job.request, result))


def test_it_opens_with_what_ships(panel: ScalingPanel, runner: FakeRunner) -> None:
    assert panel.request == ScalingRequest()
    assert runner.jobs == []
    assert len(panel.chart.shown["data"][0]["x"]) == 3
    assert "×10 moves the tied matrix" in panel.headline.value
    assert panel.state.view == {}


def test_options_by_name_go_into_the_request_and_the_controls(runner: FakeRunner) -> None:
    panel = ScalingPanel(
        factors=(0.5, 10), schedule="early", early=7, steps=40, parts=parts(runner, Cost(100))
    )
    asked = ScalingRequest(factors=(0.5, 10.0), schedule="early", early=7, steps=40)
    assert panel.request == asked
    on = [factor for factor, chip in panel.factors.chips.items() if chip.value]
    assert (on, panel.factors.others.value) == ([10.0], "0.5")
    assert panel.schedule.early.value == 7
    with pytest.raises(EmbtieError, match="factor"):
        ScalingPanel(factors=(-1,))


def test_factors_are_picked_and_typed(panel: ScalingPanel) -> None:
    panel.factors.chips[100.0].value = True
    assert panel.request.factors == (5.0, 100.0)
    panel.factors.others.value = "0; 2.5,"
    assert panel.request.factors == (0.0, 2.5, 5.0, 100.0)
    panel.factors.chips[5.0].value = False
    assert panel.request.factors == (0.0, 2.5, 100.0)
    panel.factors.others.value = "10"
    assert panel.request.factors == (10.0, 100.0)
    assert panel.factors.chips[10.0].value
    assert panel.factors.others.value == ""


@pytest.mark.parametrize("typed", ["x", "-3", "1e9", "nan", "2,3,4,6,7,8,9,11,12"])
def test_a_factor_that_cannot_be_is_refused_in_words_and_stays_to_be_mended(
    panel: ScalingPanel, typed: str
) -> None:
    panel.factors.others.value = typed
    assert "factor" in panel.notice.words
    assert panel.request.factors == (5.0,)
    assert panel.factors.others.value
    panel.factors.others.value = ""
    assert 5.0 in panel.request.factors
    assert panel.notice.words == ""


def test_how_many_steps_are_early_is_asked_only_where_it_counts(panel: ScalingPanel) -> None:
    assert panel.schedule.early.layout.display == "none"
    panel.schedule.schedule.value = "early"
    assert panel.schedule.early.layout.display == ""
    panel.schedule.early.value = 20
    assert (panel.request.schedule, panel.request.early) == ("early", 20)
    panel.schedule.early.value = 2.5
    assert "early" in panel.notice.words


def test_another_map_keeps_the_training_as_it_is(panel: ScalingPanel) -> None:
    before = panel.request
    panel.map.value = "linear"
    assert panel.request == replace(before, map="linear")
    panel.holdout.value = 0.4
    assert panel.request.holdout == 0.4


def test_the_runs_are_drawn_while_they_train_one_after_the_other(runner: FakeRunner) -> None:
    panel = ScalingPanel(parts=parts(runner, Cost(100)))
    assert "alignment" in shown(panel)
    panel.start()
    start = replace(report(), runs=(), progress="9 of 60 steps of the untied model")
    preview(runner, start)
    assert shown(panel) == ["training", "facts"]
    assert panel.per_token.layout.display == "none"
    assert "9 of 60 steps" in panel.headline.value
    assert "9 of 60 steps" in panel.outdated.value
    preview(runner, growing(20, 5.0))
    assert set(shown(panel)) >= {"alignment", "training", "numbers"}
    assert len(panel.chart.shown["data"][0]["x"]) == 1
    assert len(panel.training_chart.shown["data"][3]["x"]) == 20
    assert panel.per_token.layout.display == "none"
    assert panel.factor.options == (("×1", ""),)
    panel.cancel()
    assert "20 of 60 steps" in panel.outdated.value
    panel.start()
    runner.jobs[-1].finish(report(5.0))
    assert panel.factor.options == (("×5", ""),)
    assert len(panel.chart.shown["data"][0]["x"]) == 2
    assert panel.outdated.value == ""
    assert panel.per_token.layout.display == ""


def test_tokens_that_come_after_a_training_are_looked_at_as_those_that_ship(
    runner: FakeRunner,
) -> None:
    panel = ScalingPanel(parts=parts(runner, Cost(100)))
    panel.start()
    preview(runner, replace(report(), runs=(), progress="9 of 60 steps of the untied model"))
    preview(runner, growing(20, 2.0, 5.0))
    runner.jobs[-1].finish(report(2.0, 5.0))
    scatter, table = panel.tokens.scatter, panel.tokens.tokens.table
    assert (scatter.x.value, scatter.y.value) == ("log_count", "moved")
    assert (table.sort, panel.state.view) == ("moved", {})


def test_loss_may_be_drawn_against_the_plain_run(panel: ScalingPanel) -> None:
    panel.loss.value = "against"
    np.testing.assert_allclose(panel.training_chart.shown["data"][1]["y"], 0)
    assert panel.state.view == {"loss": "against"}


def test_the_tokens_of_another_run_keep_the_selection(panel: ScalingPanel) -> None:
    panel.selection = [5, 7]
    panel.factor.value = "2"
    assert panel.selection == {5, 7}
    labels = [label for label, _ in panel.tokens.scatter.y.options]
    assert "moved towards the input, ×2" in labels
    assert panel.tokens.scatter.scatter.selected_ids.tolist() == [5, 7]
    assert panel.state.view == {"of": "2"}


def test_the_table_lists_what_moved_most_first(panel: ScalingPanel) -> None:
    table = panel.tokens.tokens.table
    assert (table.sort, table.descending) == ("moved", True)
    moved = panel.result.moved(panel.result.scaled[-1])
    first = [row[0] for row in table.rows]
    assert first == np.argsort(-np.nan_to_num(moved, nan=-9), kind="stable")[: len(first)].tolist()


def test_a_lasso_filters_the_table_and_a_group_finds_its_tokens(panel: ScalingPanel) -> None:
    panel.state.choose([4, 9, 11], only=True)
    assert {row[0] for row in panel.tokens.tokens.table.rows} == {4, 9, 11}
    panel.selection_bar.clear.click()
    panel.state.kind = "word start"
    assert panel.state.found
    assert 9 in panel.state.found


def test_the_card_shows_the_token_and_its_neighbours_in_all_matrices(
    panel: ScalingPanel, asked: list[Any]
) -> None:
    panel.factor.value = "2"
    panel.tokens.open_card(1)
    request, place, factor, answer, _failed = asked[-1]
    assert (request, place, factor) == (ScalingRequest(), 1, 2.0)
    answer(Card(1, {"In": [(2, 0.5)], "Tied x1": [(2, 0.4)], "Tied x2": [(4, 0.3)]}))
    card = panel.tokens.card.card
    wait_until(lambda: card.lists)
    assert [one["role"] for one in card.lists] == ["input", "tied", "tied"]
    panel.tokens.open_card(5)
    asked[-1][4](EmbtieError("The matrices are not at hand.", "Press Run."))
    wait_until(lambda: "not at hand" in card.status)


def wait_until(there: Any) -> None:
    for _ in range(200):
        if there():
            return
        time.sleep(0.01)
    raise AssertionError("it did not come")


def test_tokens_and_names_are_text_and_never_markup(panel: ScalingPanel) -> None:
    place = TOKENS.index(b"<script>alert(1)</script>")
    panel.tokens.open_card(place)
    written = [
        widget.value for widget in (panel.headline, panel.numbers, panel.facts, panel.published)
    ]
    assert not any("<script" in text for text in written)


def test_numbers_stand_with_hold_out_chance_and_loss_and_the_published_beside(
    panel: ScalingPanel,
) -> None:
    for run in panel.result.whole:
        for near in run.nearness.values():
            for value in (near.mean, near.heldout, near.floor):
                assert f"{value:.3f}" in panel.numbers.value
        assert f"{run.held_loss:.3f}" in panel.numbers.value
    assert "4.900" in panel.numbers.value
    assert all(text in panel.published.value for text in ("0.384", "0.173", "chance"))
    assert "One row is zero" in panel.facts.value


def test_a_link_restores_factors_schedule_run_and_tokens(
    panel: ScalingPanel, runner: FakeRunner
) -> None:
    request = ScalingRequest(factors=(2.0, 7.0), schedule="early", early=5, map="linear")
    view = {"loss": "against", "of": "2", "y": "input"}
    panel.link.page.page = {
        "query": encode(request, [5], view),
        "origin": "https://lab.example",
        "path": "/",
        "host": "voila",
    }
    assert (panel.factors.others.value, panel.factors.chips[2.0].value) == ("7", True)
    panel.start()
    runner.jobs[-1].finish(report(2.0, 7.0))
    assert (panel.factor.value, panel.loss.value) == ("2", "against")
    assert panel.tokens.scatter.y.value == "input"
    assert panel.selection == {5}
    assert decode(panel.link.page.query) == Link(request, frozenset([5]), view)


def file(panel: ScalingPanel, label: str) -> bytes:
    made = panel.exports.files[label]._make()
    assert made is not None
    return made.data


def test_files_carry_the_request(panel: ScalingPanel) -> None:
    head, columns, *rows = file(panel, "CSV").decode().splitlines()
    assert read_request(json.loads(head[2:])["request"]) == ScalingRequest()
    assert columns.startswith("factor,until,held_loss,input,")
    assert len(rows) == 3
    head, columns, *rows = file(panel, "Tokens CSV").decode().splitlines()
    assert read_request(json.loads(head[2:])["request"]) == ScalingRequest()
    assert columns.endswith("moved x2,moved x10")
    assert len(rows) == ROWS
    assert b'id="embtie-settings"' in file(panel, "HTML")


def test_a_failed_run_keeps_what_was_there(panel: ScalingPanel, runner: FakeRunner) -> None:
    panel.start()
    runner.jobs[-1].fail("The text is too short.", "Give more text.")
    assert "too short" in panel.notice.words
    assert "×10 moves" in panel.headline.value
