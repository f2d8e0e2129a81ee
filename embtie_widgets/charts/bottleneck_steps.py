"""Equal steps in logit space: what the whole gradient, its transmitted part and the rest each buy
of the loss."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from embtie_widgets.charts.facets import LEGEND, Facets, heading, named_once, suffix
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.lens_words import short
from embtie_widgets.charts.theme import PARTS, mark_of
from embtie_widgets.results.bottleneck import DIRECTIONS, BottleneckReport, EqualSteps

WORDS = {"whole": "whole gradient", "transmitted": "transmitted part", "lost": "not transmitted"}
"""What each direction is called where people read it."""
_NEUTRAL = mark_of("").color
_NARROW = 160  # pixels: so narrow that each name in the legend has a line of its own
_UPS: dict[str, dict[str, Any]] = {
    "loss": {"title": {"text": "loss, nats"}, "rangemode": "tozero"},
    "gain": {
        "title": {"text": "loss bought, nats, log"},
        "type": "log",
        "dtick": 1,
        "tickformat": "~g",
    },
}
_Trace = dict[str, Any]


def spec(result: BottleneckReport | None, shown: str = "loss") -> dict[str, Any]:
    """A chart for each model: along each direction the loss after a step, or, as "gain", by how
    much the step lowers it, over the step's length."""
    models = {} if result is None else result.models
    known = {name: one.bottleneck.steps for name, one in models.items()}
    steps = {name: one for name, one in known.items() if one is not None}
    traces = [
        trace
        for place, (name, one) in enumerate(steps.items())
        for trace in _lines(name, one, place, shown)
    ]
    named = named_once(traces, "lines+markers")
    wide = Facets(max(len(steps), 1), min(max(len(steps), 1), 2), named, height=300)
    narrow = replace(wide.narrow, width=_NARROW)
    return {
        "data": traces,
        "layout": _layout(steps, wide, shown),
        "narrow": _layout(steps, narrow, shown),
    }


def _lines(name: str, one: EqualSteps, place: int, shown: str) -> list[_Trace]:
    losses = np.asarray(one.losses, float)
    drawn = losses if shown == "loss" else one.before - losses
    axes = {"xaxis": f"x{suffix(place)}", "yaxis": f"y{suffix(place)}"}
    return [
        {
            "type": "scatter",
            "name": WORDS[way],
            "legendgroup": way,
            **axes,
            "x": np.asarray(one.sizes, float),
            "y": drawn[:, column],
            "mode": "lines+markers",
            "line": {"color": PARTS[way].color, "dash": PARTS[way].dash, "width": 2.4},
            "marker": {"symbol": PARTS[way].symbol, "size": 8, "color": PARTS[way].color},
            "hovertemplate": f"<b>{plain(name)}</b>, {WORDS[way]}<br>%{{x:g}} lengths: "
            "%{y:.4g} nats<extra></extra>",
        }
        for column, way in enumerate(DIRECTIONS)
    ]


def _layout(steps: dict[str, EqualSteps], facets: Facets, shown: str) -> dict[str, Any]:
    across = {
        "title": {"text": "length of the step, in lengths of the gradient"},
        "type": "log",
        "tickmode": "array",
        **_ticks(steps),
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
    }
    ups = [
        _UPS[shown]
        | {"zeroline": False}
        | ({"matches": "y"} if place else {})
        | ({"title": {"text": ""}} if place % facets.columns else {})
        for place in range(facets.count)
    ]
    named = [heading(place, plain(short(name))) for place, name in enumerate(steps)]
    lines = steps.values() if shown == "loss" else []
    before = [_before(one, place) for place, one in enumerate(lines)]
    return facets.layout(across, ups) | {
        "uirevision": f"{shown} {list(steps)}",
        "hovermode": "closest",
        "legend": LEGEND,
        "shapes": before,
        "annotations": [*named, *(_before_words(one, i) for i, one in enumerate(lines))],
    }


def _ticks(steps: dict[str, EqualSteps]) -> dict[str, Any]:
    sizes = sorted({float(size) for one in steps.values() for size in one.sizes})
    return {"tickvals": sizes, "ticktext": [f"{size:g}" for size in sizes]}


def _before(one: EqualSteps, place: int) -> _Trace:
    """The loss without a step."""
    name = suffix(place)
    ends = {"xref": f"x{name} domain", "x0": 0, "x1": 1, "yref": f"y{name}"}
    line = {"color": _NEUTRAL, "width": 1.4, "dash": "dash"}
    return {"type": "line", **ends, "y0": one.before, "y1": one.before, "line": line}


def _before_words(one: EqualSteps, place: int) -> _Trace:
    name = suffix(place)
    return {
        "xref": f"x{name}",
        "x": math.log10(float(min(one.sizes))) if len(one.sizes) else 0,
        "yref": f"y{name}",
        "y": one.before,
        "text": f"without a step {one.before:.2f}",
        "font": {"size": 12},
        "opacity": 0.85,
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "bottom",
    }
