"""What single toy tasks show besides: the labels of an anchor, where attention goes, and which wave
over the context the embeddings follow."""

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


def extras(result: StaircaseReport | None, view: View = USUAL) -> dict[str, Extra]:
    """What the task of this result shows besides, each by one of `NAMES`."""
    held = {} if result is None else result.extras
    return {name: made(result, view) for name, made in _MADE.items() if name in held and result}


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
    lines = [*zip(result.anchors, shares.T, strict=False)]
    strong = _rising(shares)
    said = (
        "The share of attention on each anchor, mean over the sequences that hold it; in colour "
        "those that end above twice the median."
    )
    figure = _by_step(result, view, lines, strong, "share of attention")
    return Extra("Where attention goes", figure, said)


def _frequencies(result: StaircaseReport, view: View) -> Extra:
    """The wave that is constant is order 0; of the others the one that ends highest stands out."""
    found = np.asarray(result.extras["frequencies"], float)
    known = np.isfinite(found).any(0)
    last = np.where(known, np.nan_to_num(found[-1], nan=-np.inf), -np.inf)
    best = int(last[1:].argmax()) + 1 if known[1:].any() else 0
    kept = np.flatnonzero(known)
    lines = [(f"k = {k}", found[:, k]) for k in kept]
    figure = _by_step(result, view, lines, kept == best, "correlation")
    said = "The embedding against order 1 seen through a wave over the context, cos(2πkj/p)"
    if best:
        said += f"; in colour k = {best}, which ends highest, at {number(last[best])}"
    if not known[0]:
        said += "; k = 0 is order 0, the same for all anchors here"
    elif best:
        said += f"; k = 0 is order 0, which ends at {number(found[-1, 0])}"
    return Extra("Which frequency the embedding follows", figure, f"{said}.")


def _by_step(
    result: StaircaseReport, view: View, lines: list[tuple[str, Any]], strong: Any, up: str
) -> _Trace:
    """A line for each name, those that are strong in colour and on top of the others."""
    axis = axis_place(result, view.scale)
    name = run_name(result, view)
    steps = steps_of(result.runs[name]) if name else np.arange(max(map(len, dict(lines).values())))
    places = [axis.of(float(step)) for step in steps]
    traces: list[_Trace] = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": plain(called),
            "x": places[: len(values)],
            "y": np.asarray(values, float),
            "line": {"color": _LIT if strong[i] else _DIM, "width": 1.8 if strong[i] else 1.1},
            "hovertemplate": f"{plain(called)}: %{{y:.3f}}<extra></extra>",
        }
        for i, (called, values) in sorted(enumerate(lines), key=lambda one: bool(strong[one[0]]))
    ]
    ticks = marks(axis)
    across = {
        "title": {"text": "epoch"},
        "tickmode": "array",
        "tickvals": [one["place"] for one in ticks],
        "ticktext": [one["label"] for one in ticks],
    }
    layout = _layout("epoch", up) | {"showlegend": False}
    layout["xaxis"] = {**layout["xaxis"], **across}
    return {"data": traces, "layout": layout}


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


_MADE: dict[str, Callable[[StaircaseReport, View], Extra]] = {
    "learned": _labels, "attention": _attention, "frequencies": _frequencies
}  # fmt: skip
NAMES = tuple(_MADE)
