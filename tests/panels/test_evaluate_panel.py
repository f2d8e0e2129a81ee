"""The panel of an evaluation: controls, charts, items one by one, partial results, links, files."""

import json
from dataclasses import replace

import pytest

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.previews import Preview
from embtie_widgets.panels.evaluate import EvaluatePanel
from embtie_widgets.requests import EvaluateRequest, ModelRef
from embtie_widgets.requests.link import decode, encode
from tests.panels.fake_jobs import Cost, FakeRunner, parts
from tests.sample_evaluate import evaluation, half_done


@pytest.fixture
def runner() -> FakeRunner:
    return FakeRunner()


@pytest.fixture
def panel(runner: FakeRunner) -> EvaluatePanel:
    return EvaluatePanel(parts=parts(runner, Cost(100), evaluation()))


def shown(panel: EvaluatePanel) -> list[str]:
    return [name for name, one in panel.cards.items() if one.layout.display != "none"]


def visible(control: object) -> bool:
    return control.layout.display != "none"  # type: ignore[attr-defined]


def test_it_opens_with_what_ships(panel: EvaluatePanel, runner: FakeRunner) -> None:
    assert panel.request == EvaluateRequest()
    assert runner.jobs == []
    assert shown(panel) == ["text", "tasks", "items", "numbers", "facts"]
    said = panel.headline.value
    assert "model-untied 10.0 and model-tied 12.0; B less A +2.0 ± 1.0" in said
    assert "PIQA: model-untied 50.0 % and model-tied 50.0 % right, guessing 50.0 %" in said


def test_options_by_name_go_into_the_request_and_the_controls(runner: FakeRunner) -> None:
    panel = EvaluatePanel(
        a="nano-tied", tasks=("boolq", "piqa"), files="/data", limit=7,
        parts=parts(runner, Cost(100)),
    )  # fmt: skip
    assert panel.request == EvaluateRequest(
        ModelRef("nano-tied"), tasks=("piqa", "boolq"), files="/data", limit=7
    )
    assert panel.controls.tasks.chips["boolq"].value
    assert not panel.controls.tasks.chips["perplexity"].value
    assert panel.controls.limit.value == 7
    with pytest.raises(EmbtieError, match="tasks"):
        EvaluatePanel(tasks=("mmlu",))


def test_only_what_the_tasks_need_is_asked_for(panel: EvaluatePanel) -> None:
    controls = panel.controls
    assert [visible(x) for x in (controls.prose, controls.items, controls.files)] == [
        True, True, False,
    ]  # fmt: skip
    controls.tasks.chips["perplexity"].value = False
    controls.tasks.chips["piqa"].value = True
    assert panel.request.tasks == ("line-end", "piqa")
    assert [visible(x) for x in (controls.prose, controls.items, controls.files)] == [
        False, True, True,
    ]  # fmt: skip
    assert controls.seed.disabled
    controls.shots.value = 2
    assert not controls.seed.disabled


def test_no_task_at_all_is_said_by_run(panel: EvaluatePanel, runner: FakeRunner) -> None:
    for chip in panel.controls.tasks.chips.values():
        chip.value = False
    panel.runbar.run.click()
    assert "tasks is empty" in panel.notice.words
    assert runner.jobs == []


def test_items_of_one_standing_can_be_read_one_by_one(panel: EvaluatePanel) -> None:
    items = panel.items
    items.task.value = "piqa"
    assert items.table.total == 4
    items.only.value = "only B"
    assert [row[0] for row in items.table.rows] == [2]
    assert items.table.status == "1 of 4 items"
    items.table.clicked = 2
    assert items.item == 2
    card = items.card.value
    assert "three" in card
    assert card.index("✓ right") < card.index("◆ B") < card.index("● A")
    assert "−4.00" in card  # the margin of A
    assert "2.00" in card  # and that of B


