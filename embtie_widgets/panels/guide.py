"""The head of a panel: its title, its question, and the guide that its "?" opens in the page."""

from collections.abc import Callable
from typing import Any

import ipywidgets as w

from embtie_widgets import guide
from embtie_widgets.panels.words import head
from embtie_widgets.widgets import DisclosureButton


class Head(w.VBox):
    """A title, its lead, and the guide of a kind of request where there is one; below it stands how
    the page is used by keys.

    The guide's text is made when it is first asked for; until then it costs nothing.
    """

    def __init__(self, title: str, lead: str, kind: str, callback: Callable[..., Any]) -> None:
        self._kind = kind
        self.button = DisclosureButton(
            sign="?", label="Guide", title="What this shows, how to read it, what misleads"
        )
        self.text, self.by_keys = w.HTML(), w.HTML()
        self.shut = w.Button(description="Close the guide")
        self.place = w.VBox([self.text, self.by_keys, self.shut]).add_class("ep-guide")
        known = guide.known(kind)
        top = [w.HTML(head(title, lead)), *([self.button] if known else [])]
        super().__init__([w.Box(top).add_class("ep-top"), *([self.place] if known else [])])
        self.add_class("ep-head-box")
        self._show()
        self.button.observe(callback(self._show), "opened")
        self.shut.on_click(callback(lambda _: self.button.set_trait("opened", False)))

    def _show(self, _change: Any = None) -> None:
        opened = self.button.opened
        if opened and not self.text.value:
            self.text.value, self.by_keys.value = guide.page(self._kind), guide.keys()
        self.place.layout.display = None if opened else "none"
