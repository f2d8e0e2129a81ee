"""A table as dots: each printed number, the one computed here, and how far apart they are.

No line goes from a print to a stand-in: the two are not of the same thing.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from embtie_widgets.charts.facets import ABOVE_ALL, Facets, heading, named_once, suffix
from embtie_widgets.charts.figures import plain, wrapped
from embtie_widgets.charts.papers_blocks import Block, blocks
from embtie_widgets.charts.papers_view import (
    SIGNS,
    chance,
    difference,
    here,
    printed,
    printed_value,
    words,
)
from embtie_widgets.charts.state_cells import Stack
from embtie_widgets.results.papers import VERDICTS, PaperItem, PaperNumber

PRINTED = "#7a828f"
_TEXT, _AIR, _GAP, _BELOW = 16, 9, 60, 44  # pixels
_LETTERS, _WIDE, _MOST = 28, 48, 3
_SIZE = 11
_OUTLINE = {"line": {"width": 1.5}}
_Trace = dict[str, Any]


def spec(item: PaperItem | None) -> _Trace:
    """The charts in plotly's terms, with what of it is another in a narrow box."""
    found, beside = blocks(item)
    traces = [trace for place, block in enumerate(found) for trace in _traces(block, place)]
    named = named_once(traces, "markers")
    wide = Facets(
        max(len(found), 1),
        min(len(found), _MOST) or 1,
        named,
        _AIR + _line_height(found) * max(len(found[0].rows) if found else 0, 3),
        _GAP,
        _BELOW,
    )
    # Beside long names there is room for one word of the legend a line.
    narrow = replace(wide.narrow, width=0)
    shared = {
        "uirevision": "" if item is None else item.name,
        "hovermode": "closest",
        "dragmode": False,
        "legend": ABOVE_ALL,
        "annotations": [heading(i, plain(block.title)) for i, block in enumerate(found)],
    }
    axes = _grid if beside else _stacked
    return {
        "data": traces,
        "layout": {**shared, **axes(found, wide, _LETTERS if beside else _WIDE)},
        "narrow": axes(found, narrow, _LETTERS),
    }


def _line_height(found: list[Block]) -> int:
    """Pixels of a row, by the longest of their names."""
    rows = (row for block in found for row in block.rows)
    return _AIR + _TEXT * max((wrapped(row, _LETTERS).count("<br>") + 1 for row in rows), default=1)


def _traces(block: Block, place: int) -> list[_Trace]:
    """Lines between the two of a number, what is printed, what chance reaches, what is here."""
    known = [(y, n) for y, n in block.numbers if n.value is not None]
    alone = [(y, n) for y, n in block.numbers if n.value is None]
    lines = [
        *((y, (printed_value(n), n.value), SIGNS[n.verdict].color)
          for y, n in known if n.difference is not None),
        *((y, n.ends, PRINTED) for y, n in block.numbers if len(set(n.ends)) > 1),
    ]  # fmt: skip
    with_floor = [(y, n) for y, n in block.numbers if n.floor is not None]
    upright = {"symbol": "line-ns-open", "size": 16, "line": {"width": 2}}
    drawn = [
        *(_line(block, place, *one) for one in lines),
        _dots(block, place, "printed", known, {"symbol": "circle"}),
        _dots(block, place, "printed, nothing here", alone, {"symbol": "circle-open"} | _OUTLINE),
        _dots(block, place, "chance", with_floor, upright)
        | {
            "x": [block.at(n.floor) for _, n in with_floor],
            "hovertext": [f"chance {chance(n)}" for _, n in with_floor],
        },
        *(_ours(block, place, verdict, known) for verdict in VERDICTS),
    ]
    return [trace for trace in drawn if trace["x"]]


def _line(block: Block, place: int, y: int, ends: Iterable[float | None], color: str) -> _Trace:
    return _on(place) | {
        "mode": "lines",
        "name": "",
        "x": [block.at(value) for value in ends],
        "y": [y, y],
        "line": {"width": 3, "color": color},
        "hoverinfo": "skip",
    }


def _dots(
    block: Block, place: int, name: str, numbers: list[tuple[int, PaperNumber]], marker: _Trace
) -> _Trace:
    """Where these numbers are printed."""
    return _on(place) | {
        "mode": "markers",
        "name": name,
        "x": [block.at(printed_value(number)) for _, number in numbers],
        "y": [y for y, _ in numbers],
        "marker": {"size": _SIZE, "color": PRINTED, "line": {"width": 0}} | marker,
        "hovertext": [hover(number) for _, number in numbers],
        "hoverinfo": "text",
    }


def _ours(block: Block, place: int, verdict: str, known: list[tuple[int, PaperNumber]]) -> _Trace:
    chosen = [(y, number) for y, number in known if number.verdict == verdict]
    sign = SIGNS[verdict]
    marker = {"symbol": sign.symbol, "color": sign.color, "size": _SIZE - 1}
    outline = _OUTLINE if sign.symbol.endswith("-open") else {}
    dots = _dots(block, place, f"here: {verdict}", chosen, marker | outline)
    return dots | {"x": [block.at(number.value) for _, number in chosen]}


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
        f"<b>{plain(words(number.row))}</b>, {plain(words(number.column))}",
        f"printed {plain(printed(number))}",
        f"here {plain(here(number))}" if number.value is not None else "",
        f"difference {plain(apart)}" if apart else "",
        f"chance {chance(number)}" if number.floor is not None else "",
        f"{sign.glyph} {number.verdict}",
        wrapped(number.reason[:320], 60) if number.reason else "",
        wrapped(number.source[:200], 60) if number.source else "",
    ]
    return "<br>".join(line for line in lines if line)


# Axes.

_ACROSS = {"fixedrange": True, "zeroline": False, "showline": True, "ticks": "outside",
           "tickangle": 0}  # fmt: skip


def _grid(found: list[Block], facets: Facets, letters: int) -> _Trace:
    """Blocks of the same rows side by side, the first of each line with their names."""
    ups = [_up(block, i % facets.columns == 0, letters) for i, block in enumerate(found)]
    layout = facets.layout(_ACROSS, ups)
    for place, block in enumerate(found):
        across = layout[f"xaxis{suffix(place)}"]
        across.pop("matches", None)
        across |= {"showticklabels": True, "title": {"text": ""}, **block.axis}
    return layout


def _stacked(found: list[Block], facets: Facets, letters: int) -> _Trace:
    """Blocks one above the other, each as high as its rows need."""
    stack = Stack(tuple(len(block.rows) for block in found))
    layout: _Trace = {
        "height": stack.inside + facets.above + facets.below,
        "margin": {"l": 8, "r": 16, "t": facets.above, "b": 8},
    }
    for place, (block, domain) in enumerate(zip(found, stack.domains, strict=True)):
        name = suffix(place)
        layout[f"xaxis{name}"] = {**_ACROSS, "anchor": f"y{name}", **block.axis}
        up = _up(block, True, letters)
        layout[f"yaxis{name}"] = up | {"anchor": f"x{name}", "domain": domain}
    return layout


def _up(block: Block, named: bool, letters: int) -> _Trace:
    return {
        "range": [len(block.rows) - 0.4, -0.6],
        "fixedrange": True,
        "zeroline": False,
        "tickmode": "array",
        "tickvals": list(range(len(block.rows))),
        "ticktext": [wrapped(row, letters) if named else "" for row in block.rows],
        "ticklabelstandoff": 4,
    }
