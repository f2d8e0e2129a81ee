"""Similarities of embeddings beside those of signatures, as heat maps at one step of a training.

The colour of 0 is the page's own, so that a map reads alike in light and dark; more than
`MOST_DRAWN` anchors are cut to the first so many, and the caption says so.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from embtie_widgets.charts.facets import Facets, heading, suffix
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.shapes import Vector
from embtie_widgets.charts.staircase_view import (
    USUAL,
    Look,
    View,
    at,
    look,
    matrix_words,
    names,
    number,
    signature_words,
    values_of,
)
from embtie_widgets.results.staircase import StaircaseReport

_Trace = dict[str, Any]
_LOW, _HIGH = "20,140,120", "124,58,237"
_SCALE = [
    [0, f"rgba({_LOW},1)"],
    [0.5, f"rgba({_LOW},0)"],
    [0.5, f"rgba({_HIGH},0)"],
    [1, f"rgba({_HIGH},1)"],
]
_RISING = [[0, f"rgba({_HIGH},0.02)"], [1, f"rgba({_HIGH},1)"]]
_FEW = 30  # anchors that can all be named along a map
_FRAME = "#e0567a"


def spec(result: StaircaseReport | None, view: View = USUAL) -> dict[str, Any]:
    """The matrix and its signatures side by side in plotly's terms, "narrow" for a narrow box;
    trace i is map i."""
    shown = look(result, view)
    count = 2 if shown is None else 1 + len(shown.tracks)
    facets = Facets(count, count, height=270 if count > 2 else 420, gap=40, below=_below(shown))
    narrow = replace(facets.narrow, columns=min(count, 2), height=160, gap=36)
    layout = _arranged(result, shown, view, facets)
    data = [] if result is None or shown is None else _maps(result, shown, view)
    slim = _axes(result, shown, narrow)
    for i in range(count):  # no room for names
        slim[f"xaxis{suffix(i)}"]["showticklabels"] = False
    return {"data": data, "layout": layout, "narrow": slim}


def anchors_at(
    result: StaircaseReport | None, view: View, place: tuple[int, ...]
) -> tuple[int, int] | None:
    """The two anchors of a cell that was clicked, None for no cell."""
    shown = look(result, view)
    if shown is None or len(place) != 2 or max(place) >= len(shown.order):
        return None
    return int(shown.order[place[0]]), int(shown.order[place[1]])


def _below(shown: Look | None) -> int:
    return 64 if shown is not None and len(shown.order) <= _FEW else 44


def _maps(result: StaircaseReport, shown: Look, view: View) -> list[_Trace]:
    fields = [(matrix_words(shown.matrix.matrix), shown.matrix.similarity)]
    fields += [(signature_words(track.signature), track.similarity) for track in shown.tracks]
    known = names(result, shown.matrix)
    labels = [known[i] for i in shown.order]
    return [
        _map(i, name, values, shown, labels, view.spread) for i, (name, values) in enumerate(fields)
    ]


def _map(i: int, name: str, values: Vector, shown: Look, labels: list[str], spread: bool) -> _Trace:
    cut = at(values, shown.place)[np.ix_(shown.order, shown.order)]
    low, high = _ends(values, shown.order) if spread else (-1.0, 1.0)
    return {
        "type": "heatmap",
        "name": plain(name),
        "x": labels,
        "y": labels,
        "z": list(np.ascontiguousarray(cut, "f4")),
        "zmin": low,
        "zmax": high,
        "colorscale": _RISING if spread else _SCALE,
        "xaxis": f"x{suffix(i)}",
        "yaxis": f"y{suffix(i)}",
        "hovertemplate": f"%{{y}} and %{{x}}<br>cosine %{{z:.3f}}<extra>{plain(name)}</extra>",
        "hoverongaps": False,
        "showscale": i == 0 and not spread,
        "colorbar": _BAR,
    }


_BAR = {
    "orientation": "h",
    "thickness": 8,
    "len": 220,
    "lenmode": "pixels",
    "x": 0,
    "xanchor": "left",
    "xpad": 0,
    "y": 0.05,
    "yref": "container",
    "yanchor": "bottom",
    "ypad": 0,
    "outlinewidth": 0,
    "tickvals": [-1, -0.5, 0, 0.5, 1],
    "ticktext": ["−1", "", "0", "", "cosine 1"],
    "tickfont": {"size": 11},
}


def _ends(values: Vector, order: Vector) -> tuple[float, float]:
    """From the least to the largest cosine of two different anchors, at any step."""
    apart = ~np.eye(len(order), dtype=bool)
    known = np.asarray(values, "f4")[:, order][:, :, order][:, apart]
    known = known[np.isfinite(known)]
    if not known.size:
        return -1.0, 1.0
    low, high = float(known.min()), float(known.max())
    return (low, high) if high - low > 1e-6 else (low - 0.5, high + 0.5)


# Axes.


def _arranged(
    result: StaircaseReport | None, shown: Look | None, view: View, facets: Facets
) -> _Trace:
    return _axes(result, shown, facets) | {
        "uirevision": f"{facets.count} {view.arrange}",
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": False,
        "annotations": [heading(i, plain(text)) for i, text in enumerate(_titles(shown))],
        "shapes": [] if shown is None else _frames(shown, view, facets.count),
    }


def _titles(shown: Look | None) -> list[str]:
    """Each map by name, a signature with how well the matrix follows it at this step."""
    if shown is None:
        return ["embeddings", "signature"]
    said = [matrix_words(shown.matrix.matrix)]
    for track in shown.tracks:
        values = values_of(track)
        what = f" · {number(values[shown.place])}" if len(values) > shown.place else ""
        said.append(f"{signature_words(track.signature)}{what}")
    return said


def _axes(result: StaircaseReport | None, shown: Look | None, facets: Facets) -> _Trace:
    few = shown is not None and len(shown.order) <= _FEW
    axis = {
        "type": "category",
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "showticklabels": few,
        "tickfont": {"size": 10},
        "constrain": "domain",
        "automargin": False,
    }
    ups = [
        axis | {"autorange": "reversed", "scaleanchor": f"x{suffix(i)}", "showticklabels": False}
        for i in range(facets.count)
    ]
    layout = facets.layout(axis | {"nticks": 10, "tickangle": 0}, ups)
    for i in range(facets.count):
        layout[f"xaxis{suffix(i)}"].pop("matches", None)
        layout[f"xaxis{suffix(i)}"]["showticklabels"] = few
        layout[f"yaxis{suffix(i)}"]["constraintoward"] = "top"
    return layout


def _frames(shown: Look, view: View, count: int) -> list[dict[str, Any]]:
    """Round the chosen pair, and beside every anchor that is lit."""
    places = {int(anchor): i for i, anchor in enumerate(shown.order)}
    found = []
    for i in range(count):
        axes = {"xref": f"x{suffix(i)}", "yref": f"y{suffix(i)}"}
        if len(view.pair) == 2 and all(one in places for one in view.pair):
            row, column = (places[one] for one in view.pair)
            found += [_square(axes, row, column), _square(axes, column, row)]
        # A band of its row and column; very many would hide the map.
        lit = [places[one] for one in view.lit if one in places]
        if len(lit) <= _FEW:
            found += [_tick(axes, place) for place in lit]
    return found


def _square(axes: dict[str, str], row: int, column: int) -> dict[str, Any]:
    return {
        "type": "rect", **axes, "x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5,
        "y1": row + 0.5, "line": {"color": _FRAME, "width": 2.5},
    }  # fmt: skip


def _tick(axes: dict[str, str], place: int) -> dict[str, Any]:
    """A bar along the map's left edge."""
    return {
        "type": "rect", "xref": f"{axes['xref']} domain", "yref": axes["yref"], "x0": -0.025,
        "x1": -0.008, "y0": place - 0.5, "y1": place + 0.5, "fillcolor": _FRAME,
        "line": {"width": 0},
    }  # fmt: skip
