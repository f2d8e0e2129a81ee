"""What each layer contributes, and how the translators learn: two more pictures of the lens."""

from typing import Any

import numpy as np

from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.lens_curves import SIDES, layer_ticks
from embtie_widgets.charts.lens_marks import mark, titled
from embtie_widgets.charts.lens_words import name_of, short
from embtie_widgets.charts.shapes import ABOVE, Vector, faint
from embtie_widgets.results.lens import Lens, PairLens

_NOTHING = np.empty(0)
_PATTERNS = {"A": "", "B": "/"}
_THICK = 0.4
_Trace = dict[str, Any]


def contributions(result: PairLens | None) -> dict[str, Any]:
    """By how much each layer lowers the KL, above; what it writes of the last state, below."""
    lenses = {} if result is None else result.lenses
    return {
        "data": [_bars(result, lenses, side, part) for part in ("drop", "share") for side in SIDES],
        "layout": _contribution_layout(lenses),
    }


def _bars(result: PairLens | None, lenses: dict[str, Lens], side: str, part: str) -> _Trace:
    one = lenses.get(side)
    base = {"type": "bar", "xaxis": "x", "yaxis": "y" if part == "drop" else "y2"}
    if result is None or one is None:
        return base | {"x": _NOTHING, "y": _NOTHING, "showlegend": False}
    first = 1 if part == "drop" else 0
    heights = one.drop_bits if part == "drop" else one.share * 100
    shift = (-0.5 if side == "A" else 0.5) * _THICK
    x = np.arange(first, first + len(heights)) + shift
    look = mark(result, side)
    return base | {
        "name": plain(short(name_of(result, side))),
        "legendgroup": side,
        "x": x,
        "y": np.asarray(heights, float),
        "width": _THICK,
        "marker": {
            "color": look.color,
            "line": {"width": 0},
            "pattern": {"shape": _PATTERNS[side], "fillmode": "overlay", "solidity": 0.22},
        },
        "hovertext": [_bar_hover(result, side, one, i, part) for i in range(len(heights))],
        "hoverinfo": "text",
        "textposition": "none",
        "showlegend": part == "drop",
    }


def _bar_hover(result: PairLens, side: str, one: Lens, place: int, part: str) -> str:
    name = f"<b>{plain(name_of(result, side))}</b>"
    if part == "drop":
        before, after = one.kl_bits[place : place + 2]
        drop = f"KL {before:.3f} to {after:.3f}, {one.drop_bits[place]:.3f} bits lower"
        return f"{name}, layer {place + 1}<br>{drop}"
    where = f"layer {place}" if place else "embedding"
    length = f"<br>writes {one.write[place - 1]:.2f} of the state's length" if place else ""
    return f"{name}, {where}<br>{one.share[place]:.1%} of the last state{length}".replace("%", " %")


