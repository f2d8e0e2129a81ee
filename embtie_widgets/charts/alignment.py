"""The alignment of a model pair as a picture: the paper's figure 1, with chance on the chart.

Above, how the per-token cosines of each comparison are distributed; below, on the same axis, the
mean in-sample, the mean on held-out tokens, and the same fit on shuffled rows.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.charts import figures
from embtie_widgets.charts.columns import Column, levels, norm_columns, shared_columns
from embtie_widgets.charts.files import Plots
from embtie_widgets.charts.sentences import BINS, caption, headline, label
from embtie_widgets.charts.shapes import error_bars, outline, over_means, points
from embtie_widgets.charts.theme import COMPARISONS, mark_of
from embtie_widgets.results import Alignment, PairAlignment

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["bins", "caption", "columns", "figure", "headline", "label", "plots", "spec"]
_ORDER = tuple(COMPARISONS)
_Traces = list[dict[str, Any]]
_NOBODY = np.empty(0, np.int64)


def columns(result: PairAlignment) -> list[Column]:
    """What is known of each token: its cosines first."""
    return [*_cosines(result), *norm_columns(result.norms), *shared_columns(result)]


def _cosines(result: PairAlignment) -> list[Column]:
    return [
        Column(
            name,
            f"cosine {label(name)}",
            {"Out->Tied": "output", "In->Tied": "input"}.get(name, "neutral"),
            part.cosine,
            levels(part.mean, part.floor_mean),
            head=label(name),
            tooltip="cosine, map fitted on all tokens",
        )
        for name, part in _parts(result).items()
    ]


def edges_of(result: PairAlignment) -> np.ndarray[Any, Any]:
    """The edges (BINS + 1,) that the bins of all comparisons share."""
    values = (part.cosine[np.isfinite(part.cosine)] for part in result.comparisons.values())
    ends = [(part.min(), part.max()) for part in values if part.size]
    low, high = (min(a for a, _ in ends), max(b for _, b in ends)) if ends else (-1.0, 1.0)
    edges = np.linspace(np.floor(low * 20) / 20, np.ceil(high * 20) / 20, BINS + 1)
    if edges[0] >= edges[-1]:
        edges = np.linspace(low - 0.05, high + 0.05, BINS + 1)
    return edges


def bins(
    result: PairAlignment, chosen: np.ndarray[Any, Any] | None = None
) -> tuple[np.ndarray[Any, Any], dict[str, np.ndarray[Any, Any]]]:
    """Edges (BINS + 1,) shared by all comparisons, and the tokens per bin of each.

    Tokens without a cosine are in no bin; every other one is in exactly one.  With `chosen`, only
    the tokens at these places are counted.
    """
    edges = edges_of(result)
    counts = {}
    for name, part in result.comparisons.items():
        values = part.cosine if chosen is None else part.cosine[chosen]
        counts[name] = np.histogram(values[np.isfinite(values)], edges)[0]
    return edges, counts


def figure(result: PairAlignment, theme: str = "light") -> "Figure":
    """The chart as a plain figure with its caption inside, for exports."""
    return figures.captioned(spec(result), caption(result), theme, 560, 150, -0.32)


def plots(result: PairAlignment) -> Plots:
    """The chart with its caption."""
    return Plots(headline(result), ((spec(result), caption(result)),))


def spec(result: PairAlignment | None, chosen: np.ndarray[Any, Any] = _NOBODY) -> dict[str, Any]:
    """The chart in plotly's terms, "data" and "layout"; without a result its axes alone.

    The tokens at the places `chosen` are lit, above all tokens, which are dimmed.
    """
    return {"data": _traces(result, chosen), "layout": _layout(result, chosen)}


def _parts(result: PairAlignment | None) -> dict[str, Alignment]:
    known = {} if result is None else result.comparisons
    return {name: known[name] for name in _ORDER if name in known}


def _traces(result: PairAlignment | None, chosen: np.ndarray[Any, Any] = _NOBODY) -> _Traces:
    """Always the same nine traces, so that what a reader has hidden in the legend stays so."""
    whole = zip(_ORDER, _histograms(result), strict=True)
    looked = [trace | outline(mark_of(name), *_strength(chosen)) for name, trace in whole]
    return [*looked, *_overlays(result, chosen), *_summary(_parts(result))]


def _strength(chosen: np.ndarray[Any, Any]) -> tuple[float, float]:
    """How strong outline and area of all tokens are: dim behind a selection, never gone."""
    return (0.45, 0.05) if chosen.size else (1.0, 0.16)


def _histograms(
    result: PairAlignment | None, chosen: np.ndarray[Any, Any] | None = None
) -> _Traces:
    if result is None:
        return [_histogram(name, np.empty(0), np.empty(0)) for name in _ORDER]
    edges, counts = bins(result, chosen)
    return [_histogram(name, edges, counts.get(name, np.zeros(BINS, int))) for name in _ORDER]


def _overlays(result: PairAlignment | None, chosen: np.ndarray[Any, Any]) -> _Traces:
    """The chosen tokens on an axis of their own: a dozen of fifty thousand would not be seen."""
    known = result if chosen.size else None
    return [
        trace
        | outline(mark_of(name), 1.0, 0.3)
        | {
            "name": f"selected, {trace['name']}",
            "yaxis": "y3",
            "visible": bool(chosen.size),
            "showlegend": False,
        }
        for name, trace in zip(_ORDER, _histograms(known, chosen), strict=True)
    ]


def _histogram(
    name: str, edges: np.ndarray[Any, Any], counts: np.ndarray[Any, Any]
) -> dict[str, Any]:
    """An outline: each bin's height stands at its left edge, and 0 at the last edge."""
    return {
        "type": "scatter",
        "name": label(name),
        "x": edges.astype("float32"),
        "y": np.append(counts, [0] * bool(edges.size)).astype("int32"),
        "customdata": np.append(edges[1:], edges[-1:]).astype("float32"),
        "mode": "lines",
        "fill": "tozeroy",
        "hovertemplate": "%{x:.3f} to %{customdata:.3f}: %{y:,} tokens",
    }


