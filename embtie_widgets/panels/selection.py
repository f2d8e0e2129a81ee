"""The bar that says what is selected, and the ways out of it."""

from typing import Any

import ipywidgets as w

from embtie_widgets.panels.fields import usable
from embtie_widgets.panels.guard import told
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
        state.observe(told(self._draw), ["selection", "only", "found"])
        self.only.observe(told(self._toggled), "value")
        self._draw()

    @property
    def chosen(self) -> bool:
        """Whether any token is selected or found."""
        return bool(self._state.selection) or self._state.found is not None

    def _toggled(self, _change: Any) -> None:
        self._state.only = self.only.value

    def _draw(self, _change: Any = None) -> None:
        chosen, found = self._state.selection, self._state.found
        self.text.value = f'<span role="status">{self._words()}</span>'
        for button in (self.only, self.clear):
            usable(button, "" if chosen else "no token is selected")
        self.only.value = self._state.only
        nothing = "nothing is searched for" if found is None else "the search has found nothing"
        usable(self.take, "" if found else nothing)

    def _words(self) -> str:
        found, chosen = self._state.found, self._state.selection
        if found is not None:
            return _found_words(found, chosen, self._state.only)
        if chosen:
            return f"<b>{len(chosen):,} selected</b>, lit in every chart"
        return (
            "Draw a lasso in the scatter, tick rows or search: chosen tokens light up everywhere."
        )


def _found_words(found: frozenset[int], chosen: frozenset[int], only: bool) -> str:
    """What a search has found, and what of it a table of selected tokens alone can show."""
    many = f"<b>{len(found):,} found</b>" + (", lit in every chart" if found else "")
    if not chosen:
        return many
    if not (only and found):
        return f"{many}; {len(chosen):,} selected"
    both = len(found & chosen)
    if both:
        return f"{many}; {both:,} of them among the {len(chosen):,} selected"
    return (
        f"{many}; none of them among the {len(chosen):,} selected. "
        "Turn “Selected only” off to list them"
    )
