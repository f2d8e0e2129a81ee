"""The gradient's two paths over a training as a picture: their lengths above, a share below.

A run that is compared with the first is drawn fainter.  Where nothing can be drawn, the reason
stands in the chart.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from embtie_widgets.charts.figures import plain, reasons
from embtie_widgets.charts.gradient_view import (
    Measure,
    View,
    axis_of,
    fitting,
    marks,
    reach,
    stride,
    values,
)
from embtie_widgets.charts.lens_words import short
from embtie_widgets.charts.shapes import ABOVE, Vector, faint
from embtie_widgets.charts.theme import ROLES, Mark, mark_of
from embtie_widgets.results.gradient import FlowRun, GradientFlow

_PARTS = {
    "input_norm": ("input", ROLES["input"]),
    "output_norm": ("output", ROLES["output"]),
    "total_norm": ("sum", ROLES["tied"]),
}
_PROXY = "input, the paper's proxy"
_COMPARED = 0.5  # strength of a run that is not the first
_BEHIND = 0.3  # of single values behind their mean
_FEW, _CROWD = 15, 800
_UPPER, _LOWER = (0.54, 1.0), (0.0, 0.44)
_AIR = 0.05
_NEUTRAL = mark_of("").color
_SMALL = {"font": {"size": 12}, "opacity": 0.8, "showarrow": False}
_USUAL = View()
_Trace = dict[str, Any]
# Axes that no curve stands on are not drawn.
_NOTHING: _Trace = {"type": "scatter", "x": [], "y": [], "showlegend": False}


def spec(result: GradientFlow | None, view: View = _USUAL) -> dict[str, Any]:
    """The chart in plotly's terms, "data" and "layout"; without a result its axes alone."""
    view = fitting(result, view)
    runs = {} if result is None else result.runs
    every = stride(runs.values())
    lengths = [one for name, run in runs.items() for one in _lengths(runs, name, run, view)]
    lengths = [_NOTHING] if result is None else lengths
    shares = [one for name, run in runs.items() for one in _shares(runs, name, run, view)]
    traces = [_thinned(trace, every) for trace in (*lengths, *shares)]
    return {"data": traces, "layout": _layout(result, view)}


def _thinned(trace: _Trace, every: int) -> _Trace:
    return trace | {axis: np.asarray(trace[axis], "f4")[::every] for axis in "xy"}


# The lengths of both parts.


def _lengths(runs: dict[str, FlowRun], name: str, run: FlowRun, view: View) -> list[_Trace]:
    first = name == next(iter(runs))
    traces = []
    for part in _parts(run, view):
        curve, (words, mark) = _curve(part, view), _PARTS[part]
        words = _PROXY if curve == "proxy_norm" else words
        hover = f"<b>{plain(name)}</b>, {words}<br>step %{{x:,}}: %{{y:.4g}}<extra></extra>"
        dash, strength = (mark.dash, 1.0) if first else ("dot", _COMPARED)
        called = words if first else f"{plain(short(name))}: {words}"
        drawn = _layered(run, partial(run.curve, curve), view, mark, dash, strength)
        traces += [one | {"hovertemplate": hover, "name": called} for one in drawn]
        traces[-1]["showlegend"] = True
    return [trace | {"legendgroup": trace["name"]} for trace in traces]


def _parts(run: FlowRun, view: View) -> list[str]:
    """Of an untied run there is no sum, and in the paper's figure there is none either."""
    summed = run.tied is not False and not view.paper
    return [
        part
        for part in _PARTS
        if run.knows(_curve(part, view)) and (summed or part != "total_norm")
    ]


def _curve(part: str, view: View) -> str:
    return "proxy_norm" if view.paper and part == "input_norm" else part


