"""Small charts in a grid: beside one another where there is room, in one column where there is not.

A figure with a part "narrow" has there what its layout takes instead in a narrow box.
"""

from dataclasses import dataclass, replace
from typing import Any

_SPACE = 0.075  # of the width, between two columns
_WIDE, _NARROW = 640, 320  # pixels that a legend has at least
_LETTER, _SIGN, _LINE, _ALONE = 7.4, 48, 19, 44  # pixels of a legend, and of what is above without


@dataclass(frozen=True)
class Facets:
    """The places of small charts, row by row from the top.

    count, columns  how many there are, and how many side by side
    named           the words of the legend above all of them
    height, gap     of each chart and between two rows, in pixels
    below           what stands below all of them, in pixels
    width           for how wide a legend there is room
    """

    count: int
    columns: int = 2
    named: tuple[str, ...] = ()
    height: int = 170
    gap: int = 52
    below: int = 60
    width: int = _WIDE

    @property
    def narrow(self) -> "Facets":
        """The same in one column."""
        return replace(self, columns=1, width=_NARROW)

    @property
    def above(self) -> int:
        """The height of the legend and the name of a chart, in pixels."""
        wide = [_SIGN + _LETTER * len(words) for words in self.named]
        if sum(wide) <= self.width:
            return _ALONE + _LINE * bool(wide)
        # Plotly gives each name the room of the widest once one line does not hold them all.
        return _ALONE + _LINE * -(-len(wide) // max(int(self.width // max(wide)), 1))

    @property
    def rows(self) -> int:
        """How many stand one above the other."""
        return max(-(-self.count // self.columns), 1)

    @property
    def whole(self) -> int:
        """The height of the figure."""
        return self._inside + self.above + self.below

    def is_lowest(self, place: int) -> bool:
        """Whether no chart stands below it."""
        return place + self.columns >= self.count

    def across(self, place: int) -> list[float]:
        """From where to where it reaches in the width, 0 to 1."""
        wide = (1 - _SPACE * (self.columns - 1)) / self.columns
        left = (place % self.columns) * (wide + _SPACE)
        return [left, min(left + wide, 1.0)]

    def up(self, place: int) -> list[float]:
        """From where to where it reaches in the height, 0 to 1."""
        top = self._inside - (place // self.columns) * (self.height + self.gap)
        return [max(top - self.height, 0) / self._inside, top / self._inside]

    @property
    def _inside(self) -> int:
        return self.rows * self.height + (self.rows - 1) * self.gap

    def layout(self, across: dict[str, Any], ups: list[dict[str, Any]]) -> dict[str, Any]:
        """Height and axes: `across` is the one that all charts share, `ups` has one for each."""
        title = across.get("title")
        found: dict[str, Any] = {
            "height": self.whole,
            "margin": {"l": 8, "r": 16, "t": self.above, "b": 8},
        }
        for place, up in enumerate(ups):
            name = suffix(place)
            low = self.is_lowest(place)
            found[f"xaxis{name}"] = across | {
                "anchor": f"y{name}",
                "domain": self.across(place),
                "showticklabels": low,
                "title": title if low else {"text": ""},
                **({"matches": "x"} if place else {}),
            }
            found[f"yaxis{name}"] = up | {"anchor": f"x{name}", "domain": self.up(place)}
        return found


LEGEND = {
    "orientation": "h",
    "x": 0,
    "xanchor": "left",
    "y": 1,
    "yref": "container",
    "yanchor": "top",
    "tracegroupgap": 0,
}
"""At the top of the figure, above the names of the charts."""
ABOVE_ALL = {**LEGEND, "xref": "container"}
"""The same from the edge of the figure on, for charts with long words at their left."""


def named_once(traces: list[dict[str, Any]], mode: str) -> tuple[str, ...]:
    """The names in the legend: each of those drawn in this mode once, however many charts it is in,
    and nothing else."""
    found: dict[str, None] = {}
    for trace in traces:
        trace["showlegend"] = trace.get("mode") == mode and trace["name"] not in found
        if trace["showlegend"]:
            found[trace["name"]] = None
    return tuple(found)


def suffix(place: int) -> str:
    """What plotly appends to the names of the axes of a chart, counted from 0."""
    return "" if place == 0 else str(place + 1)


def heading(place: int, text: str) -> dict[str, Any]:
    """The name of a small chart, above it on the left."""
    name = suffix(place)
    return {
        "xref": f"x{name} domain",
        "yref": f"y{name} domain",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 5,
        "text": f"<b>{text}</b>",
        "font": {"size": 13},
        "showarrow": False,
    }
