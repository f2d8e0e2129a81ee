"""The text token by token: each token that was to be predicted, coloured by what is transmitted of
the gradient there."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from embtie_widgets.charts.bottleneck_view import Vector, marks
from embtie_widgets.charts.figures import plain
from embtie_widgets.charts.shapes import faint
from embtie_widgets.charts.theme import Mark
from embtie_widgets.results import display_token
from embtie_widgets.results.bottleneck import BottleneckModel, BottleneckReport

COLUMNS, LINES = 10, 10
_LETTERS = 10
_PASSAGES = 200
_PASSAGE_LETTERS = 48
_CONTEXT = 24  # tokens of the text before the position
_ROW = 30  # pixels
_STRONGEST = 0.62  # of a cell's colour, so that words on it can be read


@dataclass(frozen=True)
class Shade:
    """What the colour of a cell says: its name, the title of the scale, and a sentence."""

    label: str
    title: str
    says: str


SHADES = {
    "transmitted": Shade(
        "transmitted",
        "c",
        "The stronger the colour, the more of the gradient's length is transmitted there.",
    ),
    "target": Shade(
        "of the target",
        "of e_y",
        "The stronger the colour, the more of the target's own direction is transmitted: the same "
        "wherever the token is to be predicted.",
    ),
    "loss": Shade("loss", "nats", "The stronger the colour, the larger the loss there."),
}


def shade_of(one: BottleneckModel, shade: str) -> Vector:
    """(n,) the number that the colour says, of every position."""
    b = one.bottleneck
    if shade == "transmitted":
        return np.asarray(np.sqrt(np.maximum(1 - np.asarray(b.per_position, float) ** 2, 0)))
    return np.asarray(b.target_kept if shade == "target" else b.loss, float)


def passages(result: BottleneckReport | None, name: str) -> list[tuple[str, int]]:
    """The pieces that can be looked at, by how they begin."""
    one = None if result is None else result.models.get(name)
    if one is None or not one.tokens:
        return []
    numbers = np.unique(one.bottleneck.piece)[:_PASSAGES].tolist()
    return [(f"{n + 1}: {_begin(one, n)}", n) for n in numbers]


def _begin(one: BottleneckModel, piece: int) -> str:
    keys = [one.tokens[i] or b"" for i in one.bottleneck.ids[positions(one, piece)[:40]]]
    return display_token(b"".join(keys), _PASSAGE_LETTERS)


def positions(one: BottleneckModel, piece: int) -> Vector:
    """The places of a piece's positions among all, in the order of the text."""
    b = one.bottleneck
    here = np.flatnonzero(np.asarray(b.piece) == piece)
    return np.asarray(here[np.argsort(np.asarray(b.place)[here], kind="stable")])


@dataclass(frozen=True)
class Cell:
    """What is known of one position; the numbers of `Bottleneck` there, p of the target first."""

    token: int
    target: int
    probability: float
    loss: float
    destroyed: float
    line: float
    target_kept: float
    length: float


def cell(one: BottleneckModel, piece: int, place: int) -> Cell | None:
    """The position that is the `place`-th of the piece; None beyond its end."""
    here, b = positions(one, piece), one.bottleneck
    if not 0 <= place < len(here):
        return None
    at = int(here[place])
    return Cell(
        token=int(b.ids[at]),
        target=int(b.targets[at]),
        probability=float(np.exp(-b.loss[at])),
        loss=float(b.loss[at]),
        destroyed=float(b.per_position[at]),
        line=b.line,
        target_kept=float(b.target_kept[at]),
        length=float(b.length[at]),
    )


def context(one: BottleneckModel, piece: int, place: int) -> tuple[str, str]:
    """What stands before the target as running text, and the target."""
    here = positions(one, piece)[: place + 1]
    if not len(here):
        return "", ""
    shown = here[-_CONTEXT:]
    keys = [one.tokens[i] or b"" for i in one.bottleneck.ids[shown].tolist()]
    whole = b"".join(keys)
    text = display_token(whole, 0).replace("␣", " ") if whole else ""
    before = ("…" if len(here) > len(shown) else "") + text
    return before, display_token(one.tokens[int(one.bottleneck.targets[here[-1]])], 0)