def test_a_click_on_a_point_opens_its_item(panel: EvaluatePanel) -> None:
    items = panel.items
    items.task.value = "piqa"
    names = [trace["name"] for trace in items.figure.shown["data"]]
    items.figure.clicked(names.index("neither: 1"), (0,))
    assert items.item == 3
    assert "four" in items.card.value
    items.figure.clicked(99, (0,))
    assert items.item == 3


def test_the_table_is_searched_and_sorted_here(panel: EvaluatePanel) -> None:
    items = panel.items
    items.task.value = "piqa"
    items.table.sort, items.table.descending = "B", True
    assert [row[0] for row in items.table.rows] == [2, 0, 3, 1]
    items.table.query = "TWO"
    assert [row[0] for row in items.table.rows] == [1]


def test_no_text_of_an_item_is_markup(panel: EvaluatePanel) -> None:
    panel.items.task.value = "piqa"
    panel.items.item = 0
    assert "one &lt;b&gt;" in panel.items.card.value
    hovers = [
        text for trace in panel.items.figure.shown["data"] for text in trace.get("hovertext", ())
    ]
    assert any("&lt;b&gt;" in text for text in hovers)
    assert not any("<b>" in text for text in hovers)


def test_a_metric_changes_the_charts_and_says_what_it_means(panel: EvaluatePanel) -> None:
    panel.metric.value = "acc_norm"
    assert "letter for letter" in panel.words.value
    assert panel.chart.shown["layout"]["xaxis"]["title"]["text"] == "right answers by letter, %"
    panel.items.task.value = "piqa"
    assert "nats a letter" in panel.items.figure.shown["layout"]["xaxis"]["title"]["text"]
    panel.text_metric.value = "byte_bits"
    assert "for a byte" in panel.text_words.value


def test_what_there_is_of_a_run_is_shown(panel: EvaluatePanel, runner: FakeRunner) -> None:
    panel.request = replace(panel.request, limit=3)
    panel.start()
    job = runner.jobs[-1]
    job.listener.previewed(Preview(job.request, job.request, half_done()))
    assert panel.part_of(half_done()) == "1 of 4 parts"
    assert shown(panel) == ["text", "items", "numbers", "facts"]
    assert not visible(panel.items.figure)
    assert "model-untied" in panel.headline.value
    job.finish(evaluation())
    assert visible(panel.items.figure)


def test_a_task_that_failed_says_why(runner: FakeRunner) -> None:
    failed = evaluation(failed={"boolq": "There are no items of boolq in the folder."})
    panel = EvaluatePanel(parts=parts(runner, Cost(100), failed))
    assert "BoolQ: There are no items of boolq" in panel.headline.value


def test_a_link_carries_metric_task_and_item(panel: EvaluatePanel) -> None:
    panel.items.task.value, panel.items.only.value, panel.items.item = "piqa", "only A", 1
    panel.metric.value = "acc_norm"
    link = decode(encode(panel.request, (), panel.state.view))
    assert link is not None
    assert link.request == panel.request
    assert link.view == {"metric": "acc_norm", "task": "piqa", "only": "only A", "item": "1"}
    other = EvaluatePanel(parts=parts(FakeRunner(), Cost(100), evaluation()))
    other.open_link(link)
    assert (other.items.task.value, other.items.item, other.metric.value) == ("piqa", 1, "acc_norm")
    assert other.items.only.value == "only A"


def test_the_files_hold_scores_and_items(panel: EvaluatePanel) -> None:
    offers = {offer.label: offer for offer in panel.exports._offers}
    scores = offers["CSV"].make(panel.request, panel.result).decode()
    assert json.loads(scores.splitlines()[0][2:])["request"]["kind"] == "evaluate"
    assert "token_perplexity" in scores
    items = offers["Items CSV"].make(panel.request, panel.result).decode()
    assert "three" in items
    assert "a second one" in items


def test_setting_a_request_sets_the_controls(panel: EvaluatePanel) -> None:
    panel.request = replace(panel.request, tasks=("blimp",), shots=3, device="mps")
    assert panel.controls.tasks.value == ("blimp",)
    assert panel.controls.shots.value == 3
    assert "mps" in panel.controls.device.options
