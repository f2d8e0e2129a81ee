"""Small charts for a lesson: bars, lines, histograms and points from plain numbers.

A name that the other charts have a colour for keeps it ("In", "Out -> Tied", "tied", "mu-loss");
every other name takes the next of the neutral ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from embtie_widgets.charts.figures import plain, wrapped
from embtie_widgets.charts.theme import (
    COMPARISONS,
    MATRICES,
    METHODS,
    MODELS,
    PARTS,
    ROLES,
    SIGNATURES,
    WAYS,
    Mark,
)

Values = Sequence[float] | np.ndarray[Any, Any]
_KNOWN = {
    **METHODS,
    **SIGNATURES,
    **WAYS,
    **PARTS,
    **ROLES,
    **MODELS,
    **COMPARISONS,
    **MATRICES,
}
_FREE = (
    Mark("#9a3df2", "solid", "circle"),
    Mark("#1e97d4", "8px,3px", "square"),
    Mark("#e06106", "2px,3px", "triangle-up"),
    Mark("#8a6042", "9px,3px,2px,3px", "triangle-down"),
)
_FLOOR = Mark("#7a828f", "dot", "triangle-up")
_HEIGHT, _LABEL = 340, 15
_DECADES = 1.7  # wider ones have numbers at powers of ten alone, not at 2 and 5 as well
_STEPS = 12  # so many whole steps each have their number below them


def marks_by_name(names: Iterable[str]) -> dict[str, Mark]:
    """The mark of each name; those that no chart knows take different ones in their order."""
    free = iter(_FREE)
    known = {name: _KNOWN.get(name.replace(" ", "").replace("→", "->")) for name in names}
    exact = {name: _KNOWN.get(name) or found for name, found in known.items()}
    return {name: mark or next(free, _FLOOR) for name, mark in exact.items()}


def bars(
    values: Mapping[str, float], y: str, floors: Mapping[str, float] | float | None = None
) -> dict[str, Any]:
    """One bar a name with its value above it; `floors` are dotted lines, one for all or one each,
    such as what chance reaches."""
    marks = marks_by_name(values)
    high, low = max(0.0, *values.values()), min(0.0, *values.values())
    places = dict.fromkeys(values, floors) if isinstance(floors, int | float) else (floors or {})
    bar = {
        "type": "bar",
        "x": [wrapped(name, _LABEL) for name in values],
        "y": list(values.values()),
        "marker": {"color": [mark.color for mark in marks.values()]},
        "text": _rounded(list(values.values())),
        "textposition": "outside",
        "cliponaxis": False,
        "hoverinfo": "x+y",
        "showlegend": False,
        "width": 0.6,
    }
    layout = _layout("", y, legend=False)
    top = max(high, *places.values(), 0.0) or 1.0
    room = 0.15 * (top - low)  # for the number at the end of a bar
    layout["yaxis"]["range"] = [low - room if low < 0 else 0.0, top + room]
    layout["shapes"] = [_dash(list(values).index(n), at) for n, at in places.items()]
    layout["xaxis"]["showgrid"] = False
    return {"data": [bar, *_floor_legend(places)], "layout": layout | _shown(bool(places))}


def lines(
    curves: Mapping[str, tuple[Values, Values]],
    x: str,
    y: str,
    *,
    log_x: bool = False,
    dots: Mapping[str, tuple[Values, Values]] | None = None,
) -> dict[str, Any]:
    """One curve a name, from its values across and up, with a marker where a curve has few;
    `dots` are points alone, such as what was measured, in the colour of the curve of that name."""
    marks = marks_by_name(curves)
    data = [
        {
            "type": "scatter",
            "name": plain(name),
            "x": np.asarray(across, float),
            "y": np.asarray(up, float),
            "mode": "lines+markers" if len(across) <= 40 and not dots else "lines",
            "line": {"color": marks[name].color, "dash": marks[name].dash, "width": 2.5},
            "marker": {"symbol": marks[name].symbol, "size": 7, "color": marks[name].color},
        }
        for name, (across, up) in curves.items()
    ]
    data += [
        {
            "type": "scatter",
            "name": plain(f"{name}, measured"),
            "x": np.asarray(across, float),
            "y": np.asarray(up, float),
            "mode": "markers",
            "marker": {"symbol": marks[name].symbol, "size": 10, "color": marks[name].color},
        }
        for name, (across, up) in (dots or {}).items()
    ]
    layout = _layout(x, y, legend=len(data) > 1)
    whole = np.concatenate([np.asarray(across, float) for across, _ in curves.values()])
    if np.ptp(whole) <= _STEPS and np.all(whole == np.round(whole)):
        layout["xaxis"]["dtick"] = 1
    if log_x:
        wide = np.ptp(np.log10(whole)) > _DECADES
        layout["xaxis"] |= {"type": "log", "dtick": 1 if wide else "D2", "tickformat": ",~r"}
    return {"data": data, "layout": layout}


def histogram(samples: Mapping[str, Values], x: str, bins: int = 60) -> dict[str, Any]:
    """How values spread, as outlines on common bins, each in shares of its own values."""
    known = {name: np.asarray(values, float) for name, values in samples.items()}
    known = {name: values[np.isfinite(values)] for name, values in known.items()}
    whole = np.concatenate(list(known.values()))
    edges = np.histogram_bin_edges(whole, bins)
    marks = marks_by_name(known)
    data = [
        {
            "type": "scatter",
            "name": plain(name),
            "x": np.repeat(edges, 2),
            "y": _outline(np.histogram(values, edges)[0] / max(len(values), 1) * 100),
            "mode": "lines",
            "line": {"color": marks[name].color, "dash": marks[name].dash, "width": 2.2},
        }
        for name, values in known.items()
    ]
    return {"data": data, "layout": _layout(x, "share of the tokens, %", legend=len(data) > 1)}


def points(
    groups: Mapping[str, tuple[Values, Values]],
    x: str,
    y: str,
    words: Sequence[str] = (),
    diagonal: bool = False,
) -> dict[str, Any]:
    """One cloud of points a name; `words`, text for each point, are read at the pointer.  The
    `diagonal`, a dotted line, is where both values are the same."""
    marks = marks_by_name(groups)
    data = [
        {
            # Not by WebGL: its programs are made of text, which no served page runs.
            "type": "scatter",
            "name": plain(name),
            "x": np.asarray(across, float),
            "y": np.asarray(up, float),
            "mode": "markers",
            "marker": {
                "color": marks[name].color,
                "symbol": marks[name].symbol,
                "size": 5,
                "opacity": 0.55,
            },
            "hovertext": [plain(word) for word in words],
        }
        for name, (across, up) in groups.items()
    ]
    layout = _layout(x, y, legend=len(data) > 1)
    if diagonal:
        line = {"color": _FLOOR.color, "dash": "dot", "width": 2}
        ends = {"x0": 0, "y0": 0, "x1": 1, "y1": 1}
        layout["shapes"] = [{"type": "line", **ends, "line": line}]
    return {"data": data, "layout": layout}


def _layout(x: str, y: str, *, legend: bool = True) -> dict[str, Any]:
    return {
        "height": _HEIGHT,
        "margin": {"l": 8, "r": 16, "t": 34 if legend else 16, "b": 8},
        "showlegend": legend,
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "hovermode": "closest",
        "xaxis": {"title": {"text": plain(x)}, "zeroline": False, "showline": True},
        "yaxis": {"title": {"text": plain(y)}, "zeroline": True},
    }


def _shown(legend: bool) -> dict[str, Any]:
    """The margin and the legend of bars, which only a floor needs."""
    room = {"l": 8, "r": 16, "t": 34 if legend else 16, "b": 8}
    return {"showlegend": legend, "margin": room}


def _dash(place: int, at: float) -> dict[str, Any]:
    line = {"color": _FLOOR.color, "dash": "dot", "width": 2.5}
    return {
        "type": "line",
        "x0": place - 0.42,
        "x1": place + 0.42,
        "y0": at,
        "y1": at,
        "line": line,
    }


def _floor_legend(places: Mapping[str, float]) -> list[dict[str, Any]]:
    """The dotted line's name, as a curve of nothing."""
    line = {"color": _FLOOR.color, "dash": "dot", "width": 2.5}
    named = {"type": "scatter", "name": "chance", "mode": "lines", "line": line}
    return [{**named, "x": [None], "y": [None], "showlegend": True}] if places else []


def _outline(heights: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    outline: np.ndarray[Any, Any] = np.concatenate([[0.0], np.repeat(heights, 2), [0.0]])
    return outline


def _rounded(values: Sequence[float]) -> list[str]:
    """The numbers at one and the same place, such that the largest has three figures."""
    largest = max((abs(value) for value in values if np.isfinite(value)), default=0.0) or 1.0
    places = int(max(0, 2 - np.floor(np.log10(largest))))
    return [f"{value:.{places}f}".replace("-", "−") for value in values]
