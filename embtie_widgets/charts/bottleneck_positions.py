"""What is not transmitted at single positions: their distribution, and by the kind and frequency of
the token that was to be predicted."""

from typing import Any

import numpy as np

from embtie_widgets.charts.bottleneck_view import SCALES, Scale, Vector, marks
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.lens_words import short
from embtie_widgets.charts.shapes import ABOVE, error_bars, faint, outline
from embtie_widgets.charts.theme import Mark, mark_of
from embtie_widgets.results.bottleneck import BottleneckModel, BottleneckReport
from embtie_widgets.results.groups import BY_FREQUENCY, BY_KIND

BINS = 60
WHAT = {
    "destroyed": "mean r over positions",
    "target_kept": "mean transmitted of the target",
}
"""The numbers that groups of targets have."""
_NEUTRAL = mark_of("")
_ROW = 30  # pixels
_Trace = dict[str, Any]


def histogram(result: BottleneckReport | None, scale: str = "r") -> dict[str, Any]:
    """How many positions have which number, one outline a model, with the number of all positions
    together and the line."""
    how = SCALES[scale]
    models = {} if result is None else result.models
    values = {n: _known(how.of(one.bottleneck.per_position)) for n, one in models.items()}
    edges = _edges([v for v in values.values() if len(v)])
    looks = {} if result is None else marks(result)
    drawn = [_outline(name, values[name], edges, looks[name]) for name in models]
    top = max((float(one["y"].max()) for one in drawn), default=1.0)
    return {
        "data": [*drawn, *_lines(models, how, top)],
        "layout": _histogram_layout(models, looks, how, scale),
    }


def _known(values: Vector) -> Vector:
    return np.asarray(values)[np.isfinite(values)]


def _edges(values: list[Vector]) -> Vector:
    if not values:
        return np.linspace(0, 1, BINS + 1)
    whole = np.concatenate(values)
    low, high = float(whole.min()), float(whole.max())
    return np.linspace(low, high if high > low else low + 1e-3, BINS + 1)


def _outline(name: str, values: Vector, edges: Vector, look: Mark) -> _Trace:
    shares = np.histogram(values, edges)[0] / max(len(values), 1) * 100
    return {
        "type": "scatter",
        "name": plain(short(name)),
        "x": np.concatenate([edges[:1], edges]),
        "y": np.concatenate([[0.0], shares, [0.0]]),
        "mode": "lines",
        "fill": "tozeroy",
        **outline(look, 0.9, 0.14),
        "hovertemplate": f"<b>{plain(name)}</b><br>from %{{x:.4f}}: %{{y:.1f}} % of the positions"
        "<extra></extra>",
    }


def _histogram_layout(
    models: dict[str, BottleneckModel], looks: dict[str, Mark], how: Scale, scale: str
) -> dict[str, Any]:
    levels = [
        (float(how.of(np.asarray(one.bottleneck.destroyed))), looks[name], "solid")
        for name, one in models.items()
    ]
    return {
        "uirevision": f"positions {scale} {list(models)}",
        "height": 380,
        "margin": {"l": 8, "r": 16, "t": 44, "b": 8},
        "hovermode": "closest",
        "legend": ABOVE,
        "xaxis": {
            "title": {"text": how.axis},
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
            "nticks": 8,
        },
        "yaxis": {"title": {"text": "positions, %"}, "rangemode": "tozero", "zeroline": False},
        "shapes": [_upright(*one) for one in levels],
    }