def _layered(
    run: FlowRun,
    numbers: Callable[[int], Vector],
    view: View,
    mark: Mark,
    dash: str,
    strength: float,
) -> list[_Trace]:
    """The values of a curve, and before them, where that is wanted, their mean over some steps."""
    shown = numbers(view.over)
    few = np.isfinite(shown).sum() <= _FEW
    base = {
        "type": "scatter",
        "x": run.curves["step"],
        "showlegend": False,
        "mode": "lines+markers" if few else "lines",
        "marker": {"color": faint(mark, strength), "symbol": mark.symbol, "size": 7},
    }
    line = {"color": faint(mark, strength), "dash": dash, "width": 2.4}
    front = base | {"y": shown, "line": line}
    if view.over == 1 or few or strength < 1:
        return [front]
    crowd = 1.0 if len(shown) <= _CROWD else 0.6
    behind = {"color": faint(mark, _BEHIND * crowd), "width": 1}
    return [base | {"y": numbers(1), "line": behind, "hoverinfo": "skip"}, front]


# The share, or what else is chosen, below.


def _shares(runs: dict[str, FlowRun], name: str, run: FlowRun, view: View) -> list[_Trace]:
    one, mark = view.shown, marks(runs)[name]
    if not run.knows(one.field):
        return []
    hover = f"<b>{plain(name)}</b>, step %{{x:,}}<br>{_hover(one)}<extra></extra>"
    drawn = _layered(run, lambda over: values(run, one, over), view, mark, mark.dash, 1.0)
    extra = {"yaxis": "y2", "name": plain(name), "hovertemplate": hover}
    return [trace | extra for trace in drawn]


def _hover(one: Measure) -> str:
    unit = {"cosine": "%{y:.1f}°", "loss": "%{y:.3f} nats"}.get(one.field, "%{y:.3f}")
    return f"{one.label.lower()} {unit}"


# Axes and words.


