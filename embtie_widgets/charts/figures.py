"""Plotly figures from plain data and layout."""

import html
import sys
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from embtie_widgets.charts.theme import mark_of, template

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

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


def figure(spec: Mapping[str, Any], theme: str) -> "Figure":
    """A figure for exports from its "data" and "layout"; what it is in a narrow box, "narrow" and
    "least" pixels of width, goes along in its `layout.meta`."""
    with quick_imports():
        import plotly.graph_objects as go

    layout = {**spec["layout"], "template": template(theme)}
    fits = {name: spec[name] for name in ("narrow", "least") if name in spec}
    return go.Figure(data=spec["data"], layout={**layout, **({"meta": fits} if fits else {})})


def captioned(
    spec: Mapping[str, Any], caption: str, theme: str, height: int, bottom: int, y: float
) -> "Figure":
    """A figure for exports with its caption inside: `bottom` pixels of margin below the chart,
    the caption's top at `y`, in heights of the chart from its foot."""
    whole = figure(spec, theme)
    whole.update_layout(height=height, width=900, margin={"b": bottom, "t": 60})
    whole.add_annotation(
        text=wrapped(caption, 130),
        xref="paper",
        yref="paper",
        x=0,
        y=y,
        xanchor="left",
        yanchor="top",
        align="left",
        showarrow=False,
        font={"size": 11},
    )
    return whole


def plain(text: str) -> str:
    """Any text as text: plotly takes tags for markup, and "$" for the start of a formula."""
    return html.escape(text).replace("$", "&#36;")


def wrapped(text: str, letters: int) -> str:
    """Any text as text, in lines of at most so many letters."""
    return "<br>".join(map(plain, textwrap.wrap(text, letters)))


def reasons(result: Any) -> list[dict[str, Any]]:
    """Why a run of a result is not drawn, framed, one below the other."""
    failed = {} if result is None else result.failed
    return [
        {
            "xref": "paper",
            "yref": "paper",
            "x": 0.5,
            "y": 0.94 - 0.3 * place,
            "yanchor": "top",
            "text": wrapped(f"{name} is not drawn. {why}", 34),
            "font": {"size": 13},
            "bordercolor": mark_of("").color,
            "borderwidth": 2,
            "borderpad": 8,
            "showarrow": False,
            "align": "left",
        }
        for place, (name, why) in enumerate(failed.items())
    ]
