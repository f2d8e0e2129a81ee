"""The page's address and a panel: the address follows the panel, and a link sets the panel."""

from collections.abc import Callable
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.panels.fields import usable
from embtie_widgets.panels.state import PanelState
from embtie_widgets.requests.link import Link, bare, decode, encode
from embtie_widgets.widgets import CopyButton, LinkState

_TITLE = "A link that opens the page as it is: settings, view and, if they are few, chosen tokens"
_TOO_LONG = "these settings are too long for a link; Copy code carries them"
_NOT_HERE = "a notebook's address carries no settings; Copy code does, and so does a served page"
_NOT_YET = "the page has not told its address yet"


class PanelLink:
    """Reads the link that the page came with, once, and keeps address and Copy link current.

    `reopen` takes over what the link holds; one of another kind of request goes to `elsewhere`.
    Where `named` holds, the address names the panel even when all else is as it opens.
    """

    elsewhere: Callable[[Link], None] | None = None
    named = False

    def __init__(
        self,
        state: PanelState,
        reopen: Callable[[Link], None],
        callback: Callable[[Callable[..., Any]], Callable[..., None]],
    ) -> None:
        self._state, self._reopen, self._came, self._served = state, reopen, False, True
        self.page = LinkState()
        self.copy = CopyButton(label="Copy link", title=_TITLE).add_class("ep-link")
        usable(self.copy, _NOT_YET)
        self.page.observe(callback(lambda _: self._opened()), "page")
        state.observe(
            callback(lambda _: self._follow()),
            ["request", "answered", "preview_of", "selection", "view", "wanted"],
        )

    def _opened(self) -> None:
        """The page has said where it is.  A link that cannot be read is told; then the default."""
        served = self.page.page.get("host") != "lab"
        self._served = served
        first, self._came = not self._came, True
        try:
            reads = first and served and not self.named  # the first panel has read it for all
            link = decode(self.page.page.get("query", "")) if reads else None
            if link is not None and isinstance(link.request, type(self._state.request)):
                self._reopen(link)
            elif link is not None and self.elsewhere is not None:
                self.elsewhere(link)
        finally:
            self._follow()

    def hand_over(self, link: Link) -> None:
        """Take over a link that another panel has read."""
        self._came = True
        self._reopen(link)

    def _follow(self) -> None:
        if not self._came:
            return
        why_not = "" if self._served else _NOT_HERE
        try:
            query = self._query()
        except EmbtieError:
            query, why_not = "", why_not or _TOO_LONG
        self.page.query = query or (bare(self._state.shared) if self.named else "")
        usable(self.copy, why_not)
        self.copy.text = self.page.url

    def _query(self) -> str:
        shown, wanted = self._state, self._state.wanted
        if wanted is not None:
            return encode(wanted.request, wanted.tokens, wanted.view)
        return encode(shown.shared, shown.selection, shown.view)
