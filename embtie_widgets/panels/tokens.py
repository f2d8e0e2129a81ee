"""The token table of a panel: its pages come from the result, its selection is the panel's."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from embtie_widgets.charts.columns import Columns
from embtie_widgets.charts.tokens import TokenRows
from embtie_widgets.jobs.runner import quick_executor
from embtie_widgets.panels.groups import GroupFilter
from embtie_widgets.panels.state import PanelState, ids_of
from embtie_widgets.results import TokenResult
from embtie_widgets.widgets import TokenTable

_LONGEST_QUERY = 200


class TokenView:
    """A TokenTable over the tokens of the result shown; what is chosen is the panel's state.

    `first_sort` names the columns to sort by at first, the next one where a result has not the one
    before.  What the table lists is what `state.found` holds and every chart lights up: the tokens
    that both the search and the `kind` of token leave.
    """

    def __init__(
        self,
        state: PanelState,
        callback: Callable[[Callable[..., Any]], Callable[..., None]],
        first_sort: Sequence[str],
    ) -> None:
        self.table = TokenTable(descending=True)
        self.kind = GroupFilter(state, callback)
        self._state, self._first_sort = state, first_sort
        self._rows: TokenRows | None = None
        self._drawing = False
        asked = ["sort", "descending", "page"]
        self.table.observe(callback(lambda _: self._asked()), asked)
        self.table.observe(callback(lambda _: self._searched()), "query")
        self.table.observe(callback(lambda _: self._picked()), "selected")
        self.table.on_clear(callback(self._cleared))
        state.observe(callback(lambda _: self.refresh()), "only")
        state.observe(callback(lambda _: self._search_ended()), "found")
        state.observe(callback(lambda _: self._held()), "kind")

    def draw(self, columns: Columns, result: TokenResult) -> None:
        """Show the tokens of another result; search, kind and sort stay."""
        self.kind.draw(result)
        self._rows = TokenRows(columns)
        quick_executor().submit(self._rows.prepare)
        self.table.columns = self._rows.columns
        names = [column["name"] for column in self._rows.columns]
        if self.table.sort not in names:
            self.table.sort = next((name for name in self._first_sort if name in names), "token")
        self._state.found = self._found()
        self.refresh()

    def refresh(self) -> None:
        """Fill the page that the table asks for."""
        if self._rows is None:
            return
        table, chosen = self.table, self._state.selection
        page = self._rows.page(
            table.sort,
            table.descending,
            table.page,
            table.page_size,
            found=self._state.found,
            only=chosen if self._state.only else None,
        )
        with self._quiet():
            table.show(
                page.rows,
                shown=page.shown,
                total=self._rows.total,
                status=self._status(page.shown),
                page=page.page,
                selected=[row[0] for row in page.rows if row[0] in chosen],
                nothing=self._nothing(),
            )

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """Change table and filters inside without answering to it."""
        before, self._drawing = self._drawing, True
        try:
            yield
        finally:
            self._drawing = before

    @property
    def _query(self) -> str:
        return str(self.table.query)[:_LONGEST_QUERY]

    def _status(self, shown: int) -> str:
        chosen = len(self._state.selection)
        total = 0 if self._rows is None else self._rows.total
        kind = "selected tokens" if self._state.only else "tokens"
        text = f"{total:,} tokens" if shown == total else f"{shown:,} of {total:,} tokens"
        if self._state.only:
            text = f"{shown:,} {kind}" if shown == chosen else f"{shown:,} of {chosen:,} {kind}"
        return text

    def _nothing(self) -> str:
        kind = self._state.kind
        if kind and not self.kind.found():
            return f"Of the group “{kind}” this result has no token."
        return f"No {'selected ' * self._state.only}token matches."

    def _found(self) -> frozenset[int] | None:
        """The tokens that every filter leaves; None while none is set."""
        left = [ids for ids in (self._hits(), self.kind.found()) if ids is not None]
        return frozenset.intersection(*left) if left else None

    def _hits(self) -> frozenset[int] | None:
        return ids_of(self._rows.hits(self._query)) if self._rows and self._query else None

    def _searched(self) -> None:
        if not self._drawing:
            self._state.found = self._found()
            self.refresh()

    def _held(self) -> None:
        """Search again, within another kind of token."""
        with self._quiet():
            self.table.page = 0
        self._searched()

    def _search_ended(self) -> None:
        """Empty every filter where something else has ended the search."""
        if self._state.found is None:
            with self._quiet():
                self.table.query = self._state.kind = ""

    def _asked(self) -> None:
        if not self._drawing:
            self.refresh()

    def _picked(self) -> None:
        if not self._drawing:
            self._state.selection = ids_of(self.table.merged(self._state.selection))

    def _cleared(self) -> None:
        self._state.selection = frozenset()