def _layout(result: GradientFlow | None, view: View) -> dict[str, Any]:
    one, ends = view.shown, reach(result)
    extent = _extent(result, view)
    return {
        "uirevision": f"{view.mode} {view.measure} {view.scale} {_of(result)}",
        "height": 600,
        "margin": {"l": 8, "r": 16, "t": 44, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": ABOVE,
        "xaxis": {
            "title": {"text": axis_of(result)},
            "anchor": "y2",
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
            "nticks": 8,
            "tickformat": ",",
            **_steps_axis(ends, view),
        },
        "yaxis": {
            "title": {"text": "length of the gradient, log"},
            "domain": list(_UPPER),
            "type": "log",
            "dtick": "D2",
            "tickformat": ".1~r",
            "zeroline": False,
            **({} if result is not None and result.runs else {"range": [-3, 0]}),
        },
        "yaxis2": {
            "title": {"text": one.axis},
            "domain": list(_LOWER),
            "range": list(extent),
            "zeroline": False,
        },
        "shapes": [*_level(one, extent), *_warm_up_lines(result)],
        "annotations": [
            *_warm_up_words(result, view),
            *_level_words(one, extent),
            *_names(result, view, extent),
            *reasons(result),
        ],
    }


def _of(result: GradientFlow | None) -> list[Any]:
    """What a zoom lasts as long as: the same training, however far it has come."""
    settings = {} if result is None else result.settings
    return [settings.get(name) for name in ("source", "steps", "file")]


def _steps_axis(ends: tuple[float, float], view: View) -> dict[str, Any]:
    first, last = ends
    if view.scale == "log":
        low, high = math.log10(max(first, 1)), math.log10(last)
        return {"type": "log", "range": [low, high + 0.02 * (high - low)], "dtick": 1}
    return {"range": [first - 0.01 * (last - first), last + 0.02 * (last - first)]}


def _extent(result: GradientFlow | None, view: View) -> tuple[float, float]:
    """The lower axis: every share from 0 to 1, and what goes beyond, but for single spikes."""
    one = view.shown
    runs = [] if result is None else list(result.runs.values())
    drawn = [values(run, one, view.over) for run in runs if run.knows(one.field)]
    known = np.concatenate(drawn) if drawn else np.empty(0)
    known = known[np.isfinite(known)]
    low, high = np.quantile(known, [0.005, 0.995]) if len(known) else (math.inf, -math.inf)
    if one.is_share:
        low, high = min(0.0, low), max(1.0, high)
    elif one.level is not None:
        low, high = min(one.level - 10, low), max(one.level + 10, high)
    elif not len(known):
        low, high = 0.0, 1.0
    air = _AIR * ((high - low) or 1.0)
    return float(low - air), float(high + air)


def _level(one: Measure, extent: tuple[float, float]) -> list[_Trace]:
    if one.level is None or not extent[0] <= one.level <= extent[1]:
        return []
    line = {"color": _NEUTRAL, "width": 1.4, "dash": "dash"}
    ends = {"xref": "paper", "x0": 0, "x1": 1, "yref": "y2", "y0": one.level, "y1": one.level}
    return [{"type": "line", "layer": "below", "line": line, **ends}]


def _level_words(one: Measure, extent: tuple[float, float]) -> list[_Trace]:
    if not _level(one, extent):
        return []
    # Curves begin near the level, and end with their names.
    place = {"xref": "paper", "x": 0.5, "xanchor": "center", "yref": "y2", "y": one.level}
    return [{**place, **_SMALL, "text": one.level_words, "yanchor": "top"}]


def _warm_up(result: GradientFlow | None) -> float | None:
    """The step at which the rate has risen to its height, where it is one step for all runs."""
    runs = [] if result is None else list(result.runs.values())
    ends = {run.about.get("warmup") for run in runs}
    step = next(iter(ends), None) if len(ends) == 1 else None
    known = isinstance(step, int | float) and 0 < step < reach(result)[1]
    return float(step) if known and step is not None else None


def _warm_up_lines(result: GradientFlow | None) -> list[_Trace]:
    """Upright, through both charts."""
    step = _warm_up(result)
    line = {"color": _NEUTRAL, "width": 1, "dash": "dot"}
    place = {"xref": "x", "x0": step, "x1": step, "y0": 0, "y1": 1}
    axes = [] if step is None else ["y domain", "y2 domain"]
    return [{"type": "line", "line": line, "yref": axis, **place} for axis in axes]


def _warm_up_words(result: GradientFlow | None, view: View) -> list[_Trace]:
    step = _warm_up(result)
    if step is None:
        return []
    place = {"x": _across(step, view), "xanchor": "left", "yref": "y domain", "y": 1}
    return [{**place, **_SMALL, "text": "warm-up ends", "yanchor": "top", "xshift": 3}]


def _across(step: float, view: View) -> float:
    """Where a note of a step stands: plotly takes the logarithm on such an axis."""
    return math.log10(max(step, 1)) if view.scale == "log" else step


def _names(result: GradientFlow | None, view: View, extent: tuple[float, float]) -> list[_Trace]:
    """Each run by name at the end of its curve: the upper one above it, the lower one below."""
    runs = {} if result is None else result.runs
    ends = {name: end for name, run in runs.items() if (end := _end(run, view)) is not None}
    order = sorted(ends, key=lambda name: -ends[name][1])
    looks, last = marks(runs), reach(result)[1]
    return [
        {
            "x": _across(ends[name][0], view),
            "yref": "y2",
            "y": min(max(ends[name][1], extent[0]), extent[1]),
            "text": f"<b>{looks[name].glyph} {plain(short(name))}</b>",
            "font": {"size": 13},
            "showarrow": False,
            "xanchor": "left" if ends[name][0] < last / 2 else "right",
            "yanchor": "bottom" if place == 0 else "top",
            "yshift": 4 if place == 0 else -4,
        }
        for place, name in enumerate(order)
    ]


def _end(run: FlowRun, view: View) -> tuple[float, float] | None:
    """The last point of the lower curve."""
    if not run.knows(view.shown.field):
        return None
    drawn = values(run, view.shown, view.over)
    last = int(np.flatnonzero(np.isfinite(drawn))[-1])
    return float(run.curves["step"][last]), float(drawn[last])
