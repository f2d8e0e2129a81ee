"""The lens token by token: positions across, layers up, a field for each model.

The colour of a cell is its KL, the word in it what the lens holds likeliest there.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.lens_marks import mark, titled
from embtie_widgets.charts.lens_words import name_of
from embtie_widgets.charts.shapes import Vector, faint
from embtie_widgets.results import display_token
from embtie_widgets.results.lens import Lens, PairLens

COLUMNS = 12
_LETTERS = 9  # of a token, in a cell or below a column
_PASSAGES = 200
_PASSAGE_LETTERS = 48
_CONTEXT = 24  # tokens of the text on either side of the position
_ROW, _GAP = 24, 76  # pixels: a row of cells, and what stands between two fields
_STRONGEST = 0.62  # of a cell's colour, so that words on it can be read
_Trace = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """What the lens of one model says at a point and a position.

    token, following  the token that was read there, and the one that comes after it
    kl                in bits; NaN where the state is not finite
    top               the likeliest next tokens as (text, share); empty where they were not kept
    final             the same of the model's own answer
    """

    token: str
    following: str
    kl: float
    top: tuple[tuple[str, float], ...]
    final: tuple[tuple[str, float], ...]


def passages(result: PairLens | None) -> list[tuple[str, int]]:
    """The pieces that can be looked at, by how they begin; those with readings where there are."""
    for one in () if result is None else result.lenses.values():
        shown = one.piece if one.readings is None else one.piece[one.readings.places]
        numbers = np.unique(shown)[:_PASSAGES].tolist()
        return [(f"{n + 1}: {_begin(one, n)}", n) for n in numbers]
    return []


def _begin(one: Lens, piece: int) -> str:
    keys = [one.tokens[i] for i in positions(one, piece)[:40].tolist()]
    return display_token(b"".join(key or b"" for key in keys), _PASSAGE_LETTERS)


def positions(one: Lens, piece: int) -> Vector:
    """The positions of a piece, in order."""
    here = np.flatnonzero(one.piece == piece)
    found: Vector = here[np.argsort(one.place[here], kind="stable")]
    return found


def length(result: PairLens | None, piece: int) -> int:
    """How many positions of the piece there are, in the model that has more."""
    lenses = {} if result is None else result.lenses
    return max((len(positions(one, piece)) for one in lenses.values()), default=0)


def across(one: Lens, other: Lens, layer: int) -> int:
    """The point of `other` at the same share of the depth as `layer` in `one`."""
    return round(layer * (len(other.kl_bits) - 1) / max(len(one.kl_bits) - 1, 1))


def cell(one: Lens, piece: int, place: int, layer: int) -> Cell | None:
    """What the lens says there; None beyond the end of the piece."""
    here = positions(one, piece)
    if place >= len(here):
        return None
    at = int(here[place])
    after = one.tokens[int(here[place + 1])] if place + 1 < len(here) else None
    return Cell(
        token=display_token(one.tokens[at], 0),
        following="" if place + 1 >= len(here) else display_token(after, 0),
        kl=float(one.per_token[layer, at]),
        top=_top(one, layer, at),
        final=_top(one, len(one.kl_bits) - 1, at),
    )


def _top(one: Lens, layer: int, at: int) -> tuple[tuple[str, float], ...]:
    readings = one.readings
    if readings is None:
        return ()
    found = np.flatnonzero(readings.places == at)
    if not len(found):
        return ()
    which, shares = readings.top[layer, found[0]], readings.shares[layer, found[0]]
    texts = [display_token(readings.tokens[i], 40) for i in which.tolist()]
    return tuple(zip(texts, shares.tolist(), strict=True))


def context(one: Lens, piece: int, place: int) -> tuple[str, str, str]:
    """What stands before a position, the token there, and what follows, as they are read."""
    keys = [one.tokens[i] or b"" for i in positions(one, piece).tolist()]
    if place >= len(keys):
        return "", "", ""
    first, last = max(place - _CONTEXT, 0), place + 1 + _CONTEXT
    before = ("…" if first else "") + _running(keys[first:place])
    after = _running(keys[place + 1 : last]) + ("…" if last < len(keys) else "")
    return before, display_token(keys[place], 0), after


def _running(keys: list[bytes]) -> str:
    """Some tokens as running text: its spaces are spaces."""
    whole = b"".join(keys)
    return display_token(whole, 0).replace("␣", " ") if whole else ""


def spec(
    result: PairLens | None, piece: int = 0, start: int = 0, chosen: tuple[int, int] | None = None
) -> dict[str, Any]:
    """The grid in plotly's terms: trace i is the field of model i among `result.lenses`.

    It shows `COLUMNS` positions from `start` on; `chosen` is a (layer of the first model, place).
    """
    lenses = {} if result is None else result.lenses
    highest, domains = _highest(lenses), _domains(lenses)[1]
    fields = [
        _field(result, side, one, _window(one, piece, start), highest, i)
        | {"colorbar": _bar(domains[i])}
        for i, (side, one) in enumerate(lenses.items())
        if result is not None
    ]
    return {"data": fields, "layout": _layout(result, lenses, piece, start, chosen)}


def _window(one: Lens, piece: int, start: int) -> Vector:
    return positions(one, piece)[start : start + COLUMNS]


def _highest(lenses: dict[str, Lens]) -> float:
    """The KL of the full colour: that which 2 % of all cells exceed, in either model."""
    known = [one.per_token[np.isfinite(one.per_token)] for one in lenses.values()]
    return max((float(np.percentile(v, 98)) for v in known if v.size), default=1.0) or 1.0


def _field(
    result: PairLens, side: str, one: Lens, here: Vector, highest: float, place: int
) -> _Trace:
    look, number = mark(result, side), "" if place == 0 else str(place + 1)
    tops = [[_top(one, layer, int(at)) for at in here] for layer in range(len(one.kl_bits))]
    return {
        "type": "heatmap",
        "name": plain(name_of(result, side)),
        "x": np.arange(len(here)),
        "y": np.arange(len(one.kl_bits)),
        "z": list(np.asarray(one.per_token[:, here], "f4")),
        "zmin": 0,
        "zmax": highest,
        "xaxis": f"x{number}",
        "yaxis": f"y{number}",
        "xgap": 2,
        "ygap": 2,
        "colorscale": [[0, faint(look, 0.03)], [1, faint(look, _STRONGEST)]],
        "text": [[_word(top) for top in row] for row in tops],
        "texttemplate": "%{text}",
        "hovertext": [
            [
                _hover(result, side, one, int(at), layer, top)
                for at, top in zip(here, row, strict=True)
            ]
            for layer, row in enumerate(tops)
        ],
        "hoverinfo": "text",
        "hoverongaps": False,
    }


def _bar(domain: list[float]) -> _Trace:
    """The scale of the colours, beside its field."""
    return {
        "thickness": 8,
        "outlinewidth": 0,
        "nticks": 4,
        "len": domain[1] - domain[0],
        "y": domain[0],
        "yanchor": "bottom",
        "ypad": 0,
        "xpad": 6,
        "title": {"text": "bits", "side": "top", "font": {"size": 12}},
    }


def _word(top: tuple[tuple[str, float], ...]) -> str:
    return plain(_cut(top[0][0])) if top else ""


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


def _hover(
    result: PairLens, side: str, one: Lens, at: int, layer: int, top: tuple[tuple[str, float], ...]
) -> str:
    where = f"layer {layer}" if layer else "embedding"
    lines = [
        f"<b>{plain(name_of(result, side))}</b>, {where}",
        f"after {plain(display_token(one.tokens[at], 40))}: KL {one.per_token[layer, at]:.2f} bits",
        *(f"{share:.0%}  {plain(text)}".replace("%", " %") for text, share in top),
    ]
    return "<br>".join(lines)


def _layout(
    result: PairLens | None,
    lenses: dict[str, Lens],
    piece: int,
    start: int,
    chosen: tuple[int, int] | None,
) -> dict[str, Any]:
    whole, domains = _domains(lenses)
    layout: dict[str, Any] = {
        "uirevision": f"{piece} {start}",
        "height": whole + 80,
        "margin": {"l": 8, "r": 8, "t": 34, "b": 8},
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": False,
        "annotations": [],
        "shapes": [],
    }
    first = next(iter(lenses.values()), None)
    for i, (side, one) in enumerate(lenses.items()):
        number, domain = "" if i == 0 else str(i + 1), domains[i]
        layout |= _axes(one, _window(one, piece, start), number, domain)
        if result is not None:
            layout["annotations"].append(_title(result, side, domain[1]))
        if chosen is not None and first is not None:
            layer = across(first, one, chosen[0])
            layout["shapes"] += _box(chosen[1] - start, layer, number)
    return layout


def _domains(lenses: dict[str, Lens]) -> tuple[int, list[list[float]]]:
    """Pixels of all fields with the gaps between them, and the share of each, from the top."""
    heights = [_ROW * len(one.kl_bits) for one in lenses.values()] or [120]
    whole, top = sum(heights) + _GAP * (len(heights) - 1), 1.0
    domains = []
    for height in heights:
        domains.append([top - height / whole, top])
        top -= (height + _GAP) / whole
    return whole, domains


def _axes(one: Lens, here: Vector, number: str, domain: list[float]) -> dict[str, Any]:
    layers = len(one.kl_bits) - 1
    step = 1 if layers <= 16 else 2 if layers <= 40 else 4
    rows = list(range(0, layers + 1, step))
    return {
        f"xaxis{number}": {
            "anchor": f"y{number}",
            "range": [-0.5, COLUMNS - 0.5],
            "tickmode": "array",
            "tickvals": list(range(len(here))),
            "ticktext": [plain(_cut(display_token(one.tokens[i], 0))) for i in here.tolist()],
            "tickangle": 0,
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        f"yaxis{number}": {
            "anchor": f"x{number}",
            "domain": domain,
            "range": [-0.5, layers + 0.5],
            "tickmode": "array",
            "tickvals": rows,
            "ticktext": ["embedding", *map(str, rows[1:])],
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
    }


def _title(result: PairLens, side: str, y: float) -> _Trace:
    return {
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": y,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 4,
        "text": titled(result, side, 40),
        "font": {"size": 14},
        "showarrow": False,
    }


def _box(column: int, layer: int, number: str) -> list[_Trace]:
    """A frame round the cell that is chosen."""
    if not 0 <= column < COLUMNS:
        return []
    return [
        {
            "type": "rect",
            "xref": f"x{number}",
            "yref": f"y{number}",
            "x0": column - 0.5,
            "x1": column + 0.5,
            "y0": layer - 0.5,
            "y1": layer + 0.5,
            "line": {"width": 2.5, "color": "#3b8fd6"},
        }
    ]
