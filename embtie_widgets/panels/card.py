"""The card of the clicked token: what is known of it, and its neighbours in every space."""

from collections.abc import Callable
from typing import Any

from embtie_widgets.charts.columns import Columns, neighbour_lists
from embtie_widgets.errors import EmbtieError
from embtie_widgets.widgets import TokenCard
from embtie_widgets.widgets.card import MAX_ROWS

_HINT = "Click a point or a table row to see the token and its neighbours in every matrix."
_FACTS_HINT = "Click a point or a table row to see all that is known of the token."
_MARKS = "● stands in every list, ○ in two of them."
Ask = Callable[[Any, int, Callable[[Any], None], Callable[[Any], None]], None]


class CardView:
    """A TokenCard filled in two steps: facts at once, neighbours when a worker has them.

    `ask(request, place, answer, failed)` finds them: `answer` takes what has `neighbours`, lists of
    (place, similarity or distance) by matrix name; `legend(request)` says how they were found.
    Where `ask` is None, as for a result without matrices, the facts are all.
    """

    def __init__(
        self,
        ask: Ask | None,
        legend: Callable[[Any], str],
        later: Callable[[Callable[..., Any]], Callable[..., None]],
    ) -> None:
        self.card = TokenCard(hint=_FACTS_HINT if ask is None else _HINT)
        self._ask, self._legend, self._later = ask, legend, later
        self._asked: object = None
        self.place = -1

    def show(self, request: Any, columns: Columns, place: int) -> None:
        """Show the token at `place` of the result that `request` has given; -1 or a place beyond
        the last token for none."""
        self.place = place = place if 0 <= place < len(columns.tokens) else -1
        self._asked = asked = object()
        with self.card.hold_sync():
            self.card.token, self.card.note = columns.spelled(place) if place >= 0 else ("", "")
            self.card.facts = columns.facts(place) if place >= 0 else []
            self.card.lists, self.card.clicked = [], -1
            asks = place >= 0 and self._ask is not None
            self.card.status = "Finding neighbours…" if asks else ""
        if place >= 0 and self._ask is not None:
            answer = self._later(lambda found: self._fill(asked, request, columns, found))
            failed = self._later(lambda error: self._fail(asked, error))
            self._ask(request, place, answer, failed)

    def _fill(self, asked: object, request: Any, columns: Columns, found: Any) -> None:
        if asked is not self._asked:
            return
        lists = neighbour_lists(columns.tokens, found.neighbours)
        cut = any(len(one["rows"]) > MAX_ROWS for one in lists)
        with self.card.hold_sync():
            self.card.lists = [{**one, "rows": one["rows"][:MAX_ROWS]} for one in lists]
            shown = f" The first {MAX_ROWS} are shown." if cut else ""
            self.card.status = f"{self._legend(request)}{shown} {_MARKS}"

    def _fail(self, asked: object, error: EmbtieError) -> None:
        if asked is self._asked:
            self.card.status = f"The neighbours could not be found. {error.message} {error.hint}"
