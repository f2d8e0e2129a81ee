"""The items of a task one by one: a plane of all, a table, and the one that was opened."""

from collections.abc import Callable
from typing import Any

import ipywidgets as w
import traitlets as t

from embtie_widgets.charts import evaluate as chart
from embtie_widgets.charts.lens_marks import mark
from embtie_widgets.charts.lens_words import name_of
from embtie_widgets.charts.theme import templates
from embtie_widgets.panels.fields import Setting, labelled, reoffer
from embtie_widgets.panels.words import escape, number, paragraphs, table
from embtie_widgets.results.evaluate import Evaluation, TaskItems
from embtie_widgets.widgets import PlotFigure, TokenTable

_EVERY = ("all of them", chart.ALL)
_TAIL = 110  # letters of a context in the table
_HINT = "The items come with a result."
Vector = Any


class ItemsView(w.VBox):
    """The items of one task, those of one standing or all; a click on a point or a row opens one.

    `item` is the number of the item that is open, -1 for none.
    """

    item = t.Int(-1)

    def __init__(self, callback: Callable[[Callable[..., Any]], Callable[..., None]]) -> None:
        self._result: Evaluation | None = None
        self._metric, self._drawing = "acc", False
        self.task = labelled(w.Dropdown(description="task", options=[]), "Whose items are shown")
        self.only = labelled(
            w.Dropdown(description="items", options=[_EVERY]), "Who has them right"
        )
        self.figure = PlotFigure(templates(), chart.plane(None, ""))
        self.figure.clicked = callback(self._clicked)
        self.caption = w.HTML().add_class("ep-caption")
        self.table = TokenTable(noun="items", page_size=50, height=320, descending=False)
        self.card = w.HTML().add_class("ep-one")
        self.card.value = f"<p class='ep-quiet'>{_HINT}</p>"
        chosen = w.Box([self.task, self.only]).add_class("ep-chooser")
        super().__init__([chosen, self.figure, self.caption, self.table, self.card])
        self.add_class("ep-items")
        for control, traits in (
            (self.task, "value"),
            (self.only, "value"),
            (self, "item"),
            (self.table, ["query", "sort", "descending", "page"]),
        ):
            control.observe(callback(lambda _: self._asked()), traits)
        self.table.observe(callback(lambda _: self._picked()), "clicked")

    @property
    def settings(self) -> dict[str, Setting]:
        """What a link carries of it."""
        return {
            "task": Setting(self.task, "value", "perplexity"),
            "only": Setting(self.only, "value", ""),
            "item": Setting(self, "item", -1),
        }

    def draw(self, result: Evaluation, metric: str) -> None:
        """Show another result, or go by another metric; task and item stay where there are such."""
        self._result, self._metric = result, metric
        self._drawing = True
        try:
            reoffer(self.task, [(chart.NAMES[task], task) for task in result.items])
        finally:
            self._drawing = False
        self._asked()

    @property
    def items(self) -> TaskItems | None:
        """Those of the task that is chosen."""
        return None if self._result is None else self._result.items.get(self.task.value or "")

    def _asked(self) -> None:
        if self._drawing or self._result is None:
            return
        self._drawing = True
        try:
            self._show(self._result)
        finally:
            self._drawing = False

    def _show(self, result: Evaluation) -> None:
        items, task = self.items, self.task.value or ""
        if items is None:
            return
        metric = chart.metric_of(result, task, self._metric)
        standing = chart.standings(items, metric)
        names = [name for name in chart.filters(items) if (standing == name).any()]
        counts = [(f"{name} ({int((standing == name).sum()):,})", name) for name in names]
        reoffer(self.only, [_EVERY, *counts])
        if not 0 <= self.item < len(items.contexts):
            self.item = 0
        only = self.only.value or ""
        self.figure.show(chart.plane(result, task, metric, only, self.item))
        self.figure.layout.display = "" if len(items.scores) > 1 else "none"
        self.caption.value = paragraphs(chart.plane_caption(result, task))
        _fill(self.table, _Rows(result, items, metric, standing), only)
        self.card.value = _opened(result, items, metric, self.item)

    def _clicked(self, trace: int, place: tuple[int, ...]) -> None:
        """A point of the plane opens its item."""
        if self._result is None or not place:
            return
        task, only = self.task.value or "", self.only.value or ""
        metric = chart.metric_of(self._result, task, self._metric)
        drawn = chart.plane(self._result, task, metric, only, self.item)
        found = chart.item_at(drawn, trace, place[-1])
        if found is not None:
            self.item = found

    def _picked(self) -> None:
        if self.table.clicked >= 0:
            self.item = self.table.clicked


