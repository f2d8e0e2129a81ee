"""Every table and figure at a glance: a bar for each, cut into its numbers' verdicts.

All bars are of one length, so that a table of six numbers can be read beside one of seventy; how
many numbers it has stands at its end.
"""

from typing import Any

import numpy as np

from embtie_widgets.charts.facets import ABOVE_ALL
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.papers_view import PAPERS, SIGNS, label, numbers_of, present
from embtie_widgets.results.papers import VERDICTS, PaperItem, PaperTables

_ROW, _ABOVE, _LEGEND, _BELOW = 25, 44, 20, 12  # pixels
_TOTAL = 20  # pixels that a total of three digits needs beside a narrow chart's bars
_HEAD = 1.15  # rows of room for the name of a paper
_ROOM = 7.0  # per cent of a bar that a sign and a number need
_FRAME = "#3b8fd6"
_Trace = dict[str, Any]


def spec(result: PaperTables | None, chosen: str = "") -> _Trace:
    """The bars in plotly's terms, one trace for each verdict; `chosen` is the item with a frame."""
    items = [] if result is None else list(result.items.values())
    at = _places(items)
    shown = present(numbers_of(result)) if items else list(VERDICTS)
    layout = _layout(items, at, chosen)
    more = _LEGEND * (len(shown) - 1)  # in a narrow box each verdict has a line of its own
    return {
        "data": [_bars(items, at, verdict, verdict in shown) for verdict in VERDICTS],
        "layout": layout,
        "narrow": {
            "height": layout["height"] + more,
            "margin": {**layout["margin"], "t": _ABOVE + more},
            "annotations": [*_papers(items, at, short=True), *_totals(items, at)],
        },
    }


def item_at(result: PaperTables | None, _trace: int, place: tuple[int, ...]) -> str | None:
    """The name of the item whose bar was clicked; a figure tells the bar's place in its trace."""
    names = [] if result is None else list(result.items)
    return names[place[0]] if place and place[0] < len(names) else None


def _places(items: list[PaperItem]) -> list[float]:
    """Where each bar stands, counted in rows from the top; a paper's name is above its bars."""
    found, at, before = [], -1.0, ""
    for item in items:
        at += 1.0 + (_HEAD if item.paper != before else 0.0)
        before = item.paper
        found.append(at)
    return found


def _bars(items: list[PaperItem], at: list[float], verdict: str, shown: bool) -> _Trace:
    sign = SIGNS[verdict]
    counts = [item.count(verdict) for item in items]
    shares = [
        100 * count / max(len(item.numbers), 1) for count, item in zip(counts, items, strict=True)
    ]
    return {
        "type": "bar",
        "orientation": "h",
        "name": f"{sign.glyph} {verdict}",
        "x": np.asarray(shares, "f4"),
        "y": np.asarray(at, "f4"),
        "width": 0.74,
        "text": [
            f"{sign.glyph} {count}" if share >= _ROOM else sign.glyph if count else ""
            for count, share in zip(counts, shares, strict=True)
        ],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "hovertext": [
            f"<b>{plain(label(item.name))}</b>: {count} of {len(item.numbers)} {verdict}"
            f"<br>{sign.meaning}"
            for count, item in zip(counts, items, strict=True)
        ],
        "hoverinfo": "text",
        "showlegend": shown,
        "marker": {
            "color": sign.wash,
            "line": {"color": sign.color, "width": 1},
            "pattern": {
                "shape": sign.pattern,
                "fillmode": "overlay",
                "fgcolor": sign.color,
                "solidity": 0.12,
                "size": 7,
            },
        },
    }


def _layout(items: list[PaperItem], at: list[float], chosen: str) -> _Trace:
    last = at[-1] if at else 12.0
    return {
        "uirevision": "papers",
        "height": int(_ROW * (last + 1.2)) + _ABOVE + _BELOW,
        "margin": {"l": 8, "r": _TOTAL, "t": _ABOVE, "b": _BELOW},
        "barmode": "stack",
        "bargap": 0,
        "hovermode": "closest",
        "dragmode": False,
        "uniformtext": {"mode": "hide", "minsize": 9},
        "xaxis": {
            "range": [0, 109],
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
            "showticklabels": False,
        },
        "yaxis": {
            "tickmode": "array",
            "tickvals": at,
            "ticktext": [
                f"<b>{plain(label(item.name))}</b>"
                if item.name == chosen
                else plain(label(item.name))
                for item in items
            ],
            "range": [last + 0.7, -0.5],
            "fixedrange": True,
            "showgrid": False,
            "zeroline": False,
            "ticklabelstandoff": 4,
        },
        "legend": {**ABOVE_ALL, "traceorder": "normal"},
        "annotations": [*_papers(items, at, short=False), *_totals(items, at)],
        "shapes": [
            _frame(place) for item, place in zip(items, at, strict=True) if item.name == chosen
        ],
    }


def _papers(items: list[PaperItem], at: list[float], *, short: bool) -> list[_Trace]:
    """The name of each paper above its first bar."""
    firsts = {item.paper: place for item, place in reversed(list(zip(items, at, strict=True)))}
    return [
        {
            "xref": "paper",
            "x": 0,
            "xanchor": "left",
            "y": place - 0.95,
            "text": f"<b>{plain(_named(paper, short))}</b>",
            "showarrow": False,
        }
        for paper, place in firsts.items()
    ]


def _named(paper: str, short: bool) -> str:
    words, number = PAPERS.get(paper, (paper, ""))
    return words if short or not number else f"{words}, arXiv:{number}"


def _totals(items: list[PaperItem], at: list[float]) -> list[_Trace]:
    return [
        {
            "x": 101,
            "xanchor": "left",
            "y": place,
            "text": f"{len(item.numbers)}",
            "showarrow": False,
            "font": {"size": 12},
        }
        for item, place in zip(items, at, strict=True)
    ]


def _frame(place: float) -> _Trace:
    return {
        "type": "rect",
        "x0": -0.3,
        "x1": 100.3,
        "y0": place - 0.44,
        "y1": place + 0.44,
        "line": {"width": 2.5, "color": _FRAME},
    }
