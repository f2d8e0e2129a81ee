"""A table as dots: each printed number, the one computed here, and how far apart they are.

One small chart for each column of the table, one line in it for each row.  No line goes from a
print to a stand-in: the two are not of the same thing.
"""

import math
from dataclasses import replace
from typing import Any

from embtie_widgets.charts.facets import ABOVE_ALL, Facets, heading, named_once, suffix
from embtie_widgets.charts.figures import plain, wrapped
from embtie_widgets.charts.papers_view import (
    MINUS,
    SIGNS,
    difference,
    here,
    places,
    present,
    printed,
    printed_value,
)
from embtie_widgets.results.papers import PaperItem, PaperNumber

PRINTED = "#7a828f"
_TEXT, _AIR, _GAP, _BELOW = 16, 9, 60, 44  # pixels
_LETTERS, _MOST = 24, 3
_ALIKE = 5.0  # columns whose largest numbers are within this factor share an axis
_UNLIKE = 30.0  # numbers so many times apart stand by their logarithm
_SIZE = 11
_OUTLINE = {"line": {"width": 1.5}}
_Trace = dict[str, Any]
_Columns = dict[str, list[PaperNumber]]


def spec(item: PaperItem | None) -> _Trace:
    """The charts in plotly's terms, with what of it is another in a narrow box."""
    columns = {} if item is None else columns_of(item)
    rows = [] if item is None else list(dict.fromkeys(number.row for number in item.numbers))
    traces = [
        trace
        for place, numbers in enumerate(columns.values())
        for trace in _traces(numbers, rows, place)
    ]
    named = named_once(traces, "markers")
    wide = Facets(
        max(len(columns), 1),
        min(len(columns), _MOST) or 1,
        named,
        _line_height(rows) * max(len(rows), 3) + _AIR,
        _GAP,
        _BELOW,
    )
    shared = {
        "hovermode": "closest",
        "dragmode": False,
        "legend": ABOVE_ALL,
        "annotations": [heading(i, plain(name)) for i, name in enumerate(columns)],
    }
    first = "" if item is None else item.name
    return {
        "data": traces,
        "layout": {"uirevision": first, **shared, **_axes(columns, rows, wide)},
        # Beside long names there is room for one word of the legend a line.
        "narrow": _axes(columns, rows, replace(wide.narrow, width=0)),
    }


def _line_height(rows: list[str]) -> int:
    """Pixels of a row, by the longest of their names."""
    lines = max((_label(row).count("<br>") + 1 for row in rows), default=1)
    return _AIR + _TEXT * lines


def _label(row: str) -> str:
    return wrapped(row.replace("-", MINUS) if row.startswith("-") else row, _LETTERS)


def columns_of(item: PaperItem) -> _Columns:
    """The numbers by column of the table; where units differ in one, by unit too."""
    found: _Columns = {}
    for number in item.numbers:
        name = f"{number.column}, {number.unit}" if number.unit else number.column
        found.setdefault(name, []).append(number)
    return found


def _traces(numbers: list[PaperNumber], rows: list[str], place: int) -> list[_Trace]:
    """Lines between the two of a number, what is printed, what chance reaches, what is here."""
    known = [number for number in numbers if number.value is not None]
    alone = [number for number in numbers if number.value is None]
    compared = [number for number in known if number.difference is not None]
    drawn = [
        *(_between(number, rows, place) for number in compared),
        *(_range(number, rows, place) for number in numbers if len(set(number.ends)) > 1),
        _dots(known, rows, place, "printed", {"symbol": "circle"}),
        _dots(alone, rows, place, "printed, nothing here", {"symbol": "circle-open"} | _OUTLINE),
        _chance(numbers, rows, place),
        *(_ours(verdict, known, rows, place) for verdict in present(known)),
    ]
    return [trace for trace in drawn if trace["x"]]


def _between(number: PaperNumber, rows: list[str], place: int) -> _Trace:
    """From what is printed to what is here."""
    ends = [printed_value(number), number.value]
    return _line(ends, rows.index(number.row), place, SIGNS[number.verdict].color)


def _range(number: PaperNumber, rows: list[str], place: int) -> _Trace:
    """From end to end of a printed range."""
    return _line(list(number.ends), rows.index(number.row), place, PRINTED)


def _line(ends: list[float | None], y: int, place: int, color: str) -> _Trace:
    return _on(place) | {
        "mode": "lines",
        "name": "",
        "x": ends,
        "y": [y, y],
        "line": {"width": 3, "color": color},
        "hoverinfo": "skip",
    }


