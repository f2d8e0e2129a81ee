"""Runs of an experiment on the bottleneck while they train.

Head ranks: the loss, and how much of the logit gradient is not transmitted, against the step.
SpamLang: accuracy or loss against what was seen, counted as positions or as independent sequences,
a chart for each of the settings that are not told by the lines' colours.
"""

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from embtie_widgets.charts.facets import LEGEND, Facets, heading, named_once, suffix
from embtie_widgets.charts.shapes import Vector
from embtie_widgets.charts.theme import mark_of
from embtie_widgets.charts.trials_view import (
    ACROSS,
    FULL,
    RANKS,
    Look,
    View,
    by_data,
    called,
    last,
    look_of,
    percent,
    seen,
    values,
    varied,
    width_of,
    worded,
)
from embtie_widgets.results.gradient import trailing_mean
from embtie_widgets.results.trials import DIVERGED, DONE, TrialRun, TrialsReport

MOST_CHARTS = 12
_CUT = 0.1  # in such a share of the steps a loss may leave the picture, while it falls
_SMOOTH = 20  # steps at least that a loss is averaged over
_MOST_POINTS = 1_000
_COLOURED = ("length", "extra", "symbols", "width", "tied", "lr")  # the first that varies
_CHARTED = ("symbols", "width", "length", "extra", "lr")
_NEUTRAL = mark_of("").color
_DRAWN = "symbols drawn so far"
_DOTTED = {"color": _NEUTRAL, "dash": "1px,3px", "width": 1.6}
_LABELS = {
    "loss": "loss, nats",
    "against": "loss less that of the full head, nats",
    "destroyed": "share not transmitted",
    "accuracy": "right predictions",
}
_PLAIN = View()
_Trace = dict[str, Any]


def spec(result: TrialsReport | None, view: View = _PLAIN) -> _Trace:
    """The curves in plotly's terms: "data", "layout", and "narrow" for a narrow box."""
    if result is None or result.experiment == RANKS:
        return _ranks(result, view)
    return _spamlang(result, view)


def drawn(result: TrialsReport | None, view: View) -> list[TrialRun]:
    """The runs that have curves to be seen."""
    return [run for run in seen(result, view) if len(run.curves.get("step", ()))]


# Head ranks.


def _ranks(result: TrialsReport | None, view: View) -> _Trace:
    runs = drawn(result, view)
    first = view.curve if view.curve == "against" else "loss"
    names = [first]
    if result is None or any("destroyed" in run.curves for run in runs):
        names.append("destroyed")
    traces: list[_Trace] = []
    for place, name in enumerate(names):
        known = [run for run in runs if _knows(runs, run, name)]
        lines = [trace for run in known for trace in _of_step(runs, run, name, place)]
        traces += lines or [_nothing(place)]
    ups = [_losses(traces, runs, first), _shares(runs)][: len(names)]
    end = max((max(run.of, run.step) for run in runs), default=1) or 1
    across = _axis("optimiser step") | {"range": [0, end * 1.02], "tickformat": ",", "nticks": 6}
    titles = [_LABELS[name] for name in names]
    lines_at = _line(result) if "destroyed" in names else []
    return _whole(f"{first} {view.only}", traces, titles, across, ups, lines_at, 300)


def _knows(runs: Sequence[TrialRun], run: TrialRun, name: str) -> bool:
    if name == "against":
        return run.way != FULL and _base(runs, run) is not None
    return name in run.curves


def _base(runs: Sequence[TrialRun], run: TrialRun) -> TrialRun | None:
    """The run with the full head that is like it in all else."""
    alike = (run.tied, run.lr, run.seed)
    same = (one for one in runs if one.way == FULL and (one.tied, one.lr, one.seed) == alike)
    return next(same, None)


