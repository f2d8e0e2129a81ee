"""Turning up the input as a picture: how near the tied matrix is to either side, by factor.

To the input blue squares, to the output orange circles; filled in-sample, open held out, and thin
dots for chance.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.charts import figures
from embtie_widgets.charts.columns import Column, Vector, levels, number, row_columns
from embtie_widgets.charts.files import Plots
from embtie_widgets.charts.scaling_curves import spec as curves
from embtie_widgets.charts.scaling_words import (
    ON_PUBLISHED,
    caption,
    cautions,
    headline,
    text,
    times,
    title,
    token_caption,
    training_caption,
)
from embtie_widgets.charts.shapes import ABOVE, faint
from embtie_widgets.charts.theme import ROLES
from embtie_widgets.results.scaling import TO, Nearness, ScaledRun, ScalingReport

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = [
    "ON_PUBLISHED",
    "caption",
    "cautions",
    "chosen",
    "columns",
    "curves",
    "figure",
    "headline",
    "options",
    "plots",
    "spec",
    "text",
    "times",
    "title",
    "token_caption",
    "training_caption",
]
_DECADE = 0.5  # a factor of 0 stands so many powers of ten below the least other one
_Trace = dict[str, Any]


def spec(result: ScalingReport | None) -> dict[str, Any]:
    """The chart in plotly's terms, "data" and "layout"; without a result its axes alone."""
    runs = () if result is None else result.whole
    traces = [make(result, runs, to) for make in (_in_sample, _held_out, _chance) for to in TO]
    return {"data": traces, "layout": _layout(result, runs)}


def figure(result: ScalingReport, theme: str = "light") -> "Figure":
    """The chart as a plain figure with its caption inside, for exports."""
    return figures.captioned(spec(result), caption(result), theme, 600, 150, -0.24)


def plots(result: ScalingReport) -> Plots:
    """Both charts with their captions."""
    charts = ((spec(result), caption(result)), (curves(result), training_caption(result)))
    return Plots(headline(result), charts)


def _places(runs: tuple[ScaledRun, ...]) -> Vector:
    """Where the factors stand on the logarithmic axis."""
    factors = np.array([run.factor for run in runs])
    above = factors[factors > 0]
    least = np.log10(above.min()) - _DECADE if len(above) else 0.0
    logs = np.full(len(factors), least)
    logs[factors > 0] = np.log10(above)
    return logs


def _near(runs: tuple[ScaledRun, ...], to: str) -> list[Nearness]:
    return [run.nearness[to] for run in runs]


def _line(runs: tuple[ScaledRun, ...], to: str, values: list[float | None], name: str) -> _Trace:
    y = np.array([np.nan if value is None else value for value in values], float)
    label = f"{to}, {name}"
    return {
        "type": "scatter",
        "name": label,
        "legendgroup": label,
        "x": _places(runs),
        "y": y,
        "mode": "lines+markers",
        "cliponaxis": False,
        "showlegend": bool(np.isfinite(y).any()),
    }


def _in_sample(result: ScalingReport | None, runs: tuple[ScaledRun, ...], to: str) -> _Trace:
    look, near = ROLES[to], _near(runs, to)
    return _line(runs, to, [one.mean for one in near], "in-sample") | {
        "line": {"color": look.color, "dash": look.dash, "width": 2.5},
        "marker": {"symbol": look.symbol, "size": 10, "color": look.color},
        "error_y": _bars([one.mean for one in near], [one.interval for one in near], look.color),
        "hovertext": [_hover(result, run, to) for run in runs] if result else [],
        "hoverinfo": "text",
    }


def _held_out(result: ScalingReport | None, runs: tuple[ScaledRun, ...], to: str) -> _Trace:
    look, near = ROLES[to], _near(runs, to)
    means = [one.heldout for one in near]
    return _line(runs, to, means, "held out") | {
        "line": {"color": look.color, "dash": look.dash, "width": 1.2},
        "marker": {
            "symbol": f"{look.symbol}-open",
            "size": 10,
            "color": look.color,
            "line": {"width": 2},
        },
        "error_y": _bars(means, [one.heldout_interval for one in near], look.color),
        "hovertext": [_hover(result, run, to) for run in runs] if result else [],
        "hoverinfo": "text",
    }


def _chance(_result: ScalingReport | None, runs: tuple[ScaledRun, ...], to: str) -> _Trace:
    look = ROLES[to]
    return _line(runs, to, [one.floor for one in _near(runs, to)], "chance") | {
        "line": {"color": faint(look, 0.9), "dash": "dot", "width": 1.5},
        "marker": {"symbol": "line-ew-open", "size": 9, "color": look.color},
        "hovertemplate": f"chance, {to}: %{{y:.3f}}<extra></extra>",
    }