def _upright(x: float, look: Mark, dash: str) -> _Trace:
    place = {"x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1}
    return {"type": "line", **place, "line": {"color": look.color, "width": 1.8, "dash": dash}}


def _lines(models: dict[str, BottleneckModel], how: Scale, top: float) -> list[_Trace]:
    """What counting dimensions gives, once for all models that it is the same of."""
    known = dict.fromkeys(float(how.of(np.asarray(m.bottleneck.line))) for m in models.values())
    return [
        {
            "type": "scatter",
            "name": f"line {x:.3f}",
            "x": [x, x],
            "y": [0, top],
            "mode": "lines",
            "line": {"color": _NEUTRAL.color, "dash": "dash", "width": 1.8},
            "hoverinfo": "name",
        }
        for x in known
    ]


# By groups of targets.


def has_groups(result: BottleneckReport | None) -> bool:
    """Whether groups of targets have a number that is drawn."""
    return bool(_offered(result))


def _offered(result: BottleneckReport | None) -> list[str]:
    models = [] if result is None else list(result.models.values())
    return [w for w in WHAT if any(w in group["scored"] for m in models for group in m.groups)]


def groups(result: BottleneckReport | None, what: str = "destroyed") -> dict[str, Any]:
    """The mean of each kind of target and of each band of counts, a marker a model, with 95 %
    intervals where there are positions enough."""
    models = {} if result is None or not has_groups(result) else result.models
    rows = _rows(models)
    looks = {} if result is None else marks(result)
    data = [
        _markers(name, one, rows, what, looks[name], place - (len(models) - 1) / 2)
        for place, (name, one) in enumerate(models.items())
    ]
    return {"data": data, "layout": _groups_layout(models, rows, what)}


def _rows(models: dict[str, BottleneckModel]) -> dict[str, int]:
    """Each group to its row from the top: kinds first, an empty row, then bands, rare to often."""
    found: dict[str, list[str]] = {BY_KIND: [], BY_FREQUENCY: []}
    for one in models.values():
        for group in one.groups:
            if group["group"] not in found[group["by"]]:
                found[group["by"]].append(group["group"])
    gap = 1 if found[BY_KIND] and found[BY_FREQUENCY] else 0
    start = len(found[BY_KIND]) + gap
    bands = sorted(found[BY_FREQUENCY], key=_lowest)
    kinds = {name: place for place, name in enumerate(found[BY_KIND])}
    return kinds | {name: start + place for place, name in enumerate(bands)}


def _lowest(band: str) -> int:
    return int(band.split(" ")[0].replace(",", ""))


def _markers(
    name: str, one: BottleneckModel, rows: dict[str, int], what: str, look: Mark, shift: float
) -> _Trace:
    known = [group for group in one.groups if group.get(what) is not None]
    means = [group[what] for group in known]
    bars = error_bars(means, [group["intervals"].get(what) for group in known])
    return {
        "type": "scatter",
        "name": plain(short(name)),
        "x": means,
        "y": [rows[group["group"]] + 0.26 * shift for group in known],
        "mode": "markers",
        "marker": {"symbol": look.symbol, "size": 9, "color": look.color},
        "error_x": bars | {"color": faint(look, 0.8), "width": 4},
        "hovertext": [f"{group['group']}, {group['scored'][what]:,} positions" for group in known],
        "hovertemplate": f"<b>{plain(name)}</b>, %{{hovertext}}<br>%{{x:.4f}}<extra></extra>",
    }


def _groups_layout(
    models: dict[str, BottleneckModel], rows: dict[str, int], what: str
) -> dict[str, Any]:
    lines = dict.fromkeys(_level(one, what) for one in models.values())
    return {
        "uirevision": f"groups {what} {list(rows)}",
        "height": _ROW * (max(rows.values(), default=4) + 1) + 110,
        "margin": {"l": 8, "r": 16, "t": 44, "b": 8},
        "hovermode": "closest",
        "legend": ABOVE,
        "xaxis": {
            "title": {"text": WHAT[what]},
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
            "nticks": 5,
        },
        "yaxis": {
            "tickmode": "array",
            "tickvals": list(rows.values()),
            "ticktext": [name.replace(" times", "×") for name in rows],
            "range": [max(rows.values(), default=4) + 0.6, -0.6],
            "zeroline": False,
        },
        "shapes": [_upright(x, _NEUTRAL, "dash") for x in lines],
    }


def _level(one: BottleneckModel, what: str) -> float:
    """What a direction without preference would have, and the mean over all tokens."""
    b = one.bottleneck
    return b.line if what == "destroyed" else b.rank / b.rows
