"""Every item as a point: how sure model A is of the right choice across, model B upwards."""

from typing import Any

import numpy as np

from embtie_widgets.charts.evaluate_view import (
    BOTH,
    NEITHER,
    ONLY_A,
    ONLY_B,
    SIDES,
    Vector,
    filters,
    is_text,
    metric_of,
    standings,
    value_of,
)
from embtie_widgets.charts.facets import ABOVE_ALL
from embtie_widgets.charts.figures import plain, wrapped
from embtie_widgets.charts.lens_marks import mark
from embtie_widgets.charts.lens_words import name_of, short
from embtie_widgets.charts.theme import PALETTES, mark_of
from embtie_widgets.results.evaluate import BY_LENGTH, Evaluation, TaskItems

_NEUTRAL = mark_of("")
_EDGE = 0.06  # of the range, as air
_SHOWN = 90  # letters of a context on hover
_Trace = dict[str, Any]
_CORNERS = {BOTH: (1, 1), ONLY_A: (1, 0), ONLY_B: (0, 1), NEITHER: (0, 0)}


def spec(
    result: Evaluation | None, task: str, metric: str = "acc", only: str = "", chosen: int = -1
) -> _Trace:
    """The plane in plotly's terms; empty until both models have been through the task.  `only`
    leaves items of one standing, the `chosen` one has a ring."""
    items = None if result is None else result.items.get(task)
    if result is None or items is None or not set(SIDES) <= set(items.scores):
        return {"data": [], "layout": {"height": 440, "uirevision": "empty"}}
    metric = metric_of(result, task, metric)
    a, b = (value_of(items, side, metric) for side in SIDES)
    standing = standings(items, metric)
    ends = _ends(a, b)
    traces = [
        _points(result, items, name, a, b, np.flatnonzero(standing == name))
        for name in filters(items)
        if only in ("", name)
    ]
    return {
        "data": [trace for trace in traces if len(trace["x"])] + _ring(a, b, chosen),
        "layout": _layout(result, items, task, metric, ends, standing),
    }


def item_at(spec: _Trace, trace: int, place: int) -> int | None:
    """The item of a point that was clicked."""
    numbers = spec["data"][trace].get("customdata", ()) if trace < len(spec["data"]) else ()
    return int(numbers[place]) if place < len(numbers) else None


def _ends(a: Vector, b: Vector) -> tuple[float, float]:
    """One range for both axes; single items far out are drawn at its edge by nobody: all are in."""
    both = np.concatenate([a, b])
    low, high = float(both.min()), float(both.max())
    air = _EDGE * max(high - low, 1e-3)
    return low - air, high + air


def _look(result: Evaluation, standing: str) -> _Trace:
    """What only one model has right in that one's colour and marker; filled where it is right."""
    side = {ONLY_A: "A", ONLY_B: "B", "better in A": "A", "better in B": "B"}.get(standing)
    if side is not None:
        look = mark(result, side)
        return {"symbol": look.symbol, "color": look.color, "opacity": 0.9}
    symbol = "triangle-up" if standing == BOTH else "x-thin"
    return {"symbol": symbol, "color": _NEUTRAL.color, "opacity": 0.7}


def _points(
    result: Evaluation, items: TaskItems, name: str, a: Vector, b: Vector, where: Vector
) -> _Trace:
    look = _look(result, name)
    return {
        "type": "scatter",
        "name": f"{name}: {len(where):,}",
        "x": a[where],
        "y": b[where],
        "mode": "markers",
        "marker": {"size": 9, "line": {"width": 1.5, "color": look["color"]}, **look},
        "customdata": [int(i) for i in where],
        "hovertext": [wrapped(_tail(items.contexts[i]), 45) for i in where],
        "hovertemplate": "%{hovertext}<br>A %{x:.2f}, B %{y:.2f}<extra></extra>",
    }


def _tail(context: str) -> str:
    flat = " ".join(context.split())
    return flat if len(flat) <= _SHOWN else f"…{flat[1 - _SHOWN :]}"


def _ring(a: Vector, b: Vector, chosen: int) -> list[_Trace]:
    if not 0 <= chosen < len(a):
        return []
    return [
        {
            "type": "scatter",
            "name": "shown below",
            "x": [a[chosen]],
            "y": [b[chosen]],
            "mode": "markers",
            "marker": {
                "symbol": "circle-open",
                "size": 20,
                "color": PALETTES["light"].axis,
                "line": {"width": 3},
            },
            "hoverinfo": "skip",
        }
    ]


def _layout(
    result: Evaluation,
    items: TaskItems,
    task: str,
    metric: str,
    ends: tuple[float, float],
    standing: Vector,
) -> _Trace:
    names = {side: plain(short(name_of(result, side))) for side in SIDES}
    axis = {
        "range": list(ends),
        "zeroline": not is_text(items),
        "showline": True,
        "ticks": "outside",
    }
    unit = _unit(items, metric)
    return {
        "uirevision": f"{task} {metric}",
        "height": 520,
        "margin": {"l": 8, "r": 16, "t": 64, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": ABOVE_ALL,
        "xaxis": {"title": {"text": f"A, {names['A']}: {unit}"}, **axis},
        "yaxis": {"title": {"text": f"B, {names['B']}: {unit}"}, **axis},
        "shapes": [_diagonal(ends)],
        "annotations": [] if is_text(items) else _corners(standing, ends),
    }


def _unit(items: TaskItems, metric: str) -> str:
    if is_text(items):
        return "bits by byte"
    return "margin, nats a letter" if metric == BY_LENGTH else "margin, nats"


def _diagonal(ends: tuple[float, float]) -> _Trace:
    """Where both are equally sure."""
    line = {"color": _NEUTRAL.color, "dash": "dot", "width": 1.5}
    place = {"x0": ends[0], "y0": ends[0], "x1": ends[1], "y1": ends[1]}
    return {"type": "line", **place, "line": line, "layer": "below"}


def _corners(standing: Vector, ends: tuple[float, float]) -> list[_Trace]:
    """What each quarter of the plane means, where there is room for it."""
    low, high = ends
    wide = {1: high > 0, 0: low < 0}
    return [
        {
            "xref": "paper",
            "yref": "paper",
            "x": 0.99 if right else 0.01,
            "y": 0.99 if up else 0.01,
            "xanchor": "right" if right else "left",
            "yanchor": "top" if up else "bottom",
            "text": f"<b>{name}</b> {int((standing == name).sum()):,}",
            "font": {"size": 13},
            "showarrow": False,
        }
        for name, (right, up) in _CORNERS.items()
        if wide[right] and wide[up]
    ]
