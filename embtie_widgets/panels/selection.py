"""The bar that says what is selected, and the ways out of it."""

from typing import Any

import ipywidgets as w

from embtie_widgets.panels.state import PanelState


class SelectionBar(w.HBox):
    """How many tokens are chosen, whether the table shows these only, and a way to clear."""

    def __init__(self, state: PanelState) -> None:
        self._state = state
        self.text = w.HTML().add_class("ep-chosen")
        self.only = w.ToggleButton(
            description="Selected only", tooltip="Show only the selected tokens in the table"
        )
        self.take = w.Button(
            description="Select found", tooltip="Select the tokens that the search has found"
        )
        self.clear = w.Button(
            description="Clear selection", tooltip="Select nothing and show every token again"
        )
        super().__init__([self.text, self.only, self.take, self.clear])
        self.add_class("ep-selection")
        state.observe(self._draw, ["selection", "only", "found"])
        self.only.observe(self._toggled, "value")
        self._draw()

    def _toggled(self, _change: Any) -> None:
        self._state.only = self.only.value

    def _draw(self, _change: Any = None) -> None:
        chosen, found = len(self._state.selection), self._state.found
        self.text.value = f'<span role="status">{_words(chosen, found)}</span>'
        self.only.disabled = self.clear.disabled = not chosen
        self.only.value = self._state.only
        self.take.disabled = not found


def _words(chosen: int, found: frozenset[int] | None) -> str:
    if found is not None:
        also = f"; {chosen:,} selected" if chosen else ""
        return f"<b>{len(found):,} found</b>, lit in every chart{also}"
    if chosen:
        return f"<b>{chosen:,} selected</b>, lit in every chart"
    return "Draw a lasso in the scatter, tick rows or search: chosen tokens light up everywhere."
