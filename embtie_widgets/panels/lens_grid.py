"""The grid of positions and layers, and the card of what both models say in a cell of it."""

import math
from collections.abc import Callable
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import lens_grid as chart
from embtie_widgets.charts.lens_marks import mark
from embtie_widgets.charts.lens_words import name_of
from embtie_widgets.charts.theme import templates
from embtie_widgets.panels.fields import Setting, labelled
from embtie_widgets.panels.words import escape
from embtie_widgets.results.lens import Lens, PairLens
from embtie_widgets.widgets import PlotFigure

FIRST = 9  # the position that is looked at first: by then there is something to go by
_HINT = "The passages come with a result."


class GridView(w.VBox):
    """A passage of the text in both models; a click on a cell, or the sliders, choose one.

    `moved` is called when another cell is chosen.
    """

    def __init__(
        self, callback: Callable[[Callable[..., Any]], Callable[..., None]], moved: Any
    ) -> None:
        self._result: PairLens | None = None
        self._drawing, self._moved = False, moved
        self.passage = labelled(
            w.Dropdown(description="passage", options=[]), "A piece of the text that was read"
        )
        self.position = labelled(
            w.IntSlider(FIRST, min=1, max=FIRST, description="position"),
            "The token after which the models predict",
        )
        self.layer = labelled(
            w.IntSlider(0, min=0, max=1, description="layer, 0 the embedding"),
            "The layer of model A; of B the one at the same share of its depth",
        )
        self.figure = PlotFigure(templates(), chart.spec(None))
        self.figure.clicked = callback(self._clicked)
        self.card = w.HTML().add_class("ep-cell")
        chosen = w.Box([self.passage, self.position, self.layer]).add_class("ep-chooser")
        scroll = w.Box([self.figure]).add_class("ep-grid").add_class("ep-scroll")
        super().__init__([chosen, scroll, self.card])
        for control in (self.passage, self.position, self.layer):
            control.observe(callback(lambda _: self._chose()), "value")

    @property
    def settings(self) -> dict[str, Setting]:
        """What a link carries of it."""
        return {
            "passage": Setting(self.passage, "value", 0),
            "position": Setting(self.position, "value", FIRST),
            "layer": Setting(self.layer, "value", 0),
        }

    def draw(self, result: PairLens) -> None:
        """Show another result; passage, position and layer stay where it has them."""
        self._result, self._drawing = result, True
        try:
            options = chart.passages(result)
            if list(self.passage.options) != options:
                before = self.passage.value
                self.passage.options = options
                numbers = [number for _, number in options]
                self.passage.value = before if before in numbers else next(iter(numbers), None)
            first = next(iter(result.lenses.values()), None)
            self.layer.max = 1 if first is None else len(first.kl_bits) - 1
            self._bound()
        finally:
            self._drawing = False
        self._show()

    def _bound(self) -> None:
        most = chart.length(self._result, self._piece)
        self.position.max = max(most, 1)

    @property
    def _piece(self) -> int:
        return int(self.passage.value or 0)

    def _chose(self) -> None:
        if self._drawing:
            return
        self._drawing = True
        try:
            self._bound()
        finally:
            self._drawing = False
        self._show()
        self._moved()

    def _clicked(self, trace: int, cell: tuple[int, ...]) -> None:
        lenses = list(self._result.lenses.values()) if self._result is not None else []
        if trace >= len(lenses) or len(cell) != 2:
            return
        layer, column = cell
        start = self._start()
        self._drawing = True
        try:
            self.layer.value = chart.across(lenses[trace], lenses[0], layer)
            self.position.value = start + column + 1
        finally:
            self._drawing = False
        self._show()
        self._moved()

    def _start(self) -> int:
        return (int(self.position.value) - 1) // chart.COLUMNS * chart.COLUMNS

    def _show(self) -> None:
        chosen = (self.layer.value, self.position.value - 1)
        self.card.value = _card(self._result, self._piece, chosen)
        self.figure.show(chart.spec(self._result, self._piece, self._start(), chosen))


def _card(result: PairLens | None, piece: int, chosen: tuple[int, int]) -> str:
    lenses = {} if result is None else result.lenses
    if result is None or not lenses:
        return f"<p class='ep-quiet'>{_HINT}</p>"
    layer, place = chosen
    first = next(iter(lenses.values()))
    parts = [
        _of_model(result, side, one, piece, place, chart.across(first, one, layer))
        for side, one in lenses.items()
    ]
    return f"{_context(first, piece, place)}<div class='ep-reads'>{''.join(parts)}</div>"


def _context(one: Lens, piece: int, place: int) -> str:
    """The text before the position, the token there, and the one that follows."""
    before, token, after = chart.context(one, piece, place)
    return (
        f"<p class='ep-context' aria-label='the text up to here'>{escape(before)}"
        f"<mark>{escape(token)}</mark><span class='ep-quiet'>{escape(after)}</span></p>"
    )


def _of_model(result: PairLens, side: str, one: Lens, piece: int, place: int, layer: int) -> str:
    where = "at the embedding" if layer == 0 else f"after layer {layer}"
    head = f"<h4>{mark(result, side).glyph} {escape(name_of(result, side))}, {where}</h4>"
    found = chart.cell(one, piece, place, layer)
    if found is None:
        return f"<div>{head}<p class='ep-quiet'>Its passage is shorter.</p></div>"
    bits = f"{found.kl:.2f} bits from its final answer" if found.kl == found.kl else "not finite"
    color = mark(result, side).color
    finite = [(text, share) for text, share in found.top if math.isfinite(share)]
    rows = "".join(_row(text, share, color) for text, share in finite)
    lists = f"<table class='ep-tops'>{rows}</table>" if rows else ""
    final = f"<p class='ep-quiet'>{_final(found)}</p>" if found.final else ""
    why_none = "" if found.top else "Its likeliest tokens were not kept here."
    none = f"<p class='ep-quiet'>{why_none}</p>" if why_none else ""
    return f"<div>{head}<p>{escape(bits)}</p>{lists}{none}{final}</div>"


def _row(text: str, share: float, color: str) -> str:
    bar = f"<i style='width:{100 * share:.1f}%;background:{color}'></i>"
    return (
        f"<tr><th scope='row'>{escape(text)}</th><td>{_percent(share)}</td>"
        f"<td class='ep-share' aria-hidden='true'>{bar}</td></tr>"
    )


def _final(found: chart.Cell) -> str:
    if not all(math.isfinite(share) for _, share in found.final[:3]):
        return "In the end its numbers are not finite."
    said = ", ".join(f"{escape(text)} {_percent(share)}" for text, share in found.final[:3])
    return f"In the end it says: {said}."


def _percent(share: float) -> str:
    return "< 1 %" if share < 0.01 else f"{share:.0%}".replace("%", " %")
