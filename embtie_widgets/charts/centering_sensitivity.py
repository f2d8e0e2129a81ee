"""How sensitive the loss is to the learning rate, by method and by coefficient.

What the paper prints stands behind the values of the result, as small open circles.
"""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from embtie_widgets.charts import stretched
from embtie_widgets.charts.centering_view import method_words, rate
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.shapes import ABOVE, faint
from embtie_widgets.charts.theme import mark_of, method_marks
from embtie_widgets.results.centering import CenteringReport, Sensitivity
from embtie_widgets.results.centering_published import PUBLISHED, SIZES, Published

_UNIT = 0.01  # nats, of the axis
_NEUTRAL = mark_of("").color
_Trace = dict[str, Any]


def sensitivity(result: CenteringReport | None) -> dict[str, Any]:
    """How sensitive each method is to the rate, a row for each, by tying and size."""
    known = () if result is None else result.sensitivity
    lines = _rows(known)
    names = [name for name, _ in lines]
    traces = [_printed(lines, known), *(_found(name, group) for name, group in lines)]
    return {"data": traces, "layout": _rows_layout(names, known)}


def _rows(known: Sequence[Sensitivity]) -> list[tuple[str, list[Sensitivity]]]:
    """The sensitivities of each row, those of all seeds in one."""
    sizes = list(dict.fromkeys(one.size for one in known))
    ordered = sorted(known, key=lambda one: (bool(one.tied), sizes.index(one.size)))
    names = [_row_name(one, known) for one in ordered]
    return [
        (name, [one for one, own in zip(ordered, names, strict=True) if own == name])
        for name in dict.fromkeys(names)
    ]


def _row_name(one: Sensitivity, among: Sequence[Sensitivity]) -> str:
    """The method, and what else of coefficient, size and tying is needed."""
    weights = {other.coefficient for other in among if other.method == one.method}
    weight = f" {rate(one.coefficient)}" if len(weights) > 1 and one.coefficient else ""
    size = one.size if len({other.size for other in among}) > 1 else ""
    ties = len({other.tied for other in among}) > 1
    tied = {True: "tied", False: "untied", None: ""}[one.tied] if ties else ""
    named = f"{method_words(one.method)}{weight}"
    return plain(", ".join(part for part in (named, size, tied) if part))


def _found(name: str, group: list[Sensitivity]) -> _Trace:
    mark = method_marks([group[0].method])[group[0].method]
    return {
        "type": "scatter",
        "name": name,
        "showlegend": False,
        "x": stretched.stretched([one.value for one in group], _UNIT),
        "y": [name] * len(group),
        "mode": "markers+text",
        "marker": {"color": mark.color, "symbol": mark.symbol, "size": 12},
        "text": [f"{one.value:.3f}" for one in group] if len(group) == 1 else [],
        "textposition": "top center",
        "textfont": {"size": 12},
        "hoverinfo": "text",
        "hovertext": [_said_of(one) for one in group],
        "cliponaxis": False,
    }


def _said_of(one: Sensitivity) -> str:
    unknown = f", of {one.unknown} more the loss is not known" if one.unknown else ""
    size = f"{plain(one.size)}, " if one.size else ""
    seed = "" if one.seed is None else f", seed {one.seed}"
    return "<br>".join(
        [
            f"<b>{size}{plain(method_words(one.method))}</b>{seed}: {one.value:.4f}",
            f"best loss {one.best_loss:.4f} at {rate(one.best_lr)}",
            f"{len(one.rates)} rates{unknown}",
        ]
    )


def _printed(lines: list[tuple[str, list[Sensitivity]]], known: Sequence[Sensitivity]) -> _Trace:
    """The paper's values in the row of their method, tying and coefficient, and of their size
    where there is one of it."""
    pairs = [(name, one) for name, group in lines for one in PUBLISHED if _same(one, group[0])]
    own = {one.size for one in known} & set(SIZES)
    what = "for the same size" if own else "16M to 221M"
    return {
        "type": "scatter",
        "name": f"as the paper prints it, {what}",
        "showlegend": bool(pairs),
        "x": stretched.stretched([one.value for _, one in pairs], _UNIT),
        "y": [name for name, _ in pairs],
        "mode": "markers",
        "marker": {
            "symbol": "circle-open",
            "size": 17 if own else 8,
            "color": _NEUTRAL,
            "line": {"width": 1.5},
        },
        "hoverinfo": "text",
        "hovertext": [f"the paper, {one.size}: {one.value:.3f}" for _, one in pairs],
    }


def _same(one: Published, other: Sensitivity) -> bool:
    key = (one.tied, one.method, one.coefficient)
    alike = key == (bool(other.tied), other.method, other.coefficient)
    return alike and (one.size == other.size or other.size not in SIZES)


