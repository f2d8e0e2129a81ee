"""What single tasks show besides, in a card that takes room only where there is something."""

import ipywidgets as w

from embtie_widgets.charts.staircase_extras import extra
from embtie_widgets.charts.theme import templates
from embtie_widgets.panels.fields import card, heading
from embtie_widgets.panels.words import escape
from embtie_widgets.results.staircase import StaircaseReport
from embtie_widgets.widgets import PlotFigure


class ExtrasView:
    """The figure of a task, its title and its words."""

    def __init__(self) -> None:
        self.title, self.caption = w.HTML(), w.HTML().add_class("ep-caption")
        self.figure = PlotFigure(templates(), {"data": [], "layout": {}})
        self.card = card("", self.title, self.figure, self.caption)

    def draw(self, result: StaircaseReport) -> None:
        """Show what this result has."""
        found = extra(result)
        self.card.layout.display = "none" if found is None else ""
        if found is not None:
            self.title.value = heading(escape(found.title))
            self.caption.value = f"<p>{escape(found.caption)}</p>"
            self.figure.show(found.figure)
