"""How well embeddings follow each signature, step by step, above the loss of the same training.

Held-out values are solid, in-sample ones thin and dashed, what an order adds to the one below
dotted; a line through all charts stands at the step that is looked at.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from embtie_widgets.charts.facets import LEGEND, Facets, heading, named_once, suffix
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.shapes import Vector, faint
from embtie_widgets.charts.staircase_view import (
    USUAL,
    View,
    axis_place,
    called_step,
    is_text,
    look,
    mark_of_matrix,
    mark_of_signature,
    matrix_words,
    measure_of,
    number,
    run_name,
    signature_words,
    step_word,
    steps_of,
    values_of,
)
from embtie_widgets.charts.steps import marks
from embtie_widgets.charts.theme import METHODS, Mark
from embtie_widgets.results.checkpoints import Place
from embtie_widgets.results.staircase import SignatureTrack, StaircaseReport, StaircaseRun

_Trace = dict[str, Any]
_NEUTRAL = METHODS["none"]
_WORDS = {
    "pearson": "Pearson",
    "spearman": "Spearman",
    "fit": "1 − MSE",
    "held_out": "held out",
    "in_sample": "in-sample",
    "beyond": "beyond the order below",
}
_ROOM = 0.09  # of the axis, that a number on it needs
_CHANCE = "floor"
_MOST_CURVES = 4


@dataclass(frozen=True)
class _Line:
    """One signature's track in one run, with the name and mark that it has in the legend."""

    run: StaircaseRun
    track: SignatureTrack
    name: str
    mark: Mark


@dataclass(frozen=True)
class _Chart:
    """A small chart: correlation lines, or else one `curve` of the training."""

    title: str
    lines: tuple[_Line, ...] = ()
    curve: str = ""


def spec(result: StaircaseReport | None, view: View = USUAL) -> dict[str, Any]:
    """All charts in plotly's terms, "narrow" for a narrow box; without a result axes alone."""
    charts = _charts(result, view)
    axis = axis_place(result, view.scale)
    traces = [
        {**trace, "xaxis": f"x{suffix(i)}", "yaxis": f"y{suffix(i)}"}
        for i, chart in enumerate(charts)
        for trace in _traces(result, chart, axis, view)
    ]
    named = named_once(traces, "lines+markers")
    facets = Facets(len(charts), min(len(charts), 2), named, height=200, gap=48)
    across, ups = _across(result, axis, view), [_up(chart) for chart in charts]
    layout = facets.layout(across, ups) | {
        "uirevision": f"{view.scale} {len(charts)}",
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": LEGEND,
        "annotations": [heading(i, chart.title) for i, chart in enumerate(charts)],
        "shapes": stems(result, view),
    }
    return {"data": traces, "layout": layout, "narrow": facets.narrow.layout(across, ups)}


def step_at(
    result: StaircaseReport | None, view: View, trace: int, place: tuple[int, ...]
) -> int | None:
    """The step of the snapshot nearest to a point that was clicked, None for no such point."""
    drawn, name = spec(result, view)["data"], run_name(result, view)
    if result is None or not name or trace >= len(drawn) or place[0] >= len(drawn[trace]["x"]):
        return None
    run, at = result.runs[name], drawn[trace]["x"][place[0]]
    axis = axis_place(result, view.scale)
    steps = steps_of(run)
    return int(steps[np.abs(np.array([axis.of(step) for step in steps]) - at).argmin()])


# Which charts there are.


def _charts(result: StaircaseReport | None, view: View) -> list[_Chart]:
    if result is None:
        return [_Chart("correlation with the signature"), _Chart("loss", curve="loss")]
    made = list(_by_signature(result) if is_text(result) else _by_matrix(result, view))
    known = dict.fromkeys(n for run in _curved(result, view) for n in run.curves if n != "step")
    return [*made, *(_Chart(plain(name), curve=name) for name in [*known][:_MOST_CURVES])]


def _by_matrix(result: StaircaseReport, view: View) -> Iterator[_Chart]:
    """Of a toy task, each matrix of one run against every order."""
    name = run_name(result, view)
    if not name:
        return
    run = result.runs[name]
    for matrix in run.matrices:
        own = [track for track in run.tracks if track.matrix == matrix]
        among = [track.signature for track in own]
        lines = tuple(
            _Line(run, t, signature_words(t.signature), mark_of_signature(t.signature, among))
            for t in own
        )
        yield _Chart(matrix_words(matrix), lines)


def _by_signature(result: StaircaseReport) -> Iterator[_Chart]:
    """Of language models, what stands beside a token against every matrix of every run."""
    known = dict.fromkeys(t.signature for run in result.runs.values() for t in run.tracks)
    several = sum(bool(run.matrices) for run in result.runs.values()) > 1
    for signature in known:
        lines = tuple(
            _Line(run, track, _called(name, track.matrix, several), mark)
            for name, run in result.runs.items()
            for track in run.tracks
            if track.signature == signature
            for mark in [mark_of_matrix(result, name, track.matrix)]
        )
        yield _Chart(signature_words(signature), lines)


def _called(run: str, matrix: str, several: bool) -> str:
    return f"{matrix_words(matrix)}, {run}" if several else matrix_words(matrix)


def _curved(result: StaircaseReport, view: View) -> list[StaircaseRun]:
    """The runs whose loss is drawn: of a toy task the one that is looked at."""
    if is_text(result):
        return list(result.runs.values())
    name = run_name(result, view) or next(iter(result.runs), "")
    return [result.runs[name]] if name else []