def page_of(place: int) -> int:
    """The first position of the page that a position is on."""
    return place // (COLUMNS * LINES) * COLUMNS * LINES


def spec(
    result: BottleneckReport | None,
    name: str,
    piece: int = 0,
    place: int = 0,
    shade: str = "transmitted",
) -> dict[str, Any]:
    """The page of the text that the position is on, read as a page is: cells from left to right,
    lines from the top; the position itself is framed."""
    one = None if result is None else result.models.get(name)
    if result is None or one is None or not one.tokens:
        return {"data": [], "layout": _layout(1, piece, 0, None)}
    start = page_of(place)
    here = positions(one, piece)[start : start + COLUMNS * LINES]
    lines = -(-len(here) // COLUMNS)
    chosen = place - start if place - start < len(here) else None
    drawn = _field(name, one, here, lines, shade, marks(result)[name])
    return {"data": [drawn], "layout": _layout(lines, piece, start, chosen)}


def place_at(start: int, row: int, column: int) -> int:
    """The position in the piece of a cell of the page that begins with `start`."""
    return start + row * COLUMNS + column


def _field(
    name: str, one: BottleneckModel, here: Vector, lines: int, shade: str, look: Mark
) -> dict[str, Any]:
    values, b = shade_of(one, shade), one.bottleneck
    known = values[np.isfinite(values)]
    low, high = np.percentile(known, [1, 99]) if len(known) else (0.0, 1.0)
    targets = [display_token(one.tokens[i], 0) for i in b.targets[here].tolist()]
    hovers = [_hover(name, one, int(at), text) for at, text in zip(here, targets, strict=True)]
    return {
        "type": "heatmap",
        "name": plain(name),
        "x": np.arange(COLUMNS),
        "y": np.arange(lines),
        "z": _paged(values[here].astype(float).tolist(), lines, np.nan),
        "zmin": float(low),
        "zmax": float(high if high > low else low + 1e-6),
        "xgap": 3,
        "ygap": 3,
        "colorscale": [[0, faint(look, 0.04)], [1, faint(look, _STRONGEST)]],
        "text": _paged([plain(_cut(text)) for text in targets], lines, ""),
        "texttemplate": "%{text}",
        "hovertext": _paged(hovers, lines, ""),
        "hoverinfo": "text",
        "hoverongaps": False,
        "colorbar": {
            "thickness": 8,
            "outlinewidth": 0,
            "nticks": 4,
            "ypad": 0,
            "xpad": 6,
            "title": {"text": SHADES[shade].title, "side": "top", "font": {"size": 12}},
        },
    }


def _paged(values: list[Any], lines: int, nothing: Any) -> list[list[Any]]:
    """So many values as lines of COLUMNS, the last filled up."""
    full = values + [nothing] * (lines * COLUMNS - len(values))
    return [full[i * COLUMNS : (i + 1) * COLUMNS] for i in range(lines)]


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"


def _hover(name: str, one: BottleneckModel, at: int, target: str) -> str:
    b = one.bottleneck
    return "<br>".join(
        [
            f"<b>{plain(target[:40])}</b>, after {plain(display_token(one.tokens[b.ids[at]], 40))}",
            f"{plain(name)} gave it p = {np.exp(-b.loss[at]):.3g}",
            f"not transmitted r = {b.per_position[at]:.4f}",
            f"of the target's direction transmitted {b.target_kept[at]:.3f}",
        ]
    )


def _layout(lines: int, piece: int, start: int, chosen: int | None) -> dict[str, Any]:
    bare = {
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
        "showticklabels": False,
        "ticks": "",
    }
    return {
        "uirevision": f"{piece} {start}",
        "height": _ROW * max(lines, 2) + 40,
        "margin": {"l": 8, "r": 8, "t": 26, "b": 8},
        "hovermode": "closest",
        "dragmode": False,
        "showlegend": False,
        "xaxis": bare | {"range": [-0.5, COLUMNS - 0.5]},
        "yaxis": bare | {"range": [max(lines, 1) - 0.5, -0.5]},
        "shapes": [] if chosen is None else [_frame(*divmod(chosen, COLUMNS))],
    }


def _frame(row: int, column: int) -> dict[str, Any]:
    sides = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
    return {"type": "rect", **sides, "line": {"width": 2.5, "color": "#3b8fd6"}}
