"""The singular values of the logit gradient, and how its rank grows with the positions, against
the width of the head."""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from embtie_widgets.charts.bottleneck_view import marks
from embtie_widgets.charts.facets import LEGEND, Facets, heading, suffix
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.lens_words import short
from embtie_widgets.charts.shapes import faint
from embtie_widgets.charts.theme import Mark, mark_of
from embtie_widgets.results.bottleneck import BottleneckModel, BottleneckReport, GradientSpectrum

_NEUTRAL = mark_of("").color
_DASHES = ("2px,3px", "7px,3px", "12px,4px,2px,4px")  # of the shares, the smallest first
_COUNTED = {"type": "log", "dtick": 1, "tickformat": ",~r", "zeroline": False, "showline": True}
_FAINTEST = 1e-6  # of the largest singular value: below is rounding
_NAMES = ("Singular values", "Components by positions")
_EACH = 160  # pixels of a legend so narrow that each name has a line of its own
_GAP = 104  # pixels between the charts where they stand one below the other
_Trace = dict[str, Any]


def spec(result: BottleneckReport | None) -> dict[str, Any]:
    """Two charts on logarithmic axes: the spectrum with how many components hold 70, 90, 99.9 % of
    the squared length, and both by the number of positions."""
    known = _known(result)
    looks = {} if result is None else marks(result)
    traces = [t for n, (m, s) in known.items() for t in _of_one(n, m, s, looks[n])]
    wide = Facets(2, 2, tuple(map(short, known)), height=330)
    return {
        "data": traces,
        "layout": _layout(known, wide),
        "narrow": _layout(known, replace(wide.narrow, gap=_GAP, width=_EACH)),
    }


def _known(
    result: BottleneckReport | None,
) -> dict[str, tuple[BottleneckModel, GradientSpectrum]]:
    models = {} if result is None else result.models
    spectra = {name: (one, one.bottleneck.spectrum) for name, one in models.items()}
    return {name: (one, found) for name, (one, found) in spectra.items() if found is not None}


def percent(share: float) -> str:
    """A share as it is read: 70 %, 99.9 %."""
    return f"{100 * share:.4g} %"


def _of_one(name: str, one: BottleneckModel, found: GradientSpectrum, look: Mark) -> list[_Trace]:
    values = np.asarray(found.values, float)
    values = values[values > _FAINTEST * values.max()] if values.any() else values
    base = {"type": "scatter", "name": plain(short(name)), "legendgroup": name, "showlegend": False}
    curve = {
        "x": np.arange(1, len(values) + 1),
        "y": values,
        "mode": "lines",
        "line": {"color": look.color, "dash": look.dash, "width": 2.2},
        "showlegend": True,
        "hovertemplate": f"<b>{plain(name)}</b><br>component %{{x:,}}: %{{y:.4g}}<extra></extra>",
    }
    last = np.asarray(found.components)[-1]
    held = {
        "x": last,
        "y": [float(values[min(int(k), len(values)) - 1]) for k in last],
        "mode": "markers",
        "marker": {"symbol": look.symbol, "size": 10, "color": look.color},
        "hovertext": [
            f"{int(k):,} hold {percent(s)}" for k, s in zip(last, found.shares, strict=True)
        ],
        "hovertemplate": f"<b>{plain(name)}</b><br>%{{hovertext}} of the energy<extra></extra>",
    }
    return [base | curve, base | held, *(base | t for t in _growth(name, found, look))]


def _growth(name: str, found: GradientSpectrum, look: Mark) -> list[_Trace]:
    """The numerical rank, and fainter the components for each part of the energy."""
    lines = [("numerical rank", found.rank, "solid", 1.0)]
    lines += [
        (f"{percent(share)} of the energy", np.asarray(found.components)[:, i], dash, 0.85)
        for i, (share, dash) in enumerate(zip(found.shares, _DASHES, strict=False))
    ]
    return [
        {
            "x": found.positions,
            "y": values,
            "xaxis": "x2",
            "yaxis": "y2",
            "mode": "lines+markers",
            "line": {"color": faint(look, strength), "dash": dash, "width": 2.2},
            "marker": {"symbol": look.symbol, "size": 6, "color": faint(look, strength)},
            "hovertemplate": f"<b>{plain(name)}</b>, {words}<br>%{{x:,}} positions: %{{y:,}}"
            "<extra></extra>",
        }
        for words, values, dash, strength in lines
    ]


def _layout(
    known: dict[str, tuple[BottleneckModel, GradientSpectrum]], facets: Facets
) -> dict[str, Any]:
    sizes = {"type": "log", "dtick": 1, "tickformat": "~g", "zeroline": False}
    layout = facets.layout(
        {"title": {"text": ""}, **_COUNTED, "ticks": "outside"},
        [
            sizes | {"title": {"text": "singular value"}},
            _COUNTED | {"title": {"text": "components"}},
        ],
    )
    for place, words in enumerate(("component", "positions")):
        axis = layout[f"xaxis{suffix(place)}"]
        axis.pop("matches", None)
        axis |= {"title": {"text": words}, "showticklabels": True}
    widths = dict.fromkeys(one.bottleneck.width for one, _ in known.values())
    return layout | {
        "uirevision": str(list(known)),
        "hovermode": "closest",
        "legend": LEGEND,
        "shapes": [shape for d in widths for shape in _at_width(d)],
        "annotations": [
            *(heading(place, name) for place, name in enumerate(_NAMES)),
            *(note for d in widths for note in _width_words(d)),
            *_ends(known),
        ],
    }


def _at_width(d: int) -> list[_Trace]:
    """The width of the head: upright among the components, level over the positions."""
    line = {"color": _NEUTRAL, "width": 1.6, "dash": "dash"}
    upright = {"x0": d, "x1": d, "yref": "y domain", "y0": 0, "y1": 1}
    level = {"xref": "x2 domain", "x0": 0, "x1": 1, "yref": "y2", "y0": d, "y1": d}
    return [{"type": "line", "layer": "below", "line": line, **one} for one in (upright, level)]


def _width_words(d: int) -> list[_Trace]:
    small = {"font": {"size": 12}, "opacity": 0.85, "showarrow": False, "text": f"d = {d:,}"}
    return [
        small | {"x": math.log10(d), "yref": "y domain", "y": 0, "xanchor": "right",
                 "yanchor": "bottom", "xshift": -4},
        small | {"xref": "x2 domain", "x": 0, "yref": "y2", "y": math.log10(d),
                 "xanchor": "left", "yanchor": "bottom", "xshift": 4},
    ]  # fmt: skip


def _ends(known: dict[str, tuple[BottleneckModel, GradientSpectrum]]) -> list[_Trace]:
    """What the lines of the first model are, at their ends."""
    found = next((spectrum for _, spectrum in known.values()), None)
    if found is None or not len(found.positions):
        return []
    named = [("rank", found.rank[-1], "bottom")]
    sides = ["top"] * (len(found.shares) - 1) + ["bottom"]  # the two largest shares lie close
    named += zip(map(percent, found.shares), found.components[-1], sides, strict=True)
    return [
        {
            "xref": "x2",
            "yref": "y2",
            "x": math.log10(found.positions[-1]),
            "y": math.log10(max(float(value), 1)),
            "text": words,
            "font": {"size": 12},
            "xanchor": "right",
            "yanchor": side,
            "yshift": 3 if side == "bottom" else -3,
            "showarrow": False,
        }
        for words, value, side in named
    ]
