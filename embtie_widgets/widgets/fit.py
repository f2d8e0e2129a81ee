"""Figures that take the width of what they stand in, whenever that changes."""

import anywidget

from embtie_widgets.widgets.assets import script


class Fit(anywidget.AnyWidget):
    """Watches the plotly figures of the panel that it is shown in, and shows nothing itself.

    plotly fits a figure when the window changes, not when its box does: one that was drawn before
    its box had a width, or whose column got narrower, would keep a wrong one.
    """

    _esm = script("fit.js")
