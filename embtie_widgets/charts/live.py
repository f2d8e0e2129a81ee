"""A plotly figure for pages that only look at it: the kernel tells, the page never answers."""

from copy import deepcopy
from typing import Any

import plotly.graph_objects as go


class LiveFigure(go.FigureWidget):
    """A FigureWidget whose page always ends on the newest data.

    Plotly syncs whole data and layout only at creation, and the page reports back what it drew.
    A view that opens later would draw the figure as it first was; and a report that is taken in
    while another thread redraws holds traits back, so that the redrawing is never sent.
    """

    def _send_update_msg(self, *arguments: Any, **named: Any) -> None:
        # The whole first: a view that opens between the two messages has the one or the other.
        self._widget_data = deepcopy(self._data)
        self._widget_layout = deepcopy(self._layout_obj._props)
        super()._send_update_msg(*arguments, **named)

    def set_state(self, sync_data: dict[str, Any]) -> None:
        """Leave the page's reports (defaults filled in, zoom, clicks) where they came from."""
