"""A figure of a paper as curves: what is printed dotted and open, what is computed here full.

One small chart for each model or pair that the figure's points are of.
"""

import math
import re
from typing import Any

from embtie_widgets.charts.facets import ABOVE_ALL, Facets, heading, named_once, suffix
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.papers_dots import hover
from embtie_widgets.charts.papers_view import SIGNS, printed_value
from embtie_widgets.charts.theme import MODELS, ROLES, Mark, mark_of
from embtie_widgets.results.papers import PaperItem, PaperNumber

# "OLMo-1B, step 2K" is a point; "steps 1 to 50" is a stretch.
_POINT = re.compile(
    r"^(?!.* to )(?P<series>.*?)[\s,:]*(?:(?:after|at|layer|steps?)\s+)*"
    r"(?P<x>input|embedding|\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)\s?(?P<times>[KM]?)$"
)
_TIMES = {"": 1.0, "K": 1e3, "M": 1e6}
_ROLES = {"in": "input", "input": "input", "out": "output", "output": "output", "tied": "tied"}
_FEW = 2  # points that make a curve
_HEIGHT, _ALONE, _GAP, _BELOW = 250, 340, 60, 60  # pixels
_LOG = 50.0  # points whose ends are so many times apart stand by their logarithm
_Trace = dict[str, Any]
_Curves = dict[str, dict[str, list[tuple[float, PaperNumber]]]]


def spec(item: PaperItem) -> _Trace:
    """The charts in plotly's terms, with what of it is another in a narrow box."""
    curves = curves_of(item)
    traces = [
        trace
        for place, series in enumerate(curves.values())
        for column, points in series.items()
        for trace in _pair(column, points, place)
    ]
    named = named_once(traces, "lines+markers")
    height = _ALONE if len(curves) == 1 else _HEIGHT
    wide = Facets(len(curves), min(len(curves), 2), named, height, _GAP, _BELOW)
    headings = [heading(i, plain(name)) for i, name in enumerate(curves) if name]
    shared = {
        "uirevision": item.name,
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": ABOVE_ALL,
        "annotations": headings,
    }
    return {
        "data": traces,
        "layout": {**shared, **_axes(curves, item, wide)},
        "narrow": _axes(curves, item, wide.narrow),
    }


def curves_of(item: PaperItem) -> _Curves:
    """The points by what they are of and by curve; nothing for what is no figure of curves."""
    found: _Curves = {}
    for number, point in _points(item):
        if point is not None:
            curve, _, of = number.column.partition(", ")
            series = found.setdefault(", ".join(filter(None, (point["series"], of))), {})
            series.setdefault(curve, []).append((_x(point), number))
    enough = any(len(points) >= _FEW for series in found.values() for points in series.values())
    return found if enough and len(left_out(item)) < _FEW else {}


def left_out(item: PaperItem) -> list[str]:
    """The rows of a figure that are no point of a curve."""
    return list(dict.fromkeys(number.row for number, point in _points(item) if point is None))


def _points(item: PaperItem) -> list[tuple[PaperNumber, re.Match[str] | None]]:
    """The numbers of a figure, each with what its row says of a point."""
    numbers = item.numbers if item.name.startswith("figure-") else ()
    return [(number, _POINT.match(number.row)) for number in numbers]


def _x(point: re.Match[str]) -> float:
    text = point["x"].replace(",", "")
    return 0.0 if text in ("input", "embedding") else float(text) * _TIMES[point["times"]]


def _pair(column: str, points: list[tuple[float, PaperNumber]], place: int) -> list[_Trace]:
    mark = mark_by(column)
    printed = [(x, printed_value(number), number) for x, number in points]
    here = any(number.value is not None for _, number in points)
    # Points without a value stay, so that no line goes across them.
    ours = [(x, number.value, number) for x, number in points] if here else []
    standing = any(number.verdict == "stand-in" for _, number in points)
    return [
        _curve(f"{column}, printed", printed, place, mark, printed=True),
        _curve(f"{column}, {'stand-in' if standing else 'here'}", ours, place, mark, printed=False),
    ]


def _curve(name: str, points: list[Any], place: int, mark: Mark, *, printed: bool) -> _Trace:
    apart = [number.verdict == "differs" and not printed for _, _, number in points]
    usual = f"{mark.symbol}-open" if printed else mark.symbol
    return {
        "type": "scatter",
        "mode": "lines+markers" if points else "none",
        "name": plain(name),
        "x": [x for x, _, _ in points],
        "y": [y for _, y, _ in points],
        "xaxis": f"x{suffix(place)}",
        "yaxis": f"y{suffix(place)}",
        "line": {
            "color": mark.color,
            "width": 1.75 if printed else 2.5,
            "dash": "3px,4px" if printed else "solid",
        },
        "marker": {
            "symbol": [SIGNS["differs"].symbol if one else usual for one in apart],
            "size": [9 if printed or one else 7 for one in apart],
            "color": [SIGNS["differs"].color if one else mark.color for one in apart],
            "line": {"width": 1.5 if printed else 0},
        },
        "hovertext": [hover(number) for _, _, number in points],
        "hoverinfo": "text",
        "cliponaxis": False,
    }


def mark_by(column: str) -> Mark:
    """The mark of the role that a curve's name speaks of; a neutral one where it speaks of none."""
    words = re.findall(r"[a-z]+", column.lower())
    if "untied" in words:
        return MODELS["untied"]
    role = next((_ROLES[word] for word in words if word in _ROLES), "")
    return ROLES.get(role, mark_of(""))


def _axes(curves: _Curves, item: PaperItem, facets: Facets) -> _Trace:
    xs = [x for series in curves.values() for points in series.values() for x, _ in points]
    low, high = min(xs), max(xs)
    log = low > 0 and high / low >= _LOG
    unit = next((number.unit for number in item.numbers if number.unit), "")
    ups = [
        {"zeroline": False, "title": {"text": unit if i % facets.columns == 0 else ""}}
        for i in range(len(curves))
    ]
    ends = [math.log10(low) - 0.06, math.log10(high) + 0.06] if log else _aired(low, high)
    across = {
        "title": {"text": _axis_name(item)},
        "range": ends,
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
        **({"type": "log", "dtick": 1} if log else {}),
    }
    return facets.layout(across, ups)


def _aired(low: float, high: float) -> list[float]:
    air = 0.04 * ((high - low) or 1.0)
    return [low - air, high + air]


def _axis_name(item: PaperItem) -> str:
    rows = " ".join(number.row for number in item.numbers)
    return "layer" if "layer" in rows else "step"
