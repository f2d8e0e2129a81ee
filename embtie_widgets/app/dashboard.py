"""The dashboard: what it is, and one tab for each panel that works."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ipywidgets as w

from embtie_widgets.panels.alignment import AlignmentPanel
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.parameters import ParametersPanel

_TEXT = """
<header class="ep-title"><h1>embtie</h1>
<p>What does weight tying do to a language model's token embeddings? Choose two models and a map,
and see token by token how their matrices align, against held-out tokens and against chance.</p>
</header>
"""


@dataclass(frozen=True)
class Tab:
    """A panel by name; it is made when its tab is first opened."""

    name: str
    make: Callable[[], Panel]


TABS = (Tab("Alignment", AlignmentPanel), Tab("Parameters", ParametersPanel))


class Dashboard(w.VBox):
    """All panels, one shown at a time.

    A panel is made when it is first opened: until then it costs nothing, and a figure is never
    drawn into a hidden box, where it would not know its width.
    """

    def __init__(self, tabs: tuple[Tab, ...] = TABS) -> None:
        self._tabs = {tab.name: tab for tab in tabs}
        self.panels: dict[str, Panel] = {}
        self._place = w.Box().add_class("ep-place")
        self.tabs = w.ToggleButtons(options=list(self._tabs)).add_class("ep-tabs")
        self.tabs.observe(self._open, "value")
        bar = [self.tabs] if len(tabs) > 1 else []
        super().__init__([w.HTML(_TEXT), *bar, self._place])
        self.add_class("embtie-app")
        self._open()

    @property
    def panel(self) -> Panel:
        """The panel that is shown."""
        return self.panels[self.tabs.value]

    def _open(self, _change: Any = None) -> None:
        name = self.tabs.value
        if name not in self.panels:
            self.panels[name] = self._tabs[name].make()
        self._place.children = [self.panels[name]]


def dashboard() -> Dashboard:
    """The dashboard, for a notebook cell or a served page."""
    return Dashboard()
