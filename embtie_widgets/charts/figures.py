"""Live plotly figures: made once, changed in place."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.charts.theme import template

if TYPE_CHECKING:
    from plotly.graph_objects import Figure, FigureWidget

_CONFIG = {
    "responsive": True,
    "displaylogo": False,
    # Nothing of a figure leaves the page for another host.
    "showLink": False,
    "showSendToCloud": False,
    "modeBarButtonsToRemove": [
        "select2d",
        "lasso2d",
        "autoScale2d",
        "sendChartToCloud",
    ],
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
        from embtie_widgets.charts.live import LiveFigure

        live = LiveFigure(figure(traces, layout, theme))
    live._config = _CONFIG
    return live


def redraw(
    live: "FigureWidget", traces: Sequence[Mapping[str, Any]], layout: Mapping[str, Any]
) -> None:
    """Put new data into a live figure with the same traces, in one message.

    What is as it was drawn before is left alone: plotly takes long to look at each property.
    """
    drawn = live.__dict__.setdefault("_drawn_before", [{} for _ in (*traces, layout)])
    with live.batch_update():
        for trace, new, old in zip(live.data, traces, drawn[:-1], strict=True):
            trace.update(_news(old, new), overwrite=False)
        live.layout.update(_news(drawn[-1], layout))


def _news(old: dict[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """What differs from `old`, which then holds it too."""
    found = {name: value for name, value in new.items() if not _same(old.get(name), value)}
    old.update(found)
    return found


def _same(old: Any, new: Any) -> bool:
    if isinstance(new, np.ndarray):
        return isinstance(old, np.ndarray) and np.array_equal(old, new, equal_nan=True)
    return bool(old == new) and old is not None


def retheme(live: "FigureWidget", theme: str) -> None:
    """Put a live figure into another theme."""
    with live.batch_update():
        live.layout.template = template(theme)
