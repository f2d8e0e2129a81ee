"""All runs while they train: their loss above, the output's share of the gradient below."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from embtie_widgets.charts.scaling_words import SMOOTH, title
from embtie_widgets.charts.shapes import ABOVE, Vector
from embtie_widgets.charts.theme import MODELS, ROLES, Mark
from embtie_widgets.results.gradient import trailing_mean
from embtie_widgets.results.scaling import ScaledRun, ScalingReport

LOSSES = {"loss": "loss, nats", "against": "loss less that of ×1"}
_DASHES = ("dash", "dot", "dashdot", "longdash", "longdashdot", "8px,2px,2px,2px", "2px,6px", "4px")
_Trace = dict[str, Any]
_Curves = Mapping[str, Vector]


def spec(result: ScalingReport | None, loss: str = "loss") -> dict[str, Any]:
    """The curves in plotly's terms; `loss` is a key of LOSSES."""
    if result is None:
        return {"data": [], "layout": _layout(None, loss)}
    marks = marks_of(result)
    untied = _losses(result, "untied", result.untied.get("curves", {}), MODELS["untied"], loss)
    traces = [untied]
    for run in result.runs:
        name, look = title(result, run), marks[run.factor]
        traces.append(_losses(result, name, run.curves, look, loss))
        traces.append(_shares(name, run.curves, look))
    return {"data": traces, "layout": _layout(result, loss)}


def marks_of(result: ScalingReport) -> dict[float, Mark]:
    """The look of each tied run: from the tied colour to the input's, each with a dash of its
    own."""
    others = sorted({run.factor for run in result.runs} - {1.0})
    made = {1.0: Mark(ROLES["tied"].color, "solid", ROLES["tied"].symbol)}
    for place, factor in enumerate(others):
        color = _between((place + 1) / len(others))
        made[factor] = Mark(color, _DASHES[place % len(_DASHES)], "triangle-up")
    return made


def _between(share: float) -> str:
    """A colour on the way from tied to input."""
    ends = [[int(ROLES[r].color[i : i + 2], 16) for i in (1, 3, 5)] for r in ("tied", "input")]
    mixed = (round(a + share * (b - a)) for a, b in zip(*ends, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _smooth(curves: _Curves, name: str) -> tuple[Vector, Vector]:
    """Steps and means of a curve; both empty where it has none."""
    if not len(curves.get("step", ())) or name not in curves:
        return np.empty(0), np.empty(0)
    steps = np.asarray(curves["step"], float)
    return steps, trailing_mean(steps, np.asarray(curves[name], float), SMOOTH)


def _losses(result: ScalingReport, name: str, curves: _Curves, look: Mark, loss: str) -> _Trace:
    steps, values = _smooth(curves, "loss")
    if loss == "against":
        plain = next((run for run in result.runs if run.factor == 1), None)
        steps, values = _against(steps, values, plain)
    return _trace(name, steps, values, look) | {
        "yaxis": "y",
        "hovertemplate": f"{name}, step %{{x:,}}: %{{y:.3f}} nats<extra></extra>",
        "showlegend": True,
    }


def _against(steps: Vector, values: Vector, plain: ScaledRun | None) -> tuple[Vector, Vector]:
    """Less the plain run's at the same steps, which read the same batches."""
    if plain is None:
        return np.empty(0), np.empty(0)
    own, base = _smooth(plain.curves, "loss")
    both, here, there = np.intersect1d(steps, own, return_indices=True)
    return both, values[here] - base[there]


def _shares(name: str, curves: _Curves, look: Mark) -> _Trace:
    steps, values = _smooth(curves, "norm_share")
    return _trace(name, steps, values, look) | {
        "yaxis": "y2",
        "hovertemplate": f"{name}, step %{{x:,}}: output's share %{{y:.3f}}<extra></extra>",
        "showlegend": False,
    }


def _trace(name: str, steps: Vector, values: Vector, look: Mark) -> _Trace:
    return {
        "type": "scatter",
        "name": name,
        "legendgroup": name,
        "x": steps,
        "y": values,
        "mode": "lines+markers" if len(steps) == 1 else "lines",
        "line": {"color": look.color, "dash": look.dash, "width": 2},
        "marker": {"size": 6, "color": look.color},
    }


def _layout(result: ScalingReport | None, loss: str) -> dict[str, Any]:
    steps = 1.0 if result is None else float(result.settings.get("steps", 1))
    return {
        "uirevision": f"{loss} {steps}",
        "height": 520,
        "margin": {"l": 8, "r": 16, "t": 44, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": ABOVE,
        "xaxis": {
            "title": {"text": "step"},
            "range": [0, steps],
            "anchor": "y2",
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
        },
        "yaxis": {"title": {"text": LOSSES[loss]}, "domain": [0.54, 1], "zeroline": loss != "loss"},
        "yaxis2": {
            "title": {"text": "output's share of the gradient"},
            "domain": [0, 0.44],
            "range": [0, 1.02],
            "zeroline": False,
        },
        "shapes": [_half()],
    }


def _half() -> dict[str, Any]:
    """Where both paths are of one size."""
    line = {"width": 1, "dash": "dot", "color": "#7a828f"}
    span = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "yref": "y2", "y0": 0.5, "y1": 0.5}
    return span | {"layer": "below", "line": line}
