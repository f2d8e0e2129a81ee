"""Several methods through their training: a small chart for each quantity, one axis of steps."""

import math
from typing import Any

import numpy as np

from embtie_widgets.charts import stretched
from embtie_widgets.charts.centering_view import (
    QUANTITIES,
    UNITS,
    View,
    at_step,
    called,
    fitting,
    look_of,
    quantities_of,
    side_by_side,
)
from embtie_widgets.charts.facets import LEGEND, Facets, heading, named_once, suffix
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.shapes import Vector
from embtie_widgets.charts.theme import mark_of
from embtie_widgets.results.centering import DIVERGED, CenteringReport, CenteringRun
from embtie_widgets.results.gradient import trailing_mean

SMOOTH = 20
CUT = 0.1
"""Over so many steps the loss is averaged, and in such a share of the steps it may leave the
picture, while it falls from that of equal guesses."""
ROUGH = 128.0
"""From here on bfloat16, of 8 significant bits, holds whole numbers only."""
_MOST_POINTS = 1_000
_FEW = 0.3  # losses that are worse than at the start leave the picture where they are no more
_NEUTRAL = mark_of("").color
_USUAL = View()
_Trace = dict[str, Any]


def spec(result: CenteringReport | None, view: View = _USUAL) -> dict[str, Any]:
    """The curves in plotly's terms: "data", "layout", and "narrow" for a narrow box."""
    runs, names = side_by_side(result, view), drawn(result, view)
    curves = [
        [trace for run in runs for trace in _traces(runs, run, name, place, view)]
        for place, name in enumerate(names)
    ]
    traces = [
        trace for place, some in enumerate(curves) for trace in some or [_nothing(place, names)]
    ]
    facets = Facets(len(names), 2 if len(names) > 1 else 1, named_once(traces, "lines"))
    across, ups = _across(runs), [_up(result, runs, name, view) for name in names]
    layout = {
        "uirevision": f"{fitting(result, view)}",
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": LEGEND,
        "annotations": [
            note
            for place, name in enumerate(names)
            for note in _notes(result, runs, name, place, view)
        ],
        "shapes": [
            line
            for place, name in enumerate(names)
            for line in _levels(result, runs, name, place, view)
        ],
        **facets.layout(across, ups),
    }
    return {"data": traces, "layout": layout, "narrow": facets.narrow.layout(across, ups)}


def drawn(result: CenteringReport | None, view: View) -> list[str]:
    """The quantities of the view that some run has; all of the view before there are any."""
    known = quantities_of(result)
    return [name for name in view.curves if name in known] or list(view.curves)


# Curves.


def _nothing(place: int, names: list[str]) -> _Trace:
    """Axes that nothing stands on are not drawn."""
    axis = suffix(place)
    empty = {"type": "scatter", "name": names[place], "x": [], "y": []}
    return empty | {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}


def _traces(
    runs: list[CenteringRun], run: CenteringRun, name: str, place: int, view: View
) -> list[_Trace]:
    """The curve, a marker at its end, and where they differ the mean over all stored rows."""
    if not run.knows(name):
        return []
    steps, values = values_of(run, name)
    curve = _curve(runs, run, name, place, (steps, values), view)
    return [curve, *_end(curve, run), *_stored(curve, run, name, view)]


def _curve(
    runs: list[CenteringRun],
    run: CenteringRun,
    name: str,
    place: int,
    known: tuple[Vector, Vector],
    view: View,
) -> _Trace:
    steps, values = known
    look, words, axis = look_of(run, runs), plain(called(run, runs)), suffix(place)
    return {
        "type": "scatter",
        "name": f"{look.glyph} {words}",
        "legendgroup": words,
        "x": np.asarray(steps, "f4"),
        "y": np.asarray(_shown(values, name, view), "f4"),
        "customdata": np.asarray(values, "f4"),
        "xaxis": f"x{axis}",
        "yaxis": f"y{axis}",
        "mode": "lines",
        "line": {"color": look.color, "dash": look.dash, "width": look.width},
        "marker": {"color": look.color, "symbol": look.symbol, "size": 8},
        "hovertemplate": f"<b>{words}</b>, step %{{x:,}}<br>{QUANTITIES[name].label} "
        "%{customdata:.4g}<extra></extra>",
    }


def _end(curve: _Trace, run: CenteringRun) -> list[_Trace]:
    """The marker of the method at the last value, a cross where the run has diverged there."""
    known = np.flatnonzero(np.isfinite(curve["y"]))
    last = known[-1:]
    ended = run.state == DIVERGED
    cross = {"symbol": "x", "size": 10, "color": curve["line"]["color"]}
    said = f"diverged{at_step(run)}<br>" if ended else ""
    return [
        curve
        | {
            "x": curve["x"][last],
            "y": curve["y"][last],
            "customdata": curve["customdata"][last],
            "mode": "markers",
            "marker": cross if ended else curve["marker"],
            "cliponaxis": False,
            "hovertemplate": said + curve["hovertemplate"],
        }
    ]


