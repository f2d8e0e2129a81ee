"""Groups of tokens in a panel: a filter that joins the search, and the means of each group."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import ipywidgets as w

from embtie_widgets.charts.groups import choices, group_table, members
from embtie_widgets.panels.fields import card, labelled
from embtie_widgets.panels.state import PanelState, ids_of
from embtie_widgets.panels.words import escape
from embtie_widgets.results import TokenResult
from embtie_widgets.results.groups import BY_FREQUENCY, BY_KIND
from embtie_widgets.widgets import GroupTable

Callbacks = Callable[[Callable[..., Any]], Callable[..., None]]
_UNKNOWN = {
    BY_KIND: "No tokens are known for this pair.",
    BY_FREQUENCY: "No token counts are known for this pair.",
}
_ASKS = ' <span class="ep-click">Click a row to find its tokens everywhere.</span>'


class GroupFilter:
    """A control that keeps `state.kind`, the group that a search is held to.

    It is not on the page where a result has no groups, unless a group is chosen all the same.
    """

    def __init__(self, state: PanelState, callback: Callbacks) -> None:
        self._state, self._following = state, False
        self._result: TokenResult | None = None
        self._found: frozenset[int] | None = None
        self.control = labelled(
            w.Dropdown(description="kind of token", options=choices(None)),
            "Search among the tokens of one kind or frequency, and light them up in every chart",
        ).add_class("ep-kind")
        self._follow()
        self.control.observe(callback(lambda _: self._chose()), "value")
        state.observe(callback(lambda _: self._follow()), "kind")

    def draw(self, result: TokenResult) -> None:
        """Offer the groups of another result; the chosen one stays."""
        self._result = result
        self._follow()

    def found(self) -> frozenset[int] | None:
        """The tokens of the chosen group; None where none is chosen."""
        return self._found

    def _follow(self) -> None:
        kind, result = self._state.kind, self._result
        self._found = ids_of(members(result, kind)) if kind and result is not None else None
        offered = choices(result, kind)
        self._following = True
        try:
            if list(self.control.options) != offered:
                self.control.options = offered
            self.control.value = kind
        finally:
            self._following = False
        self.control.layout.display = "" if len(offered) > 1 else "none"

    def _chose(self) -> None:
        if not self._following:
            self._state.kind = self.control.value


class GroupMeans:
    """What each group of tokens scores on average, a card for kinds and one for frequencies.

    `score` says in words what is averaged, over the `counted`.  A click on a group holds the search
    to it.
    """

    def __init__(
        self, state: PanelState, callback: Callbacks, score: str, counted: str = "tokens"
    ) -> None:
        self._state, self._counted = state, counted
        self.tables = {
            heading: GroupTable(heading=heading, label=f"{score} by {heading}")
            for heading in (BY_KIND, BY_FREQUENCY)
        }
        self.notes = {heading: w.HTML() for heading in self.tables}
        self._told = f"{score}, with 95 % intervals from 30 {counted} on."
        for table in self.tables.values():
            table.observe(callback(lambda change: self._chose(change["new"])), "chosen")
        state.observe(callback(lambda _: self._follow()), "kind")

    @cached_property  # a panel that hides them hides those that are on the page
    def cards(self) -> list[w.Widget]:
        """Both tables, each under its title."""
        titles = {BY_KIND: "By kind of token", BY_FREQUENCY: "By token frequency"}
        return [card(titles[name], self.notes[name], self.tables[name]) for name in titles]

    def draw(self, result: TokenResult) -> None:
        """Show the groups of another result."""
        for heading, table in self.tables.items():
            known = group_table(result, heading, self._counted)
            with table.hold_sync():
                table.columns, table.rows = known["columns"], known["rows"]
            table.layout.display = "" if known["rows"] else "none"
            text = escape(self._told) + _ASKS if known["rows"] else escape(_UNKNOWN[heading])
            self.notes[heading].value = f"<p class='ep-quiet'>{text}</p>"
        self._follow()

    def _follow(self) -> None:
        for table in self.tables.values():
            table.chosen = self._state.kind

    def _chose(self, name: str) -> None:
        self._state.kind = name
