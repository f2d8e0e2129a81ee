"""What is known of each token of a result, a column each: for axes, table, card and hover.

A kind of result brings its columns from its own chart module, as `columns(result)`; those that
any per-token result has are made here by `shared_columns`.  The views know columns alone.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from embtie_widgets.results import PairResult, TokenResult, display_token
from embtie_widgets.results.groups import kind_names

Vector = np.ndarray[Any, np.dtype[Any]]
Place = Literal["axis", "table", "card"]
# One list of neighbours by matrix name: (place of the token, similarity or distance).
Neighbours = Mapping[str, Sequence[tuple[int, float]]]
ROLE_OF = {"In": "input", "Out": "output", "Tied": "tied"}
EVERYWHERE: tuple[Place, ...] = ("axis", "table", "card")
_NOTHING = "no value"


@dataclass(frozen=True)
class Column:
    """Values of all tokens, (n,), and how they are drawn and written.

    name     what links and views call it by; stays from release to release
    label    its full name, for an axis and the card
    role     "input", "output", "tied" or "neutral", which decides the colour
    values   numbers, NaN where there is none; texts for the kind "text"
    lines    levels worth seeing on this axis: (value, label, "solid" or "dash")
    kind     "number", written as `format` says, "integer", or "text", which is never on an axis
    head     its name in the table, where that is shorter than the label
    tooltip  what the head of the table says on hover
    places   where it stands: "axis" (the scatter's), "table", "card" (and hover)
    """

    name: str
    label: str
    role: str
    values: Vector
    lines: tuple[tuple[float, str, str], ...] = ()
    kind: Literal["number", "integer", "text"] = "number"
    head: str = ""
    tooltip: str = ""
    format: str = ".3f"
    places: tuple[Place, ...] = EVERYWHERE

    @property
    def extent(self) -> Vector:
        """What must be on the axis: every value and every line."""
        return np.append(self.values, [value for value, *_ in self.lines])

    def references(self, axis: str) -> list[dict[str, Any]]:
        """The lines as a scatter takes them, on the axis "x" or "y"."""
        return [
            {"axis": axis, "value": value, "label": text, "style": style}
            for value, text, style in self.lines
        ]

    def text(self, i: int) -> str | None:
        """The value of the token at `i` as a table shows it; None where there is none."""
        value = self.values[i]
        if self.kind == "text":
            return str(value)
        if not np.isfinite(value):
            return None
        return f"{int(value):,}" if self.kind == "integer" else f"{value:{self.format}}"


class Columns:
    """The columns of one result, by name; a token's id is its place in `result.tokens`."""

    def __init__(self, result: TokenResult, columns: Iterable[Column]) -> None:
        self.tokens = result.tokens
        self.by_name = {column.name: column for column in columns}

    def at(self, place: Place) -> list[Column]:
        """The columns that stand at a place, in their order."""
        return [column for column in self.by_name.values() if place in column.places]

    @property
    def options(self) -> list[tuple[str, str]]:
        """Label and name of each axis, for a control that chooses one."""
        return [(column.label, column.name) for column in self._axes]

    def axis(self, *names: str, beside: str = "") -> Column:
        """The first of these axes that there is, else the first of all, of another one than
        stands `beside` it where there are two."""
        axes = {column.name: column for column in self._axes}
        others = [name for name in axes if name != beside]
        return axes[next(name for name in (*names, *others, beside) if name in axes)]

    def facts(self, i: int) -> list[list[str]]:
        """What is known of one token, as pairs of name and text."""
        return [[column.label, _signed(column.text(i))] for column in self.at("card")]

    def spelled(self, i: int) -> tuple[str, str]:
        """A token as it is read, whole unless it is absurdly long, and its bytes."""
        key = self.tokens[i]
        raw = "no token in this row" if key is None else f"{_many(len(key))}: {key[:40].hex(' ')}"
        return display_token(key, 2000), raw + ("…" if key is not None and len(key) > 40 else "")

    def describe(self, i: int) -> str:
        """A token in a few lines of plain text."""
        if not 0 <= i < len(self.tokens):
            return ""
        lines = [display_token(self.tokens[i])]
        return "\n".join(lines + [f"{name}: {value}" for name, value in self.facts(i)])

    @property
    def _axes(self) -> list[Column]:
        return [column for column in self.at("axis") if column.kind != "text"]


def _many(count: int) -> str:
    return "1 byte" if count == 1 else f"{count:,} bytes"


def shared_columns(result: PairResult) -> list[Column]:
    """The columns of any per-token result of a pair: frequency, length, and the rows in both
    models."""
    return [*_known(result), *_rows(result)]


def row_columns(result: TokenResult) -> list[Column]:
    """The same where a token's place among `result.tokens` is its row in every matrix."""
    rows = np.arange(len(result.tokens))
    row = Column("row", "row", "neutral", rows, kind="integer", places=("table", "card"))
    return [*_known(result), row]


def _known(result: TokenResult) -> list[Column]:
    return [*_kind(result), *_frequency(result), _length(result)]


def norm_columns(norms: Mapping[str, Vector]) -> list[Column]:
    """Row norms by matrix name, for axes and card."""
    return [
        Column(
            f"norm {name}",
            f"row norm of {name}",
            ROLE_OF.get(name, "neutral"),
            values,
            places=("axis", "card"),
        )
        for name, values in norms.items()
    ]


def levels(mean: float, floor: float | None) -> tuple[tuple[float, str, str], ...]:
    """The mean of a column, and what chance reaches, as lines of its axis."""
    lines = ((mean, f"mean {number(mean)}", "solid"),)
    return lines if floor is None else (*lines, (floor, f"chance {number(floor)}", "dash"))


def neighbour_lists(
    tokens: Sequence[bytes | None], found: Neighbours, places: int = 3
) -> list[dict[str, Any]]:
    """Neighbours by matrix as lists to show, each marked "all" where it stands in every list,
    "some" where in another one too; values have so many decimal places."""
    kept = [{i for i, _ in rows} for rows in found.values()]
    return [
        {
            "name": name,
            "role": ROLE_OF.get(name.partition(" ")[0], "neutral"),
            "rows": [
                [i, display_token(tokens[i], 24), number(value, places), _mark(i, kept)]
                for i, value in rows
            ],
        }
        for name, rows in found.items()
    ]


def positions(selection: Collection[int], n: int) -> Vector:
    """The chosen tokens among n as rising places; those beyond are passed over."""
    ids = np.fromiter(selection, np.int64, len(selection))
    return np.sort(ids[(ids >= 0) & (ids < n)])


def number(value: Any, places: int = 3) -> str:
    """A number with a real minus sign, "no value" for one that is not finite."""
    return _signed(f"{value:.{places}f}" if np.isfinite(value) else None)


def _signed(text: str | None) -> str:
    return _NOTHING if text is None else text.replace("-", "−")


def _mark(i: int, lists: list[set[int]]) -> str:
    holding = sum(i in one for one in lists)
    if holding == len(lists) > 1:
        return "all"
    return "some" if holding > 1 else ""


def _kind(result: TokenResult) -> list[Column]:
    if result.kinds is None:
        return []
    names = np.array(kind_names(result.kinds))
    return [Column("kind", "kind of token", "neutral", names, kind="text", places=("card",))]


def _frequency(result: TokenResult) -> list[Column]:
    if result.token_counts is None:
        return []
    counts = np.asarray(result.token_counts)
    logs, where = np.log10(counts.astype(float) + 1), "in the corpus of the model"
    label = "log10(count + 1) in the corpus"
    return [
        Column("log_count", label, "neutral", logs, places=("axis",)),
        Column(
            "count",
            "count in the corpus",
            "neutral",
            counts,
            kind="integer",
            head="count",
            tooltip=where,
            places=("table", "card"),
        ),
    ]


def _length(result: TokenResult) -> Column:
    lengths = (np.nan if key is None else len(key) for key in result.tokens)
    values = np.fromiter(lengths, float, len(result.tokens))
    return Column("bytes", "token length in bytes", "neutral", values, places=("axis",))


def _rows(result: PairResult) -> list[Column]:
    rows = (("row_a", "row in A", result.rows_a), ("row_b", "row in B", result.rows_b))
    return [
        Column(name, label, "neutral", values, kind="integer", places=("table", "card"))
        for name, label, values in rows
    ]
