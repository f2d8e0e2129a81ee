"""Principal components of embeddings and of signatures side by side, at one step of a training.

An anchor has one colour in all of them: where it stands among the anchors.  Numbers are joined in
their order by a line.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from embtie_widgets.charts.facets import Facets, heading, suffix
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.shapes import Vector
from embtie_widgets.charts.staircase_view import (
    ALIKE,
    USUAL,
    Look,
    View,
    at,
    look,
    matrix_words,
    names,
    numbers,
    signature_words,
)
from embtie_widgets.results.staircase import StaircaseReport

_Trace = dict[str, Any]
# Of middle lightness throughout: each can be seen on white and on black.
_COLORS = [[0, "#4668d9"], [0.33, "#149c94"], [0.66, "#c2931b"], [1, "#dd5a3c"]]
_NAMED = 40  # anchors that are named where none is chosen
_DIM = 0.22
_AIR = 0.18
_LETTER = 0.028, 0.055  # width and height of a letter as shares of a picture of 250 pixels


def spec(result: StaircaseReport | None, view: View = USUAL) -> dict[str, Any]:
    """Scatters in plotly's terms, "narrow" for a narrow box; traces 2 i and 2 i + 1 are the line
    and the points of scatter i."""
    shown = look(result, view)
    count = 2 if shown is None else 1 + len(shown.tracks)
    facets = Facets(count, count, height=280 if count > 2 else 380, gap=40, below=12)
    narrow = replace(facets.narrow, columns=min(count, 2), height=170, gap=36)
    clouds = [] if shown is None else _clouds(shown)
    data = [] if result is None or shown is None else _drawn(result, shown, view, clouds)
    said = ["embeddings", "signature"] if shown is None else _titles(shown)
    layout = _axes(clouds, facets) | {
        "uirevision": f"{count} {view.run} {view.matrix} {view.signature}",
        "hovermode": "closest",
        "dragmode": "pan",
        "showlegend": False,
        "annotations": [heading(i, plain(text)) for i, text in enumerate(said)],
    }
    return {"data": data, "layout": layout, "narrow": _axes(clouds, narrow)}


def anchor_at(
    result: StaircaseReport | None, view: View, trace: int, place: tuple[int, ...]
) -> int | None:
    """The anchor of a point that was clicked."""
    shown = look(result, view)
    if shown is None or trace % 2 == 0 or len(place) != 1 or place[0] >= len(shown.order):
        return None
    return int(np.sort(shown.order)[place[0]])


def _clouds(shown: Look) -> list[Vector]:
    """(n, 2) each: the matrix first, then its signatures."""
    kept = np.sort(shown.order)
    known = [shown.matrix.points, *(track.points for track in shown.tracks)]
    return [at(points, shown.place)[kept] for points in known]


def _titles(shown: Look) -> list[str]:
    held = np.asarray(shown.matrix.variance, float)
    share = held[shown.place].sum() if len(held) > shown.place else np.nan
    told = f" · {100 * share:.0f} %" if np.isfinite(share) else ""
    signatures = [signature_words(track.signature) for track in shown.tracks]
    return [matrix_words(shown.matrix.matrix) + told, *signatures]


def _drawn(result: StaircaseReport, shown: Look, view: View, clouds: list[Vector]) -> list[_Trace]:
    kept = np.sort(shown.order)
    known = names(result, shown.matrix)
    labels = [known[i] for i in kept]
    hue = _hues(shown, view)
    lit = np.array([i in view.lit for i in kept])
    written = [
        name if (lit[i] if lit.any() else i < _NAMED) else "" for i, name in enumerate(labels)
    ]
    ordered = numbers(result, shown.matrix)[kept]
    traces: list[_Trace] = []
    for i, cloud in enumerate(clouds):
        named = written if lit.any() else _apart(cloud, written)
        axes = {"xaxis": f"x{suffix(i)}", "yaxis": f"y{suffix(i)}"}
        traces += [
            axes | _thread(cloud, ordered),
            axes | _points(cloud, labels, named, hue, lit),
        ]
    return traces


def _apart(cloud: Vector, written: list[str]) -> list[str]:
    """The names that do not lie on one before them, in a picture of the smallest usual size."""
    x, y = _ranges(cloud)
    high = _LETTER[1] * (y[1] - y[0])
    taken: list[tuple[float, float, float]] = []
    kept = []
    for (across, up), name in zip(cloud.tolist(), written, strict=True):
        half = _LETTER[0] * (x[1] - x[0]) * len(name) / 2
        free = all(abs(across - a) > half + b or abs(up - u) > high for a, u, b in taken)
        kept.append(name if free else "")
        if name and free:
            taken.append((across, up, half))
    return kept


def _hues(shown: Look, view: View) -> Vector:
    """0 to 1 for each anchor in its own order: its number, or its place among those alike."""
    n = len(shown.order)
    hue = np.linspace(0, 1, n, dtype="f4") if n > 1 else np.zeros(n, "f4")
    if view.arrange != ALIKE:
        return hue
    return np.asarray(hue[np.argsort(shown.order)])


def _thread(cloud: Vector, ordered: Vector) -> _Trace:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": cloud[ordered, 0],
        "y": cloud[ordered, 1],
        "line": {"color": "rgba(122,130,143,0.45)", "width": 1.2},
        "hoverinfo": "skip",
    }


def _points(
    cloud: Vector, labels: list[str], written: list[str], hue: Vector, lit: Vector
) -> _Trace:
    strong = np.where(lit, 1.0, _DIM).astype("f4") if lit.any() else 0.95
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": cloud[:, 0],
        "y": cloud[:, 1],
        "text": written,
        "textposition": "top center",
        "textfont": {"size": 11},
        "hovertext": labels,
        "hoverinfo": "text",
        "cliponaxis": False,
        "marker": {
            "size": np.where(lit, 14, 11).astype("u1"),
            "color": hue,
            "cmin": 0,
            "cmax": 1,
            "colorscale": _COLORS,
            "opacity": strong,
            "line": {"width": 0},
        },
    }


def _axes(clouds: list[Vector], facets: Facets) -> _Trace:
    """One scale across and up in each, from end to end of its points."""
    bare = {"showgrid": False, "zeroline": False, "showticklabels": False, "ticks": "",
            "showline": True, "mirror": True, "automargin": False}  # fmt: skip
    layout = facets.layout(bare, [bare] * facets.count)
    for i in range(facets.count):
        x, y = layout[f"xaxis{suffix(i)}"], layout[f"yaxis{suffix(i)}"]
        x.pop("matches", None)
        x["showticklabels"] = False
        if i < len(clouds):
            x["range"], y["range"] = _ranges(clouds[i])
            y["scaleanchor"] = f"x{suffix(i)}"
    return layout


def _ranges(cloud: Vector) -> tuple[list[float], list[float]]:
    good = cloud[np.isfinite(cloud).all(axis=1)]
    if not len(good):
        return [-1.0, 1.0], [-1.0, 1.0]
    low, high = good.min(axis=0), good.max(axis=0)
    middle, half = (low + high) / 2, max(float((high - low).max()) / 2, 1e-9) * (1 + _AIR)
    x, y = ([float(m - half), float(m + half)] for m in middle)
    return x, y
