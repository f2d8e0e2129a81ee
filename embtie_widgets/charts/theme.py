"""How every figure looks: two plotly templates, and colours fixed by role.

One set of role colours serves both themes, so that a picture means the same in each; colour is
never the only sign, each role has its dash and marker too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

ThemeName = Literal["light", "dark"]
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True)
class Palette:
    """The colours of surfaces and text in one theme; text keeps 4.5:1 on paper and plot."""

    paper: str
    plot: str
    text: str
    muted: str
    grid: str
    axis: str


PALETTES: dict[str, Palette] = {
    "light": Palette("#ffffff", "#ffffff", "#1b2330", "#55606f", "#e6eaef", "#8691a0"),
    "dark": Palette("#12161b", "#12161b", "#e7ebf1", "#a7b2bf", "#232a32", "#6f7c8b"),
}


@dataclass(frozen=True)
class Mark:
    """A colour with the dash and the marker that say the same without it."""

    color: str
    dash: str
    symbol: str

    @property
    def glyph(self) -> str:
        """The marker as a letter, for labels: words in the colour itself are too faint to read."""
        return _GLYPHS[self.symbol]


_GLYPHS = {
    "circle": "●",
    "square": "■",
    "diamond": "◆",
    "triangle-up": "▲",
    "triangle-down": "▼",
    "star": "★",
    "cross": "✚",
}
ROLES = {
    "input": Mark("#2673d9", "dash", "square"),
    "output": Mark("#c9781a", "solid", "circle"),
    "tied": Mark("#dd3f97", "12px,4px", "diamond"),
}
_NEUTRAL = Mark("#7a828f", "dot", "triangle-up")

# The three matrices of a pair, each in the colour of its role.
MATRICES = {"In": ROLES["input"], "Out": ROLES["output"], "Tied": ROLES["tied"]}

# A comparison with Tied is coloured by the side it asks about; the one without it is neutral.
COMPARISONS = {
    "Out->Tied": ROLES["output"],
    "In->Tied": ROLES["input"],
    "In->Out": _NEUTRAL,
}


def mark_of(comparison: str) -> Mark:
    """The mark of a comparison by name."""
    return COMPARISONS.get(comparison, _NEUTRAL)


# A whole model is coloured by whether it is tied; green and pink stay apart for every eye.
MODELS = {"tied": ROLES["tied"], "untied": Mark("#4d9221", "solid", "circle")}


def marks_of(tied: Sequence[str]) -> list[Mark]:
    """The marks of models by their words "tied", "untied" and the like; no two are the same."""
    marks = [MODELS["tied" if word == "tied" else "untied"] for word in tied]
    return [_NEUTRAL if mark in marks[:i] else mark for i, mark in enumerate(marks)]


# What keeps an output matrix centred, or the logits small; in no role's colour.
METHODS = {
    "none": Mark("#7a828f", "solid", "circle"),
    "mu-centering": Mark("#9a3df2", "10px,3px", "diamond"),
    "mu-loss": Mark("#1e97d4", "6px,3px", "square"),
    "z-loss": Mark("#e06106", "2px,3px", "triangle-up"),
    "soft-cap": Mark("#8a6042", "9px,3px,2px,3px", "triangle-down"),
    "coupled-adam": Mark("#be1ba3", "14px,3px,2px,3px,2px,3px", "star"),
    "sgd": Mark("#a48e4f", "3px,6px", "cross"),
}


# Signatures by order; in no role's colour, since every matrix is held against each; dashes tell
# held-out values from in-sample ones.
SIGNATURES = {
    "order 0": Mark("#1e97d4", "solid", "square"),
    "order 1": Mark("#9a3df2", "solid", "diamond"),
    "order 2": Mark("#e06106", "solid", "triangle-up"),
}


# Ways in which a head lets less of the gradient through; in no role's colour.
WAYS = {
    "full": Mark("#7a828f", "solid", "circle"),
    "factorised": Mark("#9a3df2", "10px,3px", "diamond"),
    "backward": Mark("#1e97d4", "6px,3px", "square"),
    "head-update": Mark("#d1442b", "2px,3px", "triangle-up"),
}

# The logit gradient, the part of it that the head transmits, and the rest; in no role's colour.
PARTS = {
    "whole": Mark("#7a828f", "solid", "circle"),
    "transmitted": Mark("#9a3df2", "10px,3px", "diamond"),
    "lost": Mark("#a87d2e", "3px,3px", "triangle-down"),
}


def method_marks(methods: Iterable[str]) -> dict[str, Mark]:
    """The mark of each method; a name that is not known gets one that no other has taken."""
    names = list(dict.fromkeys(methods))
    found = {name: _together(name.split("+")) for name in names if _is_known(name)}
    free = [mark for name, mark in METHODS.items() if name not in found]
    others = [name for name in names if name not in found]
    for place, name in enumerate(others):
        found[name] = free[place] if place < len(free) else _NEUTRAL
    return {name: found[name] for name in names}


def _is_known(method: str) -> bool:
    return all(part in METHODS for part in method.split("+"))


def _together(parts: list[str]) -> Mark:
    """Several methods at once: the colour of the first, the dash of the last, and a marker that no
    single one has with that colour."""
    middle = parts[1] if len(parts) > 2 else parts[-1]
    return Mark(METHODS[parts[0]].color, METHODS[parts[-1]].dash, METHODS[middle].symbol)


def template(theme: str) -> dict[str, Any]:
    """The plotly template of a theme, with paper, plot and text colours set.

    A figure takes it as `layout.template`; unknown theme names mean "light".
    """
    palette = PALETTES.get(theme, PALETTES["light"])
    # Plotly's own choice of a colour for words in cells and bars takes every page for a white one.
    font = {"color": palette.text, "size": 11}
    words = {"heatmap": [{"textfont": font}], "bar": [{"insidetextfont": font}]}
    return {"layout": _layout(palette), "data": words}


def templates() -> dict[str, dict[str, Any]]:
    """The template of each theme, for figures that follow the page."""
    return {theme: template(theme) for theme in PALETTES}


def _layout(palette: Palette) -> dict[str, Any]:
    axis = {
        "gridcolor": palette.grid,
        "linecolor": palette.axis,
        "tickcolor": palette.axis,
        "zerolinecolor": palette.axis,
        "tickfont": {"color": palette.muted, "size": 12},
        "title": {"font": {"color": palette.muted, "size": 13}},
        "automargin": True,
    }
    return {
        "paper_bgcolor": palette.paper,
        "plot_bgcolor": palette.plot,
        "font": {"family": FONT, "size": 13, "color": palette.text},
        "title": {"font": {"color": palette.text, "size": 16}},
        "legend": {"font": {"color": palette.text}, "bgcolor": "rgba(0,0,0,0)"},
        "hoverlabel": {
            "bgcolor": palette.paper,
            "bordercolor": palette.axis,
            "font": {"family": FONT, "color": palette.text, "size": 13},
        },
        "modebar": {
            "bgcolor": "rgba(0,0,0,0)",
            "color": palette.axis,
            "activecolor": palette.text,
        },
        "colorway": [mark.color for mark in (*ROLES.values(), _NEUTRAL)],
        "xaxis": axis,
        "yaxis": axis,
    }


def contrast(first: str, second: str) -> float:
    """The contrast ratio of two "#rrggbb" colours, in [1, 21] (WCAG 2.2, relative luminance)."""
    bright, dim = sorted((_luminance(first), _luminance(second)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def _luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
