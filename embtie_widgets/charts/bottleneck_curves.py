"""What is not transmitted along a training: one curve a run, tied and untied on one axis."""

import math
from typing import Any

import numpy as np

from embtie_widgets.charts.bottleneck_view import (
    MEASURES,
    Vector,
    View,
    curve_of,
    fitting,
    knows,
    last_step,
    marks,
)
from embtie_widgets.charts.figures import plain, reasons
from embtie_widgets.charts.lens_words import short
from embtie_widgets.charts.shapes import faint
from embtie_widgets.charts.theme import Mark, mark_of
from embtie_widgets.results.bottleneck import BottleneckReport, BottleneckRun

_MOST = 4_000  # points of a curve
_FEW = 15
_AIR = 0.06
_NEUTRAL = mark_of("").color
_USUAL = View()
_Trace = dict[str, Any]


def spec(result: BottleneckReport | None, view: View = _USUAL) -> dict[str, Any]:
    """The chart in plotly's terms; without a result its axes alone."""
    view = fitting(result, view)
    runs = {} if result is None else result.runs
    looks = {} if result is None else marks(result)
    drawn = {name: run for name, run in runs.items() if knows(run, MEASURES[view.measure].field)}
    traces = [one for n, run in drawn.items() for one in _curves(n, run, view, looks[n])]
    return {
        "data": [*traces, *_lines(drawn, view, _asked(result))],
        "layout": _layout(result, drawn, view, looks),
    }


def _curves(name: str, run: BottleneckRun, view: View, look: Mark) -> list[_Trace]:
    """The mean over some steps, where that is wanted, before single values."""
    one, steps = MEASURES[view.measure], np.asarray(run.curves["step"], float)
    every = max(1, math.ceil(len(steps) / _MOST))
    shown = curve_of(run, one.field, view.over)
    few = len(steps) <= _FEW
    front = {
        "type": "scatter",
        "name": plain(short(name)),
        "x": steps[::every],
        "y": shown[::every],
        "mode": "lines+markers" if few else "lines",
        "line": {"color": look.color, "dash": look.dash, "width": 2.4},
        "marker": {"color": look.color, "symbol": look.symbol, "size": 7},
        "hovertemplate": f"<b>{plain(name)}</b>, step %{{x:,}}<br>{one.label.lower()}: %{{y:.4f}}"
        "<extra></extra>",
        "showlegend": False,
    }
    if view.over == 1 or few:
        return [front]
    single = curve_of(run, one.field)[::every]
    behind = {"color": faint(look, 0.28), "width": 1}
    return [
        front | {"y": single, "line": behind, "hoverinfo": "skip", "hovertemplate": None},
        front,
    ]


def _lines(runs: dict[str, BottleneckRun], view: View, asked: float = 0.0) -> list[_Trace]:
    """What a direction without preference has, once for all runs that it is the same of."""
    level = {name: _level(run, view) for name, run in runs.items()}
    known = {name: values for name, values in level.items() if np.isfinite(values).any()}
    ends = dict.fromkeys(round(float(values[-1]), 9) for values in known.values())
    last = max(last_step(runs.values()), asked)
    return [
        {
            "type": "scatter",
            "name": "line",
            "x": [1, last],
            "y": [end, end],
            "mode": "lines",
            "line": {"color": _NEUTRAL, "dash": "dash", "width": 1.8},
            "hovertemplate": "a direction without preference: %{y:.4f}<extra></extra>",
            "showlegend": False,
        }
        for end in ends
    ]


def _level(run: BottleneckRun, view: View) -> Vector:
    """The line in the number that is shown; nothing for the loss."""
    line = curve_of(run, "line")
    if view.measure == "target":
        return np.asarray(1 - line**2)
    return np.full(len(line), np.nan) if view.measure == "loss" else view.as_scale.of(line)


def _layout(
    result: BottleneckReport | None,
    runs: dict[str, BottleneckRun],
    view: View,
    looks: dict[str, Mark],
) -> dict[str, Any]:
    low, high = _extent(runs, view)
    return {
        "uirevision": f"{view.measure} {view.scale} {list(runs)}",
        "height": 440,
        "margin": {"l": 8, "r": 16, "t": 24, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "xaxis": {
            "title": {"text": "optimiser step"},
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
            "nticks": 8,
            "tickformat": ",",
            **_steps_axis(result, runs, view),
        },
        "yaxis": {
            "title": {"text": MEASURES[view.measure].axis},
            "range": [low, high],
            "zeroline": False,
        },
        "annotations": [*_names(runs, view, looks), *_line_words(runs, view), *reasons(result)],
    }


def _asked(result: BottleneckReport | None) -> float:
    """How many steps a training is to take that is not whole yet."""
    if result is None or not result.progress:
        return 0.0
    of = [float(run.about.get("of") or 0) for run in result.runs.values()]
    return max([float(result.settings.get("steps") or 0), *of])


def _steps_axis(
    result: BottleneckReport | None, runs: dict[str, BottleneckRun], view: View
) -> dict[str, Any]:
    last = max(last_step(runs.values()), _asked(result), 2.0)
    if view.scale == "log":
        return {"type": "log", "range": [0, 1.02 * math.log10(last)], "dtick": 1}
    return {"range": [1 - 0.01 * last, 1.02 * last]}


def _extent(runs: dict[str, BottleneckRun], view: View) -> tuple[float, float]:
    """All that is drawn but for single spikes, and the line."""
    drawn = [curve_of(run, MEASURES[view.measure].field, view.over) for run in runs.values()]
    whole = np.concatenate(drawn) if drawn else np.empty(0)
    whole = whole[np.isfinite(whole)]
    if not len(whole):
        return 0.0, 1.0
    levels = [value for run in runs.values() for value in _level(run, view)[-1:]]
    ends = [*np.quantile(whole, [0.003, 0.997]), *(v for v in levels if np.isfinite(v))]
    air = _AIR * ((max(ends) - min(ends)) or 0.01)
    return float(min(ends) - air), float(max(ends) + air)


def _across(step: float, view: View) -> float:
    return math.log10(max(step, 1)) if view.scale == "log" else step


def _names(runs: dict[str, BottleneckRun], view: View, looks: dict[str, Mark]) -> list[_Trace]:
    """Each run by name at the end of its curve: the upper above it, the lower below."""
    field = MEASURES[view.measure].field
    shown = {name: curve_of(run, field, view.over) for name, run in runs.items()}
    ends = {name: int(np.flatnonzero(np.isfinite(one))[-1]) for name, one in shown.items()}
    order = sorted(runs, key=lambda name: -shown[name][ends[name]])
    return [
        {
            "x": _across(float(runs[name].curves["step"][ends[name]]), view),
            "y": float(shown[name][ends[name]]),
            "text": f"<b>{looks[name].glyph} {plain(short(name))}</b>",
            "font": {"size": 13},
            "showarrow": False,
            "xanchor": "right",
            "yanchor": "bottom" if place == 0 else "top",
            "yshift": 6 if place == 0 else -6,
        }
        for place, name in enumerate(order)
    ]


def _line_words(runs: dict[str, BottleneckRun], view: View) -> list[_Trace]:
    words = "d / V" if view.measure in ("energy", "target") else "line √(1 − d / V)"
    words = "√(d / V)" if view.measure == "c" else words
    return [
        {
            "xref": "paper",
            "x": 0.5,
            "y": trace["y"][0],
            "text": words,
            "font": {"size": 12},
            "opacity": 0.85,
            "showarrow": False,
            "yanchor": "bottom",
        }
        for trace in _lines(runs, view)
    ]
