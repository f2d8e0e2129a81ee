"""Pieces that several charts are drawn with, in plotly's terms: outlines, markers, intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from embtie_widgets.charts.theme import Mark, mark_of

Vector = np.ndarray[Any, Any]
ABOVE = {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"}


def over_means(
    names: Sequence[str], across: dict[str, Any], up: dict[str, Any], **more: Any
) -> dict[str, Any]:
    """The layout of distributions above and their means, a row for each name, below, on one axis
    `across`; `up` is the axis of the distributions."""
    return {
        "height": 460,
        "margin": {"l": 8, "r": 16, "t": 44, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "xaxis": {"anchor": "y2", "zeroline": False, "showline": True, "ticks": "outside"} | across,
        "yaxis": {"domain": [0.36, 1], "rangemode": "tozero", "zeroline": False} | up,
        "yaxis2": {
            "domain": [0, 0.27],
            "type": "category",
            "categoryorder": "array",
            "categoryarray": list(reversed(names)),
            "range": [-0.6, 2.6],
            "tickfont": {"size": 13},
        },
        "legend": ABOVE,
        "legend2": {"orientation": "h", "x": 0, "xanchor": "left", "y": -0.2, "yanchor": "top"},
        **more,
    }


# plotly gives a trace of lines no opacity of its own, so the colours carry it.
def faint(mark: Mark, opacity: float) -> str:
    """The colour of a role, see-through."""
    red, green, blue = (int(mark.color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def outline(mark: Mark, line: float, area: float) -> dict[str, Any]:
    """How a filled histogram looks: `line` and `area` are the strengths of its edge and inside."""
    edge = {"color": faint(mark, line), "dash": mark.dash, "width": 2, "shape": "hv"}
    return {"line": edge, "fillcolor": faint(mark, area)}


def points(
    name: str, rows: Sequence[str], values: Sequence[Any], colors: Sequence[str], symbol: str
) -> dict[str, Any]:
    """One marker for each row of the lower axis, which names the comparisons."""
    return {
        "type": "scatter",
        "name": name,
        "x": list(values),
        "y": list(rows),
        "yaxis": "y2",
        "mode": "markers",
        "marker": {
            "symbol": symbol,
            "size": 11,
            "color": list(colors),
            "line": {"color": list(colors), "width": 2.2},
        },
        "legend": "legend2",
        "hovertemplate": f"{name}: %{{x:.3f}}<extra>%{{y}}</extra>",
    }


def error_bars(means: Sequence[Any], intervals: Sequence[Any]) -> dict[str, Any]:
    """Bars from each mean to the ends of its interval; none where either is missing."""
    known = [
        (0.0, 0.0) if mean is None or pair is None else (pair[1] - mean, mean - pair[0])
        for mean, pair in zip(means, intervals, strict=True)
    ]
    return {
        "type": "data",
        "symmetric": False,
        "array": [up for up, _ in known],
        "arrayminus": [down for _, down in known],
        "color": mark_of("").color,
        "thickness": 1.5,
        "width": 6,
    }
