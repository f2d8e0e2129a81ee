"""The panel of an evaluation: what can two models do, on the same text and the same questions?"""

from collections.abc import Iterable, Mapping
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import evaluate as chart
from embtie_widgets.charts.lens_marks import mark
from embtie_widgets.charts.lens_words import name_of
from embtie_widgets.charts.theme import templates
from embtie_widgets.jobs.exports import csv_bytes, table_bytes
from embtie_widgets.panels.evaluate_controls import EvaluateControls
from embtie_widgets.panels.evaluate_items import ItemsView
from embtie_widgets.panels.exports import Offer, page_offer, picture_offers
from embtie_widgets.panels.facts import facts_of
from embtie_widgets.panels.fields import Field, Setting, card, segments
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.words import escape, number, paragraphs, table
from embtie_widgets.requests.evaluate import EvaluateRequest
from embtie_widgets.results.evaluate import Evaluation
from embtie_widgets.widgets import PlotFigure

_METRIC_WORDS = {**chart.CHOICE_METRICS, **chart.TEXT_METRICS}


class EvaluatePanel(Panel):
    """Perplexity of a text and multiple-choice tasks of two models, item by item.

    `EvaluatePanel()` shows the bundled twins; give a request, or any of its fields by name (`a`,
    `b`, `tasks`, `files`, `limit`, `text`, `corpus`, ...).  `parts` takes the place of what the
    frame runs requests with.
    """

    title = "Evaluate"
    lead = "What can two models do, on the same text and the same questions?"
    asks = EvaluateRequest

    def __init__(
        self,
        request: EvaluateRequest | None = None,
        *,
        parts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(request, **(parts or {}), **options)
        self.begin()

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """Models, tasks, text, items and machine."""
        self.controls = EvaluateControls(self.state.request)
        sections = self.controls.sections
        self.controls.follow_pair(self.callback(self._take_pair))
        return self.controls.fields(), sections

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, the text, the tasks, items one by one, numbers, facts."""
        self.headline = w.HTML().add_class("ep-headline")
        self.numbers, self.facts = w.HTML(), w.HTML()
        self.text_metric, self.metric = (
            segments("What the text is measured by", _labels(chart.TEXT_METRICS)),
            segments("What the answers are measured by", _labels(chart.CHOICE_METRICS)),
        )
        self.text_words, self.words = w.HTML(), w.HTML()
        self.text_chart = PlotFigure(templates(), chart.text_spec(None))
        self.chart = PlotFigure(templates(), chart.spec(None))
        self.captions = {name: w.HTML().add_class("ep-caption") for name in ("text", "tasks")}
        self.items = ItemsView(self.callback)
        for control in (self.text_metric, self.metric):
            control.observe(self.callback(lambda _: self._redraw()), "value")
        self.cards = {
            "text": card(
                "The text",
                self.text_metric,
                self.text_words,
                self.text_chart,
                self.captions["text"],
            ),
            "tasks": card("The tasks", self.metric, self.words, self.chart, self.captions["tasks"]),
            "items": card("Item by item", self.items),
            "numbers": card("Numbers", self.numbers),
            "facts": card("Models and items", self.facts),
        }
        self._arrange(None)
        return [self.headline, *self.cards.values()]

    def build_settings(self) -> Mapping[str, Setting]:
        """The two metrics, and the item that is open."""
        return {
            "text": Setting(self.text_metric, "value", "word_perplexity"),
            "metric": Setting(self.metric, "value", "acc"),
            **self.items.settings,
        }

    def build_exports(self) -> Iterable[Offer]:
        """Scores and items as tables, the page, and the pictures."""
        return [
            Offer("CSV", "Every score with its error", ".csv", "text/csv", csv_bytes),
            Offer(
                "Items CSV",
                "Every item: choices, the right one, what each model takes, log-likelihoods",
                "-items.csv",
                "text/csv",
                lambda request, result: table_bytes(request, result, result.item_frame()),
            ),
            page_offer(),
            *picture_offers(self.chart, chart.scores_caption),
            *picture_offers(self.text_chart, chart.text_caption, "text", own=True),
            *picture_offers(
                self.items.figure,
                lambda result: chart.plane_caption(result, self.items.task.value or ""),
                "items",
                own=True,
            ),
        ]

    def draw(self, result: Evaluation) -> None:
        """Show another result, or as much of it as there is; the figures come last."""
        self._arrange(result)
        self.headline.value = _top(result)
        self.numbers.value = _numbers(result)
        about = {f"{side}: {facts['name']}": facts for side, facts in result.models.items()}
        self.facts.value = facts_of(about, result.hashes, result.notes, "models and items")
        self.captions["text"].value = paragraphs(chart.text_caption(result))
        self.captions["tasks"].value = paragraphs(chart.scores_caption(result))
        with self._binding.quiet():
            self.controls.offer_devices(self.request.device)
            self.controls.device.value = self.request.device
        self._show(result)

    def part_of(self, result: Evaluation) -> str:
        """How far a result has come that is not whole."""
        return result.progress or "a part of the whole"

    def edited(self) -> None:
        """Ask for no more than the tasks need."""
        self.controls.adapt(self.request)

    def prepare(self, request: Any) -> None:
        """Offer a device that was asked for even where it is missing; a run then says so."""
        self.controls.offer_devices(request.device)

    # How it works.

    def _arrange(self, result: Evaluation | None) -> None:
        """Only what there is something to see of takes room."""
        seen = {
            "text": chart.text_of(result) is not None,
            "tasks": bool(chart.questions(result)),
            "items": result is not None and bool(result.items),
            "numbers": result is not None and bool(result.scores),
            "facts": result is not None,
        }
        for name, shown in seen.items():
            self.cards[name].layout.display = "" if shown else "none"

    def _redraw(self) -> None:
        if self.result is not None and not self._drawing:
            self._show(self.result)

    def _show(self, result: Evaluation) -> None:
        """What depends on the metrics."""
        for words, control in ((self.text_words, self.text_metric), (self.words, self.metric)):
            words.value = f"<p class='ep-said'>{escape(_METRIC_WORDS[control.value].says)}</p>"
        self.text_chart.show(chart.text_spec(result, self.text_metric.value))
        self.chart.show(chart.spec(result, self.metric.value))
        self.items.draw(result, self.metric.value)

    def _take_pair(self, _change: Any) -> None:
        request = self.controls.pair.chosen(self.request)
        if request != self.request:
            self.request = request


def _labels(metrics: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(one.label, name) for name, one in metrics.items()]


def _top(result: Evaluation) -> str:
    beware = "".join(
        f'<div class="ep-alert" role="note"><b>Beware.</b> {escape(said)}</div>'
        for said in chart.cautions(result)
    )
    return f"<p>{escape(chart.headline(result))}</p>{beware}"


def _numbers(result: Evaluation) -> str:
    """A row for each task and metric, a column for each model, and their difference."""
    rows = []
    for task, by_side in result.scores.items():
        for metric in next(iter(by_side.values())):
            rows.append(_row(result, task, metric))
    sides = [
        f'<span class="ep-dot" style="background:{mark(result, side).color}"></span>'
        f"{escape(name_of(result, side))}"
        for side in result.models
    ]
    about = (
        "Shares of right answers from 0 to 1; ± is one standard error over the items. B less A is "
        "over the same items."
    )
    head = ["", *sides, "B less A", "chance", "items"]
    return table(head, rows, "all scores") + f"<p class='ep-quiet'>{about}</p>"


def _row(result: Evaluation, task: str, metric: str) -> list[str]:
    scores = {side: by.get(metric) for side, by in result.scores[task].items()}
    one = next(score for score in scores.values() if score is not None)
    found = result.paired.get(task, {}).get(metric)
    cells = [
        "–" if (score := scores.get(side)) is None else _around(score.value, score.stderr)
        for side in result.models
    ]
    return [
        f"{chart.NAMES[task]}, {escape(_METRIC_WORDS[metric].label.lower())}",
        *cells,
        "–" if found is None else _around(found.value, found.stderr),
        number(one.chance),
        f"{one.items:,}",
    ]


def _around(value: float, error: float | None) -> str:
    digits = 3 if abs(value) < 100 else 1
    around = "" if error is None else f" <small>± {number(error, digits)}</small>"
    return f"{number(value, digits)}{around}"
