"""How sensitive the loss is to the learning rate, by method and by coefficient.

What the paper prints stands behind the values of the result, as small open circles.
"""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from embtie_widgets.charts import stretched
from embtie_widgets.charts.centering_view import method_words, rate
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.shapes import ABOVE, faint
from embtie_widgets.charts.theme import mark_of, method_marks
from embtie_widgets.results.centering import CenteringReport, Sensitivity
from embtie_widgets.results.centering_published import PUBLISHED, Published

_UNIT = 0.01  # nats, of the axis
_NEUTRAL = mark_of("").color
_Trace = dict[str, Any]


def sensitivity(result: CenteringReport | None) -> dict[str, Any]:
    """How sensitive each method is to the rate, a row for each."""
    known = () if result is None else result.sensitivity
    lines = _rows(known)
    names = [name for name, _ in lines]
    traces = [_printed(lines), *(_found(name, group) for name, group in lines)]
    return {"data": traces, "layout": _rows_layout(names, known)}


def _rows(known: Sequence[Sensitivity]) -> list[tuple[str, list[Sensitivity]]]:
    """The lines of each name, untied ones first."""
    ordered = sorted(known, key=lambda one: bool(one.tied))
    names = list(dict.fromkeys(_line_name(one, known) for one in ordered))
    return [(name, [one for one in ordered if _line_name(one, known) == name]) for name in names]


def _line_name(one: Sensitivity, among: Sequence[Sensitivity]) -> str:
    weights = {other.coefficient for other in among if other.method == one.method}
    weight = f" {rate(one.coefficient)}" if len(weights) > 1 and one.coefficient else ""
    ties = len({other.tied for other in among}) > 1
    tied = {True: ", tied", False: ", untied", None: ""}[one.tied] if ties else ""
    return plain(f"{method_words(one.method)}{weight}{tied}")


def _found(name: str, group: list[Sensitivity]) -> _Trace:
    mark = method_marks([group[0].method])[group[0].method]
    return {
        "type": "scatter",
        "name": name,
        "showlegend": False,
        "x": stretched.stretched([one.value for one in group], _UNIT),
        "y": [name] * len(group),
        "mode": "markers+text",
        "marker": {"color": mark.color, "symbol": mark.symbol, "size": 13},
        "text": [_value_words(one, group) for one in group],
        "textposition": "top center",
        "textfont": {"size": 12},
        "hoverinfo": "text",
        "hovertext": [_said_of(one) for one in group],
        "cliponaxis": False,
    }


def _value_words(one: Sensitivity, group: list[Sensitivity]) -> str:
    return f"{one.value:.3f}" if len(group) == 1 else plain(one.size)


def _said_of(one: Sensitivity) -> str:
    unknown = f", of {one.unknown} the loss is not known" if one.unknown else ""
    size = f"{plain(one.size)}, " if one.size else ""
    return "<br>".join(
        [
            f"<b>{size}{plain(method_words(one.method))}</b>: {one.value:.4f}",
            f"best loss {one.best_loss:.4f} at {rate(one.best_lr)}",
            f"{len(one.rates)} rates{unknown}",
        ]
    )


def _printed(lines: list[tuple[str, list[Sensitivity]]]) -> _Trace:
    """The paper's values in the row of their method, tying and coefficient."""
    pairs = [(name, one) for name, group in lines for one in PUBLISHED if _same(one, group[0])]
    return {
        "type": "scatter",
        "name": "○ as the paper prints it, 16M to 221M",
        "showlegend": bool(pairs),
        "x": stretched.stretched([one.value for _, one in pairs], _UNIT),
        "y": [name for name, _ in pairs],
        "mode": "markers",
        "marker": {"symbol": "circle-open", "size": 8, "color": _NEUTRAL, "line": {"width": 1.4}},
        "hoverinfo": "text",
        "hovertext": [f"the paper, {one.size}: {one.value:.3f}" for _, one in pairs],
    }


def _same(one: Published, other: Sensitivity) -> bool:
    key = (one.tied, one.method, one.coefficient)
    return key == (bool(other.tied), other.method, other.coefficient)