def _bars(means: list[Any], intervals: list[Any], color: str) -> _Trace:
    known = [
        (0.0, 0.0) if mean is None or pair is None else (pair[1] - mean, mean - pair[0])
        for mean, pair in zip(means, intervals, strict=True)
    ]
    return {
        "type": "data",
        "symmetric": False,
        "array": [up for up, _ in known],
        "arrayminus": [down for _, down in known],
        "color": color,
        "thickness": 1.2,
        "width": 5,
    }


def _hover(result: ScalingReport, run: ScaledRun, to: str) -> str:
    near = run.nearness[to]
    lines = [
        f"<b>{title(result, run)}</b>, to the untied {to}",
        f"in-sample {number(near.mean)} {_interval(near.interval)}",
        f"held out {number(near.heldout)} {_interval(near.heldout_interval)}"
        if near.heldout is not None
        else "",
        f"chance {number(near.floor)}",
        f"loss held out {number(run.held_loss)}" if run.held_loss is not None else "",
    ]
    return "<br>".join(line for line in lines if line)


def _interval(pair: tuple[float, float] | None) -> str:
    return "" if pair is None else f"[{number(pair[0])}, {number(pair[1])}]"


def _layout(result: ScalingReport | None, runs: tuple[ScaledRun, ...]) -> dict[str, Any]:
    places = _places(runs)
    low, high = (places.min(), places.max()) if len(places) else (0.0, 1.0)
    room = max(0.08 * (high - low), 0.12)
    return {
        "uirevision": " ".join(f"{run.factor:g}" for run in runs),
        "height": 440,
        "margin": {"l": 8, "r": 16, "t": 44, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "legend": ABOVE,
        "xaxis": {
            "title": {"text": "the input's gradient times, logarithmic"},
            "range": [float(low - room), float(high + room)],
            "tickmode": "array",
            "tickvals": places.tolist() or [0.0, 1.0],
            "ticktext": [_tick(result, run) for run in runs] or [times(1), times(10)],
            "tickangle": 0,
            "zeroline": False,
            "showline": True,
            "ticks": "outside",
        },
        "yaxis": {
            "title": {"text": "mean cosine to the untied"},
            "rangemode": "tozero",
            "zeroline": True,
            **({} if runs else {"range": [0, 1]}),
        },
    }


def _tick(result: ScalingReport | None, run: ScaledRun) -> str:
    early = "" if result is None else title(result, run).partition(", ")[2]
    below = "as it is" if run.factor == 1 else early
    return f"{times(run.factor)}<br>{below}" if below else times(run.factor)


# The tokens.


def options(result: ScalingReport) -> list[tuple[str, str]]:
    """Label and name of every run that the tokens can be shown of, the strongest first: it is the
    usual one, with "" for a name."""
    runs = _shown(result)[::-1]
    return [(title(result, run), f"{run.factor:g}" if i else "") for i, run in enumerate(runs)]


def chosen(result: ScalingReport, name: str) -> ScaledRun | None:
    """The run of such a name; None while no tied model has come to its end."""
    runs = _shown(result)
    return next((run for run in runs if f"{run.factor:g}" == name), runs[-1] if runs else None)


def _shown(result: ScalingReport) -> tuple[ScaledRun, ...]:
    """The scaled runs, else the plain one."""
    return result.scaled or tuple(run for run in result.whole if run.factor == 1)


def columns(result: ScalingReport, name: str = "") -> list[Column]:
    """What is known of each token: how far that run has moved it, and its cosines there and in the
    plain one."""
    run = chosen(result, name)
    if run is None:
        return row_columns(result)
    plain = result.plain if run.factor != 1 else None
    known = [_cosines(run, to) for to in TO]
    if plain is not None:
        known = [_moved(result, run), *known, *(_cosines(plain, to) for to in TO)]
    return [*known, *row_columns(result)]


def _moved(result: ScalingReport, run: ScaledRun) -> Column:
    values = result.moved(run)
    known = values[np.isfinite(values)]
    mean = float(known.mean()) if len(known) else float("nan")
    return Column(
        "moved",
        f"moved towards the input, {times(run.factor)}",
        "neutral",
        values,
        lines=((0.0, "as far as without scaling", "dash"), (mean, f"mean {number(mean)}", "solid")),
        head="moved",
        tooltip="cosine to the input minus cosine to the output, less the same without scaling",
        format="+.3f",
    )


def _cosines(run: ScaledRun, to: str) -> Column:
    near, name = run.nearness[to], times(run.factor)
    return Column(
        to if run.factor != 1 else f"{to} plain",
        f"cosine to the untied {to}, {name}",
        to,
        near.cosine,
        lines=levels(near.mean, near.floor),
        head=f"{to} {name}",
        tooltip=f"cosine of the tied row of {name} to the untied {to}, after the map",
    )
