"""What a panel shows as markup and charts, for a page that no kernel answers.

Every widget that a panel shows has its way of standing still here; what only asks, such as a
button, is left out, and so is what the panel has hidden.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from typing import Any

import ipywidgets as w

from embtie_widgets.charts.report import slot
from embtie_widgets.panels.scatter import ScatterView
from embtie_widgets.panels.selection import SelectionBar
from embtie_widgets.panels.words import escape, table
from embtie_widgets.widgets import GroupTable, PlotFigure, StepSlider, TokenCard, TokenTable
from embtie_widgets.widgets.aria import OF_THIS_RUN

_SIGNS = {"all": "● ", "some": "○ "}  # as the card has them
_HEAD = 'class="ep-heading"'  # a heading with nothing below it says nothing
Charts = list[Mapping[str, Any]]


@dataclass
class Snapshot:
    """Markup, in which a slot stands for each of the charts."""

    html: str = ""
    charts: Charts = field(default_factory=list)


def snapshot(views: w.Widget) -> Snapshot:
    """These views, as they stand now."""
    found = Snapshot()
    found.html = _still(views, found.charts)
    return found


def _still(widget: Any, charts: Charts) -> str:
    shown = widget.layout.display != "none" and widget.layout.visibility != "hidden"
    return _markup(widget, charts) if shown else ""


@singledispatch
def _markup(widget: Any, charts: Charts) -> str:
    """The widget standing still; nothing for one that shows nothing of a result."""
    return ""


@_markup.register
def _box(widget: w.Box, charts: Charts) -> str:
    stills = [_still(child, charts) for child in widget.children]
    inside = "".join(stills) if any(still for still in stills if _HEAD not in still) else ""
    kind = "widget-hbox" if isinstance(widget, w.HBox) else "widget-vbox"
    kind = kind if isinstance(widget, w.HBox | w.VBox) else ""
    return _block(f"widget-box {kind}", widget, inside) if inside else ""


@_markup.register
def _selection(widget: SelectionBar, _charts: Charts) -> str:
    return _block("widget-html", widget, widget.text.value) if widget.chosen else ""


@_markup.register
def _html(widget: w.HTML, _charts: Charts) -> str:
    return _block("widget-html", widget, widget.value) if widget.value else ""


@_markup.register
def _figure(widget: PlotFigure, charts: Charts) -> str:
    charts.append(widget.shown)
    return slot(len(charts) - 1)


@_markup.register
def _scatter(widget: ScatterView, charts: Charts) -> str:
    chart, said = widget.standing()
    charts.append(chart)
    caption = f'<div class="ep-caption"><p>{escape(said)}</p></div>' if said else ""
    return slot(len(charts) - 1) + caption


@_markup.register(w.Dropdown)
@_markup.register(w.ToggleButtons)
@_markup.register(w.RadioButtons)
@_markup.register(w.Select)
@_markup.register(w.SelectionSlider)
def _choice(widget: Any, _charts: Charts) -> str:
    return "" if widget.label is None else _said(widget.description, widget.label)


@_markup.register(w.Checkbox)
@_markup.register(w.ToggleButton)
def _switch(widget: Any, _charts: Charts) -> str:
    return _said(widget.description, "yes" if widget.value else "no")


@_markup.register(w.IntSlider)
@_markup.register(w.FloatSlider)
@_markup.register(w.IntText)
@_markup.register(w.FloatText)
@_markup.register(w.Text)
def _value(widget: Any, _charts: Charts) -> str:
    return _said(widget.description, widget.value) if widget.description else ""


@_markup.register
def _steps(widget: StepSlider, _charts: Charts) -> str:
    return _said(widget.label, widget.readouts[widget.index]) if widget.index >= 0 else ""


@_markup.register
def _tokens(widget: TokenTable, _charts: Charts) -> str:
    order = next((c["label"] for c in widget.columns if c["name"] == widget.sort), "")
    way = "falling" if widget.descending else "rising"
    said = f"{widget.status}; page {widget.page + 1}" + (f", by {order}, {way}" if order else "")
    chosen = set(widget.selected)
    rows = [
        [_chosen(escape(_text(row[1])), row[0] in chosen), *(escape(_text(x)) for x in row[2:])]
        for row in widget.rows
    ]
    head = [escape(column["label"]) for column in widget.columns]
    return f'<p class="ep-quiet">{escape(said)}</p>{_tall(table(head, rows, "tokens"))}'


@_markup.register
def _groups(widget: GroupTable, _charts: Charts) -> str:
    rows = [
        [
            _chosen(escape(row["name"]), row["name"] == widget.chosen),
            *(f"{escape(text)} <small>{escape(beside)}</small>" for text, beside in row["cells"]),
        ]
        for row in widget.rows
    ]
    head = [widget.heading, *(column["label"] for column in widget.columns)]
    return table([*map(escape, head)], rows, widget.label) if rows else ""


@_markup.register
def _token(widget: TokenCard, _charts: Charts) -> str:
    if not widget.token:
        return ""
    facts = table(["", ""], [[escape(k), escape(v)] for k, v in widget.facts], "the token")
    lists = "".join(_near(one["name"], one["rows"]) for one in widget.lists)
    status = f'<p class="ep-quiet">{escape(widget.status)}</p>' if widget.lists else ""
    name = f'<h4>{escape(widget.token)}</h4><p class="ep-quiet">{escape(widget.note)}</p>'
    return f'{name}{facts}<div class="er-near">{lists}</div>{status}'


def _near(name: str, rows: Iterable[Sequence[Any]]) -> str:
    cells = [[_SIGNS.get(mark, "") + escape(text), escape(value)] for _, text, value, mark in rows]
    return f"<div>{table([escape(name), ''], cells, f'nearest in {name}')}</div>"


def _block(kind: str, widget: Any, inside: str) -> str:
    stays = [one for one in widget._dom_classes if not one.startswith(OF_THIS_RUN)]
    names = escape(" ".join([*kind.split(), *stays]))
    return f'<div class="{names}">{inside}</div>'


def _said(name: str, value: Any) -> str:
    named = f"{escape(name)}: " if name else ""
    return f'<p class="er-choice">{named}<b>{escape(value)}</b></p>'


def _text(value: Any) -> str:
    return "–" if value is None else str(value)


def _chosen(name: str, chosen: bool) -> str:
    return f'{name} <span class="er-chosen">✓ selected</span>' if chosen else name


def _tall(inside: str) -> str:
    # Keys scroll only what can have the focus.
    return f'<div class="er-tall" tabindex="0" role="group" aria-label="scrolls">{inside}</div>'