class _Rows:
    """The items of a task as rows of the table."""

    def __init__(self, result: Evaluation, items: TaskItems, metric: str, standing: Vector) -> None:
        self.standing, self.contexts = standing, items.contexts
        self.values = {side: chart.value_of(items, side, metric) for side in items.scores}
        head = "bits by byte" if chart.is_text(items) else "margin"
        self.columns = [
            {"name": "text", "label": "item", "kind": "text"},
            {"name": "standing", "label": "", "kind": "text"},
            *(
                {
                    "name": side,
                    "label": f"{mark(result, side).glyph} {head} {side}",
                    "kind": "number",
                }
                for side in self.values
            ),
        ]

    def order(self, sort: str, descending: bool, query: str, only: str) -> list[int]:
        """The items that are left, in the order asked for."""
        found = [
            i
            for i, context in enumerate(self.contexts)
            if only in ("", self.standing[i]) and query.casefold() in context.casefold()
        ]
        if sort in self.values:
            found.sort(key=lambda i: self.values[sort][i], reverse=descending)
        elif sort == "standing":
            found.sort(key=lambda i: str(self.standing[i]), reverse=descending)
        elif sort == "text":
            found.sort(key=lambda i: self.contexts[i], reverse=descending)
        return found

    def row(self, i: int) -> list[Any]:
        """Number, end of the context, standing, and how sure each model is."""
        flat = " ".join(self.contexts[i].split())
        tail = flat if len(flat) <= _TAIL else f"…{flat[1 - _TAIL :]}"
        shown = (number(float(values[i]), 2) for values in self.values.values())
        return [i, f"{i + 1:,}. {tail}", str(self.standing[i]), *shown]


def _fill(view: TokenTable, rows: _Rows, only: str) -> None:
    view.columns = rows.columns
    if view.sort and view.sort not in [column["name"] for column in rows.columns]:
        view.sort = ""
    found = rows.order(view.sort, view.descending, view.query[:200], only)
    page = min(view.page, max(0, (len(found) - 1) // view.page_size))
    here = found[page * view.page_size : (page + 1) * view.page_size]
    total = len(rows.contexts)
    said = f"{total:,} items" if len(found) == total else f"{len(found):,} of {total:,} items"
    view.show(
        [rows.row(i) for i in here],
        shown=len(found),
        total=total,
        status=said,
        page=page,
        nothing="No item matches.",
    )


def _opened(result: Evaluation, items: TaskItems, metric: str, i: int) -> str:
    """One item whole."""
    head = f"<h4>Item {i + 1:,} of {len(items.contexts):,}</h4>"
    context = f"<p class='ep-passage'>{escape(items.contexts[i])}</p>"
    if chart.is_text(items):
        return f"{head}{context}{_passage_numbers(result, items, i)}"
    return f"{head}{context}{_choices(result, items, metric, i)}"


def _passage_numbers(result: Evaluation, items: TaskItems, i: int) -> str:
    rows = [
        [
            _named(result, side),
            number(float(items.scores[side][i][0]), 1),
            number(float(items.bits(side)[i]), 3),
        ]
        for side in items.scores
    ]
    return table(["", "log-likelihood, nats", "bits by byte"], rows, "the passage in numbers")


def _choices(result: Evaluation, items: TaskItems, metric: str, i: int) -> str:
    """A row for each choice: whether it is right, who takes it, and how likely it is to each."""
    sides = list(items.scores)
    rows = []
    for place, choice in enumerate(items.choices[i]):
        taken = [side for side in sides if int(items.picked[side][metric][i]) == place]
        right = "✓ right" if place == int(items.gold[i]) else ""
        takers = " ".join(f"{mark(result, side).glyph} {side}" for side in taken)
        nats = [number(float(items.scores[side][i][place]), 2) for side in sides]
        rows.append([f"<span class='ep-choice'>{escape(choice)}</span>", right, takers, *nats])
    margins = [float(items.margin(side, metric)[i]) for side in sides]
    rows.append(["<i>margin</i>", "", "", *(number(value, 2) for value in margins)])
    head = ["choice", "", "taken by", *(f"{_named(result, side)}, nats" for side in sides)]
    return table(head, rows, "the choices")


def _named(result: Evaluation, side: str) -> str:
    color = mark(result, side).color
    dot = f'<span class="ep-dot" style="background:{color}"></span>'
    return f"{dot}{escape(name_of(result, side))}"
