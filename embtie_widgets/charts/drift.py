"""How far rows have turned, as two pictures: since the first checkpoint, and since the one before.

Steps stand where they are, on a logarithmic or a linear axis.  A change since the checkpoint before
is drawn as wide as the distance that it is measured over, so that no two changes over unlike
distances look alike; where distances differ they are written above, too.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.charts import figures
from embtie_widgets.charts.drift_lines import (
    ALL,
    Axis,
    Line,
    View,
    axis_of,
    band_choices,
    called,
    is_shared,
    lines,
    lines_of,
)
from embtie_widgets.charts.drift_tokens import columns, has_rows
from embtie_widgets.charts.drift_words import (
    caption,
    cautions,
    change_caption,
    headline,
    number,
    text,
)
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.files import Plots
from embtie_widgets.charts.shapes import ABOVE, Vector, faint
from embtie_widgets.charts.steps import count, distance, marks, place
from embtie_widgets.results.checkpoints import Checkpoint
from embtie_widgets.results.drift import DriftReport

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "View",
    "band_choices",
    "caption",
    "cautions",
    "change",
    "change_caption",
    "columns",
    "figure",
    "has_rows",
    "headline",
    "is_shared",
    "lines_of",
    "number",
    "plots",
    "spec",
    "text",
]
_SAME = "#d64545"
_ROOM = 0.055  # of the axis, that a tick or a distance needs
_AIR = 0.02
_Trace = dict[str, Any]


def spec(result: DriftReport | None, view: View = View()) -> dict[str, Any]:  # noqa: B008 - frozen
    """Cosine with the first checkpoint in plotly's terms; without a result its axes alone."""
    axis = axis_of(result, view.scale)
    shown = lines(result, view.band)
    whole = [line for line in shown if line.band == ALL]
    chances = [_chance(line, "to_first", axis, line is whole[0]) for line in whole]
    traces = [*chances, *(_curve(result, line, axis) for line in shown)]
    title = "cosine with the first checkpoint"
    return {
        "data": [*traces, _same(result, shown, "to_first", axis)],
        "layout": _layout(result, view, axis) | {"yaxis": _cosines(shown, "to_first", title)},
    }


def change(result: DriftReport | None, view: View = View()) -> dict[str, Any]:  # noqa: B008
    """What has changed since the checkpoint before, likewise."""
    axis = axis_of(result, view.scale)
    turn = view.change == "turn"
    what = "turn" if turn else "to_previous"
    # Degrees per step are known for all tokens together.
    shown = lines(result, ALL if turn else view.band)
    traces = [trace for line in shown for trace in _stairs(result, line, what, axis)]
    up = _turns(shown) if turn else _cosines(shown, what, "cosine with the checkpoint before")
    layout = _layout(result, view, axis, low=True) | {"yaxis": up}
    layout["annotations"] = [*layout["annotations"], *_distances(result, axis)]
    return {"data": [*traces, _same(result, shown, what, axis)], "layout": layout}


def figure(result: DriftReport, theme: str = "light", view: View = View()) -> "Figure":  # noqa: B008
    """The first picture as a plain figure with its caption inside, for exports."""
    return figures.captioned(spec(result, view), caption(result), theme, 560, 150, -0.25)


def plots(result: DriftReport) -> Plots:
    """Both pictures with their captions."""
    charts = ((spec(result), caption(result)), (change(result), change_caption(result)))
    return Plots(headline(result), charts)


# Lines.


def _curve(result: DriftReport | None, line: Line, axis: Axis) -> _Trace:
    """Cosine with the first, a marker at each checkpoint, broken from stage to stage."""
    stops, values = line.drift.stops, line.values("to_first")
    xs: list[float | None] = []
    ys: list[float | None] = []
    said: list[str] = []
    for i, stop in enumerate(stops):
        if i and stop.track != stops[i - 1].track:
            xs, ys, said = [*xs, None], [*ys, None], [*said, ""]
        xs.append(axis.of(stop))
        ys.append(float(values[i]))
        said.append(_hover(result, line, stop, f"cosine with the first {number(values[i])}"))
    return _trace(result, line) | {
        "x": xs,
        "y": ys,
        "hovertext": said,
        "mode": "lines+markers",
        "showlegend": line.leads,
        "connectgaps": False,
    }