def _dots(
    numbers: list[PaperNumber], rows: list[str], place: int, name: str, marker: _Trace
) -> _Trace:
    return _on(place) | {
        "mode": "markers",
        "name": name,
        "x": [printed_value(number) for number in numbers],
        "y": [rows.index(number.row) for number in numbers],
        "marker": {"size": _SIZE, "color": PRINTED, "line": {"width": 0}} | marker,
        "hovertext": [hover(number) for number in numbers],
        "hoverinfo": "text",
    }


def _chance(numbers: list[PaperNumber], rows: list[str], place: int) -> _Trace:
    with_floor = [number for number in numbers if number.floor is not None]
    return _on(place) | {
        "mode": "markers",
        "name": "chance",
        "x": [number.floor for number in with_floor],
        "y": [rows.index(number.row) for number in with_floor],
        "marker": {
            "symbol": "line-ns-open",
            "size": 16,
            "color": PRINTED,
            "line": {"width": 2},
        },
        "hovertext": [f"chance {_short(number.floor, number)}" for number in with_floor],
        "hoverinfo": "text",
    }


def _ours(verdict: str, known: list[PaperNumber], rows: list[str], place: int) -> _Trace:
    chosen = [number for number in known if number.verdict == verdict]
    sign = SIGNS[verdict]
    marker = {"symbol": sign.symbol, "color": sign.color, "size": _SIZE - 1}
    outline = _OUTLINE if sign.symbol.endswith("-open") else {}
    dots = _dots(chosen, rows, place, f"here: {verdict}", marker | outline)
    return dots | {"x": [number.value for number in chosen]}


def _on(place: int) -> _Trace:
    return {
        "type": "scatter",
        "xaxis": f"x{suffix(place)}",
        "yaxis": f"y{suffix(place)}",
        "cliponaxis": False,
    }


def hover(number: PaperNumber) -> str:
    """What a number says of itself under the mouse."""
    apart, sign = difference(number), SIGNS[number.verdict]
    lines = [
        f"<b>{plain(number.row)}</b>, {plain(number.column)}",
        f"printed {plain(printed(number))}",
        f"here {plain(here(number))}" if number.value is not None else "",
        f"difference {plain(apart)}" if apart else "",
        f"chance {_short(number.floor, number)}" if number.floor is not None else "",
        f"{sign.glyph} {number.verdict}",
        wrapped(number.reason[:320], 60) if number.reason else "",
        wrapped(number.source[:200], 60) if number.source else "",
    ]
    return "<br>".join(line for line in lines if line)


def _short(value: float | None, number: PaperNumber) -> str:
    return "–" if value is None else f"{value:.{places(number) + 1}f}".replace("-", MINUS)


# Axes.


def _axes(columns: _Columns, rows: list[str], facets: Facets) -> _Trace:
    layout = facets.layout(
        {"fixedrange": True, "zeroline": False, "showline": True, "ticks": "outside", "nticks": 5},
        [_up(rows, i % facets.columns == 0) for i in range(len(columns))],
    )
    for place, own in enumerate(_acrosses(columns)):
        across = layout[f"xaxis{suffix(place)}"]
        across.pop("matches", None)
        across |= {"showticklabels": True, "title": {"text": ""}, **own}
    return layout


def _up(rows: list[str], named: bool) -> _Trace:
    return {
        "range": [len(rows) - 0.4, -0.6],
        "fixedrange": True,
        "zeroline": False,
        "tickmode": "array",
        "tickvals": list(range(len(rows))),
        "ticktext": [_label(row) for row in rows] if named else [""] * len(rows),
        "ticklabelstandoff": 4,
    }


def _acrosses(columns: _Columns) -> list[_Trace]:
    """The scale of each chart; those of numbers alike in unit and size have one in common."""
    values = [_values(numbers) for numbers in columns.values()]
    sizes = [max(map(abs, some), default=1.0) or 1.0 for some in values]
    units = [numbers[0].unit for numbers in columns.values()]
    found = []
    for place, size in enumerate(sizes):
        alike = [
            value
            for other, some in enumerate(values)
            if units[other] == units[place] and 1 / _ALIKE < sizes[other] / size < _ALIKE
            for value in some
        ]
        found.append(_across(min(alike, default=0.0), max(alike, default=1.0)))
    return found


def _across(low: float, high: float) -> _Trace:
    if 0 < low < high / _UNLIKE:
        low, high = math.log10(low), math.log10(high)
        return {"type": "log", "dtick": 1, "range": _aired(low, high)}
    return {"range": _aired(0.0 if 0 < low < 0.5 * high else low, high)}


def _aired(low: float, high: float) -> list[float]:
    air = 0.07 * ((high - low) or abs(high) or 1.0)
    return [low - air, high + air]


def _values(numbers: list[PaperNumber]) -> list[float]:
    found = [value for n in numbers for value in (*n.ends, n.value, n.floor) if value is not None]
    return [value for value in found if math.isfinite(value)]
