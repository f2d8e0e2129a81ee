"""The card of the clicked token: what is known of it, and its neighbours in every space."""

from collections.abc import Callable
from typing import Any

from embtie_widgets.charts.columns import card_facts, neighbour_lists, spelled
from embtie_widgets.errors import EmbtieError
from embtie_widgets.results import PairAlignment
from embtie_widgets.widgets import TokenCard

_HINT = "Click a point or a table row to see the token and its neighbours in every matrix."
_LEGEND = "Ten nearest of the matched tokens by cosine; ● stands in every list. Click one to go on."
Ask = Callable[[Any, int, Callable[[Any], None], Callable[[Any], None]], None]


class CardView:
    """A TokenCard filled in two steps: facts at once, neighbours when a worker has them."""

    def __init__(
        self, ask: Ask, later: Callable[[Callable[..., Any]], Callable[..., None]]
    ) -> None:
        self.card = TokenCard(hint=_HINT)
        self._ask, self._later = ask, later
        self.place = -1

    def show(self, request: Any, result: PairAlignment, place: int) -> None:
        """Show the token at `place`; -1 or a place beyond the last token for none."""
        self.place = place = place if 0 <= place < len(result.tokens) else -1
        with self.card.hold_sync():
            self.card.token, self.card.note = spelled(result, place) if place >= 0 else ("", "")
            self.card.facts = card_facts(result, place) if place >= 0 else []
            self.card.lists, self.card.clicked = [], -1
            self.card.status = "Finding neighbours…" if place >= 0 else ""
        if place >= 0:
            answer = self._later(lambda found: self._fill(result, place, found))
            failed = self._later(lambda error: self._fail(place, error))
            self._ask(request, place, answer, failed)

    def _fill(self, result: PairAlignment, place: int, found: Any) -> None:
        if place != self.place:
            return
        with self.card.hold_sync():
            self.card.lists = neighbour_lists(result, found.neighbours)
            self.card.status = _LEGEND

    def _fail(self, place: int, error: EmbtieError) -> None:
        if place == self.place:
            self.card.status = f"The neighbours could not be found. {error.message} {error.hint}"
