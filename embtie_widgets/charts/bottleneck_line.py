"""What is not transmitted against d / V: measured models, the dimension-count line, known heads."""

import math
from typing import Any

import numpy as np

from embtie_widgets.charts.bottleneck_view import SCALES, Scale, marks, ratios
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.lens_words import short
from embtie_widgets.charts.shapes import ABOVE, faint
from embtie_widgets.charts.theme import Mark, mark_of
from embtie_widgets.results.bottleneck import BottleneckReport
from embtie_widgets.results.bottleneck_published import CHECK, HEADS

_NEUTRAL = mark_of("")
_LOW, _HIGH = 0.0015, 0.16  # of d / V, where nothing measured asks for more
_LOWEST = 0.925  # of r, likewise
_Trace = dict[str, Any]


def spec(result: BottleneckReport | None, scale: str = "r") -> dict[str, Any]:
    """The chart in plotly's terms, "data" and "layout"; without a result line and heads alone."""
    how = SCALES[scale]
    across = _across(result)
    return {
        "data": [_line(how, across), _heads(how), _published(how), *_models(result, how)],
        "layout": _layout(result, how, scale, across),
    }


def _across(result: BottleneckReport | None) -> tuple[float, float]:
    """From where to where d / V goes: all that is known, with air."""
    shares = [one.share for one in ratios(result).values() if one.share > 0]
    ends = [_HIGH, *(max(min(2 * share, 1.0), 1.1 * share) for share in shares)]
    return min([_LOW, *(0.6 * share for share in shares)]), max(ends)


def _line(how: Scale, across: tuple[float, float]) -> _Trace:
    shares = np.geomspace(*across, 200)
    return {
        "type": "scatter",
        "name": "line: a direction without preference",
        "x": shares,
        "y": how.of(np.sqrt(np.maximum(1 - shares, 0))),
        "mode": "lines",
        "line": {"color": _NEUTRAL.color, "dash": "dash", "width": 2},
        "hovertemplate": "√(1 − d / V)<br>d / V %{x:.4f}: %{y:.4f}<extra></extra>",
    }


def _heads(how: Scale) -> _Trace:
    """What is marked of them is the line, nothing measured."""
    shares = np.array([d / rows for d, rows in HEADS.values()])
    return {
        "type": "scatter",
        "name": "known heads, on the line",
        "x": shares,
        "y": how.of(np.sqrt(1 - shares)),
        "mode": "markers",
        "marker": {"symbol": "circle-open", "size": 9, "color": _NEUTRAL.color},
        "hovertext": [f"{name}: d {d:,}, V {rows:,}" for name, (d, rows) in HEADS.items()],
        "hovertemplate": "%{hovertext}<br>the line there: %{y:.4f}<extra></extra>",
    }


def _published(how: Scale) -> _Trace:
    return {
        "type": "scatter",
        "name": f"{CHECK.name}, published",
        "x": [CHECK.share],
        "y": [float(how.of(np.asarray(CHECK.ratio)))],
        "mode": "markers",
        "marker": {"symbol": "star-diamond", "size": 11, "color": _NEUTRAL.color},
        "hovertemplate": f"{CHECK.name} on WikiText-2, mean of {CHECK.tokens:,} tokens: %{{y:.4f}}"
        f"<br>a third party's, {CHECK.source}<extra></extra>",
    }


def _models(result: BottleneckReport | None, how: Scale) -> list[_Trace]:
    if result is None:
        return []
    looks = marks(result)
    return [
        _point(name, how, looks[name], one.share, one.destroyed, one.random)
        for name, one in ratios(result).items()
    ]


