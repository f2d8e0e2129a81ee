"""Two models under the lens as a picture: one curve each, from the embedding to the last layer.

The curves carry their names, the floor at the embedding and what a uniform guess would reach carry
theirs.  A model that failed its check has the reason where its curve would be.
"""

import math
from typing import Any

import numpy as np

from embtie_widgets.charts.figures import plain, wrapped
from embtie_widgets.charts.lens_floors import floor_labels, floor_shapes, floors_of
from embtie_widgets.charts.lens_marks import mark, titled
from embtie_widgets.charts.lens_words import MEASURES, guess, name_of
from embtie_widgets.charts.shapes import Vector, faint
from embtie_widgets.results.lens import Lens, PairLens

SIDES = ("A", "B")
_NOTHING = np.empty(0)
_PAD = 0.22  # room left of the embedding for the floor, in widths of the curves
_ROOM = (0.38, 0.8)  # where along the curves a name has room on either side
_REACH = 1.8  # a guess within so many heights of the curves is drawn
_Trace = dict[str, Any]


def spec(
    result: PairLens | None, measure: str = "kl", across: str = "layer", chosen: float = -1.0
) -> dict[str, Any]:
    """The chart in plotly's terms, "data" and "layout"; without a result its axes alone.

    `measure` is a key of `MEASURES`; `across` is "layer", or "depth" in shares of each model's own;
    `chosen` is the layer of A that the grid stands on, none below 0.
    """
    curves = {} if result is None else {s: result.lenses.get(s) for s in SIDES}
    return {
        "data": [
            trace for side in SIDES for trace in _traces(result, side, curves, measure, across)
        ],
        "layout": _layout(result, measure, across, chosen),
    }


def values(one: Lens, measure: str) -> Vector:
    """The curve of a measure, (layers + 1,), as it is drawn."""
    known: Vector = np.asarray(getattr(one, MEASURES[measure].field), float)
    return known * 100 if measure == "agreement" else known


def _x(one: Lens, across: str) -> Vector:
    layers = len(one.kl_bits) - 1
    places: Vector = np.arange(layers + 1, dtype=float)
    return places / max(layers, 1) * 100 if across == "depth" else places


def _traces(
    result: PairLens | None, side: str, curves: Any, measure: str, across: str
) -> list[_Trace]:
    """Always the same two of a model: the band of its interval, and its curve."""
    one = curves.get(side)
    if result is None or one is None:
        return [{"type": "scatter", "x": _NOTHING, "y": _NOTHING, "showlegend": False}] * 2
    look = mark(result, side)
    x, y = _x(one, across), values(one, measure)
    band = one.intervals if measure == "kl" else np.empty((0, 2))
    outline = {
        "type": "scatter",
        "x": np.concatenate([x, x[::-1]]) if len(band) else _NOTHING,
        "y": np.concatenate([band[:, 0], band[::-1, 1]]) if len(band) else _NOTHING,
        "mode": "lines",
        "fill": "toself",
        "line": {"width": 0},
        "fillcolor": faint(look, 0.2),
        "hoverinfo": "skip",
        "showlegend": False,
    }
    curve = {
        "type": "scatter",
        "name": plain(name_of(result, side)),
        "x": x,
        "y": y,
        "mode": "lines+markers",
        "line": {"color": look.color, "dash": look.dash, "width": 2.5},
        "marker": {"symbol": look.symbol, "size": 7, "color": look.color},
        "hovertext": [_hover(result, side, one, i) for i in range(len(x))],
        "hoverinfo": "text",
        "showlegend": False,
        "cliponaxis": False,
    }
    return [outline, curve]


def _hover(result: PairLens, side: str, one: Lens, layer: int) -> str:
    low, high = one.intervals[layer]
    where = "embedding" if layer == 0 else f"after layer {layer} of {len(one.kl_bits) - 1}"
    lost = len(one.ids) - int(one.finite[layer])
    lines = [
        f"<b>{plain(name_of(result, side))}</b>, {where}",
        f"KL {one.kl_bits[layer]:.3f} bits, 95 % [{low:.3f}, {high:.3f}]",
        f"entropy {one.entropy_bits[layer]:.3f} bits",
        f"top-1 agreement {one.agreement[layer]:.1%}".replace("%", " %"),
        f"mean rank of the model's token {one.mean_rank[layer]:,.1f}",
        f"{lost:,} positions not finite, left out" if lost else "",
    ]
    return "<br>".join(line for line in lines if line)


