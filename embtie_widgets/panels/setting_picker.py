"""Ready settings of an experiment, each with a sentence on what it shows."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import ipywidgets as w

from embtie_widgets.panels.fields import labelled
from embtie_widgets.panels.guard import told
from embtie_widgets.panels.words import escape
from embtie_widgets.requests.request import Request

Settings = Mapping[str, tuple[Mapping[str, Any], str]]
_OWN = "your own"


class SettingPicker(w.VBox):
    """Ready settings by name, each with what is known of it; none is chosen where the request is
    none of them.  `chosen(request)` is called with the one that a user picks."""

    def __init__(
        self, asks: type[Request], settings: Settings, chosen: Callable[[Any], None]
    ) -> None:
        made: dict[str, Any] = {name: asks(**fields) for name, (fields, _) in settings.items()}
        self._requests, self._settings, self._chosen = made, settings, chosen
        self.names = labelled(
            w.Dropdown(description="setting", options=[_OWN, *settings]),
            "Fills in everything below; what it shows was measured",
        )
        self.said, self._quiet = w.HTML(), False
        self._followed: Any = asks()
        super().__init__([self.names, self.said])
        self.add_class("ep-corpus")
        self.names.observe(told(lambda _: self._picked()), "value")

    def follow(self, request: Any) -> None:
        """Show which setting the request is; where it runs on makes no other one of it."""
        self._followed = request
        known = {name: replace(one, device=request.device) for name, one in self._requests.items()}
        name = next((name for name, one in known.items() if one == request), _OWN)
        self._quiet = True
        try:
            self.names.value = name
        finally:
            self._quiet = False
        _fields, words = self._settings.get(name, ({}, ""))
        self.said.value = f"<p class='ep-said'>{escape(words)}</p>" if words else ""

    def _picked(self) -> None:
        if self._quiet:
            return
        if self.names.value in self._requests:
            self._chosen(self._requests[self.names.value])
        else:  # that comes of a change in what is below
            self.follow(self._followed)
