"""KNN@k overlap as a picture: how many neighbours the tokens keep, with chance on the chart.

Above, which share of the tokens has 0, 1, ... k of its neighbours in common, for each comparison;
below, on the same axis, the mean with its interval and what chance gives.
"""

from itertools import pairwise
from typing import Any

import numpy as np

from embtie_widgets.charts.sentences import label
from embtie_widgets.charts.shapes import Vector, error_bars, outline, over_means, points
from embtie_widgets.charts.theme import COMPARISONS, mark_of
from embtie_widgets.results.geometry import PairGeometry

_ORDER = tuple(COMPARISONS)
_NOBODY = np.empty(0, np.int64)
# From so many steps on, several stand in one bin: an outline of a thousand would be fur.
_MOST_STEPS = 51
_Traces = list[dict[str, Any]]


def spec(result: PairGeometry | None, chosen: Vector = _NOBODY) -> dict[str, Any]:
    """The chart in plotly's terms, "data" and "layout"; without a result its axes alone.

    The tokens at the places `chosen` are lit, above all tokens, which are dimmed.
    """
    return {"data": _traces(result, chosen), "layout": _layout(result)}


def levels(values: Vector, k: int) -> Vector:
    """How many of the k neighbours are common, whole numbers, of the tokens that have a value."""
    common: Vector = np.rint(values[np.isfinite(values)] * k).astype(int)
    return common


def shares(values: Vector, k: int) -> tuple[Vector, Vector]:
    """Edges (bins + 1,) in shares of k, and how many of the tokens are in each bin (bins,).

    Every step from 0 to k is a bin, or some steps together where k is large; a token without a
    value is in none.
    """
    wide = -(-(k + 1) // _MOST_STEPS)
    edges = np.arange(0, k + 1 + wide, wide) - 0.5
    return edges / k, np.histogram(levels(values, k), edges)[0]


def _traces(result: PairGeometry | None, chosen: Vector) -> _Traces:
    """Always the same eight traces, so that what a reader has hidden in the legend stays so."""
    line, area = (0.45, 0.05) if chosen.size else (1.0, 0.16)
    whole = [_outline(result, name, None) | outline(mark_of(name), line, area) for name in _ORDER]
    over = [
        _outline(result if chosen.size else None, name, chosen)
        | outline(mark_of(name), 1.0, 0.3)
        | {"visible": bool(chosen.size), "showlegend": False}
        for name in _ORDER
    ]
    return [*whole, *over, *_means(result)]


def _outline(result: PairGeometry | None, name: str, chosen: Vector | None) -> dict[str, Any]:
    """Each bin's share of the tokens stands at its left edge, and 0 at the last edge."""
    edges, counts, k = np.empty(0), np.empty(0, int), 1
    if result is not None and name in result.overlaps:
        k, values = result.k, result.overlaps[name].per_token
        edges, counts = shares(values if chosen is None else values[chosen], k)
    heights = np.append(counts / max(counts.sum(), 1), [0] * bool(edges.size))
    return {
        "type": "scatter",
        "name": label(name) if chosen is None else f"selected, {label(name)}",
        "x": edges.astype("float32"),
        "y": heights.astype("float32"),
        "customdata": _hover(edges, counts, k),
        "mode": "lines",
        "fill": "tozeroy",
        "hovertemplate": "%{customdata}: %{y:.1%}",
    }


def _hover(edges: Vector, counts: Vector, k: int) -> list[str]:
    starts = np.rint(edges * k + 0.5).astype(int)
    steps = [f"{a:,}" if b == a + 1 else f"{a:,} to {min(b - 1, k):,}" for a, b in pairwise(starts)]
    said = [f"{n} of {k:,} in common, {c:,} tokens" for n, c in zip(steps, counts, strict=True)]
    return [*said, *said[-1:]]


def _means(result: PairGeometry | None) -> _Traces:
    parts = {} if result is None else result.overlaps
    names = [name for name in _ORDER if name in parts]
    rows, colors = [label(n) for n in names], [mark_of(n).color for n in names]
    means = [parts[n].mean for n in names]
    spread = error_bars(means, [parts[n].interval for n in names])
    floors = [parts[n].floor for n in names]
    said = {
        "mode": "markers+text",
        "text": [f"   {mean:.3f}" for mean in means],
        "textposition": "middle right",
    }
    return [
        points("mean over tokens", rows, means, colors, "circle") | {"error_x": spread} | said,
        points("chance: k / (n − 1)", rows, floors, colors, "x-thin")
        | {"hovertemplate": "chance: %{x:.5f}<extra>%{y}</extra>"},
    ]


def _layout(result: PairGeometry | None) -> dict[str, Any]:
    k = 10 if result is None else result.k
    room = max(0.5 / k, 0.01)
    return over_means(
        [label(name) for name in _ORDER],
        {
            "title": {"text": f"share in common, KNN@{k:,}"},
            "range": [-room - 0.01, 1 + room],
            "tickformat": ".1~f",
        },
        {"title": {"text": "share of the tokens"}, "tickformat": ".0%"},
        uirevision=f"k {k}",  # a zoom lasts as long as its axis
    )
