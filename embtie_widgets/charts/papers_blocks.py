"""The numbers of a table in blocks that are drawn each on an axis of its own.

A full table has a block for each column, side by side with the same rows.  One with holes has a
block for each kind of row, "Frobenius norm: OLMo 1B", one above the other.
"""

import math
from dataclasses import dataclass
from statistics import median
from typing import Any

from embtie_widgets.charts.papers_view import words
from embtie_widgets.charts.stretched import axis, stretched
from embtie_widgets.results.papers import PaperItem, PaperNumber

_FULL = 0.5  # share of its places above which a table is a full one
_ALIKE = 5.0  # blocks whose largest numbers are within this factor share an axis
_UNLIKE = 100.0  # numbers so many times apart are stretched


@dataclass(frozen=True)
class Block:
    """Numbers on one axis, each beside its place among `rows`; `unit` is where the axis turns from
    their size to its logarithm, 0 where it does not."""

    title: str
    rows: tuple[str, ...]
    numbers: tuple[tuple[int, PaperNumber], ...]
    ends: tuple[float, float] = (0.0, 1.0)
    unit: float = 0.0

    def at(self, value: float | None) -> float | None:
        """Where a value stands on the axis."""
        return value if value is None or not self.unit else float(stretched(value, self.unit))

    @property
    def axis(self) -> dict[str, Any]:
        """The axis in plotly's terms."""
        low, high = self.ends
        if self.unit:
            return axis(low, high, self.unit)
        low = 0.0 if 0 < low < 0.5 * high else low
        air = 0.07 * ((high - low) or abs(high) or 1.0)
        return {"range": [low - air, high + air], "nticks": 5}


def blocks(item: PaperItem | None) -> tuple[list[Block], bool]:
    """The blocks, and whether they have rows in common, to stand side by side."""
    numbers = () if item is None else item.numbers
    rows = list(dict.fromkeys(words(number.row) for number in numbers))
    columns = {(number.column, number.unit) for number in numbers}
    full = not numbers or len(numbers) > _FULL * len(rows) * len(columns)
    found: dict[str, list[tuple[str, PaperNumber]]] = {}
    for number in numbers:
        title, row = _by_column(number) if full else _by_kind(number)
        found.setdefault(title, []).append((row, number))
    made = [_block(title, rows if full else [], placed) for title, placed in found.items()]
    return _scaled(made), full


def _by_column(number: PaperNumber) -> tuple[str, str]:
    title = f"{number.column}, {number.unit}" if number.unit else number.column
    return words(title), words(number.row)


def _by_kind(number: PaperNumber) -> tuple[str, str]:
    kind, _, row = number.row.rpartition(": ")
    unit = f", {number.unit}" if number.unit else ""
    return words(f"{kind}{unit}".removeprefix(", ")), words(f"{row}, {number.column}")


def _block(title: str, rows: list[str], placed: list[tuple[str, PaperNumber]]) -> Block:
    names = tuple(rows or dict.fromkeys(row for row, _ in placed))
    return Block(title, names, tuple((names.index(row), number) for row, number in placed))


def _scaled(made: list[Block]) -> list[Block]:
    """The same with their axes; blocks of numbers alike in unit and size have one in common."""
    values = [_values(block) for block in made]
    sizes = [max(map(abs, some), default=1.0) or 1.0 for some in values]
    units = [block.numbers[0][1].unit for block in made]
    found = []
    for place, block in enumerate(made):
        alike = [
            value
            for other, some in enumerate(values)
            if units[other] == units[place] and 1 / _ALIKE < sizes[other] / sizes[place] < _ALIKE
            for value in some
        ]
        ends = (min(alike, default=0.0), max(alike, default=1.0))
        found.append(Block(block.title, block.rows, block.numbers, ends, _turn(alike)))
    return found


def _turn(values: list[float]) -> float:
    """A power of ten near the smaller ones of numbers of very different sizes, else 0."""
    sizes = sorted(abs(value) for value in values if value)
    small = median(sizes[: max(len(sizes) // 2, 1)]) if sizes else 1.0
    apart = bool(sizes) and sizes[-1] / small > _UNLIKE
    return 10.0 ** math.floor(math.log10(small)) if apart else 0.0


def _values(block: Block) -> list[float]:
    found = [v for _, n in block.numbers for v in (*n.ends, n.value, n.floor) if v is not None]
    return [value for value in found if math.isfinite(value)]
