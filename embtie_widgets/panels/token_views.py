"""The views of tokens that a panel about tokens has: scatter, card and table, one selection.

Whatever a result is about will do that is a `TokenResult`: the numbers come as columns.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import ipywidgets as w

from embtie_widgets.charts.columns import Column, Columns
from embtie_widgets.charts.sentences import on_lit
from embtie_widgets.panels.card import Ask, CardView
from embtie_widgets.panels.exports import Offer, stamping
from embtie_widgets.panels.fields import Setting, card
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.scatter import ScatterView
from embtie_widgets.panels.tokens import TokenView
from embtie_widgets.results import TokenResult, carried


class TokenViews:
    """Scatter, card and table of a `panel`, made in its `build_views`.

    `ask` (None for a card of facts alone) and `legend` are those of the card (`panels/card.py`);
    `first_x`, `first_y` and `first_sort` name columns for axes and order: the first one there is,
    of which the very first needs no word in a link.
    """

    def __init__(
        self,
        panel: Panel,
        ask: Ask | None,
        legend: Callable[[Any], str],
        first_x: Sequence[str],
        first_y: Sequence[str],
        first_sort: Sequence[str],
    ) -> None:
        self._state, self._first = panel.state, (first_x[0], first_y[0], first_sort[0])
        self._columns: Columns | None = None
        self.scatter = ScatterView(panel.state, panel.callback, first_x, first_y)
        self.tokens = TokenView(panel.state, panel.callback, first_sort)
        self.card = CardView(ask, legend, panel.later)
        shown = [panel.selection_bar, self.tokens.kind.control, self.tokens.table]
        self.cards: list[w.Widget] = [
            card("", self.scatter).add_class("ep-scatter"),
            card("Token", self.card.card).add_class("ep-token"),
            card("Tokens", *shown).add_class("ep-tokens"),
        ]
        for source in (self.scatter.scatter, self.tokens.table, self.card.card):
            source.observe(panel.callback(self._clicked), "clicked")
        panel.state.observe(panel.callback(self._keep_card), "result")

    @property
    def settings(self) -> Mapping[str, Setting]:
        """Axes and zoom; search, kind, order and page of the table; the token's card."""
        scatter, table, (x, y, sort) = self.scatter, self.tokens.table, self._first
        return {
            "x": Setting(scatter.x, "value", x),
            "y": Setting(scatter.y, "value", y),
            "zoom": Setting(scatter.scatter, "view", []),
            "find": Setting(table, "query", ""),
            "kind": Setting(self._state, "kind", ""),
            "only": Setting(self._state, "only", False),
            "sort": Setting(table, "sort", sort),
            "down": Setting(table, "descending", True),
            "page": Setting(table, "page", 0),
            "token": Setting(table, "clicked", -1),
        }

    def picture_offer(self, caption: Callable[[Any], str]) -> Offer:
        """The scatter as a picture."""

        def begin(request: Any, result: Any, done: Any, failed: Any) -> None:
            said = caption(result)
            self.scatter.scatter.png(stamping(request, result, done), failed, caption=said)

        return Offer(
            "Scatter PNG",
            "The scatter as it is shown",
            "-scatter.png",
            "image/png",
            begin=begin,
            needs=lambda state: bool(getattr(state.result, "tokens", ())),
        )

    def with_lit(self, caption: Callable[[Any], str]) -> Callable[[Any], str]:
        """The caption of a picture, which shows what is selected now."""

        def said(result: Any) -> str:
            state = self._state
            return caption(result) + on_lit(len(state.lit), state.found is not None, state.kind)

        return said

    def draw(self, result: TokenResult, columns: Iterable[Column]) -> None:
        """Show the tokens of another result."""
        self._columns = known = Columns(result, columns)
        self.tokens.draw(known, result)
        self.scatter.draw(known)

    def refresh(self) -> None:
        """Light up what is chosen or found now."""
        self.tokens.refresh()
        self.scatter.refresh()

    def open_card(self, token: int) -> None:
        """Show the card of a token, and the token as clicked in scatter and table; -1 for none."""
        if self._state.result is None or self._columns is None:
            return
        self.card.show(self._state.answered, self._columns, token)
        self.scatter.scatter.clicked = self.tokens.table.clicked = self.card.place

    def _clicked(self, change: Any) -> None:
        token, emptied = change["new"], change["owner"] is self.card.card and change["new"] < 0
        if token != self.card.place and not emptied:
            self.open_card(token)

    def _keep_card(self, change: Any) -> None:
        """Keep the card on its token in another result."""
        if change["old"] is not None and self.card.place >= 0:
            kept = carried(change["old"].tokens, change["new"].tokens, [self.card.place])
            self.open_card(min(kept, default=-1))
