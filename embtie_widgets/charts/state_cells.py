"""Heat maps whose cells are runs: a sign, a word and a wash of colour for each state of a run,
blocks one above the other, and a frame round the chosen cell.

States are words, the same for every kind of experiment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol

from embtie_widgets.charts.facets import suffix
from embtie_widgets.charts.figures import plain

SIGNS = {"diverged": "✕", "failed": "!", "missing": "–", "waiting": "…", "running": "▶"}
RED, _GREY, _FRAME = "214,69,69", "122,130,143", "#3b8fd6"
_WASH = {
    "diverged": 0.78,
    "failed": 0.3,
    "missing": 0.0,
    "waiting": 0.08,
    "running": 0.14,
    "done": 0.0,
}
_ROW, _GAP = 32, 58  # pixels


class Run(Protocol):
    """What a cell asks of its run."""

    @property
    def state(self) -> str:
        """Its state in a word."""

    @property
    def step(self) -> int:
        """How many steps are done."""

    @property
    def of(self) -> int:
        """Of how many."""


def state_words(run: Run) -> str:
    """What stands in the cell of a run that has no number."""
    if run.state == "done":
        return "no value"
    if run.state == "running":
        done = f"{100 * run.step / run.of:.0f} %" if run.of else "running"
        return f"{SIGNS['running']} {done}"
    return f"{SIGNS[run.state]} {run.state}"


def wash_of(state: str) -> int:
    """The number of a state, for the trace of states."""
    return list(_WASH).index(state)


def _washes() -> list[list[Any]]:
    """One colour for each state, without anything between two."""
    found: list[list[Any]] = []
    last = len(_WASH) - 1
    for place, (kind, strength) in enumerate(_WASH.items()):
        color = f"rgba({RED if kind == 'diverged' else _GREY},{strength})"
        ends = ((place - 0.5) / last, (place + 0.5) / last)
        found += [[min(max(end, 0), 1), color] for end in ends]
    return found


WASHED = {"zmin": 0, "zmax": len(_WASH) - 1, "colorscale": _washes(), "showscale": False}
"""What the trace of states has beside its cells."""


@dataclass(frozen=True)
class Stack:
    """The places of blocks one above the other; `rows` has the number of lines of each."""

    rows: tuple[int, ...]

    @property
    def inside(self) -> int:
        """Pixels of all blocks with the gaps between them."""
        return _ROW * sum(self.rows) + _GAP * (len(self.rows) - 1)

    @property
    def domains(self) -> list[list[float]]:
        """The share of each block in the height, from the top."""
        heights = [_ROW * many for many in self.rows]
        tops = accumulate((height + _GAP for height in heights[:-1]), initial=0)
        return [
            [max(1 - (top + height) / self.inside, 0), 1 - top / self.inside]
            for top, height in zip(tops, heights, strict=True)
        ]


def block_title(text: str, y: float) -> dict[str, Any]:
    """The name of a block, above it on the left."""
    return {
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": y,
        "xanchor": "left",
        "yanchor": "bottom",
        "yshift": 3,
        "text": f"<b>{plain(text)}</b>",
        "font": {"size": 13},
        "showarrow": False,
    }


def frame(place: int, row: int, column: int) -> dict[str, Any]:
    """Round a cell of a block."""
    name = suffix(place)
    return {
        "type": "rect",
        "xref": f"x{name}",
        "yref": f"y{name}",
        "x0": column - 0.5,
        "x1": column + 0.5,
        "y0": row - 0.5,
        "y1": row + 0.5,
        "line": {"width": 2.5, "color": _FRAME},
    }


def run_in(found: Sequence[Any], trace: int, place: tuple[int, ...]) -> Any | None:
    """The run in the cell that was clicked, of blocks with `rows` that have two traces each; a
    figure tells the trace, and row and column in it."""
    if len(place) != 2 or trace // 2 >= len(found):
        return None
    row, column = place
    rows = found[trace // 2].rows
    return rows[row][column] if row < len(rows) and column < len(rows[row]) else None
