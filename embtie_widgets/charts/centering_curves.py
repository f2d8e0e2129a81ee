"""Several methods through their training: a small chart for each quantity, one axis of steps."""

from typing import Any

import numpy as np

from embtie_widgets.charts.centering_view import (
    QUANTITIES,
    View,
    called,
    fitting,
    marks_of,
    quantities_of,
    side_by_side,
)
from embtie_widgets.charts.facets import Facets, heading, suffix
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.shapes import ABOVE, Vector
from embtie_widgets.charts.theme import mark_of
from embtie_widgets.results.centering import (
    CenteringReport,
    CenteringRun,
)
from embtie_widgets.results.gradient import trailing_mean

SMOOTH = 20
_MOST_POINTS = 1_000
_UNITS = {  # on a stretched axis what is below is drawn to scale, what is above by its logarithm
    "logit_mean": 1.0,
    "logit_max": 1.0,
    "logit_std": 1.0,
    "mu_output": 0.1,
    "row_norm_output": 0.1,
    "mu_input": 0.1,
    "gradient_norm": 0.1,
    "logit_mean_spread": 0.1,
}
_NEUTRAL = mark_of("").color
_ROUGH = 128.0  # from here on bfloat16 holds whole numbers only
_USUAL = View()
_Trace = dict[str, Any]


def spec(result: CenteringReport | None, view: View = _USUAL) -> dict[str, Any]:
    """The curves in plotly's terms: "data", "layout", and "narrow" for a narrow box."""
    runs = side_by_side(result, view)
    names = _drawn(result, view)
    traces = [
        trace
        for place, name in enumerate(names)
        for run in runs
        for trace in _curve(runs, run, name, place, view)
    ]
    facets = Facets(len(names), columns=2 if len(names) > 1 else 1)
    across, ups = _across(runs), [_up(result, runs, name, view) for name in names]
    layout = {
        "uirevision": f"{fitting(result, view)}",
        "margin": {"l": 8, "r": 16, "t": facets.above, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": ABOVE | {"y": 1.0, "yref": "container", "yanchor": "top"},
        "annotations": [
            *(heading(place, QUANTITIES[name].label) for place, name in enumerate(names)),
        ],
        **facets.layout(across, ups),
    }
    return {"data": traces, "layout": layout, "narrow": facets.narrow.layout(across, ups)}


def _drawn(result: CenteringReport | None, view: View) -> list[str]:
    """The quantities of the view that some run has; all of the view before there are any."""
    known = quantities_of(result)
    return [name for name in view.curves if name in known] or list(view.curves)


def _curve(
    runs: list[CenteringRun], run: CenteringRun, name: str, place: int, view: View
) -> list[_Trace]:
    if not run.knows(name):
        return []
    steps, values = _values(run, name)
    mark, axis = marks_of(runs)[run.method], suffix(place)
    shown = _stretched(values, name) if view.log else values
    called_ = plain(called(run, runs))
    trace = {
        "type": "scatter",
        "name": called_,
        "legendgroup": called_,
        "showlegend": place == 0,
        "x": steps,
        "y": shown,
        "customdata": values,
        "xaxis": f"x{axis}",
        "yaxis": f"y{axis}",
        "mode": "lines",
        "line": {"color": mark.color, "dash": mark.dash, "width": 2.2},
        "hovertemplate": f"<b>{called_}</b>, step %{{x:,}}<br>{QUANTITIES[name].label} "
        "%{customdata:.4g}<extra></extra>",
    }
    return [trace]


def _values(run: CenteringRun, name: str) -> tuple[Vector, Vector]:
    """Steps and values; the loss as a mean over some steps, all else as it was logged."""
    steps = np.asarray(run.curves["step"], float)
    values = np.asarray(run.curves[name], float)
    if name == "loss":
        values = trailing_mean(steps, values, SMOOTH)
    every = max(1, len(steps) // _MOST_POINTS)
    return steps[::every], values[::every]


def _stretched(values: Vector, name: str) -> Vector:
    unit = _UNITS.get(name)
    return values if unit is None else np.arcsinh(values / unit)


def _across(runs: list[CenteringRun]) -> _Trace:
    last = max((max(run.of, run.step) for run in runs), default=1) or 1
    return {
        "title": {"text": "optimiser step"},
        "range": [0, last * 1.02],
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
        "tickformat": ",",
        "nticks": 6,
    }


def _up(result: CenteringReport | None, runs: list[CenteringRun], name: str, view: View) -> _Trace:
    return {"zeroline": False}
