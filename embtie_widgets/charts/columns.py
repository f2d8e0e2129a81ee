"""What a per-token chart can put on an axis: one column of numbers for each, with its lines."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from embtie_widgets.charts.sentences import label
from embtie_widgets.charts.theme import COMPARISONS
from embtie_widgets.results import PairAlignment, display_token

Vector = np.ndarray[Any, np.dtype[Any]]
_ROLE_OF = {"In": "input", "Out": "output", "Tied": "tied"}


@dataclass(frozen=True)
class Column:
    """Numbers of all tokens, (n,), NaN where there is none, and how they are written and drawn.

    `lines` are levels worth seeing on this axis: (value, label, "solid" or "dash").
    """

    name: str
    label: str
    role: str
    values: Vector
    lines: tuple[tuple[float, str, str], ...] = ()

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


class Columns:
    """The columns of one result, by name; a token's id is its place in `result.tokens`."""

    def __init__(self, result: PairAlignment) -> None:
        self._result = result

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """Every column that this result has, cosines first."""
        found = [*self._cosines(), *self._frequency(), *self._norms(), self._length()]
        return {column.name: column for column in found}

    @property
    def options(self) -> list[tuple[str, str]]:
        """Label and name of each, for a control that chooses one."""
        return [(column.label, column.name) for column in self.by_name.values()]

    def get(self, *names: str) -> Column:
        """The first of these columns that there is, else the first of all."""
        known = next((name for name in names if name in self.by_name), None)
        return self.by_name[known] if known else next(iter(self.by_name.values()))

    def describe(self, i: int) -> str:
        """A token in a few lines of plain text."""
        if not 0 <= i < len(self._result.tokens):
            return ""
        lines = [display_token(self._result.tokens[i])]
        lines += [f"{name}: {value}" for name, value in facts(self._result, i)]
        return "\n".join(lines)

    def _cosines(self) -> list[Column]:
        return [
            Column(
                name,
                f"cosine {label(name)}",
                {"Out->Tied": "output", "In->Tied": "input"}.get(name, "neutral"),
                part.cosine,
                tuple(_levels(part.mean, part.floor_mean)),
            )
            for name in COMPARISONS
            if (part := self._result.comparisons.get(name)) is not None
        ]

    def _frequency(self) -> list[Column]:
        counts = self._result.token_counts
        if counts is None:
            return []
        values = np.log10(np.asarray(counts, float) + 1)
        return [Column("log_count", "log10(count + 1) in the corpus", "neutral", values)]

    def _norms(self) -> list[Column]:
        return [
            Column(f"norm {name}", f"row norm of {name}", _ROLE_OF.get(name, "neutral"), values)
            for name, values in self._result.norms.items()
        ]

    def _length(self) -> Column:
        tokens = self._result.tokens
        lengths = (np.nan if key is None else len(key) for key in tokens)
        values = np.fromiter(lengths, float, len(tokens))
        return Column("bytes", "token length in bytes", "neutral", values)


def facts(result: PairAlignment, i: int) -> list[tuple[str, str]]:
    """What is known of one token, as pairs of name and text."""
    found = [
        (f"cosine {label(name)}", _number(result.comparisons[name].cosine[i]))
        for name in COMPARISONS
        if name in result.comparisons
    ]
    if result.token_counts is not None:
        found.append(("count in the corpus", f"{int(result.token_counts[i]):,}"))
    found += [(f"norm {name}", _number(values[i])) for name, values in result.norms.items()]
    return [
        *found,
        ("row in A", f"{int(result.rows_a[i]):,}"),
        ("row in B", f"{int(result.rows_b[i]):,}"),
    ]


def spelled(result: PairAlignment, i: int) -> tuple[str, str]:
    """A token as it is read, whole unless it is absurdly long, and its bytes."""
    key = result.tokens[i]
    raw = "no token in this row" if key is None else f"{len(key)} bytes: {key[:40].hex(' ')}"
    return display_token(key, 2000), raw + ("…" if key is not None and len(key) > 40 else "")


def card_facts(result: PairAlignment, i: int) -> list[list[str]]:
    """The facts of one token as a card takes them."""
    return [list(pair) for pair in facts(result, i)]


def neighbour_lists(
    result: PairAlignment, found: Mapping[str, Sequence[tuple[int, float]]]
) -> list[dict[str, Any]]:
    """Neighbours (place, cosine) by matrix as lists to show, marked where every list has them."""
    common = (
        set.intersection(*({i for i, _ in rows} for rows in found.values())) if found else set()
    )
    return [
        {
            "name": name,
            "role": _ROLE_OF.get(name, "neutral"),
            "rows": [
                [i, display_token(result.tokens[i], 24), _number(value), i in common]
                for i, value in rows
            ],
        }
        for name, rows in found.items()
    ]


def positions(selection: Collection[int], n: int) -> Vector:
    """The chosen tokens among n as rising places; those beyond are passed over."""
    ids = np.fromiter(selection, np.int64, len(selection))
    return np.sort(ids[(ids >= 0) & (ids < n)])


def _levels(mean: float, floor: float | None) -> list[tuple[float, str, str]]:
    lines = [(mean, f"mean {_number(mean)}", "solid")]
    return lines if floor is None else [*lines, (floor, f"chance {_number(floor)}", "dash")]


def _number(value: Any) -> str:
    return f"{value:.3f}".replace("-", "−") if np.isfinite(value) else "no value"
