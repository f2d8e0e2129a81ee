"""Row norm against token frequency as a picture: the weight-tying paper's figure 5.

Running medians of all three matrices with their quartiles stand in front of points of single
tokens; tokens that do not occur stand in a strip at the left.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.charts import figures
from embtie_widgets.charts.columns import (
    EVERYWHERE,
    Column,
    norm_columns,
    number,
    shared_columns,
)
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.files import Plots
from embtie_widgets.charts.norm_plane import (
    LIT_POINTS,
    NAMES,
    Plane,
    evenly,
    labelled,
    seen,
    unseen,
)
from embtie_widgets.charts.norm_words import (
    caption,
    cautions,
    drawn,
    headline,
    on_labels,
    text,
)
from embtie_widgets.charts.shapes import ABOVE, Vector, faint
from embtie_widgets.charts.theme import MATRICES
from embtie_widgets.results import display_token
from embtie_widgets.results.norms import PairNorms

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "caption",
    "cautions",
    "columns",
    "drawn",
    "figure",
    "headline",
    "on_labels",
    "plots",
    "spec",
    "text",
]
_NOBODY = np.empty(0, np.int64)
_STICKS = 40
_SHOWN_LETTERS = 24
_TITLES = {
    "linear": "row norm",
    "log": "row norm, logarithmic",
    "relative": "row norm over the median of its matrix",
}
# Ticks at 1, 2 and 5 of every power of ten, each written out.
_LOG = {"type": "log", "dtick": "D2", "tickformat": ".1~r"}
_Trace = dict[str, Any]


def columns(result: PairNorms) -> list[Column]:
    """What is known of each token: its norm in every matrix, then its frequency."""
    norms = norm_columns({name: one.norm for name, one in result.matrices.items()})
    found = [
        replace(
            column,
            head=name,
            tooltip=f"row norm of {name}",
            places=EVERYWHERE,
            lines=_levels(result, name),
        )
        for name, column in zip(result.matrices, norms, strict=True)
    ]
    return [*found, *_counts_of_b(result), *shared_columns(result)]


def _levels(result: PairNorms, name: str) -> tuple[tuple[float, str, str], ...]:
    one = result.matrices[name]
    known = one.norm[one.used]
    lines = [(float(np.median(known)), "median", "solid")] if len(known) else []
    if one.unseen.rows:
        lines.append((one.unseen.median, "median, not seen", "dash"))
    return tuple((value, f"{what} {number(value)}", style) for value, what, style in lines)


def _counts_of_b(result: PairNorms) -> list[Column]:
    if not result.counted_twice:
        return []
    tied = result.matrices["Tied"]
    label = "log10(count + 1), as B counts"
    return [
        Column("log_count_b", label, "neutral", tied.log_count, places=("axis",)),
        Column(
            "count_b",
            "count as B cuts the text",
            "neutral",
            tied.counts,
            kind="integer",
            head="count in B",
            places=("table", "card"),
        ),
    ]


def figure(result: PairNorms, theme: str = "light", scale: str = "linear") -> "Figure":
    """The chart as a plain figure with its caption inside, for exports."""
    said = f"{caption(result)} {drawn(result)}"
    return figures.captioned(spec(result, scale=scale), said, theme, 640, 170, -0.2)


def plots(result: PairNorms) -> Plots:
    """The chart with its caption."""
    return Plots(headline(result), ((spec(result), f"{caption(result)} {drawn(result)}"),))


def spec(
    result: PairNorms | None, chosen: Vector = _NOBODY, scale: str = "linear"
) -> dict[str, Any]:
    """The chart in plotly's terms, "data" and "layout"; without a result its axes alone.

    The tokens at the places `chosen` are lit and, as far as there is room, labelled.
    """
    plane = Plane(result, scale)
    return {"data": _traces(plane, chosen), "layout": _layout(plane)}


def _traces(plane: Plane, chosen: Vector) -> list[_Trace]:
    """Always the same twenty traces, so that what a reader has hidden in the legend stays so."""
    dim = 0.45 if chosen.size else 1.0
    lit = evenly(chosen, LIT_POINTS)
    shown, labels = _labels(plane, lit)
    return [
        *(_cloud(plane, name, dim) for name in NAMES),
        *(_band(plane, name, dim) for name in NAMES),
        *(_median(plane, name, dim) for name in NAMES),
        *(_strip(plane, name, dim) for name in NAMES),
        *(_strip_median(plane, name) for name in NAMES),
        _sticks(plane, lit if len(lit) <= _STICKS else _NOBODY, shown),
        *(_lit(plane, name, lit) for name in NAMES),
        labels,
    ]


def _of(group: str, x: Any, y: Any, **more: Any) -> _Trace:
    """A trace that goes when its matrix is hidden in the legend."""
    base = {"type": "scatter", "name": group, "legendgroup": group, "showlegend": False}
    return base | {"x": np.asarray(x, "f4"), "y": np.asarray(y, "f4")} | more


def _dots(name: str, opacity: float, size: float = 4) -> _Trace:
    mark = MATRICES[name]
    return {"color": faint(mark, opacity), "symbol": mark.symbol, "size": size}


def _cloud(plane: Plane, name: str, dim: float) -> _Trace:
    x, y = plane.place(name, seen(plane.matrix(name)))
    return _of(name, x, y, mode="markers", marker=_dots(name, 0.28 * dim), hoverinfo="skip")


def _strip(plane: Plane, name: str, dim: float) -> _Trace:
    x, y = plane.place(name, unseen(plane.matrix(name)))
    return _of(name, x, y, mode="markers", marker=_dots(name, 0.28 * dim), hoverinfo="skip")


def _band(plane: Plane, name: str, dim: float) -> _Trace:
    """The quartiles as one closed outline."""
    x, low, high = (plane_curve(plane, name, part) for part in ("log_count", "lower", "upper"))
    return _of(
        name,
        np.concatenate([x, x[::-1]]),
        np.concatenate([low, high[::-1]]),
        mode="lines",
        fill="toself",
        line={"width": 0},
        fillcolor=faint(MATRICES[name], 0.22 * dim),
        hoverinfo="skip",
    )


def _median(plane: Plane, name: str, dim: float) -> _Trace:
    one, mark = plane.matrix(name), MATRICES[name]
    rho = "" if one is None else f": Spearman {number(one.spearman, 2)}"
    low, high = (plane_curve(plane, name, part) for part in ("lower", "upper"))
    count = 10.0 ** plane_curve(plane, name, "log_count") - 1
    tokens = plane_curve(plane, name, "tokens")
    return _of(
        name,
        plane_curve(plane, name, "log_count"),
        plane_curve(plane, name, "median"),
        name=f"{name}{rho}",
        showlegend=True,
        mode="lines+markers" if len(tokens) == 1 else "lines",
        line={"color": faint(mark, max(dim, 0.6)), "dash": mark.dash, "width": 3},
        customdata=np.array([low, high, count, tokens]).T.round(4).tolist(),
        hovertemplate=(
            f"{name}, about %{{customdata[2]:,.0f}} times: median %{{y:.3f}}, quartiles "
            "%{customdata[0]:.3f} to %{customdata[1]:.3f}, %{customdata[3]:,} tokens"
            "<extra></extra>"
        ),
    )


def plane_curve(plane: Plane, name: str, part: str) -> Vector:
    """One part of a matrix's running median, norms in the unit of the plane."""
    one = plane.matrix(name)
    if one is None:
        return np.empty(0)
    values: Vector = getattr(one.curve, part)
    return values if part in ("log_count", "tokens") else values / plane.unit(name)


