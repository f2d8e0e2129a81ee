"""The toggle between output matrices as stored and centred, and what it changes, side by side."""

from collections.abc import Callable, Sequence
from typing import Any

import ipywidgets as w

from embtie_widgets.charts.before_after import Change
from embtie_widgets.charts.sentences import label
from embtie_widgets.charts.theme import MATRICES, mark_of
from embtie_widgets.panels.fields import card, labelled
from embtie_widgets.panels.state import PanelState
from embtie_widgets.panels.words import escape, number, table

_HELP = (
    "Centred: the mean row is taken off every output matrix before anything is measured; the "
    "models stay as they are"
)
# What differs by no more is the rounding of 32-bit products.
_ROUNDING = 1e-5
_LEAST = 5e-4
_FLIP = "Turn the control “output matrices” to see the other side, and both side by side."


class BeforeAfter:
    """`toggle` edits `mu_centered` of a request; `card` says what can change, and shows the numbers
    before and after where the panel has seen both.

    The last whole result is kept with the one on the other side, so that turning back is no work:
    `at_hand`.  `changes(before, after)` and `reach(after)` are those of the kind
    (`charts/before_after.py`).
    """

    def __init__(
        self,
        state: PanelState,
        callback: Callable[[Callable[..., Any]], Callable[..., None]],
        changes: Callable[[Any, Any], Sequence[Change]],
        reach: Callable[[Any], str],
    ) -> None:
        self._state, self._changes, self._reach = state, changes, reach
        self._seen: dict[Any, Any] = {}
        options = [("As stored", False), ("Centred", True)]
        buttons = w.ToggleButtons(description="output matrices", options=options)
        self.toggle = labelled(buttons.add_class("ep-segments"), _HELP)
        self._text = w.HTML()
        self.card = card("Before and after centring", self._text).add_class("ep-before-after")
        self.card.layout.display = "none"
        state.observe(callback(lambda _: self._follow()), ["result", "answered", "preview_of"])

    def at_hand(self, request: Any) -> Any:
        """The result of this request, if it was the last one or is on its other side."""
        return self._seen.get(request)

    def is_other_side(self, request: Any) -> bool:
        """Whether what is shown is the whole result on the other side of this request."""
        return self._state.answers(request.other_side)

    def _follow(self) -> None:
        """Keep the result, and show it beside the other side's."""
        request, result = self._state.answered, self._state.result
        if request is None or self._state.preview_of is not None:
            self.card.layout.display = "none"
            return
        other = self._seen.get(request.other_side)
        self._seen = {request: result}
        if other is not None:
            self._seen[request.other_side] = other
        sides = (other, result) if request.mu_centered else (result, other)
        self._text.value = self._drawn(*sides)
        self.card.layout.display = "none" if sides[1] is None else ""

    def _drawn(self, before: Any, after: Any) -> str:
        if after is None:
            return ""
        said = f"<p>{escape(self._reach(after))}</p>"
        if before is None:
            return f"{said}<p class='ep-quiet'>{_FLIP}</p>"
        return said + _tables(self._changes(before, after))


def centred_words(request: Any) -> str:
    """What a sentence about a request's matrices adds where these are centred."""
    return ", output matrices without their mean row" if request.mu_centered else ""


def _tables(changes: Sequence[Change]) -> str:
    """One table for comparisons, one for matrices, one for two matrices: a column a measure."""
    found = []
    for kind in dict.fromkeys(map(_kind, changes)):
        cells = {(one.of, one.what): _cell(one) for one in changes if _kind(one) == kind}
        rows, columns = (list(dict.fromkeys(key)) for key in zip(*cells, strict=True))
        body = [[_named(of), *(cells.get((of, what), "–") for what in columns)] for of in rows]
        head = ["as stored → centred", *map(escape, columns)]
        found.append(table(head, body, f"before and after centring, by {kind}"))
    return "".join(found)


def _kind(change: Change) -> str:
    if "->" in change.of:
        return "comparison"
    return "two matrices" if "," in change.of else "matrix"


def _named(of: str) -> str:
    dots = "".join(map(_dot, of.split(", ")))
    return f"{dots}{escape(label(of.replace(', ', ' and ')))}"


def _cell(change: Change) -> str:
    """Both numbers and what lies between; one where they are the same."""
    if abs(change.difference) <= _ROUNDING:
        return f"{_shown(change.after)} <small>unchanged</small>"
    both = f"{_shown(change.before)} → {_shown(change.after)}"
    return f"{both} <small>{_signed(change.difference)}</small>"


def _dot(name: str) -> str:
    color = (MATRICES[name] if name in MATRICES else mark_of(name)).color
    return f'<span class="ep-dot" style="background:{color}"></span>'


def _shown(value: float) -> str:
    return number(value if value == value else None)  # NaN, of which nothing is known


def _signed(value: float) -> str:
    if value != value:
        return ""
    if abs(value) < _LEAST:
        return "by less than 0.001"
    return f"+{number(value)}" if value > 0 else number(value)