def _of_step(runs: Sequence[TrialRun], run: TrialRun, name: str, place: int) -> list[_Trace]:
    """The curve, and the marker at its end."""
    steps, known = _smooth(run, "loss" if name == "against" else name)
    base = _base(runs, run) if name == "against" else None
    if base is not None:
        own, below = _smooth(base, "loss")
        steps, here, there = np.intersect1d(steps, own, return_indices=True)
        known = known[here] - below[there]
    words = called(run, runs, ("seed",))
    seed = f", seed {run.seed}" if "seed" in varied(runs) else ""
    hover = f"<b>{words}</b>{seed}, step %{{x:,}}<br>{_LABELS[name]} %{{y:.4g}}<extra></extra>"
    curve = _trace(words, steps, known, look_of(run, runs), place, hover)
    return [curve, *_mark(curve, run)]


def _mark(curve: _Trace, run: TrialRun) -> list[_Trace]:
    """The marker of the way at the last value, a cross where the run has diverged there."""
    at = np.flatnonzero(np.isfinite(curve["y"]))[-1:]
    end = {"x": curve["x"][at], "y": curve["y"][at], "mode": "markers", "cliponaxis": False}
    ended = run.state == DIVERGED
    marker = curve["marker"] | ({"symbol": "x", "size": 10} if ended else {})
    said = f"diverged at step {run.step:,}<br>" if ended else ""
    return [curve | end | {"marker": marker, "hovertemplate": said + curve["hovertemplate"]}]