def _layout(result: PairLens | None, measure: str, across: str, chosen: float) -> dict[str, Any]:
    end = 100.0 if across == "depth" else float(max(_layers(result).values(), default=1))
    words = MEASURES[measure]
    extent = _extent(result, measure)
    return {
        "uirevision": f"{measure} {across} {end}",
        "height": 460,
        "margin": {"l": 8, "r": 22, "t": 24, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "showlegend": False,
        "xaxis": {
            "title": {"text": "share of the layers, %" if across == "depth" else "layer"},
            "range": [-(_PAD if floors_of(result, measure) else 0.04) * end, 1.03 * end],
            **layer_ticks(end, across),
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
        },
        "yaxis": {
            "title": {"text": words.axis},
            "range": [math.log10(v) for v in extent] if words.log else list(extent),
            "zeroline": False,
            **({"type": "log", "dtick": "D2", "tickformat": ",~r"} if words.log else {}),
        },
        "shapes": [
            *_guess_lines(result, measure),
            *floor_shapes(result, measure, end),
            *_standing(chosen, across, result),
        ],
        "annotations": [
            *_names(result, measure, across, extent),
            *_guess_labels(result, measure, extent),
            *floor_labels(result, measure, end, extent),
            *_reasons(result, measure, extent),
        ],
    }


def _layers(result: PairLens | None) -> dict[str, int]:
    lenses = {} if result is None else result.lenses
    return {side: len(one.kl_bits) - 1 for side, one in lenses.items()}


def layer_ticks(end: float, across: str = "layer") -> dict[str, Any]:
    """The first and the last point by name, numbers between them; no two touch on a phone."""
    if across == "depth":
        at = [0.0, 25.0, 50.0, 75.0, 100.0]
    else:
        step = next(n for n in (1, 2, 3, 4, 5, 8, 10, 20, 50, 100) if end / n <= 8 or n == 100)
        between = [float(n) for n in range(step, int(end), step) if end - n >= 0.6 * step]
        at = [0.0, *between, end]
    words = [f"{v:g}" for v in at]
    words[0], words[-1] = f"{words[0]}<br>embedding", f"{words[-1]}<br>last"
    return {"tickmode": "array", "tickvals": at, "ticktext": words, "tickangle": 0}


def _highest(result: PairLens | None, measure: str) -> float:
    """The top of everything that the curves need."""
    lenses = [] if result is None else list(result.lenses.values())
    top = [values(one, measure).max() for one in lenses]
    if measure == "kl":
        top += [one.intervals.max() for one in lenses]
        floors = floors_of(result, measure).values()
        top += [max(floor.interval[1], floor.lens_bits) for floor in floors]
    return max((float(v) for v in top if np.isfinite(v)), default=1.0) or 1.0


def _extent(result: PairLens | None, measure: str) -> tuple[float, float]:
    """The axis: from 0 (from the first place, for ranks) to a little above everything drawn."""
    if measure == "agreement":
        return 0.0, 103.0
    high = max([_highest(result, measure), *(value for _, value in _near(result, measure))])
    return (0.85, max(high, 2.0) * 1.6) if MEASURES[measure].log else (0.0, 1.09 * high)


# The names at the curves.


def _names(
    result: PairLens | None, measure: str, across: str, extent: tuple[float, float]
) -> list[_Trace]:
    """Each name where the curves are farthest apart: above the upper, below the lower one."""
    if result is None or not result.lenses:
        return []
    drawn = {side: (_x(one, across), values(one, measure)) for side, one in result.lenses.items()}
    if len(drawn) == 1:
        ((side, (x, y)),) = drawn.items()
        return [_name(result, side, x, y, 0.5 * float(x[-1]), True, measure)]
    (first, (xa, ya)), (second, (xb, yb)) = drawn.items()
    room = np.linspace(*_ROOM, 43) * min(xa[-1], xb[-1])
    gap = _scaled(np.interp(room, xa, ya), measure) - _scaled(np.interp(room, xb, yb), measure)
    widest = int(np.argmax(np.abs(gap)))
    at, above = float(room[widest]), bool(gap[widest] >= 0)
    return [
        _name(result, first, xa, ya, at, above, measure),
        _name(result, second, xb, yb, at, not above, measure),
    ]


def _scaled(y: Any, measure: str) -> Any:
    return np.log10(np.maximum(y, 1e-9)) if MEASURES[measure].log else np.asarray(y, float)


def _name(
    result: PairLens, side: str, x: Vector, y: Vector, at: float, above: bool, measure: str
) -> _Trace:
    """On the side of the point towards which the curve turns away from the words."""
    falls = y[-1] < y[0]
    right = falls == above
    return {
        "x": at,
        "y": float(_scaled(np.interp(at, x, y), measure)),
        "text": titled(result, side),
        "font": {"size": 14},
        "showarrow": False,
        "xanchor": "left" if right else "right",
        "yanchor": "bottom" if above else "top",
        "xshift": 6 if right else -6,
        "yshift": 3 if above else -3,
    }


# The floor at the input point, the guess that knows nothing, and reasons.


def _guesses(result: PairLens | None, measure: str) -> list[tuple[str, float]]:
    """What a uniform guess reaches in each model, by side."""
    found = [] if result is None else [(s, guess(result, s, measure)) for s in result.lenses]
    return [(side, value) for side, value in found if value is not None]


def _near(result: PairLens | None, measure: str) -> list[tuple[str, float]]:
    """The guesses that the axis reaches to: a far one would press the curves flat."""
    curves = _highest(result, measure)
    reach = curves**1.5 if MEASURES[measure].log else _REACH * curves
    return [(side, value) for side, value in _guesses(result, measure) if value <= reach]


def _guess_lines(result: PairLens | None, measure: str) -> list[_Trace]:
    return [
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": value,
            "y1": value,
            "layer": "below",
            "line": {"color": _color(result, side), "width": 1.2, "dash": "dot"},
        }
        for side, value in _near(result, measure)
    ]