def _stairs(result: DriftReport | None, line: Line, what: str, axis: Axis) -> tuple[_Trace, _Trace]:
    """A level over each distance with its marker at the end, and the marks alone for the hover."""
    stops, values = line.drift.stops, line.values(what)
    xs: list[float | None] = []
    ys: list[float | None] = []
    for before, stop, value in zip(stops, stops[1:], values[1:], strict=False):
        if stop.track != before.track or not np.isfinite(value):
            xs, ys = [*xs, None], [*ys, None]
            continue
        xs += [axis.of(before), axis.of(stop)]
        ys += [float(value), float(value)]
    words = "degrees per step" if what == "turn" else "cosine with the one before"
    ends = list(zip(stops[1:], values[1:], strict=True))
    stairs = _trace(result, line) | {
        "x": xs, "y": ys, "mode": "lines", "hoverinfo": "skip", "showlegend": line.leads,
    }  # fmt: skip
    dots = _trace(result, line) | {
        "x": [axis.of(stop) for stop, _ in ends],
        "y": [float(value) for _, value in ends],
        "hovertext": [_hover(result, line, s, f"{words} {number(v, what)}") for s, v in ends],
        "mode": "markers",
        "showlegend": False,
    }
    return stairs, dots


def _trace(result: DriftReport | None, line: Line) -> _Trace:
    mark = line.mark
    name = called(result, line) if result is not None else line.role
    color = faint(mark, line.strength)
    return {
        "type": "scatter",
        "name": plain(name),
        "legendgroup": f"{line.run} {line.role}",
        "line": {"color": color, "dash": mark.dash, "width": 2.4},
        "marker": {
            "color": color,
            "symbol": _symbol(line),
            "size": 8,
            "line": {"color": color, "width": 1.5},
        },
        "hoverinfo": "text",
        "cliponaxis": False,
    }


def _symbol(line: Line) -> str:
    return line.mark.symbol + ("-open" if line.place and line.role != "tied" else "")


def _chance(line: Line, what: str, axis: Axis, named: bool) -> _Trace:
    """What the row of any other token would have, thin and without a marker; one of the lines is
    `named`."""
    known = np.asarray(line.drift.chance.get(f"{line.side}_{what}", np.empty(0)), float)
    stops = line.drift.stops if len(known) else ()
    words = f"chance for the {line.role}: the mean over all other rows, "
    return {
        "type": "scatter",
        "name": f"chance, {line.role}",
        "legendgroup": "chance",
        "showlegend": False,
        "x": [axis.of(stop) for stop in stops],
        "y": known.tolist(),
        "mode": "lines+text",
        "text": ["", "chance"] if named and len(stops) > 1 else [],
        "textposition": "top left",
        "line": {"color": faint(line.mark, 0.75), "dash": "1px,4px", "width": 1.6},
        "hoverinfo": "text",
        "hovertext": [words + number(value) for value in known],
    }


def _hover(result: DriftReport | None, line: Line, stop: Checkpoint, said: str) -> str:
    far = distance(stop.since_loaded)
    band = f", tokens that occur {line.band}" if line.band else ""
    shown = [
        f"<b>{plain(line.run)}</b>, {line.role}{plain(band)}",
        plain(place(stop)),
        said,
        f"{plain(far)} after the one before" if far else "",
        "the same bytes as another checkpoint" if is_shared(line, stop) else "",
    ]
    return "<br>".join(part for part in shown if part)


def _same(result: DriftReport | None, shown: Iterable[Line], what: str, axis: Axis) -> _Trace:
    """A red diamond round each point whose matrix is byte for byte that of another checkpoint."""
    found = [
        (axis.of(stop), float(value))
        for line in shown
        for place_, (stop, value) in enumerate(
            zip(line.drift.stops, line.values(what), strict=True)
        )
        if is_shared(line, stop) and (place_ or what == "to_first")
    ]
    return {
        "type": "scatter",
        "name": "same bytes as another",
        "x": [x for x, _ in found],
        "y": [y for _, y in found],
        "mode": "markers",
        "marker": {"symbol": "diamond-open", "size": 15, "color": _SAME, "line": {"width": 2}},
        "hoverinfo": "skip",
        "showlegend": bool(found),
        "cliponaxis": False,
    }


# Axes.