def smoothed(run: TrialRun) -> int:
    """Over how many steps its loss is averaged: more of a longer run."""
    return max(_SMOOTH, run.of // 30)


def _smooth(run: TrialRun, name: str) -> tuple[Vector, Vector]:
    """Steps and values; the loss as a mean over some steps, all else as it was logged."""
    steps, known = (np.asarray(run.curves.get(one, ()), float) for one in ("step", name))
    if name == "loss":
        known = np.where(np.isfinite(known), trailing_mean(steps, known, smoothed(run)), np.nan)
    every = max(1, len(steps) // _MOST_POINTS)
    return steps[::every], known[::every]


def _losses(traces: list[_Trace], runs: Sequence[TrialRun], name: str) -> _Trace:
    """The axis of losses: what happens while they fall from equal guesses may leave the picture."""
    late = [
        trace["y"][trace["x"] > _CUT * max(run.of for run in runs)] if len(runs) else trace["y"]
        for trace in traces
        if trace["yaxis"] == "y"
    ]
    every = [trace["y"] for trace in traces if trace["yaxis"] == "y"]
    low, high = _ends(late) if len(np.concatenate([*late, []])) else _ends(every)
    if name == "against":
        low, high = min(low, 0.0), max(high, 0.0)
    air = 0.06 * ((high - low) or 1.0)
    return {"zeroline": name == "against", "nticks": 6, "range": [low - air, high + air]}


def _ends(parts: Sequence[Vector]) -> tuple[float, float]:
    known = np.concatenate([np.asarray(part, float) for part in parts] or [np.empty(0)])
    known = known[np.isfinite(known)]
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)


def _shares(runs: Sequence[TrialRun]) -> _Trace:
    low, _ = _ends([run.curves["destroyed"] for run in runs if "destroyed" in run.curves])
    room = max(1 - low, 1e-3)
    return {"zeroline": False, "nticks": 6, "range": [low - 0.2 * room, 1 + 0.08 * room]}


def line_of(result: TrialsReport | None) -> float:
    """sqrt(1 - d / V), what a direction drawn at random would not transmit; NaN where d or V is
    not known."""
    width = width_of(result)
    runs = () if result is None else result.trials
    rows = {known for run in runs if isinstance(known := run.about.get("vocabulary"), int)}
    if width is None or len(rows) != 1:
        return math.nan
    return math.sqrt(max(1 - width / rows.pop(), 0.0))


def _line(result: TrialsReport | None) -> list[_Trace]:
    level = line_of(result)
    if not math.isfinite(level):
        return []
    shape = {"type": "line", "layer": "above", "xref": "x2 domain", "x0": 0, "x1": 1, "yref": "y2"}
    return [
        shape
        | {"y0": level, "y1": level, "line": {"color": _NEUTRAL, "width": 1.2, "dash": "dash"}}
        | {
            "label": {
                "text": f"√(1 − d/V) = {level:.3f}",
                "textposition": "end",
                "yanchor": "bottom",
                "font": {"size": 11},
            }
        }
    ]


# SpamLang.


def _spamlang(result: TrialsReport, view: View) -> _Trace:
    runs = drawn(result, view)
    shown, by = charts_of(runs), coloured(runs)
    name = view.curve if view.curve in ("loss", "destroyed") else "accuracy"
    traces: list[_Trace] = []
    for place, (_, part) in enumerate(shown):
        some = [
            trace for run in part for trace in _of_data(runs, run, name, place, by, view.across)
        ]
        known = _drawn_symbols(part, runs, place, by, view.across) if name == "accuracy" else []
        traces += [*known, *some] or [_nothing(place)]
    if any(trace["name"] == _DRAWN for trace in traces):
        traces.insert(0, _legend_only())
    titles = [title or _LABELS[name] for title, _ in shown]
    ups = [_shares(runs) if name == "destroyed" else _up(traces, name)] * len(shown)
    across = _axis(ACROSS[view.across]) | _logs(runs, view.across)
    key = f"{name} {view.across} {view.only} {len(runs)}"
    height = 300 if len(shown) == 1 else 190
    return _whole(key, traces, titles, across, ups, [], height)


def coloured(runs: Sequence[TrialRun]) -> str:
    """The dimension that the lines' colours tell."""
    several = varied(runs)
    return next((name for name in _COLOURED if name in several), "length")


def charts_of(
    runs: Sequence[TrialRun], most: int = MOST_CHARTS
) -> list[tuple[str, list[TrialRun]]]:
    """Title and runs of each chart: one for every combination of what the colours do not tell, but
    no more than `most`."""
    by, several = coloured(runs), varied(runs)
    names = [name for name in _CHARTED if name in several and name != by]
    found = []
    for combination in product(*(values(runs, name) for name in names)):
        chosen = dict(zip(names, combination, strict=True))
        part = [r for r in runs if all(getattr(r, n) == v for n, v in chosen.items())]
        if part:
            found.append((", ".join(worded(n, v) for n, v in chosen.items()), part))
    return found[:most] or [("", list(runs))]


def _of_data(
    runs: Sequence[TrialRun], run: TrialRun, name: str, place: int, by: str, across: str
) -> list[_Trace]:
    """The curve, and at its end what the model says of every symbol asked once."""
    at, known = np.asarray(run.curves.get(across, ()), float), by_data(run, name)
    if len(at) != len(known) or not len(at):
        return []
    look, words = look_of(run, runs, by), _line_words(run, runs, by)
    said = {"accuracy": "%{y:.1%}", "loss": "%{y:.4g} nats"}.get(name, "not transmitted %{y:.4f}")
    hover = f"<b>{words}</b><br>%{{x:,}} {ACROSS[across]}<br>{said}<extra></extra>"
    curve = _trace(words, at, known, look, place, hover)
    return [curve, *_asked(curve, run, name)]


def _asked(curve: _Trace, run: TrialRun, name: str) -> list[_Trace]:
    """What a run says at its end of every symbol; a cross where it has diverged."""
    end, ended = run.accuracy if name == "accuracy" else run.loss, run.state == DIVERGED
    asked_for = name != "destroyed" and run.state == DONE and math.isfinite(end)
    if not ended and not asked_for:
        return []
    level = end if math.isfinite(end) else last(run, name)
    value = percent(level) if name == "accuracy" else f"{level:.4g} nats"
    asked = f"{'diverged' if ended else 'at the end, every symbol'}: {value}"
    symbol = "x" if ended else curve["marker"]["symbol"]
    return [
        curve
        | {
            "x": curve["x"][-1:],
            "y": np.array([level]),
            "mode": "markers",
            "marker": curve["marker"] | {"size": 10, "symbol": symbol},
            "cliponaxis": False,
            "hovertemplate": f"<b>{curve['legendgroup']}</b><br>{asked}<extra></extra>",
        }
    ]


def _line_words(run: TrialRun, runs: Sequence[TrialRun], by: str) -> str:
    """What a line is called: what its colour says, and its tying where there are both."""
    both = by != "tied" and len(values(runs, "tied")) > 1
    return worded(by, getattr(run, by)) + (f", {worded('tied', run.tied)}" if both else "")


def _drawn_symbols(
    part: Sequence[TrialRun], runs: Sequence[TrialRun], place: int, by: str, across: str
) -> list[_Trace]:
    """How many of the symbols have been drawn at least once: what can be known of them."""
    found: dict[Any, _Trace] = {}
    for run in part:
        at, draws = (np.asarray(run.curves.get(one, ()), float) for one in (across, "sequences"))
        if not run.symbols or not len(draws) or len(at) != len(draws):
            continue
        share = -np.expm1(draws * math.log1p(-1 / run.symbols))
        key = (run.symbols, run.length if across == "positions" else None)
        tells = by in ("symbols", "length") if across == "positions" else by == "symbols"
        color = look_of(run, runs, by).color if tells else _NEUTRAL
        hover = f"{_DRAWN}: %{{y:.1%}}<extra></extra>"
        dotted = {"name": _DRAWN, "legendgroup": _DRAWN, "line": _DOTTED | {"color": color}}
        if key not in found or at[-1] > found[key]["x"][-1]:
            found[key] = _trace("", at, share, look_of(run, runs, by), place, hover) | dotted
    return list(found.values())


def _legend_only() -> _Trace:
    """The dotted lines in the legend, in no setting's colour; a trace without points has none."""
    point = {"x": np.array([math.nan]), "y": np.array([math.nan])}
    named = {"name": _DRAWN, "legendgroup": _DRAWN, "mode": "lines", "line": _DOTTED}
    return _nothing(0) | point | named


def _up(traces: list[_Trace], name: str) -> _Trace:
    if name == "accuracy":
        ticks = {"tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".0%"}
        return {"zeroline": False, "range": [-0.03, 1.04], **ticks}
    _, high = _ends([trace["y"] for trace in traces])
    return {"zeroline": False, "nticks": 5, "range": [-0.04 * high, 1.05 * high]}


def _logs(runs: Sequence[TrialRun], across: str) -> _Trace:
    low, high = _ends([np.asarray(run.curves.get(across, ()), float) for run in runs])
    ends = [math.log10(max(low, 1.0)), math.log10(max(high, 10.0))]
    air = 0.03 * (ends[1] - ends[0])
    return {"type": "log", "range": [ends[0] - air, ends[1] + air], "dtick": 1, "tickformat": ",d"}


# Pieces.


def _trace(words: str, at: Vector, known: Vector, look: Look, place: int, hover: str) -> _Trace:
    return {
        "type": "scatter",
        "name": f"{look.glyph} {words}",
        "legendgroup": words,
        "x": np.asarray(at, "f8"),
        "y": np.asarray(known, "f8"),
        "xaxis": f"x{suffix(place)}",
        "yaxis": f"y{suffix(place)}",
        "mode": "lines",
        "line": {"color": look.color, "dash": look.dash, "width": look.width},
        "marker": {"color": look.color, "symbol": look.symbol, "size": 8},
        "hovertemplate": hover,
    }


def _nothing(place: int) -> _Trace:
    """Axes that nothing stands on are not drawn."""
    axis = suffix(place)
    empty: _Trace = {"type": "scatter", "name": "", "x": np.empty(0), "y": np.empty(0)}
    return empty | {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}


def _axis(title: str) -> _Trace:
    return {"title": {"text": title}, "zeroline": False, "showline": True, "ticks": "outside"}


def _whole(
    key: str,
    traces: list[_Trace],
    titles: list[str],
    across: _Trace,
    ups: list[_Trace],
    shapes: list[_Trace],
    height: int,
) -> _Trace:
    """Small charts in a grid, with a legend above them."""
    columns = {1: 1, 2: 2, 4: 2}.get(len(titles), 3)
    facets = Facets(len(titles), columns, named_once(traces, "lines"), height=height)
    layout = {
        "uirevision": key,
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": LEGEND,
        "shapes": shapes,
        "annotations": [heading(place, title) for place, title in enumerate(titles)],
        **facets.layout(across, ups),
    }
    return {"data": traces, "layout": layout, "narrow": facets.narrow.layout(across, ups)}
