"""The place in a panel where it says what went wrong and what to do next."""

import ipywidgets as w

from embtie_widgets.errors import EmbtieError
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