def _rows_layout(names: list[str], known: Sequence[Sensitivity]) -> _Trace:
    high = max([1.0, *(one.value for one in known if math.isfinite(one.value))])
    return {
        "uirevision": "sensitivity",
        "height": 110 + 42 * max(len(names), 2),
        "margin": {"l": 8, "r": 24, "t": 40, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": ABOVE,
        "xaxis": {
            "title": {"text": "mean nats above the best loss"},
            "zeroline": True,
            "showline": True,
            "ticks": "outside",
            **stretched.axis(0.0, high, _UNIT),
        },
        "yaxis": {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": names[::-1],
            "range": [-0.6, max(len(names), 2) - 0.4],
            "tickfont": {"size": 13},
        },
    }


# By coefficient.


def coefficients(result: CenteringReport | None) -> dict[str, Any]:
    """Sensitivity against the coefficient, a line for each method, size and tying: the mean over
    seeds."""
    known = [one for one in (() if result is None else result.sensitivity) if one.coefficient]
    methods = list(dict.fromkeys(one.method for one in known))
    printed = [
        one
        for one in PUBLISHED
        if one.coefficient and not one.tied and (one.method in methods or not known)
    ]
    lines = [list(group) for _, group in groupby(sorted(known, key=_line_key), _line_key)]
    behind = [] if known and all(one.tied for one in known) else methods
    traces = [
        *(_printed_line(method, printed) for method in behind),
        *(_line(line, known) for line in lines),
    ]
    named: set[str] = set()
    for trace in traces:
        trace["showlegend"] = trace["name"] not in named
        named.add(trace["name"])
    return {"data": traces, "layout": _weights_layout(known, printed if behind else [])}


def _line_key(one: Sensitivity) -> tuple[str, bool, str]:
    return (one.method, bool(one.tied), one.size)


def _line(group: list[Sensitivity], among: list[Sensitivity]) -> _Trace:
    """The mean over seeds at each coefficient."""
    one, mark = group[0], method_marks([group[0].method])[group[0].method]
    weights = sorted({other.coefficient or 1.0 for other in group})
    at = [[other for other in group if other.coefficient == weight] for weight in weights]
    both = len({other.tied for other in among}) > 1
    tied = {True: ", tied", False: ", untied", None: ""}[one.tied] if both else ""
    thin = both and one.tied
    return {
        "type": "scatter",
        "name": plain(f"{method_words(one.method)}{tied}"),
        "legendgroup": plain(f"{method_words(one.method)}{tied}"),
        "x": [math.log10(weight) for weight in weights],
        "y": stretched.stretched([np.mean([o.value for o in some]) for some in at], _UNIT),
        "mode": "lines+markers",
        "line": {"color": mark.color, "dash": mark.dash, "width": 1.4 if thin else 2.2},
        "marker": {
            "color": mark.color,
            "symbol": f"{mark.symbol}-open" if thin else mark.symbol,
            "size": 10,
        },
        "hoverinfo": "text",
        "hovertext": ["<br>".join(map(_said_of, some)) for some in at],
        "cliponaxis": False,
    }


def _printed_line(method: str, printed: list[Published]) -> _Trace:
    """The paper's values of a method, thin, broken from size to size."""
    mark = method_marks([method])[method]
    xs: list[float | None] = []
    ys: list[float | None] = []
    said: list[str] = []
    for size in SIZES:
        own = [one for one in printed if (one.method, one.size) == (method, size)]
        for one in sorted(own, key=lambda one: one.coefficient or 0.0):
            xs.append(math.log10(one.coefficient or 1.0))
            ys.append(float(stretched.stretched(one.value, _UNIT)))
            said.append(f"the paper, {size}, {rate(one.coefficient or 0)}: {one.value:.3f}")
        xs, ys, said = [*xs, None], [*ys, None], [*said, ""]
    return {
        "type": "scatter",
        "name": f"the paper, {plain(method_words(method))}",
        "x": xs,
        "y": ys,
        "mode": "lines+markers",
        "line": {"color": faint(mark, 0.45), "dash": "1px,4px", "width": 1.4},
        "marker": {"symbol": "circle-open", "size": 6, "color": faint(mark, 0.7)},
        "hoverinfo": "text",
        "hovertext": said,
    }


def _weights_layout(known: list[Sensitivity], printed: list[Published]) -> _Trace:
    shown = [(one.coefficient or 1.0, one.value) for one in known]
    shown += [(one.coefficient or 1.0, one.value) for one in printed]
    weights = sorted({weight for weight, _ in shown}) or [1e-4, 1e-1]
    places = [math.log10(weight) for weight in weights]
    high = max((value for _, value in shown if math.isfinite(value)), default=1.0)
    return {
        "uirevision": "coefficients",
        "height": 360,
        "margin": {"l": 8, "r": 20, "t": 64, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": ABOVE | {"tracegroupgap": 0},
        "xaxis": {
            "title": {"text": "coefficient, logarithmic"},
            "range": [min(places) - 0.4, max(places) + 0.4],
            "tickmode": "array",
            "tickvals": places,
            "ticktext": [rate(one) for one in weights],
            "tickangle": 0,
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
        },
        "yaxis": {
            "title": {"text": "mean nats above the best"},
            "zeroline": True,
            **stretched.axis(0.0, high, _UNIT),
        },
    }
