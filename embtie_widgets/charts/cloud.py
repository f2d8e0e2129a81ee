"""The scatter of tokens in plotly's terms, for a page that no kernel answers."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from embtie_widgets.charts.columns import Column, Columns, positions
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.theme import ROLES, mark_of
from embtie_widgets.results import display_token

MOST = 6_000  # as shapes, which every browser and printer draws
_HEIGHT = 460
_HOVER = "<b>%{text}</b><br>%{x:.4g}, %{y:.4g}<extra></extra>"


def spec(
    columns: Columns | None,
    x: Column | None,
    y: Column | None,
    lit: Collection[int] = (),
    view: Sequence[float] = (),
) -> dict[str, Any]:
    """The tokens by two of their columns, those at the places `lit` marked; `view` is what of the
    axes is seen, [left, right, bottom, top], all of them where it is empty.

    Of more than 6,000 tokens as many are drawn, at equal distances in the vocabulary, and as many
    of those that are lit.
    """
    if columns is None or x is None or y is None:
        return {"data": [], "layout": {"height": _HEIGHT}}
    total = len(columns.tokens)
    back = {"size": 4, "opacity": 0.15 if len(lit) else 0.45}
    traces = [_trace(columns, x, y, _spread(np.arange(total)), "tokens", back)]
    if len(lit):
        front = {"size": 8, "opacity": 1.0}
        traces.append(_trace(columns, x, y, _spread(positions(lit, total)), "selected", front))
    return {"data": traces, "layout": _layout(x, y, view)}


def note(total: int, lit: int) -> str:
    """What of so many tokens and selected ones is not drawn, as plain text; empty where all is."""
    left = [
        f"{MOST:,} of {count:,} {name}"
        for count, name in ((total, "tokens"), (lit, "selected ones"))
        if count > MOST
    ]
    return f"{' and '.join(left)} are drawn." if left else ""


def _spread(places: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """As many of these places as are drawn, at equal distances."""
    if len(places) <= MOST:
        return places
    return places[np.linspace(0, len(places) - 1, MOST).astype(np.int64)]


def _trace(
    columns: Columns,
    x: Column,
    y: Column,
    places: np.ndarray[Any, Any],
    name: str,
    marker: Mapping[str, float],
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": np.asarray(x.values, np.float64)[places].astype(np.float32),
        "y": np.asarray(y.values, np.float64)[places].astype(np.float32),
        "text": [plain(display_token(columns.tokens[i])) for i in places.tolist()],
        "hovertemplate": _HOVER,
        "marker": {**marker, "color": ROLES.get(y.role, mark_of("")).color},
        "showlegend": name == "selected",
    }


def _layout(x: Column, y: Column, view: Sequence[float]) -> dict[str, Any]:
    axes: dict[str, dict[str, Any]] = {
        "xaxis": {"title": {"text": plain(x.label)}, "zeroline": False},
        "yaxis": {"title": {"text": plain(y.label)}, "zeroline": False},
    }
    if len(view) == 4:
        axes["xaxis"]["range"], axes["yaxis"]["range"] = list(view[:2]), list(view[2:])
    low = min((value for value, *_ in x.lines), default=None) if len(x.lines) > 1 else None
    lines = [_line("x", *one, at_foot=one[0] == low) for one in x.lines]
    lines += [_line("y", *one) for one in y.lines]
    return {
        **axes,
        "height": _HEIGHT,
        "margin": {"l": 60, "r": 20, "t": 40, "b": 50},
        "legend": {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom"},
        "hovermode": "closest",
        "shapes": lines,
    }


def _line(axis: str, value: float, label: str, style: str, at_foot: bool = False) -> dict[str, Any]:
    """Of two that stand side by side one has its label at the foot, since they may stand close."""
    other = "y" if axis == "x" else "x"
    return {
        "type": "line",
        f"{axis}0": value,
        f"{axis}1": value,
        f"{other}0": 0,
        f"{other}1": 1,
        f"{other}ref": "paper",
        "line": {"dash": style, "width": 1.2, "color": mark_of("").color},
        "label": {
            "text": plain(label),
            "textposition": "start" if at_foot else "end",
            "textangle": 0,
            "font": {"size": 11},
            "yanchor": "bottom",
            "xanchor": "left" if axis == "x" else "right",
        },
    }