def _contribution_layout(lenses: dict[str, Lens]) -> dict[str, Any]:
    end = float(max((len(one.kl_bits) - 1 for one in lenses.values()), default=1))
    return {
        "uirevision": f"parts {end}",
        "height": 480,
        "margin": {"l": 8, "r": 16, "t": 44, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "barmode": "overlay",
        "legend": ABOVE,
        "xaxis": {
            "title": {"text": "layer"},
            "range": [-0.6, end + 0.6],
            "anchor": "y2",
            **layer_ticks(end),
            "zeroline": False,
            "showgrid": False,
            "ticks": "outside",
        },
        "yaxis": {"title": {"text": "KL drop, bits"}, "domain": [0.56, 1]},
        "yaxis2": {
            "title": {"text": "of the last state, %"},
            "domain": [0, 0.44],
            "zeroline": True,
        },
    }


def has_training(result: PairLens | None) -> bool:
    """Whether translators were trained for this result."""
    return result is not None and any(len(one.get("step", ())) for one in result.training.values())


def training(result: PairLens | None) -> dict[str, Any]:
    """KL of every layer on text held out, over the steps: a field for each model trained here."""
    curves = {} if result is None else result.training
    trained = [side for side in SIDES if len(curves.get(side, {}).get("step", ()))]
    traces = [
        trace
        for place, side in enumerate(trained)
        if result is not None
        for trace in _learning(result, side, curves[side], "x" if place == 0 else "x2")
    ]
    return {"data": traces, "layout": _training_layout(result, trained, curves)}


def _learning(result: PairLens, side: str, curve: dict[str, Vector], axis: str) -> list[_Trace]:
    look, steps = mark(result, side), np.asarray(curve["step"], float)
    kl = np.atleast_2d(np.asarray(curve["kl_bits"], float))
    layers = kl.shape[1]
    name = plain(name_of(result, side))
    return [
        {
            "type": "scatter",
            "x": steps,
            "y": kl[:, layer],
            "xaxis": axis,
            "mode": "lines+markers" if len(steps) == 1 else "lines",
            "line": {"color": faint(look, 1 - 0.7 * layer / max(layers - 1, 1)), "width": 2},
            "marker": {"size": 6, "color": look.color},
            "hovertemplate": (
                f"<b>{name}</b>, {f'layer {layer}' if layer else 'embedding'}<br>"
                "step %{x:,}: %{y:.3f} bits<extra></extra>"
            ),
            "showlegend": False,
            "cliponaxis": False,
        }
        for layer in range(layers)
    ]


def _training_layout(
    result: PairLens | None, trained: list[str], curves: dict[str, dict[str, Vector]]
) -> dict[str, Any]:
    domains = [[0.0, 1.0]] if len(trained) < 2 else [[0.0, 0.47], [0.53, 1.0]]
    reach = _reach(result, trained, curves)
    axes = {
        "xaxis" if i == 0 else "xaxis2": {
            "title": {"text": "step"},
            "domain": domain,
            "range": [0, reach],
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
            "nticks": 6,
        }
        for i, domain in enumerate(domains)
    }
    highest = [float(np.max(curves[side]["kl_bits"])) for side in trained]
    return {
        "uirevision": "training",
        "height": 340,
        "margin": {"l": 8, "r": 16, "t": 40, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "showlegend": False,
        **axes,
        "yaxis": {
            "title": {"text": "KL held out, bits"},
            "range": [0, 1.06 * max(highest, default=1.0)],
            "zeroline": False,
        },
        "annotations": [
            note
            for i, side in enumerate(trained)
            if result is not None
            for note in (
                _title(result, side, domains[i][0]),
                *_ends(result, side, curves[side], i, reach),
            )
        ],
    }


def _reach(
    result: PairLens | None, trained: list[str], curves: dict[str, dict[str, Vector]]
) -> float:
    """The last step; while the training goes on, that which it is to end with."""
    asked = result.settings.get("steps", 0) if result is not None and result.progress else 0
    return max([1.0, float(asked), *(float(curves[side]["step"][-1]) for side in trained)])


def _ends(
    result: PairLens, side: str, curve: dict[str, Vector], place: int, reach: float
) -> list[_Trace]:
    """Which lines are the first and the last, at their ends, on the side that has room."""
    kl, steps = np.atleast_2d(np.asarray(curve["kl_bits"], float)), np.asarray(curve["step"], float)
    last = kl.shape[1] - 1
    named = {0: "embedding"} | ({last: f"layer {last}"} if last else {})
    return [
        {
            "xref": "x" if place == 0 else "x2",
            "x": float(steps[-1]),
            "y": float(kl[-1, layer]),
            "text": words,
            "font": {"size": 12},
            "showarrow": False,
            "xanchor": "left" if steps[-1] < reach / 2 else "right",
            "yanchor": "bottom",
        }
        for layer, words in named.items()
    ]


def _title(result: PairLens, side: str, x: float) -> _Trace:
    return {
        "xref": "paper",
        "yref": "paper",
        "x": x,
        "y": 1.0,
        "xanchor": "left",
        "yanchor": "bottom",
        "text": titled(result, side, 20),
        "font": {"size": 14},
        "showarrow": False,
    }
