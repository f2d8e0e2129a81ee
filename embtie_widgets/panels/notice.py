"""The places in a panel where it says what went wrong, and what its result does not answer."""

import ipywidgets as w

from embtie_widgets.errors import EmbtieError
from embtie_widgets.panels.state import PanelState
from embtie_widgets.panels.words import escape


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
    """A line above a result that is not what the controls, or a link, ask for."""

    def __init__(self) -> None:
        super().__init__()
        self.add_class("ep-outdated")

    def show(self, state: PanelState) -> None:
        """Say so while it holds and nothing runs that would change it."""
        if not state.stale or state.phase != "idle":
            self.value = ""
        elif state.wanted is not None:
            self.value = _line("The result of this link is not here yet: press Run to make it.")
        else:
            self.value = _line("This result is of other settings: press Run for the new ones.")


def _line(text: str) -> str:
    return f'<p role="status">{escape(text)}</p>'
