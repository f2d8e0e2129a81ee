"""The places in a panel where it says what went wrong, and what its result does not answer."""

import ipywidgets as w

from embtie_widgets.errors import EmbtieError
from embtie_widgets.panels.state import PanelState
from embtie_widgets.panels.words import escape
from embtie_widgets.widgets import Notices

_GROWING, _LEFT = ", the rest is under way.", "; press Run to go on."


class Notice(Notices):
    """What fails in one part of a page, with its next step, and details to open where there are
    any; the page says it in one place, and keeps it there when another tab is opened."""

    def show(self, error: EmbtieError, details: str = "") -> None:
        """Say what failed; `details` hold neither paths nor tokens."""
        self.tell(error.message, error.hint, details)


class Outdated(w.HTML):
    """A line above a result that is not, or not yet, what the controls or a link ask for, or that
    was not computed here.  `words` is the same as plain text."""

    words = ""

    def __init__(self) -> None:
        super().__init__()
        self.add_class("ep-outdated")

    def show(self, state: PanelState, part: str) -> None:
        """Say so while it holds; `part` says on how much of the whole a preview rests."""
        text = _preview_words(state, part) if state.previewing else _stale_words(state)
        self.words = " ".join(filter(None, (state.origin, text)))
        self.value = f'<p role="status">{escape(self.words)}</p>' if self.words else ""


def _preview_words(state: PanelState, part: str) -> str:
    if state.unfinished:
        return f"Not finished: {part}{_GROWING if state.phase == 'running' else _LEFT}"
    if state.phase == "running":
        return f"Preview: {part}, the exact one is under way."
    return f"Preview: {part}; press Run for the exact one."


def _stale_words(state: PanelState) -> str:
    """What the result shown is of; nothing while something runs that would change it, but for a
    link, whose reader has not seen the settings change."""
    if not state.stale or (state.phase != "idle" and state.wanted is None):
        return ""
    if state.phase != "idle":
        return "This result is of other settings; that of the link is on its way."
    if state.wanted is not None:
        return "The result of this link is not here yet: press Run to make it."
    preview = "unfinished result" if state.unfinished else "preview"
    shown = "result" if state.preview_of is None else preview
    return f"This {shown} is of other settings: press Run for the new ones."