def _layout(
    result: DriftReport | None, view: View, axis: Axis, low: bool = False
) -> dict[str, Any]:
    """All but the upward axis; the names of stages stand on top, or `low` in the plot."""
    at, words = _ticks(axis)
    by_tokens = any(track.unit == "tokens" for track in axis.tracks)
    title = "tokens" if by_tokens else "step"
    return {
        "uirevision": f"{view} {len(axis.at)}",
        "height": 360,
        "margin": {"l": 8, "r": 20, "t": 64, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": ABOVE | {"y": 1.08},
        "xaxis": {
            "title": {"text": f"{title}, logarithmic" if view.scale == "log" else title},
            "range": [-_AIR, 1 + _AIR],
            "tickmode": "array",
            "tickvals": at,
            "ticktext": words,
            "tickangle": 0,
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
        },
        "shapes": _borders(axis),
        "annotations": [*_track_labels(axis, low), *_reasons(result)],
    }


def _ticks(axis: Axis) -> tuple[list[float], list[str]]:
    """The ends of each stage and round values between, none under the label of another."""
    found: list[tuple[float, str]] = []
    for track in axis.tracks:
        known = [(mark["place"], mark["label"]) for mark in marks(track)]
        last, kept = known[-1], known[:1]
        for mark in known[1:-1]:
            if mark[0] - kept[-1][0] > _ROOM and last[0] - mark[0] > _ROOM:
                kept.append(mark)
        found += [*kept, last] if last[0] - kept[0][0] > _ROOM else [last]
    if axis.main:
        found = [*(mark for mark in found if mark[0] < 1 - _ROOM), (1.0, "main")]
    return [at for at, _ in found], [words for _, words in found]


def _borders(axis: Axis) -> list[dict[str, Any]]:
    """A thin line between two stages, whose steps are not one count."""
    starts = [track.start for track in axis.tracks[1:]]
    ends = [track.end for track in axis.tracks[:-1]]
    return [
        {
            "type": "line", "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "layer": "below",
            "x0": (end + start) / 2, "x1": (end + start) / 2,
            "line": {"color": "#7a828f", "width": 1, "dash": "dot"},
        }
        for end, start in zip(ends, starts, strict=True)
    ]  # fmt: skip


def _track_labels(axis: Axis, low: bool) -> list[dict[str, Any]]:
    if len(axis.tracks) < 2:
        return []
    return [
        _note((track.start + track.end) / 2, plain(track.label), 0.0 if low else 1.0, "bottom")
        for track in axis.tracks
    ]


def _distances(result: DriftReport | None, axis: Axis) -> list[dict[str, Any]]:
    """How far apart checkpoints are, above the stairs, where that is not everywhere the same."""
    drifts = [] if result is None else list(result.runs.values())
    if not any(drift.uneven for drift in drifts):
        return []
    found: dict[tuple[float, float], str] = {}
    for drift in drifts:
        for before, stop in zip(drift.stops, drift.stops[1:], strict=False):
            far = stop.since_loaded
            if far is not None and far.steps is not None and stop.track == before.track:
                found[axis.of(before), axis.of(stop)] = f"+{count(far.steps)}"
    return [
        _note((start + end) / 2, words, 1.0, "bottom")
        for (start, end), words in found.items()
        if end - start > 2 * _ROOM
    ]


def _note(x: float, words: str, y: float, anchor: str) -> dict[str, Any]:
    return {
        "x": x, "y": y, "xref": "x", "yref": "paper", "yanchor": anchor, "text": words,
        "showarrow": False, "font": {"size": 11},
    }  # fmt: skip


def _reasons(result: DriftReport | None) -> list[dict[str, Any]]:
    """Why a training has no line."""
    failed = {} if result is None else result.failed
    return [
        {
            "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.85 - 0.3 * number_,
            "text": f"<b>{plain(name)}</b>: {plain(why[:160])}", "showarrow": False,
            "bordercolor": "#7a828f", "borderwidth": 1, "borderpad": 6, "width": 320,
        }
        for number_, (name, why) in enumerate(failed.items())
    ]  # fmt: skip


def _cosines(shown: list[Line], what: str, title: str) -> dict[str, Any]:
    """From below the lowest value to a little above 1; down to 0 where chance is near."""
    parts = [line.values(what)[0 if what == "to_first" else 1 :] for line in shown]
    if what == "to_first":
        chances = (line.drift.chance.get(f"{line.side}_{what}") for line in shown if not line.band)
        parts += [known for known in chances if known is not None]
    low = _lowest(parts, 0.0)
    room = max(0.05 * (1 - low), 1e-4)
    return {"title": {"text": title}, "range": [low - room, 1 + room], "zeroline": low < 0}


def _lowest(parts: Iterable[Vector], usual: float) -> float:
    known = [part[np.isfinite(part)] for part in parts]
    return min((float(part.min()) for part in known if len(part)), default=usual)


def _turns(shown: list[Line]) -> dict[str, Any]:
    values = np.concatenate([line.values("turn") for line in shown] or [np.empty(0)])
    known = values[np.isfinite(values) & (values > 0)]
    log = len(known) > 0 and known.max() > 20 * known.min()
    axis = {"title": {"text": "turn, degrees per step"}, "zeroline": False}
    return axis | ({"type": "log", "dtick": "D2"} if log else {"rangemode": "tozero"})