def _guess_labels(
    result: PairLens | None, measure: str, extent: tuple[float, float]
) -> list[_Trace]:
    """One label for both: at the upper line, or at the top where a line is above the chart."""
    guesses = _guesses(result, measure)
    if result is None or not guesses:
        return []
    near = _near(result, measure)
    beyond = "" if len(near) == len(guesses) else ", above this chart"
    height = max((value for _, value in near), default=extent[1])
    said = list(dict.fromkeys(f"{value:,.1f}" for _, value in guesses))
    if len(said) > 1:
        said = [f"{mark(result, side).glyph} {value:,.1f}" for side, value in guesses]
    return [
        {
            "xref": "paper",
            "x": 1,
            "y": float(_scaled(height, measure)),
            "text": f"uniform guess {' '.join(said)}{beyond}",
            "font": {"size": 12},
            "opacity": 0.75,
            "showarrow": False,
            "xanchor": "right",
            "yanchor": "bottom" if near else "top",
        }
    ]


def _color(result: PairLens | None, side: str) -> str:
    return mark(result, side).color if result is not None and side else "#7a828f"


def _reasons(result: PairLens | None, measure: str, extent: tuple[float, float]) -> list[_Trace]:
    """Why a curve is not there, framed in its colour, where there would be most room for it."""
    rises = MEASURES[measure].rises
    corner = {"x": 0.03, "xanchor": "left"} if rises else {"x": 0.98, "xanchor": "right"}
    lines = [
        float(_scaled(v, measure) / _scaled(extent[1], measure)) for _, v in _near(result, measure)
    ]
    top = min([0.96, *(share - 0.05 for share in lines if share > 0.6)])
    failed = {} if result is None else result.failed
    return [
        {
            "xref": "paper",
            "yref": "paper",
            "y": top - 0.4 * place,
            "yanchor": "top",
            "text": wrapped(f"{mark(result, side).glyph} {name_of(result, side)}: {why}", 26),
            "font": {"size": 13},
            "bordercolor": mark(result, side).color,
            "borderwidth": 2,
            "borderpad": 8,
            "showarrow": False,
            "align": "left",
            **corner,
        }
        for place, (side, why) in enumerate(failed.items())
        if result is not None
    ]


def _standing(chosen: float, across: str, result: PairLens | None) -> list[_Trace]:
    """A thin upright line at the layer that the grid stands on."""
    if chosen < 0 or result is None or not result.lenses:
        return []
    layers = next(iter(_layers(result).values()))
    x = chosen / max(layers, 1) * 100 if across == "depth" else chosen
    line = {"color": "#7a828f", "width": 1}
    span = {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1}
    return [span | {"layer": "below", "line": line}]
