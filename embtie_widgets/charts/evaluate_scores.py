"""Scores of two models as dots with intervals, task by task, and chance beside them."""

from typing import Any

from embtie_widgets.charts.evaluate_view import (
    CHOICE_METRICS,
    NAMES,
    SIDES,
    SIGMAS,
    TEXT_METRICS,
    metric_of,
    questions,
    score_of,
    text_of,
)
from embtie_widgets.charts.facets import ABOVE_ALL
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.lens_marks import mark
from embtie_widgets.charts.lens_words import name_of, short
from embtie_widgets.charts.theme import mark_of
from embtie_widgets.results.evaluate import BYTE_BITS, Difference, Evaluation, TaskScore

_ROW, _HEAD, _FOOT = 62, 64, 56  # pixels
_APART = 0.17  # of a row, between its middle and a model's dot
_CHANCE = mark_of("")
_Trace = dict[str, Any]


def spec(result: Evaluation | None, metric: str = "acc") -> _Trace:
    """The share of right answers by task, in plotly's terms: a row for each task, in it a dot with
    its 95 % for each model, and a line where guessing is."""
    tasks = questions(result)
    rows = {task: len(tasks) - 1 - i for i, task in enumerate(tasks)}
    traces = (
        []
        if result is None or not tasks
        else [
            _chance(result, rows, metric),
            *(_dots(result, side, rows, metric) for side in result.models),
        ]
    )
    labels = [f"<b>{NAMES[task]}</b><br>{_counted(result, task, metric)}" for task in tasks]
    layout = _layout(labels, list(rows.values()), CHOICE_METRICS[metric].axis)
    layout["xaxis"] |= {"range": [0, 100], "ticksuffix": " %"}
    layout["annotations"] = [
        _difference(result, task, rows[task], metric, 100, " points") for task in tasks
    ]
    narrow = {**layout, "annotations": [], "margin": layout["margin"] | {"r": 16}}
    return {"data": traces, "layout": layout, "narrow": narrow}


def text_spec(result: Evaluation | None, metric: str = "word_perplexity") -> _Trace:
    """How well each model predicts the text: a dot with its 95 % for each."""
    task = text_of(result)
    traces, labels, annotations = [], [""], []
    if result is not None and task is not None:
        traces = [_dots(result, side, {task: 0}, metric, 1) for side in result.models]
        items = len(result.items[task].contexts)
        labels = [f"<b>{NAMES[task]}</b><br>{items:,} passages"]
        annotations = [_difference(result, task, 0, metric, 1, "")]
    layout = _layout(labels, [0], TEXT_METRICS[metric].axis)
    layout["annotations"] = annotations
    narrow = {**layout, "annotations": [], "margin": layout["margin"] | {"r": 16}}
    return {"data": traces, "layout": layout, "narrow": narrow}


def _layout(labels: list[str], places: list[int], across: str) -> _Trace:
    count = max(len(labels), 1)
    return {
        "uirevision": f"{across} {labels}",
        "height": _HEAD + _FOOT + _ROW * max(count, 1),
        "margin": {"l": 8, "r": 150, "t": _HEAD - 20, "b": 8},
        "hovermode": "closest",
        "dragmode": False,
        "legend": ABOVE_ALL,
        "xaxis": {
            "title": {"text": across},
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
        },
        "yaxis": {
            "tickmode": "array",
            "tickvals": places or [0],
            "ticktext": labels,
            "range": [-0.55, count - 0.45],
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
    }


def _counted(result: Evaluation | None, task: str, metric: str) -> str:
    """How many items there are, and by what they are counted where that is not the metric."""
    items = len(result.items[task].contexts) if result else 0
    used = metric if result is None else metric_of(result, task, metric)
    other = "" if used == metric else ", plain"
    return f"{items:,} items{other}"


def _dots(
    result: Evaluation, side: str, rows: dict[str, int], metric: str, scale: float = 100
) -> _Trace:
    known = {task: score_of(result, task, side, metric) for task in rows}
    scores: dict[str, TaskScore] = {t: one for t, one in known.items() if one is not None}
    look, up = mark(result, side), _APART if side == SIDES[0] else -_APART
    errors = [
        None if one.stderr is None else SIGMAS * scale * one.stderr for one in scores.values()
    ]
    return {
        "type": "scatter",
        "name": f"{side}, {plain(short(name_of(result, side)))}",
        "x": [scale * one.value for one in scores.values()],
        "y": [rows[task] + up for task in scores],
        "mode": "markers",
        "marker": {"symbol": look.symbol, "size": 13, "color": look.color},
        "error_x": {
            "type": "data",
            "array": [error or 0 for error in errors],
            "color": look.color,
            "thickness": 2,
            "width": 5,
        },
        "hovertext": [_hover(one, scale) for one in scores.values()],
        "hovertemplate": f"<b>{plain(name_of(result, side))}</b><br>%{{hovertext}}<extra></extra>",
    }


def _hover(score: TaskScore, scale: float) -> str:
    digits = 1 if scale == 100 else 3
    around = "" if score.stderr is None else f" ± {SIGMAS * scale * score.stderr:.{digits}f}"
    return f"{scale * score.value:.{digits}f}{around}, {score.items:,} items"


def _chance(result: Evaluation, rows: dict[str, int], metric: str) -> _Trace:
    """A short line in the row of each task."""
    across: list[float | None] = []
    up: list[float | None] = []
    for task, row in rows.items():
        known = [score_of(result, task, side, metric) for side in result.models]
        chance = next((one.chance for one in known if one and one.chance is not None), None)
        if chance is not None:
            across += [100 * chance, 100 * chance, None]
            up += [row - 0.4, row + 0.4, None]
    return {
        "type": "scatter",
        "name": "chance",
        "x": across,
        "y": up,
        "mode": "lines",
        "line": {"color": _CHANCE.color, "dash": "dash", "width": 2},
        "hovertemplate": "guessing reaches %{x:.1f} %<extra></extra>",
    }


def _difference(
    result: Evaluation | None, task: str, row: int, metric: str, scale: float, unit: str
) -> _Trace:
    """In words at the end of a row: B less A, and whether that is told from 0."""
    found = (
        None if result is None else result.paired.get(task, {}).get(metric_of(result, task, metric))
    )
    return {
        "xref": "paper",
        "x": 1,
        "xanchor": "left",
        "xshift": 10,
        "y": row,
        "align": "left",
        "showarrow": False,
        "font": {"size": 12.5},
        "text": "" if found is None else f"B − A<br>{difference(found, scale, unit, metric)}",
    }


def difference(found: Difference, scale: float, unit: str = "", metric: str = "") -> str:
    """B less A with its 95 %, and a real minus sign."""
    digits = 1 if scale == 100 else 3 if metric == BYTE_BITS else 1
    value = f"{scale * found.value:+.{digits}f}".replace("-", "−")
    if found.stderr is None:
        return f"{value}{unit}"
    return f"{value} ± {SIGMAS * scale * found.stderr:.{digits}f}{unit}"
