"""The tokens of a result as table pages: searched, sorted and cut here, not in the browser."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from embtie_widgets.charts.columns import Column, Columns, Vector, positions
from embtie_widgets.charts.index import index_of
from embtie_widgets.results import display_token


@dataclass(frozen=True)
class Page:
    """One page: rows of token id and column values, the tokens found in all, and which page."""

    rows: list[list[Any]]
    shown: int
    page: int


class TokenRows:
    """The tokens of one result; a token's id is its place in `result.tokens`."""

    def __init__(self, columns: Columns) -> None:
        self._tokens = columns.tokens
        self._columns = {column.name: column for column in columns.at("table")}
        self.total = len(columns.tokens)
        self._orders: dict[tuple[str, bool], Vector] = {}

    @property
    def columns(self) -> list[dict[str, str]]:
        """Name, label and kind of each column, in the order shown."""
        token = {"name": "token", "label": "token", "kind": "text"}
        return [token, *map(_column, self._columns.values())]

    def page(
        self,
        sort: str,
        descending: bool,
        page: int,
        size: int,
        found: Collection[int] | None = None,
        only: Collection[int] | None = None,
    ) -> Page:
        """The asked page, or the last one there is; an unknown sort column means stored order.

        Tokens stand there that are among both `found` and `only`, where these are given.
        """
        ids = self._order(sort, descending)
        for kept in (found, only):
            if kept is not None:
                ids = ids[self._among(positions(kept, self.total))[ids]]
        last = max(0, (len(ids) - 1) // size)
        page = min(max(page, 0), last)
        here = ids[page * size : (page + 1) * size]
        return Page([self._row(int(i)) for i in here], len(ids), page)

    def hits(self, query: str) -> Vector:
        """The ids of the tokens whose text, or its visible form, holds `query` in any case."""
        return index_of(self._tokens).find(query)

    def prepare(self) -> None:
        """Make what searching and sorting by text need, before somebody asks."""
        index_of(self._tokens)

    def _among(self, ids: Vector) -> Vector:
        flags = np.zeros(self.total, bool)
        flags[ids] = True
        return flags

    def _order(self, sort: str, descending: bool) -> Vector:
        if (sort, descending) not in self._orders:
            self._orders[sort, descending] = self._sorted(sort, descending)
        return self._orders[sort, descending]

    def _sorted(self, sort: str, descending: bool) -> Vector:
        if sort == "token":
            texts = index_of(self._tokens).shown
            order = np.array(sorted(range(self.total), key=texts.__getitem__), dtype=int)
            return order[::-1] if descending else order
        if sort not in self._columns:
            return np.arange(self.total)
        column = self._columns[sort]
        if column.kind == "text":
            # As whole numbers, so that equal texts keep their order either way.
            values = np.unique(column.values.astype(str), return_inverse=True)[1]
        else:
            values = column.values.astype(float)
        return np.argsort(-values if descending else values, kind="stable")

    def _row(self, i: int) -> list[Any]:
        numbers = (column.text(i) for column in self._columns.values())
        return [i, display_token(self._tokens[i]), *numbers]


def _column(column: Column) -> dict[str, str]:
    known = {"name": column.name, "label": column.head or column.label, "kind": column.kind}
    return known | ({"title": column.tooltip} if column.tooltip else {})
