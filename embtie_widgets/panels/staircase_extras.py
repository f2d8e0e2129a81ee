"""What single tasks show besides, in a card that takes room only where there is something."""

import ipywidgets as w

from embtie_widgets.charts.staircase_extras import NAMES, Extra, extras
from embtie_widgets.charts.theme import templates
from embtie_widgets.panels.fields import card, heading
from embtie_widgets.panels.words import escape
from embtie_widgets.results.staircase import StaircaseReport
from embtie_widgets.widgets import PlotFigure


class ExtrasView:
    """Of each of `NAMES` a figure with its title and its words."""

    def __init__(self) -> None:
        self.parts = {name: _Part() for name in NAMES}
        self.card = card("", *(part.box for part in self.parts.values()))

    def draw(self, result: StaircaseReport) -> None:
        """Show what this result has."""
        found = extras(result)
        self.card.layout.display = "" if found else "none"
        for name, part in self.parts.items():
            part.draw(found.get(name))


class _Part:
    def __init__(self) -> None:
        self.title, self.caption = w.HTML(), w.HTML().add_class("ep-caption")
        self.figure = PlotFigure(templates(), {"data": [], "layout": {}})
        self.box = w.VBox([self.title, self.figure, self.caption])

    def draw(self, found: Extra | None) -> None:
        self.box.layout.display = "none" if found is None else ""
        if found is not None:
            self.title.value = heading(escape(found.title))
            self.caption.value = f"<p>{escape(found.caption)}</p>"
            self.figure.show(found.figure)