def _point(
    name: str, how: Scale, look: Mark, share: float, ratio: float, random: float | None
) -> _Trace:
    """The measured ratio, and beside it, small, that of a random gradient."""
    floor = [] if random is None else [random]
    values = [ratio, *floor]
    return {
        "type": "scatter",
        "name": plain(short(name)),
        "x": [share] * len(values),
        "y": how.of(np.asarray(values)),
        "mode": "markers",
        "marker": {
            "symbol": [look.symbol, *("x-thin" for _ in floor)],
            "size": [15, *(9 for _ in floor)],
            "color": look.color,
            "line": {"width": [1, *(2 for _ in floor)], "color": look.color},
        },
        "hovertext": ["measured", *("a random gradient" for _ in floor)],
        "hovertemplate": f"<b>{plain(name)}</b>, %{{hovertext}}<br>d / V %{{x:.4f}}: %{{y:.4f}}"
        "<extra></extra>",
    }


def _layout(
    result: BottleneckReport | None, how: Scale, scale: str, across: tuple[float, float]
) -> dict[str, Any]:
    low, high = _up(result, how, across)
    return {
        "uirevision": f"line {scale} {across}",
        "height": 460,
        "margin": {"l": 8, "r": 16, "t": 44, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": ABOVE,
        "xaxis": {
            "title": {"text": "d / V, width over vocabulary, log"},
            "type": "log",
            "range": [math.log10(v) for v in across],
            "dtick": "D2",
            "tickformat": "~r",
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
        },
        "yaxis": {
            "title": {"text": how.axis},
            "range": [math.log10(low), math.log10(high)] if how.log else [low, high],
            "zeroline": False,
            **({"type": "log", "dtick": "D2", "tickformat": "~r"} if how.log else {}),
        },
        "shapes": [_band(how), *(_stem(how, *one) for one in HEADS.values())],
        "annotations": [_band_words(how), *_head_words(how, (low, high))],
    }


def _up(
    result: BottleneckReport | None, how: Scale, across: tuple[float, float]
) -> tuple[float, float]:
    measured = [how.of(np.asarray(one.destroyed)).item() for one in ratios(result).values()]
    if not how.log:
        ends = [_LOWEST, float(np.sqrt(max(1 - across[1], 0))), *(m - 0.01 for m in measured)]
        return max(min(ends), 0.0), 1.004
    line = how.of(np.sqrt(np.maximum(1 - np.asarray(across), 0)))
    known = [float(v) for v in (*line, *measured, *how.paper) if v > 0]
    return 0.8 * min(known), min(1.25 * max(known), 1.05)


def _band(how: Scale) -> _Trace:
    low, high = how.paper
    place = {"xref": "paper", "x0": 0, "x1": 1, "y0": low, "y1": high}
    look = {"fillcolor": faint(_NEUTRAL, 0.12), "line": {"width": 0}, "layer": "below"}
    return {"type": "rect", **place, **look}


def _band_words(how: Scale) -> _Trace:
    """At the edge that the line is far from."""
    low, high = how.paper
    edge = high if how.log else low
    return {
        "xref": "paper",
        "x": 0.01,
        "y": math.log10(edge) if how.log else edge,
        "xanchor": "left",
        "yanchor": "bottom",
        "text": f"the paper's models: {low:.2g} to {high:.2g}",
        "font": {"size": 12},
        "opacity": 0.8,
        "showarrow": False,
    }


def _stem(how: Scale, width: int, rows: int) -> _Trace:
    """From the foot of the chart up to the line."""
    share = width / rows
    top = float(how.of(np.sqrt(np.asarray(1 - share))))
    place = {"x0": share, "x1": share, "y0": 1e-9 if how.log else 0, "y1": top}
    line = {"color": _NEUTRAL.color, "width": 1, "dash": "dot"}
    return {"type": "line", **place, "line": line, "layer": "below"}


def _head_words(how: Scale, up: tuple[float, float]) -> list[_Trace]:
    """Each name upright beside its stem."""
    foot = math.log10(up[0]) if how.log else up[0]
    return [
        {
            "x": math.log10(width / rows),
            "y": foot,
            "text": name,
            "textangle": -90,
            "xanchor": "right",
            "yanchor": "bottom",
            "xshift": 1,
            "yshift": 4,
            "font": {"size": 12},
            "opacity": 0.85,
            "showarrow": False,
        }
        for name, (width, rows) in HEADS.items()
    ]
