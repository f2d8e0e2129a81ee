"""The token table of a panel: its pages come from the result, its selection is the panel's."""

from collections.abc import Callable
from typing import Any

from embtie_widgets.charts.tokens import TokenRows
from embtie_widgets.results import PairAlignment
from embtie_widgets.widgets import TokenTable

_FIRST_SORTS = ("count", "Out->Tied")


class TokenView:
    """A TokenTable over the tokens of the result shown."""

    def __init__(
        self,
        selection: Callable[[], frozenset[int]],
        select: Callable[[set[int]], None],
        callback: Callable[[Callable[..., Any]], Callable[..., None]],
    ) -> None:
        self.table = TokenTable(descending=True)
        self._rows: TokenRows | None = None
        self._selection, self._select, self._drawing = selection, select, False
        asked = ["query", "sort", "descending", "page"]
        self.table.observe(callback(lambda _: self._asked()), asked)
        self.table.observe(callback(lambda _: self._picked()), "selected")

    def draw(self, result: PairAlignment) -> None:
        """Show the tokens of another result; search and sort stay."""
        self._rows = TokenRows(result)
        self.table.columns = self._rows.columns
        names = [column["name"] for column in self._rows.columns]
        if self.table.sort not in names:
            self.table.sort = next((name for name in _FIRST_SORTS if name in names), "token")
        self.refresh()

    def refresh(self) -> None:
        """Fill the page that the table asks for."""
        if self._rows is None:
            return
        table = self.table
        page = self._rows.page(
            table.query, table.sort, table.descending, table.page, table.page_size
        )
        self._drawing = True
        try:
            table.show(
                page.rows,
                shown=page.shown,
                total=self._rows.total,
                status=self._status(page.shown),
                page=page.page,
                selected=self._selection(),
            )
        finally:
            self._drawing = False

    def _status(self, shown: int) -> str:
        chosen = len(self._selection())
        total = 0 if self._rows is None else self._rows.total
        text = f"{total:,} tokens" if shown == total else f"{shown:,} of {total:,} tokens"
        return f"{text}, {chosen:,} selected" if chosen else text

    def _asked(self) -> None:
        if not self._drawing:
            self.refresh()

    def _picked(self) -> None:
        if not self._drawing:
            self._select(self.table.merged(self._selection()))
