"""Live plotly figures: made once, changed in place."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from embtie_widgets.charts.theme import template

if TYPE_CHECKING:
    from plotly.graph_objects import Figure, FigureWidget

_CONFIG = {
    "responsive": True,
    "displaylogo": False,
    "modeBarButtonsToRemove": ["select2d", "lasso2d", "autoScale2d"],
}
_SLOW = "rfc3987_syntax"


@contextmanager
def quick_imports() -> Iterator[None]:
    """Let jsonschema be imported without the 38 grammars that take it seconds to build.

    It checks international web addresses with them, which nothing here asks for, and does
    without where that package is absent.  What was imported before stays as it is, and once the
    block is over the package can be imported by whoever wants it.
    """
    hide = _SLOW not in sys.modules
    if hide:
        sys.modules[_SLOW] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if hide:
            sys.modules.pop(_SLOW, None)


def figure(traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any], theme: str) -> "Figure":
    """A plain figure, for exports."""
    with quick_imports():
        import plotly.graph_objects as go

    return go.Figure(data=list(traces), layout={**layout, "template": template(theme)})


def figure_widget(
    traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any], theme: str
) -> "FigureWidget":
    """A live figure, whole from the start; it fills the width of what it stands in."""
    with quick_imports():
        import plotly.graph_objects as go

        live = go.FigureWidget(figure(traces, layout, theme))
    live._config = _CONFIG
    return live


def redraw(
    live: "FigureWidget", traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]
) -> None:
    """Put new data into a live figure with the same traces, in one message."""
    with live.batch_update():
        for trace, new in zip(live.data, traces, strict=True):
            trace.update(new, overwrite=False)
        live.layout.update(layout)
    _keep(live)


def retheme(live: "FigureWidget", theme: str) -> None:
    """Put a live figure into another theme."""
    with live.batch_update():
        live.layout.template = template(theme)
    _keep(live)


def _keep(live: "FigureWidget") -> None:
    # plotly syncs whole data and layout only at creation, so a view that opens later (a page on
    # a kernel started beforehand, a closed box) would draw the figure as it first was.
    live._widget_data = deepcopy(live._data)
    live._widget_layout = deepcopy(live._layout_obj._props)
