"""The text token by token, and the card of what is known of one position of it."""

from collections.abc import Callable
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import bottleneck_strip as chart
from embtie_widgets.charts.bottleneck import marks
from embtie_widgets.charts.theme import templates
from embtie_widgets.panels.fields import Setting, labelled, reoffer
from embtie_widgets.panels.words import escape, number
from embtie_widgets.results.bottleneck import BottleneckModel, BottleneckReport
from embtie_widgets.widgets import PlotFigure

_HINT = "The text comes with a result."
_SHADES = [(one.label, name) for name, one in chart.SHADES.items()]


class StripView(w.VBox):
    """A passage of the text as one model reads it; a click on a token, or the slider, chooses a
    position, whose token to be predicted `opened` is told of.
    """

    def __init__(
        self,
        callback: Callable[[Callable[..., Any]], Callable[..., None]],
        opened: Callable[[int], None],
    ) -> None:
        self._result: BottleneckReport | None = None
        self._drawing, self._opened = False, opened
        self.model = labelled(
            w.Dropdown(description="model", options=[]), "Whose gradient and whose cut of the text"
        )
        self.passage = labelled(
            w.Dropdown(description="passage", options=[]), "A piece of the text that was read"
        )
        self.position = labelled(
            w.IntSlider(1, min=1, max=1, description="position"), "The token that is predicted"
        )
        self.shade = labelled(
            w.Dropdown(description="colour", options=_SHADES), "What the colour of a token says"
        )
        self.says = w.HTML()
        self.figure = PlotFigure(templates(), chart.spec(None, ""))
        self.figure.clicked = callback(self._clicked)
        self.card = w.HTML().add_class("ep-cell")
        chosen = [self.model, self.passage, self.position, self.shade]
        scroll = w.Box([self.figure]).add_class("ep-grid").add_class("ep-scroll")
        super().__init__([w.Box(chosen).add_class("ep-chooser"), self.says, scroll, self.card])
        for control in chosen:
            control.observe(callback(lambda _: self._chose()), "value")

    @property
    def settings(self) -> dict[str, Setting]:
        """What a link carries of it."""
        return {
            "of": Setting(self.model, "value", 0),
            "passage": Setting(self.passage, "value", 0),
            "position": Setting(self.position, "value", 1),
            "colour": Setting(self.shade, "value", "transmitted"),
        }

    def draw(self, result: BottleneckReport) -> None:
        """Show another result; model, passage and position stay where it has them."""
        self._result, self._drawing = result, True
        try:
            named = [name for name, one in result.models.items() if one.tokens]
            # By its place: a link keeps it when another model stands there.
            reoffer(self.model, [(name, place) for place, name in enumerate(named)])
            self._bound()
        finally:
            self._drawing = False
        self.model.layout.display = "" if len(self.model.options) > 1 else "none"
        self._show()

    @property
    def _name(self) -> str:
        """The chosen model; empty where there is none."""
        return str(self.model.label or "")

    @property
    def _of(self) -> BottleneckModel | None:
        models = {} if self._result is None else self._result.models
        return models.get(self._name)

    @property
    def _piece(self) -> int:
        return int(self.passage.value or 0)

    def _bound(self) -> None:
        """Offer no more than the model's text has."""
        reoffer(self.passage, chart.passages(self._result, self._name))
        one = self._of
        self.position.max = max(0 if one is None else len(chart.positions(one, self._piece)), 1)

    def _chose(self) -> None:
        if self._drawing:
            return
        self._drawing = True
        try:
            self._bound()
        finally:
            self._drawing = False
        self._show()

    def _clicked(self, _trace: int, cell: tuple[int, ...]) -> None:
        """A token of the page: its card, and the card of the token wherever it is drawn."""
        if len(cell) != 2:
            return
        place = chart.place_at(chart.page_of(self.position.value - 1), *cell)
        if place < self.position.max:
            self.position.value = place + 1
            one = self._of
            found = None if one is None else chart.cell(one, self._piece, place)
            if found is not None and self._result is not None and one is not None:
                self._tell(one, found.target)

    def _tell(self, one: BottleneckModel, target: int) -> None:
        """Only of a model whose tokens are those of the other views."""
        if self._result is not None and any(one is m for m in self._result.alike.values()):
            self._opened(target)

    def _show(self) -> None:
        place, shade = self.position.value - 1, self.shade.value
        self.says.value = f"<p class='ep-said'>{escape(chart.SHADES[shade].says)}</p>"
        self.card.value = _card(self._result, self._piece, place)
        self.figure.show(chart.spec(self._result, self._name, self._piece, place, shade))


def _card(result: BottleneckReport | None, piece: int, place: int) -> str:
    """The position in every model that cuts the text alike, in the first one's context."""
    models = {} if result is None else {n: m for n, m in result.models.items() if m.tokens}
    first = next(iter(models.values()), None)
    if result is None or first is None:
        return f"<p class='ep-quiet'>{_HINT}</p>"
    looks = marks(result)
    parts = [
        _of_model(f"{looks[name].glyph} {escape(name)}", one, piece, place)
        for name, one in models.items()
    ]
    before, target = chart.context(first, piece, place)
    said = (
        f"<p class='ep-context' aria-label='the text up to here'>{escape(before)}"
        f"<mark>{escape(target)}</mark></p>"
    )
    return f"{said}<div class='ep-reads'>{''.join(parts)}</div>"


def _of_model(head: str, one: BottleneckModel, piece: int, place: int) -> str:
    found = chart.cell(one, piece, place)
    if found is None:
        return f"<div><h4>{head}</h4><p class='ep-quiet'>Its passage is shorter.</p></div>"
    rows = "".join(f"<tr><th scope='row'>{name}</th><td>{value}</td></tr>" for name, value in (
        ("p of the target", f"{found.probability:.3g}"),
        ("loss", f"{number(found.loss)} nats"),
        ("length of p − e_y", number(found.length)),
        ("not transmitted, r", f"{number(found.destroyed, 4)} (line {number(found.line, 4)})"),
        ("of the target's direction", f"{number(found.target_kept)} transmitted"),
    ))  # fmt: skip
    return f"<div><h4>{head}</h4><table class='ep-tops ep-known'>{rows}</table></div>"