# Lines.


def _traces(
    result: StaircaseReport | None, chart: _Chart, axis: Place, view: View
) -> Iterator[_Trace]:
    if result is None:
        return
    for line in chart.lines:
        yield from _followed(result, line, axis)
    if chart.curve:
        for run in _curved(result, view):
            yield from _trained(result, run, chart.curve, axis)


def _followed(result: StaircaseReport, line: _Line, axis: Place) -> Iterator[_Trace]:
    """What says most of a track solid with markers, and what belongs beside it."""
    main = measure_of(line.track)
    for measure in (_CHANCE, "in_sample", "beyond"):
        values = values_of(line.track, measure)
        if measure != main and np.isfinite(values).any():
            yield _beside(result, line, measure, values, axis)
    values = values_of(line.track, main)
    yield _on(result, line, main, values, axis) | {
        "name": plain(line.name + (f", {_WORDS['fit']}" if main == "fit" else "")),
        "mode": "lines+markers",
        "line": {"color": line.mark.color, "dash": line.mark.dash, "width": 2.6},
        "marker": {"color": line.mark.color, "symbol": line.mark.symbol, "size": 5},
    }


def _beside(
    result: StaircaseReport, line: _Line, measure: str, values: Vector, axis: Place
) -> _Trace:
    looks = {
        "in_sample": {"color": faint(line.mark, 0.75), "dash": "6px,4px", "width": 1.3},
        "beyond": {"color": line.mark.color, "dash": "2px,3px", "width": 1.9},
        _CHANCE: {"color": faint(_NEUTRAL, 0.9), "dash": "1px,4px", "width": 1.4},
    }
    return _on(result, line, measure, values, axis) | {
        "name": plain(f"{line.name}, {_WORDS.get(measure, 'chance')}"),
        "mode": "lines",
        "line": looks[measure],
    }


def _on(result: StaircaseReport, line: _Line, measure: str, values: Vector, axis: Place) -> _Trace:
    steps = steps_of(line.run)[: len(values)]
    what = _WORDS.get(measure, "with shuffled anchors")
    return {
        "type": "scatter",
        "x": [axis.of(step) for step in steps],
        "y": [float(value) for value in values],
        "hoverinfo": "text",
        "hovertext": [
            f"<b>{plain(line.name)}</b>, {what}<br>{number(value, 3)} at "
            f"{plain(called_step(result, line.run, place))}"
            for place, value in enumerate(values[: len(steps)])
        ],
    }


def _trained(result: StaircaseReport, run: StaircaseRun, curve: str, axis: Place) -> list[_Trace]:
    values, steps = run.curves.get(curve), run.curves.get("step")
    if values is None or steps is None:
        return []
    name = next(name for name, one in result.runs.items() if one is run)
    matrix = "tied" if run.tied else "unembedding"
    roles = is_text(result) and matrix in run.matrices
    mark = mark_of_matrix(result, name, matrix) if roles else _NEUTRAL
    return [
        {
            "type": "scatter",
            "name": plain(name),
            "mode": "lines",
            "x": [axis.of(step) for step in steps],
            "y": [float(value) for value in values],
            "line": {"color": mark.color, "dash": mark.dash, "width": 2},
            "hoverinfo": "text",
            "hovertext": [
                f"<b>{plain(name)}</b><br>{plain(curve)} {float(value):.4g} at "
                f"{step_word(result)} {int(step):,}"
                for step, value in zip(steps, values, strict=True)
            ],
        }
    ]


# Axes.


def _across(result: StaircaseReport | None, axis: Place, view: View) -> _Trace:
    known = [(mark["place"], mark["label"]) for mark in marks(axis)]
    ticks = _apart(known)
    logs = ", logarithmic" if view.scale == "log" else ""
    return {
        "title": {"text": f"{step_word(result)}{logs}"},
        "range": [-0.02, 1.02],
        "tickmode": "array",
        "tickvals": [at for at, _ in ticks],
        "ticktext": [words for _, words in ticks],
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
    }


def _apart(ticks: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """The last tick and those before it that leave room."""
    kept = [ticks[-1]]
    for tick in reversed(ticks[:-1]):
        if kept[-1][0] - tick[0] > _ROOM:
            kept.append(tick)
    return kept[::-1]


def _up(chart: _Chart) -> _Trace:
    if chart.curve:
        zero = "tozero" if chart.curve != "loss" else "normal"
        return {"rangemode": zero, "zeroline": False, "nticks": 5}
    parts = [
        values
        for line in chart.lines
        for measure in (measure_of(line.track), _CHANCE, "beyond", "in_sample")
        for values in [values_of(line.track, measure)]
    ]
    known = np.concatenate([np.zeros(1), *parts])
    known = known[np.isfinite(known)]
    low = max(float(known.min()), -1.0)
    return {"range": [low - 0.08, 1.06], "zeroline": low < 0, "nticks": 6}


def stems(result: StaircaseReport | None, view: View = USUAL) -> list[dict[str, Any]]:
    """A line at the step that is looked at, in every chart: what of the layout moves with it."""
    shown = look(result, view)
    if shown is None:
        return []
    at = axis_place(result, view.scale).of(shown.step)
    return [
        {
            "type": "line", "xref": f"x{suffix(i)}", "yref": f"y{suffix(i)} domain",
            "x0": at, "x1": at, "y0": 0, "y1": 1, "layer": "below",
            "line": {"color": "#7a828f", "width": 1.5},
        }
        for i in range(len(_charts(result, view)))
    ]  # fmt: skip