def _strip_median(plane: Plane, name: str) -> _Trace:
    """Median and quartiles of the tokens that do not occur."""
    one, mark = plane.matrix(name), MATRICES[name]
    known = one is not None and one.unseen.rows > 0
    low, middle, high = (
        (
            value / plane.unit(name)
            for value in (one.unseen.lower, one.unseen.median, one.unseen.upper)
        )
        if one is not None and known
        else (0.0, 0.0, 0.0)
    )
    return _of(
        name,
        [plane.centre(name)] if known else [],
        [middle] if known else [],
        mode="markers",
        marker={
            "symbol": mark.symbol,
            "size": 10,
            "color": mark.color,
            "line": {"width": 1.5, "color": "#ffffff"},
        },
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [high - middle] if known else [],
            "arrayminus": [middle - low] if known else [],
            "color": mark.color,
            "width": 5,
        },
        hovertemplate=(
            f"{name}, not seen: median %{{y:.3f}} of {one.unseen.rows if one else 0:,} tokens"
            "<extra></extra>"
        ),
    )


def _sticks(plane: Plane, lit: Vector, texts: Mapping[int, float]) -> _Trace:
    """A thin line through the points of each lit token, up to its text at the height `texts`."""
    both = [plane.place(name, lit) for name in NAMES if plane.matrix(name) is not None]
    gap = np.full(len(lit), np.nan)
    up = np.array([texts.get(token, np.nan) for token in lit.tolist()])
    line = {"width": 1, "color": "#7a828f"}
    x = np.array([*(x for x, _ in both), both[-1][0], gap]) if both else gap
    y = np.array([*(y for _, y in both), up, gap]) if both else gap
    return _of("lit", x.T.ravel(), y.T.ravel(), mode="lines", line=line, hoverinfo="skip")


