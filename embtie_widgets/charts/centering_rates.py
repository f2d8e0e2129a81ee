"""A number of every run against its learning rate: a chart for each size and tying, a line for each
method."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from embtie_widgets.charts import stretched
from embtie_widgets.charts.centering_view import (
    HELD_LOSS,
    UNITS,
    called,
    look_of,
    measured,
    measures_of,
    number_of,
    rate,
)
from embtie_widgets.charts.facets import LEGEND, Facets, heading, named_once, suffix
from embtie_widgets.charts.figures import plain
from embtie_widgets.results.centering import DIVERGED, CenteringReport, CenteringRun

_COLUMNS = {1: 1, 2: 2, 4: 2}
_BESIDE = 0.018  # of the rates' reach, between two crosses
_WORDS = 16  # of rates have room beside one another, over all columns
_DECADE = 0.5  # a rate of 0 stands so many powers of ten below the least other one
_Trace = dict[str, Any]


def rates(result: CenteringReport | None, measure: str = HELD_LOSS) -> dict[str, Any]:
    """One chart for each size and tying, a line for each method; "narrow" for a narrow box."""
    measure, parts = measured(result, measure), _parts(result)
    columns = _COLUMNS.get(len(parts), 3)
    across, ups = _across(result, columns), _ups(result, parts, measure, columns)
    traces = []
    for place, part in enumerate(parts):
        lines = [_of_line(part, line, place, measure) for line in _lines(part)]
        traces += [*lines, *_crosses(part, lines, ups[place]["range"][1])]
    facets = Facets(len(parts), columns, named_once(traces, "lines+markers"), height=230)
    layout = {
        "uirevision": measure,
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": LEGEND,
        "annotations": [heading(place, plain(_title(part))) for place, part in enumerate(parts)],
        **facets.layout(across, ups),
    }
    return {"data": traces, "layout": layout, "narrow": facets.narrow.layout(across, ups)}


def _parts(result: CenteringReport | None) -> list[list[CenteringRun]]:
    """The runs of each size and tying; one empty part where there are none."""
    runs = () if result is None else result.runs
    order = list(dict.fromkeys((run.size, run.tied) for run in runs))
    return [[run for run in runs if (run.size, run.tied) == one] for one in order] or [[]]


def _lines(part: list[CenteringRun]) -> list[list[CenteringRun]]:
    """The runs of each method and coefficient, all seeds of it."""
    order = list(dict.fromkeys((run.method, run.coefficient) for run in part))
    return [[run for run in part if (run.method, run.coefficient) == one] for one in order]


def _title(part: list[CenteringRun]) -> str:
    if not part:
        return ""
    words = {True: "tied", False: "untied", None: ""}[part[0].tied]
    return ", ".join(one for one in (part[0].size, words) if one)


def _of_line(
    part: list[CenteringRun], line: list[CenteringRun], place: int, measure: str
) -> _Trace:
    """The mean over seeds with its ends."""
    look, words = look_of(line[0], part), plain(called(line[0], part))
    ranked = sorted(line, key=lambda run: run.lr)
    points = [_Point.of(list(runs), measure) for _, runs in groupby(ranked, lambda run: run.lr)]
    return {
        "type": "scatter",
        "legendgroup": words,
        "name": words,
        "xaxis": f"x{suffix(place)}",
        "yaxis": f"y{suffix(place)}",
        "hoverinfo": "text",
        "cliponaxis": False,
        "x": [_place(point.lr, part) for point in points],
        "y": _shown([point.mean for point in points], measure),
        "mode": "lines+markers",
        "line": {"color": look.color, "dash": look.dash, "width": 2.2},
        "marker": {"color": look.color, "symbol": look.symbol, "size": 9},
        "hovertext": [point.hover(words) for point in points],
        "connectgaps": False,
        **_bars(points, measure, look.color),
    }


def _crosses(part: list[CenteringRun], lines: list[_Trace], top: float) -> list[_Trace]:
    """At the `top` a cross for each line and rate that diverged, side by side at one rate."""
    gone: dict[float, list[_Trace]] = {}
    for drawn, runs in zip(lines, _lines(part), strict=True):
        for lr in sorted({run.lr for run in runs if run.state == DIVERGED}):
            gone.setdefault(lr, []).append(drawn)
    places = [_place(run.lr, part) for run in part] or [0.0]
    wide = _BESIDE * max(max(places) - min(places), 1.0)
    return [
        _cross(drawn, _place(lr, part), wide * (number - (len(some) - 1) / 2), top)
        | {"text": ["diverged" if number == len(some) // 2 else ""]}
        for lr, some in gone.items()
        for number, drawn in enumerate(some)
    ]


def _cross(drawn: _Trace, at: float, beside: float, top: float) -> _Trace:
    """Of a line, at a place on the axis of rates or a little beside it."""
    keys = ("type", "legendgroup", "name", "xaxis", "yaxis", "hoverinfo", "cliponaxis")
    return {key: drawn[key] for key in keys} | {
        "x": [at + beside],
        "y": [top],
        "mode": "markers+text",
        "marker": {"symbol": "x", "size": 10, "color": drawn["marker"]["color"]},
        "textposition": "bottom center",
        "textfont": {"size": 11},
        "hovertext": [drawn["hovertext"][drawn["x"].index(at)]],
    }


@dataclass(frozen=True)
class _Point:
    """The runs of one line at one rate: mean, least and largest over seeds, and how they ended."""

    lr: float
    mean: float
    low: float
    high: float
    seeds: int
    diverged: int
    whole: int

    @classmethod
    def of(cls, runs: list[CenteringRun], measure: str) -> "_Point":
        """Over those that have come to their end with a number."""
        ended = [run for run in runs if run.state != DIVERGED]
        known = np.array([number_of(run, measure) for run in ended], float)
        known = known[np.isfinite(known)]
        ends = (known.mean(), known.min(), known.max()) if len(known) else (math.nan,) * 3
        mean, low, high = (float(end) for end in ends)
        return cls(runs[0].lr, mean, low, high, len(known), len(runs) - len(ended), len(runs))

    def hover(self, words: str) -> str:
        """What is said of it."""
        spread = f", {self.low:.4g} to {self.high:.4g} over {self.seeds} seeds"
        said = [
            f"<b>{words}</b>, learning rate {rate(self.lr)}",
            f"{self.mean:.4g}{spread if self.seeds > 1 else ''}" if self.seeds else "no value",
            f"{self.diverged} of {self.whole} diverged" if self.diverged else "",
        ]
        return "<br>".join(one for one in said if one)


def _bars(points: Sequence[_Point], measure: str, color: str) -> _Trace:
    """From the least to the largest over seeds, where there are several."""
    if not any(point.seeds > 1 for point in points):
        return {}
    means, low, high = (
        _shown([getattr(point, name) for point in points], measure)
        for name in ("mean", "low", "high")
    )
    bars = {"type": "data", "symmetric": False, "array": high - means, "arrayminus": means - low}
    return {"error_y": bars | {"color": color, "thickness": 1.4, "width": 4}}


def _shown(values: list[float], measure: str) -> Any:
    known = np.array(values, float)
    return stretched.stretched(known, UNITS[measure]) if measure in UNITS else known


def _place(lr: float, runs: Iterable[CenteringRun]) -> float:
    """Where a rate stands on the logarithmic axis."""
    if lr > 0:
        return math.log10(lr)
    least = min((run.lr for run in runs if run.lr > 0), default=1.0)
    return math.log10(least) - _DECADE


def _across(result: CenteringReport | None, columns: int) -> _Trace:
    runs = () if result is None else result.runs
    known = () if result is None else result.rates
    places = [_place(lr, runs) for lr in known] or [-3.0, -2.0, -1.0]
    words = [rate(lr) for lr in known] or ["0.001", "0.01", "0.1"]
    if len(words) * columns > _WORDS:
        words = ["" if place % 2 else word for place, word in enumerate(words)]
    air = max(0.06 * (max(places) - min(places)), 0.1)
    return {
        "title": {"text": "learning rate, logarithmic"},
        "range": [min(places) - air, max(places) + air],
        "tickmode": "array",
        "tickvals": places,
        "ticktext": words,
        "tickangle": 0,
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
    }


def _ups(
    result: CenteringReport | None, parts: list[list[CenteringRun]], measure: str, columns: int
) -> list[_Trace]:
    """The upward axes: of the same length where they are of losses, so that what lies as far above
    the best looks as far everywhere."""
    labels = {name: words for words, name in measures_of(result)}
    ends = [_extent(part, measure) for part in parts]
    most = max(high - low for low, high in ends) or 0.1
    crosses = any(run.state == DIVERGED for part in parts for run in part)
    found = []
    for place, (low, high) in enumerate(ends):
        text = labels.get(measure, "loss, nats") if place % columns == 0 else ""
        if measure in UNITS:
            axis = stretched.axis(min(low, 0.0), max(high, 0.0), UNITS[measure])
        else:
            # Above all points there is room for the crosses, and the word below them.
            axis = {"range": [low - 0.06 * most, low + (1.26 if crosses else 1.06) * most]}
        found.append({"zeroline": False, "nticks": 6, "title": {"text": text}, **axis})
    return found


def _extent(part: list[CenteringRun], measure: str) -> tuple[float, float]:
    values = [number_of(run, measure) for run in part if run.state != DIVERGED]
    known = [value for value in values if math.isfinite(value)]
    return (min(known), max(known)) if known else (0.0, 1.0)
