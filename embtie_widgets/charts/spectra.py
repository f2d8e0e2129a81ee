"""The singular-value spectra of In, Out and Tied on one chart, both axes logarithmic.

Heights are singular values over the Frobenius norm: root mean squares of the rows along each
direction, in units of the root mean square length of all rows, which holds for some rows alone too.
They say how a matrix spreads its energy, and not how large it is or how many rows it has.  A marker
stands on each line where its effective rank is.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from embtie_widgets.charts.shapes import ABOVE, Vector
from embtie_widgets.charts.theme import MATRICES
from embtie_widgets.results.geometry import PairGeometry

_EMPTY = np.empty(0)
# What is smaller than this part of the largest is rounding, and would stretch the axis to nothing.
_FAINTEST = 1e-7
_FIRST = next(iter(MATRICES))
Spectra = Mapping[str, Vector]
_NONE: Spectra = {}


def spec(result: PairGeometry | None, selected: Spectra = _NONE) -> dict[str, Any]:
    """The chart in plotly's terms, "data" and "layout"; without a result its axes alone.

    `selected` are the normalised singular values of the selected tokens' rows alone, by matrix:
    thin lines.
    """
    lines = [_line(result, name) for name in MATRICES]
    thin = [_thin(result, name, selected.get(name, _EMPTY)) for name in MATRICES]
    ranks = [_rank(result, name) for name in MATRICES]
    return {"data": [*lines, *thin, *ranks], "layout": _layout()}


def heights(result: PairGeometry | None, name: str, values: Vector | None = None) -> Vector:
    """Heights on the chart (r,) of a matrix's spectrum, or of `values`, which are normalised
    singular values of some of its rows; without those that are rounding alone."""
    if result is None or name not in result.matrices:
        return _EMPTY
    whole = result.matrices[name].spectrum.normalised
    length = np.linalg.norm(whole)
    known = whole if values is None else values
    return known[known > _FAINTEST * known.max(initial=0.0)] / length if length else _EMPTY


def _line(result: PairGeometry | None, name: str) -> dict[str, Any]:
    mark, found = MATRICES[name], heights(result, name)
    legend = name
    if result is not None and found.size:
        known = result.matrices[name].spectrum
        legend = (
            f"{name}, effective rank {known.effective_rank:.0f} of {len(known.singular_values):,}"
        )
    return _trace(legend, found) | {"line": {"color": mark.color, "dash": mark.dash, "width": 2.4}}


def _thin(result: PairGeometry | None, name: str, values: Vector) -> dict[str, Any]:
    mark, found = MATRICES[name], heights(result, name, values)
    line = {"color": mark.color, "dash": mark.dash, "width": 1}
    # One entry stands for the three of them.
    entry = {"showlegend": name == _FIRST, "legendgroup": "selected", "visible": bool(found.size)}
    trace = _trace("thin: selected tokens alone", found) | {"line": line} | entry
    return trace | {"hovertemplate": f"{trace['hovertemplate']}<extra>{name}, selected</extra>"}


def _trace(name: str, values: Vector) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": name,
        "x": np.arange(1, len(values) + 1).astype("int32"),
        "y": values.astype("float32"),
        "mode": "lines",
        "hovertemplate": "singular value %{x}: %{y:.3g}",
    }


def _rank(result: PairGeometry | None, name: str) -> dict[str, Any]:
    """Where the effective rank stands on the line."""
    mark, found = MATRICES[name], heights(result, name)
    x, y = [], []
    if result is not None and found.size:
        x = [result.matrices[name].spectrum.effective_rank]
        y = np.interp(x, np.arange(1, len(found) + 1), found).tolist()
    return {
        "type": "scatter",
        "name": f"{name}, effective rank",
        "x": x,
        "y": y,
        "mode": "markers",
        "marker": {"symbol": mark.symbol, "size": 11, "color": mark.color},
        "showlegend": False,
        "hovertemplate": "effective rank %{x:.1f}",
    }


def _layout() -> dict[str, Any]:
    # Ticks at 1, 2 and 5 of every power of ten.
    axis = {
        "type": "log",
        "zeroline": False,
        "showline": True,
        "ticks": "outside",
        "dtick": "D2",
        "tickformat": ".1~g",
    }
    return {
        "uirevision": "spectra",
        "height": 380,
        "margin": {"l": 8, "r": 16, "t": 44, "b": 8},
        "hovermode": "closest",
        "dragmode": "zoom",
        "xaxis": axis | {"title": {"text": "singular value, by rank"}, "tickformat": ",d"},
        "yaxis": axis | {"title": {"text": "singular value over Frobenius norm"}},
        "legend": ABOVE,
    }