def _summary(parts: dict[str, Alignment]) -> _Traces:
    names = [label(name) for name in parts]
    colors = [mark_of(name).color for name in parts]
    means = [part.mean for part in parts.values()]
    held = [part.heldout_mean for part in parts.values()]
    floor = [part.floor_mean for part in parts.values()]
    spread = error_bars(means, [part.interval for part in parts.values()])
    held_spread = error_bars(held, [part.heldout_interval for part in parts.values()])
    return [
        points("mean, in-sample", names, means, colors, "circle") | {"error_x": spread},
        points("mean, held out", names, held, colors, "diamond-open") | {"error_x": held_spread},
        points("chance: shuffled rows", names, floor, colors, "x-thin"),
    ]


def _extent(result: PairAlignment | None) -> list[float]:
    """The cosines on the axis: every bin, and every marker with its interval and some room."""
    if result is None:
        return [-1.0, 1.0]
    low, high = edges_of(result)[[0, -1]].tolist()
    marks: list[float] = []
    for part in result.comparisons.values():
        marks += [part.mean, *part.interval, *(part.heldout_interval or ())]
        marks += [mark for mark in (part.heldout_mean, part.floor_mean) if mark is not None]
    known = [mark for mark in marks if np.isfinite(mark)] or [low]
    room = 0.02 * (max(high, *known) - min(low, *known))
    return [
        low if min(known) >= low + room else min(low, min(known) - room),
        high if max(known) <= high - room else max(high, max(known) + room),
    ]


def _layout(result: PairAlignment | None, chosen: np.ndarray[Any, Any] = _NOBODY) -> dict[str, Any]:
    extent = _extent(result)
    second = {
        "title": {"text": "selected tokens per bin"},
        "overlaying": "y",
        "side": "right",
        "tickmode": "auto",
        "nticks": 5,
        "rangemode": "tozero",
        "showgrid": False,
        "zeroline": False,
        "automargin": True,
        "visible": bool(chosen.size),
    }
    return over_means(
        [label(name) for name in _ORDER],
        {"title": {"text": "cosine of mapped row and target"}, "range": extent},
        {"title": {"text": "tokens per bin"}},
        yaxis3=second,
        uirevision=str(extent),  # a zoom lasts as long as its axis
    )
