"""Who writes into which rows: the output's share by token frequency over the steps, as a picture.

A field of colour for each run, from the input's blue to the output's orange, a row for each band.
"""

import math
from typing import Any

import numpy as np

from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.gradient_view import axis_of, marks, reach
from embtie_widgets.charts.shapes import Vector
from embtie_widgets.charts.theme import ROLES
from embtie_widgets.results.gradient import FlowRun, GradientFlow
from embtie_widgets.results.groups import BANDS

_COLUMNS = 240
_SCALE = [[0.0, ROLES["input"].color], [0.5, "#d5d9df"], [1.0, ROLES["output"].color]]
_GAP = 0.16
_ROW_HEIGHT, _EDGE = 30, 110
_Trace = dict[str, Any]


def has_bands(result: GradientFlow | None) -> bool:
    """Whether any run is known by band."""
    return bool(_known(result))


def bands(result: GradientFlow | None) -> dict[str, Any]:
    """The picture in plotly's terms, "data" and "layout"."""
    runs = _known(result)
    traces = [_field(name, run, place) for place, (name, run) in enumerate(runs.items())]
    return {"data": traces, "layout": _layout(runs, reach(result), axis_of(result))}


def bands_caption(result: GradientFlow) -> str:
    """What the picture shows, as plain text."""
    longest = max((len(run.curves["step"]) for run in _known(result).values()), default=0)
    means = f" Each column is the mean of some {longest / _COLUMNS:,.0f} logged steps." * (
        longest >= 2 * _COLUMNS
    )
    return (
        "The length of the output's part over both lengths, |G_out| / (|G_in| + |G_out|), in the "
        "rows of tokens that come so often in the text. A token that a batch lacks has no input "
        f"part in it.{means}"
    )


def _known(result: GradientFlow | None) -> dict[str, FlowRun]:
    runs = {} if result is None else result.runs
    return {
        name: run
        for name, run in runs.items()
        if run.bands and np.isfinite(run.by_band.get("norm_share", np.empty(0))).any()
    }


def _field(name: str, run: FlowRun, place: int) -> _Trace:
    steps, shares = cut(run)
    number = "" if place == 0 else str(place + 1)
    return {
        "type": "heatmap",
        "x": steps,
        "y": list(run.bands),
        "z": shares.T.round(4).tolist(),
        "xaxis": f"x{number}",
        "yaxis": f"y{number}",
        "zmin": 0,
        "zmax": 1,
        "colorscale": _SCALE,
        "showscale": place == 0,
        "colorbar": _BAR,
        "hovertemplate": (
            f"<b>{plain(name)}</b>, tokens that come %{{y}}<br>about step %{{x:,.0f}}: the output "
            "has %{z:.3f} of both lengths<extra></extra>"
        ),
        "hoverongaps": False,
        "xgap": 0,
        "ygap": 2,
    }


_BAR = {
    "orientation": "h",
    "yref": "container",
    "y": 1.0,
    "yanchor": "top",
    "x": 0.5,
    "xanchor": "center",
    "len": 0.7,
    "thickness": 10,
    "ypad": 4,
    "outlinewidth": 0,
    "tickvals": [0, 0.5, 1],
    "ticktext": ["input", "½", "output"],
    "tickangle": 0,
}


def cut(run: FlowRun) -> tuple[Vector, Vector]:
    """Steps (m,) and norm shares (m, bands), means over stretches where there are more than a
    picture is wide."""
    steps = np.asarray(run.curves["step"], float)
    shares = np.asarray(run.by_band["norm_share"], float)
    parts = np.array_split(np.arange(len(steps)), min(len(steps), _COLUMNS))
    return np.array([steps[part].mean() for part in parts]), np.stack(
        [_mean(shares[part]) for part in parts]
    )


def _mean(values: Vector) -> Vector:
    """(bands,) the mean of the finite values (n, bands) of each, NaN without any."""
    known = np.isfinite(values)
    many = known.sum(0)
    whole = np.where(known, values, 0.0).sum(0)
    return np.where(many > 0, whole / np.maximum(many, 1), np.nan)


def _layout(runs: dict[str, FlowRun], ends: tuple[float, float], axis: str) -> dict[str, Any]:
    many = max((len(run.bands) for run in runs.values()), default=6)
    height = len(runs) * many * _ROW_HEIGHT + _EDGE
    gap = 2 * _GAP / max(len(runs), 2)  # as wide for many runs as for two: the height grows
    each = (1 - gap * (len(runs) - 1)) / max(len(runs), 1)
    layout: dict[str, Any] = {
        "uirevision": f"bands {len(runs)} {ends}",
        "height": height,
        "margin": {"l": 8, "r": 16, "t": 46 if len(runs) < 2 else 70, "b": 8},
        "dragmode": "zoom",
        "annotations": [],
    }
    for place, name in enumerate(runs):
        number, top = "" if place == 0 else str(place + 1), 1 - place * (each + gap)
        layout[f"xaxis{number}"] = {
            "title": {"text": axis if place == len(runs) - 1 else ""},
            "anchor": f"y{number}",
            "matches": "x" if place else None,
            "range": [ends[0] - 0.5, ends[1] + 0.5],
            "zeroline": False,
            "nticks": 6,
            "tickangle": 0,
            "tickformat": ",",
        }
        layout[f"yaxis{number}"] = {
            "domain": [max(top - each, 0), top],
            "anchor": f"x{number}",
            "type": "category",
            "tickvals": list(BANDS),
            "ticktext": list(map(_short, BANDS.values())),
            "title": {"text": "times in the text"},
            "zeroline": False,
            "showgrid": False,
        }
        if len(runs) > 1:
            layout["annotations"].append(_title(name, marks(runs)[name].glyph, top))
    return layout


def _short(ends: tuple[float, float]) -> str:
    """A band of counts, from the first that is in to the first that is not, in few letters."""
    low, high = int(ends[0]), ends[1]
    if math.isinf(high):
        return f"{low:,} +"
    return f"{low:,}" if high - low == 1 else f"{low:,} – {int(high) - 1:,}"


def _title(name: str, glyph: str, top: float) -> _Trace:
    return {
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": top,
        "xanchor": "left",
        "yanchor": "bottom",
        "text": f"<b>{glyph} {plain(name)}</b>",
        "font": {"size": 13},
        "showarrow": False,
    }
