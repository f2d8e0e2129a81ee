"""What single toy tasks show besides: the labels of an anchor, and where attention goes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.shapes import ABOVE, faint
from embtie_widgets.charts.staircase_view import USUAL, View, axis_place, number, run_name, steps_of
from embtie_widgets.charts.steps import marks
from embtie_widgets.charts.theme import METHODS, ROLES
from embtie_widgets.results.staircase import StaircaseReport

_Trace = dict[str, Any]
_NEUTRAL = METHODS["none"]
_LIT, _DIM = "rgba(221,63,151,0.9)", "rgba(122,130,143,0.45)"
_SERIES = {
    "empirical": ("counted in the sequences", faint(_NEUTRAL, 0.45)),
    "target": ("drawn from", _NEUTRAL.color),
    "learned": ("learned: softmax of U times the anchor's row", ROLES["output"].color),
}
_AGREE = {"pearson": "Pearson", "kl": "KL", "jsd": "JSD"}


@dataclass(frozen=True)
class Extra:
    """A figure of one task with its words."""

    title: str
    figure: dict[str, Any]
    caption: str


def extra(result: StaircaseReport | None, view: View = USUAL) -> Extra | None:
    """What the task of this result shows besides; None where there is nothing."""
    if result is None:
        return None
    known: dict[str, Callable[[StaircaseReport, View], Extra]] = {
        "learned": _labels, "attention": _attention
    }  # fmt: skip
    return next((made(result, view) for name, made in known.items() if name in result.extras), None)


def _labels(result: StaircaseReport, _view: View) -> Extra:
    held = result.extras
    n = len(held["learned"])
    answers = [int(one) for one in held.get("answers", np.arange(n))]
    traces: list[_Trace] = [
        {
            "type": "bar" if name == "empirical" else "scatter",
            "name": words,
            "x": answers,
            "y": np.asarray(held[name], float),
            **({"marker": {"color": color}} if name == "empirical" else _line(name, color)),
            "hovertemplate": "label %{x}: %{y:.4f}<extra>" + plain(words) + "</extra>",
        }
        for name, (words, color) in _SERIES.items()
        if name in held
    ]
    layout = _layout("label", "probability") | {"bargap": 0.15}
    told = ", ".join(
        f"{words} {number(result.task[name], 3)}"
        for name, words in _AGREE.items()
        if isinstance(result.task.get(name), float)
    )
    said = f"What the anchor's row has learned at the end{': ' if told else ''}{told}."
    return Extra("The labels of the anchor", {"data": traces, "layout": layout}, said)


def _line(name: str, color: str) -> _Trace:
    dash = "dot" if name == "target" else "solid"
    return {"mode": "lines", "line": {"color": color, "dash": dash, "width": 2.2}}


def _attention(result: StaircaseReport, view: View) -> Extra:
    shares = np.asarray(result.extras["attention"], float)
    axis = axis_place(result, view.scale)
    name = run_name(result, view)
    steps = steps_of(result.runs[name])[: len(shares)] if name else np.arange(len(shares))
    places = [axis.of(float(step)) for step in steps]
    strong = _rising(shares)
    traces: list[_Trace] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": plain(anchor),
            "x": places,
            "y": shares[:, i],
            "line": {"color": _LIT if strong[i] else _DIM, "width": 1.8 if strong[i] else 1.1},
            "hovertemplate": f"{plain(anchor)}: %{{y:.3f}}<extra></extra>",
        }
        for i, anchor in enumerate(result.anchors[: shares.shape[1]])
    ]
    ticks = marks(axis)
    across = {
        "title": {"text": "epoch"},
        "tickmode": "array",
        "tickvals": [one["place"] for one in ticks],
        "ticktext": [one["label"] for one in ticks],
    }
    layout = _layout("epoch", "share of attention") | {"showlegend": False}
    layout["xaxis"] = {**layout["xaxis"], **across}
    said = (
        "The share of attention on each anchor, mean over the sequences that hold it; in colour "
        "those that end above twice the median."
    )
    return Extra("Where attention goes", {"data": traces, "layout": layout}, said)


def _rising(shares: Any) -> Any:
    last = shares[-1] if len(shares) else np.zeros(shares.shape[1])
    return last > 2 * np.nanmedian(last)


def _layout(across: str, up: str) -> _Trace:
    return {
        "height": 320,
        "margin": {"l": 8, "r": 16, "t": 44, "b": 8},
        "hovermode": "closest",
        "legend": ABOVE,
        "xaxis": {"title": {"text": across}, "zeroline": False, "showline": True},
        "yaxis": {"title": {"text": up}, "rangemode": "tozero", "zeroline": False},
    }
