"""The places in a panel where it says what went wrong, and what its result does not answer."""

import ipywidgets as w

from embtie_widgets.errors import EmbtieError
from embtie_widgets.panels.state import PanelState
from embtie_widgets.panels.words import escape

_GROWING, _LEFT = ", the rest is under way.", "; press Run to go on."


class Notice(w.HTML):
    """One message with its next step, and details to open where there are any."""

    def __init__(self) -> None:
        super().__init__()
        self.add_class("ep-notice")

    def show(self, error: EmbtieError, details: str = "") -> None:
        """Say what failed; `details` hold neither paths nor tokens."""
        more = f"<details><summary>Details</summary><pre>{escape(details)}</pre></details>"
        self.value = (
            f'<div class="ep-alert" role="alert"><strong>{escape(error.message)}</strong> '
            f"<span>{escape(error.hint)}</span>{more if details else ''}</div>"
        )

    def clear(self) -> None:
        """Say nothing."""
        self.value = ""


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
    """What the result shown is of; nothing while something runs that would change it."""
    if not state.stale or state.phase != "idle":
        return ""
    if state.wanted is not None:
        return "The result of this link is not here yet: press Run to make it."
    preview = "unfinished result" if state.unfinished else "preview"
    shown = "result" if state.preview_of is None else preview
    return f"This {shown} is of other settings: press Run for the new ones."