def _lit(plane: Plane, name: str, lit: Vector) -> _Trace:
    x, y = plane.place(name, lit)
    said = [] if plane.matrix(name) is None else [_hover(plane, name, i) for i in lit.tolist()]
    edge = {"width": 1.5, "color": "#ffffff"}
    return _of(
        name,
        x,
        y,
        mode="markers",
        marker=_dots(name, 1.0, 9) | {"line": edge},
        hovertext=said,
        hoverinfo="text",
    )


def _hover(plane: Plane, name: str, token: int) -> str:
    result, one = plane.result, plane.matrix(name)
    if result is None or one is None:
        return ""
    shown = plain(display_token(result.tokens[token], _SHOWN_LETTERS))
    return f"{shown}, {int(one.counts[token]):,} times: norm of {name} {number(one.norm[token])}"


def _labels(plane: Plane, lit: Vector) -> tuple[dict[int, float], _Trace]:
    """The texts of lit tokens: the height of each, and the trace."""
    if plane.result is None or not lit.size:
        return {}, _of("lit", [], [], mode="text", text=[], hoverinfo="skip")
    tokens = plane.result.tokens
    shown = {i: display_token(tokens[i], _SHOWN_LETTERS) for i in lit.tolist()}
    kept, x, y = labelled(plane, lit, np.array([len(text) for text in shown.values()]))
    return dict(zip(kept.tolist(), y.tolist(), strict=True)), _of(
        "lit",
        x,
        y,
        mode="markers+text",
        marker={"size": 16, "color": "rgba(0,0,0,0)"},  # keeps the text off the points
        text=[plain(shown[i]) for i in kept.tolist()],
        textposition="top center",
        textfont={"size": 13},
        cliponaxis=False,
        hoverinfo="skip",
    )


def _layout(plane: Plane) -> dict[str, Any]:
    powers = range(int(plane.right) + 1)
    ticks = [
        (float(np.log10(10**p + 1)), _short(p)) for p in powers if np.log10(10**p + 1) < plane.right
    ]
    strip = [(plane.centre(NAMES[1]), _strip_title(plane))] if plane.has_strip else []
    at, words = zip(*[*strip, *ticks], strict=True)
    extent = [plane.left, plane.right]
    return {
        "uirevision": f"{extent} {plane.scale}",  # a zoom lasts as long as its axes
        "height": 480,
        "margin": {"l": 8, "r": 16, "t": 44, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": ABOVE,
        "xaxis": {
            "title": {"text": "times in the corpus (log10 of count + 1)"},
            "range": extent,
            "tickvals": list(at),
            "ticktext": list(words),
            "tickangle": 0,
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
        },
        "yaxis": {
            "title": {"text": _TITLES[plane.scale]},
            "rangemode": "tozero",
            "zeroline": False,
            **(_LOG if plane.scale == "log" else {"type": "linear"}),
        },
        "shapes": [_divider(plane)] if plane.has_strip else [],
    }


def _short(power: int) -> str:
    """A power of ten as people say it: 1, 10, 100, 1k, 10k, 1M."""
    names = ["", "k", "M", "bn", "tn", "qd"]
    return f"{10 ** (power % 3)}{names[min(power // 3, 5)]}"


def _divider(plane: Plane) -> dict[str, Any]:
    return {
        "type": "rect",
        "xref": "x",
        "yref": "paper",
        "x0": plane.left,
        "x1": 0,
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": {"width": 0},
        "fillcolor": "rgba(122,130,143,0.13)",
    }


def _strip_title(plane: Plane) -> str:
    """How many tokens stand in the strip."""
    rows = [one.unseen.rows for one in plane.result.matrices.values()] if plane.result else [0]
    return f"never<br>{max(rows):,}"
