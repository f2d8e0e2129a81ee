"""How far above the full head's the loss ends, against the rank that is left: a chart for each
tying and learning rate, a line for each way, and what is printed as small open signs."""

import math
from collections.abc import Sequence
from typing import Any

from embtie_widgets.charts.facets import LEGEND, Facets, heading, named_once, suffix
from embtie_widgets.charts.shapes import error_bars
from embtie_widgets.charts.theme import WAYS
from embtie_widgets.charts.trials_view import WAY_WORDS, width_of, worded
from embtie_widgets.results.trials import TrialsReport
from embtie_widgets.results.trials_published import EXCESS, PublishedExcess

_OPEN = {"●": "○", "◆": "◇", "■": "□", "▲": "△"}
_RANKED = ("factorised", "backward")
_UPDATE = "head-update"
_BESIDE = 0.06  # of a doubling of the rank
_Trace = dict[str, Any]
_Line = dict[str, Any]


def spec(result: TrialsReport | None) -> _Trace:
    """One chart for each tying and rate; "narrow" for a narrow box."""
    parts, width = _parts(result), width_of(result)
    across, traces = _across(parts, width), list[_Trace]()
    left = across["tickvals"][0]
    for place, part in enumerate(parts):
        traces += [t for way in _RANKED for t in _of_way(part, way, width, place)]
        traces += [t for way in _RANKED for t in _printed(way, width, place)]
        traces += _levels(part, width, place, left)
    facets = Facets(len(parts), min(len(parts), 2), named_once(traces, "lines+markers"), height=270)
    ups = [_up(traces, place) for place in range(len(parts))]
    titles = [_title(part, parts) for part in parts]
    layout = {
        "uirevision": "excess",
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": LEGEND,
        "annotations": [heading(place, words) for place, words in enumerate(titles)],
        **facets.layout(across, ups),
    }
    return {"data": traces, "layout": layout, "narrow": facets.narrow.layout(across, ups)}


def _parts(result: TrialsReport | None) -> list[list[_Line]]:
    """The lines of each tying and rate; one empty part where there are none."""
    lines = [] if result is None else list(result.excess)
    order = list(dict.fromkeys((line["tied"], line["lr"]) for line in lines))
    return [[x for x in lines if (x["tied"], x["lr"]) == one] for one in order] or [[]]


def _title(part: list[_Line], parts: list[list[_Line]]) -> str:
    if not part or len(parts) < 2:
        return "loss above the full head, nats"
    several = len({some[0]["lr"] for some in parts}) > 1
    rate = f", rate {part[0]['lr']:g}" if several else ""
    return f"{worded('tied', part[0]['tied'])}{rate}"


def _of_way(part: list[_Line], way: str, width: int | None, place: int) -> list[_Trace]:
    """The means over seeds with their intervals."""
    lines = sorted((line for line in part if line["way"] == way), key=lambda line: line["rank"])
    if not lines:
        return []
    mark, means = WAYS[way], [line["mean"] for line in lines]
    return [
        _trace(f"{mark.glyph} {WAY_WORDS[way]}", place)
        | {
            "x": [_at(line["rank"], width) for line in lines],
            "y": means,
            "mode": "lines+markers",
            "line": {"color": mark.color, "dash": "solid", "width": 2.4},
            "marker": {"color": mark.color, "symbol": mark.symbol, "size": 10},
            **_bars(means, [line["interval"] for line in lines], mark.color),
            "hovertext": [_said(line, width) for line in lines],
        }
    ]


def _printed(way: str, width: int | None, place: int) -> list[_Trace]:
    """The reply's values of this way, each text by itself; only beside ranks of a known width."""
    known = [one for one in EXCESS if one.way == way and one.rank and one.width]
    if width is None:
        return []
    texts = list(dict.fromkeys(one.text for one in known))
    return [
        _printed_text(way, [one for one in known if one.text == text], place, _BESIDE * number)
        for number, text in enumerate(texts)
    ]


def _printed_text(way: str, known: Sequence[PublishedExcess], place: int, beside: float) -> _Trace:
    """The values of one text, a little beside those of another one."""
    mark, means = WAYS[way], [one.excess for one in known]
    return _trace(f"{_OPEN[mark.glyph]} {WAY_WORDS[way]}, printed", place) | {
        "x": [_at(one.rank, one.width) + beside for one in known],
        "y": means,
        "mode": "lines+markers",
        "line": {"color": mark.color, "dash": "2px,4px", "width": 1.4},
        "marker": {"color": mark.color, "symbol": f"{mark.symbol}-open", "size": 7},
        **_bars(means, [one.interval for one in known], mark.color),
        "hovertext": [_said_printed(one) for one in known],
    }


def _bars(means: Sequence[float], intervals: Sequence[Any], color: str) -> _Trace:
    """The intervals, where there are any."""
    if not any(intervals):
        return {}
    return {"error_y": error_bars(means, intervals) | {"color": color, "width": 4}}


