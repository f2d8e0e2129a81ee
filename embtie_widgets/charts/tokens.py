"""The tokens of a result as table pages: searched, sorted and cut here, not in the browser."""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from embtie_widgets.charts.columns import positions
from embtie_widgets.charts.index import index_of
from embtie_widgets.charts.sentences import label
from embtie_widgets.charts.theme import COMPARISONS
from embtie_widgets.results import PairAlignment, display_token


@dataclass(frozen=True)
class Page:
    """One page: rows of token id and column values, the tokens found in all, and which page."""

    rows: list[list[Any]]
    shown: int
    page: int


class TokenRows:
    """The tokens of one result; a token's id is its place in `result.tokens`."""

    def __init__(self, result: PairAlignment) -> None:
        self._result = result
        self.total = len(result.tokens)
        self._orders: dict[tuple[str, bool], np.ndarray[Any, Any]] = {}

    @cached_property
    def columns(self) -> list[dict[str, str]]:
        """Name, label and kind of each column, in the order shown."""
        found: list[dict[str, str]] = [_column("token", "token", "text")]
        found += [
            _column(name, label(name), "number", "cosine, map fitted on all tokens")
            for name in COMPARISONS
            if name in self._result.comparisons
        ]
        if self._result.token_counts is not None:
            found.append(_column("count", "count", "integer", "in the corpus of the model"))
        rows = (("row_a", "row in A"), ("row_b", "row in B"))
        return found + [_column(name, text, "integer") for name, text in rows]

    def page(
        self,
        query: str,
        sort: str,
        descending: bool,
        page: int,
        size: int,
        only: Collection[int] | None = None,
    ) -> Page:
        """The asked page, or the last one there is; an unknown sort column means stored order.

        `only` keeps the tokens with these ids.
        """
        found = self._order(sort, descending)
        if only is not None:
            found = found[self._among(positions(only, self.total))[found]]
        if query:
            found = found[self._among(self.hits(query))[found]]
        last = max(0, (len(found) - 1) // size)
        page = min(max(page, 0), last)
        ids = found[page * size : (page + 1) * size]
        return Page([self._row(int(i)) for i in ids], len(found), page)

    def hits(self, query: str) -> np.ndarray[Any, Any]:
        """The ids of the tokens whose text, or its visible form, holds `query` in any case."""
        return index_of(self._result.tokens).find(query)

    def prepare(self) -> None:
        """Make what searching and sorting by text need, before somebody asks."""
        index_of(self._result.tokens)

    def _among(self, ids: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        flags = np.zeros(self.total, bool)
        flags[ids] = True
        return flags

    @cached_property
    def _values(self) -> dict[str, np.ndarray[Any, Any]]:
        result = self._result
        values = {name: part.cosine for name, part in result.comparisons.items()}
        if result.token_counts is not None:
            values["count"] = result.token_counts
        return values | {"row_a": result.rows_a, "row_b": result.rows_b}

    def _order(self, sort: str, descending: bool) -> np.ndarray[Any, Any]:
        if (sort, descending) not in self._orders:
            self._orders[sort, descending] = self._sorted(sort, descending)
        return self._orders[sort, descending]

    def _sorted(self, sort: str, descending: bool) -> np.ndarray[Any, Any]:
        if sort == "token":
            texts = index_of(self._result.tokens).shown
            order = np.array(sorted(range(self.total), key=texts.__getitem__), dtype=int)
            return order[::-1] if descending else order
        if sort not in self._values:
            return np.arange(self.total)
        values = self._values[sort].astype(float)
        return np.argsort(-values if descending else values, kind="stable")

    def _row(self, i: int) -> list[Any]:
        numbers = [self._values[column["name"]][i] for column in self.columns[1:]]
        text = display_token(self._result.tokens[i])
        return [i, text, *(_shown(value) for value in numbers)]


def _shown(value: Any) -> str | None:
    if np.issubdtype(type(value), np.integer):
        return f"{value:,}"
    return f"{value:.3f}" if np.isfinite(value) else None


def _column(name: str, text: str, kind: str, title: str = "") -> dict[str, str]:
    return {"name": name, "label": text, "kind": kind, **({"title": title} if title else {})}