def _rows_layout(names: list[str], known: Sequence[Sensitivity]) -> _Trace:
    high = max([2.2, *(one.value for one in known if math.isfinite(one.value))])
    return {
        "uirevision": "sensitivity",
        "height": 110 + 46 * max(len(names), 2),
        "margin": {"l": 8, "r": 24, "t": 40, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": ABOVE,
        "xaxis": {
            "title": {"text": "nats above the best loss, mean over the other rates"},
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
    """Sensitivity against the coefficient, a line for each method, size and tying."""
    known = () if result is None else result.sensitivity
    weighed = [one for one in known if one.coefficient]
    methods = list(dict.fromkeys(one.method for one in weighed))
    printed = [one for one in PUBLISHED if one.coefficient and not one.tied]
    traces = [
        *(_printed_line(method, printed) for method in methods if not _all_tied(weighed)),
        *(
            _weights_line(list(group), weighed)
            for _, group in groupby(sorted(weighed, key=_line_key), _line_key)
        ),
    ]
    values = [one.value for one in (*weighed, *printed) if math.isfinite(one.value)]
    return {"data": traces, "layout": _weights_layout(weighed, printed, max(values))}


def _all_tied(weighed: list[Sensitivity]) -> bool:
    return bool(weighed) and all(one.tied for one in weighed)


def _line_key(one: Sensitivity) -> tuple[str, bool, str, int]:
    return (one.method, bool(one.tied), one.size, one.seed or 0)


def _weights_line(group: list[Sensitivity], among: list[Sensitivity]) -> _Trace:
    one, ranked = group[0], sorted(group, key=lambda other: other.coefficient or 0.0)
    mark = method_marks([one.method])[one.method]
    ties, sizes = len({o.tied for o in among}) > 1, len({o.size for o in among}) > 1
    tied = {True: "tied", False: "untied", None: ""}[one.tied] if ties else ""
    words = [method_words(one.method), one.size if sizes else "", tied]
    return {
        "type": "scatter",
        "name": plain(f"{mark.glyph} " + ", ".join(word for word in words if word)),
        "x": [math.log10(other.coefficient or 1.0) for other in ranked],
        "y": stretched.stretched([other.value for other in ranked], _UNIT),
        "mode": "lines+markers",
        "line": {"color": mark.color, "dash": mark.dash, "width": 2.2},
        "marker": {"color": mark.color, "symbol": mark.symbol, "size": 10},
        "hoverinfo": "text",
        "hovertext": [_said_of(other) for other in ranked],
        "cliponaxis": False,
    }


def _printed_line(method: str, printed: list[Published]) -> _Trace:
    """The paper's values of a method, thin, broken from size to size."""
    mark = method_marks([method])[method]
    own = sorted(
        (one for one in printed if one.method == method),
        key=lambda one: (one.size, one.coefficient or 0.0),
    )
    xs: list[float | None] = []
    ys: list[float | None] = []
    said: list[str] = []
    for _, group in groupby(own, lambda one: one.size):
        for one in group:
            xs.append(math.log10(one.coefficient or 1.0))
            ys.append(float(stretched.stretched(one.value, _UNIT)))
            said.append(f"the paper, {one.size}, {rate(one.coefficient or 0)}: {one.value:.3f}")
        xs, ys, said = [*xs, None], [*ys, None], [*said, ""]
    return {
        "type": "scatter",
        "name": f"{plain(method_words(method))}, as the paper prints it",
        "x": xs,
        "y": ys,
        "mode": "lines+markers",
        "line": {"color": faint(mark, 0.45), "dash": "1px,4px", "width": 1.4},
        "marker": {"symbol": "circle-open", "size": 6, "color": faint(mark, 0.7)},
        "hoverinfo": "text",
        "hovertext": said,
    }


def _weights_layout(weighed: list[Sensitivity], printed: list[Published], high: float) -> _Trace:
    known = sorted({one.coefficient or 1.0 for one in (*weighed, *printed)})
    places = [math.log10(one) for one in known]
    return {
        "uirevision": "coefficients",
        "height": 360,
        "margin": {"l": 8, "r": 20, "t": 64, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": ABOVE,
        "xaxis": {
            "title": {"text": "coefficient, logarithmic"},
            "range": [min(places) - 0.4, max(places) + 0.4],
            "tickmode": "array",
            "tickvals": places,
            "ticktext": [rate(one) for one in known],
            "tickangle": 0,
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
        },
        "yaxis": {
            "title": {"text": "sensitivity to the rate, nats"},
            "zeroline": True,
            **stretched.axis(0.0, high, _UNIT),
        },
    }