def _levels(part: list[_Line], width: int | None, place: int, left: float) -> list[_Trace]:
    """The head's own update cut, which has no rank: as levels, ours and the printed one."""
    mark = WAYS[_UPDATE]
    ours = next((line for line in part if line["way"] == _UPDATE), None)
    printed = next((one for one in EXCESS if one.way == _UPDATE), None)
    found = []
    if ours is not None:
        words = f"{mark.glyph} {WAY_WORDS[_UPDATE]}"
        found.append(_level(words, place, left, ours["mean"], _said(ours, width)))
    if ours is not None and printed is not None:
        words = f"{_OPEN[mark.glyph]} {WAY_WORDS[_UPDATE]}, printed"
        level = _level(words, place, left, printed.excess, _said_printed(printed))
        level["line"] = level["line"] | {"dash": "2px,4px", "width": 1.4}
        level["marker"] = level["marker"] | {"symbol": f"{mark.symbol}-open", "size": 7}
        found.append(level)
    return found


def _level(words: str, place: int, left: float, level: float, said: str) -> _Trace:
    """Across the whole width of the ranks, with a sign at both ends."""
    mark = WAYS[_UPDATE]
    return _trace(words, place) | {
        "x": [left, 0.0],
        "y": [level, level],
        "mode": "lines+markers",
        "line": {"color": mark.color, "dash": "solid", "width": 1.6},
        "marker": {"color": mark.color, "symbol": mark.symbol, "size": 8},
        "hovertext": [said, said],
    }


_LEFT = -3.0  # an eighth of the width, the least printed rank


def _at(rank: int | None, width: int | None) -> float:
    """Where a rank stands: the logarithm of its share of the width, or of itself."""
    return math.log2((rank or 1) / (width or 1))


def _said(line: _Line, width: int | None) -> str:
    """What a point says."""
    of = f" of {width:,}" if width else ""
    rank = f", rank {line['rank']:,}{of}" if line["rank"] is not None else ""
    pair = line["interval"]
    seeds = f"{line['seeds']} seed{'s' if line['seeds'] > 1 else ''}"
    ends = f", 95 % {pair[0]:+.3f} to {pair[1]:+.3f}" if pair else ""
    words = f"<b>{WAY_WORDS[line['way']]}</b>{rank}<br>"
    return (words + f"{line['mean']:+.3f} nats, {seeds}{ends}").replace("-", "−")


def _said_printed(one: PublishedExcess) -> str:
    text = f"{one.text}, width {one.width}, " if one.text else ""
    rank = f"rank {one.rank}, " if one.rank is not None else ""
    ends = f" [{one.interval[0]:.3f}, {one.interval[1]:.3f}]" if one.interval else ""
    named = f"<b>{WAY_WORDS[one.way]}, printed</b><br>"
    return f"{named}{text}{rank}five seeds: +{one.excess:.3f}{ends}"


def _trace(words: str, place: int) -> _Trace:
    axes = {"xaxis": f"x{suffix(place)}", "yaxis": f"y{suffix(place)}"}
    return {"type": "scatter", "name": words, "legendgroup": words, "hoverinfo": "text", **axes}


# Axes.


def _across(parts: list[list[_Line]], width: int | None) -> _Trace:
    ranks = sorted({line["rank"] for part in parts for line in part} - {None})
    places = [_at(rank, width) for rank in ranks]
    low, high = min([*places, _LEFT if width else math.inf], default=_LEFT), max([*places, 0.0])
    low, high = (low, high) if math.isfinite(low) else (_LEFT, 0.0)
    known = range(math.floor(low), math.ceil(high) + 1)
    words = [_share(power) if width else f"{2.0**power:g}" for power in known]
    return {
        "title": {"text": "rank as a share of the width" if width else "rank"},
        "range": [low - 0.25, high + 0.25],
        "tickmode": "array",
        "tickvals": list(known),
        "ticktext": words,
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
    }


def _share(power: int) -> str:
    return f"1/{2**-power}" if power < 0 else f"{2**power}"


def _up(traces: list[_Trace], place: int) -> _Trace:
    """From 0 or below to the highest value, printed ones among them."""
    axis = f"y{suffix(place)}"
    known = [0.0, 0.1]
    for trace in traces:
        if trace["yaxis"] == axis:
            bars = trace.get("error_y", {})
            up = bars.get("array", [0.0] * len(trace["y"]))
            down = bars.get("arrayminus", [0.0] * len(trace["y"]))
            known += [y + more for y, more in zip(trace["y"], up, strict=True)]
            known += [y - less for y, less in zip(trace["y"], down, strict=True)]
    air = 0.06 * (max(known) - min(known))
    return {"zeroline": True, "nticks": 6, "range": [min(known) - air, max(known) + air]}
