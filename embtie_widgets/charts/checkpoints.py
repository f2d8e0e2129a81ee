"""The checkpoints of a training as a picture: where they stand, and which hold the same bytes.

One lane for each stage and ingredient, all on one axis of steps, so that no gap looks shorter than
it is.  Checkpoints with equal bytes are diamonds, joined by a comb below the lane.
"""

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from embtie_widgets.charts import figures
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.files import Plots
from embtie_widgets.charts.steps import count, distance, kind, readout, round_values
from embtie_widgets.results.checkpoints import (
    LOADED,
    SKIPPED,
    Checkpoint,
    CheckpointReport,
    SameBytes,
    Track,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["caption", "figure", "headline", "plots", "spec", "text"]
_NEUTRAL, _LOADED, _SAME, _CHOSEN = "#7a828f", "#0f8a6d", "#d64545", "#3b8fd6"
# Kinds of markers: name, symbol, size, colour; the symbol alone tells them apart.
_MARKS = {
    "listed": ("listed", "circle-open", 7, _NEUTRAL),
    "loaded": ("loaded", "circle", 9, _LOADED),
    "same": ("same bytes as another", "diamond", 11, _SAME),
    "skipped": ("could not be read", "x-thin", 9, _NEUTRAL),
}
# What one lane gets in a file, where it stands alone on its page.
_LEAST_HEIGHT = 480
_COMB, _LEVEL, _LEVELS = 0.2, 0.13, 3
_Lanes = dict[Track, int]


def figure(result: CheckpointReport, theme: str = "light", scale: str = "log") -> "Figure":
    """The chart as a plain figure with its caption inside, for exports."""
    drawn = spec(result, scale)
    height = max(drawn["layout"]["height"] + 100, _LEAST_HEIGHT)
    return figures.captioned(drawn, caption(result), theme, height, 130, -70 / (height - 190))


def spec(result: CheckpointReport | None, scale: str = "log", chosen: str = "") -> dict[str, Any]:
    """The chart in plotly's terms, "data" and "layout"; without a result its axes alone."""
    return {"data": _traces(result, scale, chosen), "layout": _layout(result, scale)}


def plots(result: CheckpointReport) -> Plots:
    """The chart with its caption."""
    drawn = spec(result)
    drawn["layout"]["height"] = max(drawn["layout"]["height"], _LEAST_HEIGHT)
    return Plots(headline(result), ((drawn, caption(result)),))


def text(_request: Any, result: CheckpointReport) -> str:
    """What the command line prints: the sentence, a line for each checkpoint, the notes."""
    known = [row for row in result.rows if row.state != "listed"] or list(result.rows)
    wide = max((len(row.name) for row in known), default=0)
    lines = [f"{row.name.ljust(wide)}  {row.state:8}{_line(result, row)}" for row in known]
    notes = [f"note: {note}" for note in result.notes]
    return "\n\n".join(
        part for part in (headline(result), "\n".join(lines), "\n".join(notes)) if part
    )


def headline(result: CheckpointReport) -> str:
    """How many checkpoints there are, how far they were looked into, and what was found."""
    known = [row for row in result.rows if row.value is not None]
    loaded = sum(row.state == LOADED for row in result.rows)
    compared = sum(bool(row.hashes) for row in result.rows)
    same = len(result.repeated)
    if not compared:
        listed = f"{result.name} has {len(known)} checkpoints{_from_to(known)}"
        return f"{listed}; none is loaded{_failed(result)}."
    some = f"{loaded or compared} of {len(known)} checkpoints"
    done = f"{some} loaded" if loaded else f"the files of {some} compared"
    if compared < 2:
        found = "too few to be compared"
    elif same:
        found = f"{same} of these hold the same bytes as another"
    else:
        found = "no two hold the same bytes"
    return f"{result.name}: {done}, {found}{_failed(result)}."


def _failed(result: CheckpointReport) -> str:
    """Which of those asked for by name are not there to be compared."""
    asked = result.settings.get("revisions") or ()
    gone = [row.name for row in result.rows if row.state == SKIPPED and row.name in asked]
    more = f" and {len(gone) - 3} more" if gone[3:] else ""
    return f"; not found or not read: {', '.join(gone[:3])}{more}" if gone else ""


def caption(result: CheckpointReport) -> str:
    """What the picture rests on, as plain text."""
    states, apart = [row.state for row in result.rows], len(_apart(result))
    facts = [
        f"{result.name}: {len(states)} revisions known, {states.count(LOADED)} loaded, "
        f"{states.count(SKIPPED)} left out",
        "places true to the step",
        "matrices compared by SHA-256 of type, shape and bytes" if LOADED in states else "",
        f"{apart} that give tokens but no step are not drawn" if apart else "",
        "files by the hashes of the hub" if any(_files(row) for row in result.rows) else "",
    ]
    return "; ".join(fact for fact in facts if fact) + "."


def _files(row: Checkpoint) -> bool:
    return any(name.startswith("file ") for name in row.hashes)


def _from_to(known: list[Checkpoint]) -> str:
    numbers = [row.step for row in known if row.step is not None]
    return f" from step {min(numbers):,} to {max(numbers):,}" if numbers else ""


def _line(result: CheckpointReport, row: Checkpoint) -> str:
    far = distance(row.since_loaded)
    others = result.others(row.name)
    said = [f"{far} after {row.since_loaded.before}" if row.since_loaded and far else ""]
    said += [f"same bytes as {', '.join(others)}" if others else "", row.reason]
    return "; ".join(part for part in said if part)


def _of_one_axis(result: CheckpointReport | None) -> CheckpointReport | None:
    """The report without those that give tokens alone, where others give steps."""
    apart = result and _apart(result)
    if result is None or not apart:
        return result
    return replace(result, rows=tuple(row for row in result.rows if row not in apart))


def _apart(result: CheckpointReport) -> list[Checkpoint]:
    by_steps = any(row.step is not None for row in result.rows)
    return [row for row in result.rows if by_steps and row.track[2] == "tokens"]


def _lanes(result: CheckpointReport | None) -> _Lanes:
    """From each track to its height, the first on top; `main` and its like in the last."""
    rows = () if result is None else result.rows
    tracks = dict.fromkeys(row.track for row in rows)
    return {track: -i for i, track in enumerate(tracks)}


def _scaled(value: float, scale: str) -> float:
    return math.log10(value + 1) if scale == "log" else float(value)


def _ends(result: CheckpointReport | None) -> tuple[float, float]:
    values = [row.value for row in result.rows if row.value is not None] if result else []
    return (min(values), max(values)) if values else (0.0, 1.0)


def _x(result: CheckpointReport, row: Checkpoint, scale: str) -> float:
    """Its place on the axis; one without step stands at the end of the training."""
    return _scaled(_ends(result)[1] if row.value is None else row.value, scale)


def _traces(result: CheckpointReport | None, scale: str, chosen: str) -> list[dict[str, Any]]:
    """Always the same six traces, so that the page changes them in place."""
    result = _of_one_axis(result)
    rows = result.rows if result else ()
    marked = {name: [r for r in rows if result and kind(result, r) == name] for name in _MARKS}
    markers = [_markers(result, name, marked[name], scale) for name in _MARKS]
    ring = _markers(result, "listed", [row for row in rows if row.name == chosen], scale)
    look = {"symbol": "circle-open", "size": 19, "color": _CHOSEN, "line": {"width": 2.5}}
    ring |= {"name": "chosen", "marker": look, "hoverinfo": "skip", "hovertemplate": None}
    return [_combs(result, scale), *markers, ring]


def _markers(
    result: CheckpointReport | None, name: str, rows: list[Checkpoint], scale: str
) -> dict[str, Any]:
    label, symbol, size, color = _MARKS[name]
    lanes = _lanes(result)
    return {
        "type": "scatter",
        "name": label,
        "mode": "markers",
        "x": [_x(result, row, scale) for row in rows] if result else [],
        "y": [lanes[row.track] for row in rows],
        "hovertext": [_hover(result, row) for row in rows] if result else [],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {"symbol": symbol, "size": size, "color": color, "line": _edge(symbol, color)},
        "showlegend": bool(rows),
        "cliponaxis": False,
    }


def _edge(symbol: str, color: str) -> dict[str, Any]:
    return {"color": color, "width": 2 if symbol.endswith("thin") else 1.5}


def _hover(result: CheckpointReport, row: Checkpoint) -> str:
    lines = [f"<b>{plain(row.name)}</b>", plain(readout(result, row)), plain(row.reason)]
    return "<br>".join(line for line in lines if line)


def _combs(result: CheckpointReport | None, scale: str) -> dict[str, Any]:
    """Below the lanes: a tooth for each checkpoint of a group with equal bytes, and its back."""
    xs: list[float | None] = []
    ys: list[float | None] = []
    for number, same in enumerate(result.repeats if result else ()):
        depth = _COMB + _LEVEL * (number % _LEVELS)
        for line in _comb(result, same, scale, depth):
            xs += [*(x for x, _ in line), None]
            ys += [*(y for _, y in line), None]
    return {
        "type": "scatter",
        "name": "joined: the same bytes",
        "mode": "lines",
        "x": xs,
        "y": ys,
        "line": {"color": _SAME, "width": 1.5},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _comb(
    result: CheckpointReport | None, same: SameBytes, scale: str, depth: float
) -> Iterable[list[tuple[float, float]]]:
    if result is None:
        return
    lanes = _lanes(result)
    rows = [row for row in result.rows if row.name in same.names]
    feet = [(_x(result, row, scale), lanes[row.track] - depth) for row in rows]
    yield feet
    for x, y in feet:
        yield [(x, y), (x, y + depth - 0.1)]


def _layout(result: CheckpointReport | None, scale: str) -> dict[str, Any]:
    result = _of_one_axis(result)
    lanes = _lanes(result)
    low, high = (_scaled(end, scale) for end in _ends(result))
    room = 0.03 * (high - low) or 0.5
    return {
        "uirevision": scale,
        "height": 150 + 72 * max(len(lanes), 1),
        "margin": {"l": 8, "r": 16, "t": 44, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "xaxis": {
            "title": {"text": _axis(result, scale)},
            "range": [low - room, high + room],
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
            **_axis_ticks(result, scale),
        },
        "yaxis": {
            "tickmode": "array",
            "tickvals": list(lanes.values()),
            "ticktext": _lane_labels(result),
            "range": [-max(len(lanes), 1) + 0.3, 0.5],
            "zeroline": False,
            "showgrid": True,
            "tickfont": {"size": 13},
        },
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
    }


def _axis(result: CheckpointReport | None, scale: str) -> str:
    by_tokens = result and any(row.track[2] == "tokens" for row in result.rows)
    unit = "tokens" if by_tokens else "step"
    return f"{unit}, logarithmic" if scale == "log" else unit


def _axis_ticks(result: CheckpointReport | None, scale: str) -> dict[str, Any]:
    ends = _ends(result)
    values = round_values(*ends, scale == "log")
    if len(values) < 3:
        values = sorted({*ends, *values})
    values = _with_last(values, ends[1], scale)
    at = [_scaled(value, scale) for value in values]
    return {"tickmode": "array", "tickvals": at, "ticktext": [count(v) for v in values]}


def _with_last(values: list[float], last: float, scale: str) -> list[float]:
    """The end of the training has a tick, in place of any that would stand under its label."""
    first, end = _scaled(values[0], scale), _scaled(last, scale)
    room = 0.06 * (end - first)
    return [*(v for v in values if end - _scaled(v, scale) > room), last]


def _lane_labels(result: CheckpointReport | None) -> list[str]:
    if result is None:
        return []
    labels = [place.label for place in result.positions()[1]]
    return [*labels, "main"] if len(labels) < len(_lanes(result)) else labels
