"""The floor at the embedding as a picture: a short line left of the curves, the lens above it."""

from typing import Any

import numpy as np

from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.lens_marks import mark
from embtie_widgets.charts.lens_words import floor_sentence
from embtie_widgets.charts.shapes import faint
from embtie_widgets.results.lens import InformationFloor, PairLens

_CLOSE = 0.1  # labels nearer than this share of the axis would touch
# Where the lens stands above its floor, in widths of the curves.
_STEMS = {"A": -0.048, "B": -0.027}
_Trace = dict[str, Any]


def floors_of(result: PairLens | None, measure: str) -> dict[str, InformationFloor]:
    """The floors by side; they are of KL alone."""
    if result is None or measure != "kl":
        return {}
    return {s: one.floor for s, one in result.lenses.items() if one.floor is not None}


def floor_shapes(result: PairLens | None, measure: str, end: float) -> list[_Trace]:
    """A short line for each floor, with its interval as an area around it, left of the curves; a
    stem leads from it to the lens on the same positions."""
    shapes = []
    for side, floor in floors_of(result, measure).items():
        assert result is not None  # noqa: S101 - there are floors
        look = mark(result, side)
        span = {"type": "rect", "x0": -0.06 * end, "x1": -0.015 * end, "line": {"width": 0}}
        low, high = floor.interval
        shapes.append(span | {"y0": low, "y1": high, "fillcolor": faint(look, 0.22)})
        line = {"color": look.color, "width": 3}
        shapes.append(span | {"type": "line", "y0": floor.bits, "y1": floor.bits, "line": line})
        stem = {"type": "line", "x0": _STEMS[side] * end, "x1": _STEMS[side] * end}
        thin = {"color": look.color, "width": 1.5, "dash": look.dash}
        shapes.append(stem | {"y0": floor.bits, "y1": floor.lens_bits, "line": thin})
    return shapes


def floor_labels(
    result: PairLens | None, measure: str, end: float, extent: tuple[float, float]
) -> list[_Trace]:
    """What the floors are, below their lines, and the lens on the same positions, above it."""
    floors = floors_of(result, measure)
    if result is None or not floors:
        return []
    least = {side: floor.bits for side, floor in floors.items()}
    lens = {side: floor.lens_bits for side, floor in floors.items()}
    return [
        *_labels_at(result, "floor", least, end, extent, "top"),
        *_labels_at(result, "lens", lens, end, extent, "bottom"),
        *(_head_of_stem(result, side, value, end) for side, value in lens.items()),
    ]


def _labels_at(
    result: PairLens,
    what: str,
    heights: dict[str, float],
    end: float,
    extent: tuple[float, float],
    anchor: str,
) -> list[_Trace]:
    """A label for each height; one for both where two would touch."""
    close = max(heights.values()) - min(heights.values()) < _CLOSE * extent[1]
    groups = [list(heights)] if close else [[side] for side in heights]
    return [
        {
            "x": -0.065 * end,
            "y": float(np.mean([heights[side] for side in group])),
            "text": "<br>".join([what, *(_valued(result, s, heights[s]) for s in down)]),
            "hovertext": "<br>".join(plain(floor_sentence(result, side)) for side in group),
            "font": {"size": 11},
            "showarrow": False,
            "xanchor": "right",
            "yanchor": anchor,
            "align": "right",
        }
        for group in groups
        for down in [sorted(group, key=lambda side: -heights[side])]
    ]


def _head_of_stem(result: PairLens, side: str, value: float, end: float) -> _Trace:
    """The lens's mark on the positions that the floor is of."""
    look = mark(result, side)
    return {
        "x": _STEMS[side] * end,
        "y": value,
        "text": look.glyph,
        "font": {"size": 12, "color": look.color},
        "hovertext": plain(floor_sentence(result, side)),
        "showarrow": False,
    }


def _valued(result: PairLens, side: str, value: float) -> str:
    return f"{mark(result, side).glyph}{value:.2f}"