def _stored(curve: _Trace, run: CenteringRun, name: str, view: View) -> list[_Trace]:
    """The length of the mean over all stored rows, where it is not that over rows of tokens."""
    if name != "mu_output" or not run.knows("mu_output_all"):
        return []
    steps, values = values_of(run, "mu_output_all")
    if np.allclose(values, curve["customdata"], rtol=0.01, atol=1e-6, equal_nan=True):
        return []
    return [
        curve
        | {
            "x": np.asarray(steps, "f4"),
            "y": np.asarray(_shown(values, name, view), "f4"),
            "customdata": np.asarray(values, "f4"),
            "line": {"color": curve["line"]["color"], "dash": "1px,3px", "width": 1.4},
            "hovertemplate": curve["hovertemplate"].replace("|μ|", "|μ| over all stored rows"),
        }
    ]


def values_of(run: CenteringRun, name: str) -> tuple[Vector, Vector]:
    """Steps and values; the loss as a mean over some steps, all else as it was logged."""
    steps = np.asarray(run.curves["step"], float)
    values = np.asarray(run.curves[name], float)
    if name == "loss":
        values = np.where(np.isfinite(values), trailing_mean(steps, values, SMOOTH), np.nan)
    every = max(1, len(steps) // _MOST_POINTS)
    return steps[::every], values[::every]


def _shown(values: Vector, name: str, view: View) -> Vector:
    return stretched.stretched(values, UNITS[name]) if view.log and name in UNITS else values


# Axes.


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
    low, high = _extent(result, runs, name)
    if view.log and name in UNITS:
        return {"zeroline": False} | stretched.axis(low, high, UNITS[name])
    air = 0.05 * ((high - low) or 1.0)
    base = 0.0 if low == 0 else low - air
    return {"zeroline": low < 0, "nticks": 5, "range": [base - 0.3 * air, high + air]}


def _extent(
    result: CenteringReport | None, runs: list[CenteringRun], name: str
) -> tuple[float, float]:
    """From the least to the largest value that is to be seen; down to 0 but for losses."""
    parts = [_seen(run, name) for run in runs if run.knows(name)]
    known = np.concatenate(parts) if parts else np.empty(0)
    known = known[np.isfinite(known)]
    if not len(known):
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    if name == "loss":
        most = math.inf if result is None else 1.1 * result.initial_loss
        return low, most if np.mean(known > most) < _FEW and high > most else high
    high = max(high, 1.1) if name == "bound_ratio" else high
    return min(low, 0.0), max(high, 1.0 if name == "common_fraction" else 0.0)


def _seen(run: CenteringRun, name: str) -> Vector:
    """The values that must be in the picture."""
    steps, values = values_of(run, name)
    late = values[steps > CUT * run.of] if name == "loss" else values
    return late if np.isfinite(late).any() else values


# Levels and words.


def _levels(
    result: CenteringReport | None, runs: list[CenteringRun], name: str, place: int, view: View
) -> list[_Trace]:
    axis = suffix(place)
    return [
        {
            "type": "line",
            "layer": "above",
            "xref": f"x{axis} domain",
            "x0": 0,
            "x1": 1,
            "yref": f"y{axis}",
            "y0": float(_shown(np.array(level), name, view)),
            "y1": float(_shown(np.array(level), name, view)),
            "line": {"color": _NEUTRAL, "width": 1.2, "dash": "dash"},
        }
        for level, _ in _known_levels(result, runs, name)
    ]


def _known_levels(
    result: CenteringReport | None, runs: list[CenteringRun], name: str
) -> list[tuple[float, str]]:
    """The levels that are within the picture, with their words."""
    found = []
    one = QUANTITIES[name]
    if one.level is not None:
        found.append((one.level, one.level_words))
    if result is not None and name == "loss":
        found.append((result.initial_loss, "equal guesses"))
    if result is not None and name == "logit_max":
        known = [result.settings.get("precision"), *(run.about.get("precision") for run in runs)]
        rough = "bfloat16" in known
        found += [(ROUGH, "above: bfloat16 has whole numbers only")] if rough else []
    low, high = _extent(result, runs, name)
    return [(level, words) for level, words in found if low < level < high]


def _notes(
    result: CenteringReport | None, runs: list[CenteringRun], name: str, place: int, view: View
) -> list[_Trace]:
    """The name of the chart, and words at its levels."""
    axis = suffix(place)
    free = {"x": 0.99, "xanchor": "right"} if name == "loss" else {"x": 0.01, "xanchor": "left"}
    return [  # a loss begins at its level and falls: words stand where it has left
        heading(place, QUANTITIES[name].label),
        *(
            {
                "xref": f"x{axis} domain",
                **free,
                "yref": f"y{axis}",
                "y": float(_shown(np.array(level), name, view)),
                "yanchor": "bottom",
                "text": words,
                "font": {"size": 11},
                "opacity": 0.8,
                "showarrow": False,
            }
            for level, words in _known_levels(result, runs, name)
            if words
        ),
    ]
