"""A slider over round numbers for the usual value, and a line for more values beside it."""

from collections.abc import Sequence
from typing import Any

import ipywidgets as w
import traitlets as t

from embtie_widgets.panels.fields import labelled
from embtie_widgets.panels.guard import told


class SliderList(w.VBox):
    """Whole numbers; `value` is the request's field: the slider's number, then those of the line,
    or texts where some are no numbers, which a request refuses with a sentence.

    label, tooltip  of the slider
    ladder          its numbers, rising; one that a request asks for besides is added
    more            label of the line; None where there is only ever one number
    """

    value = t.Any((0,))

    def __init__(
        self, label: str, tooltip: str, ladder: Sequence[int], more: str | None = "also"
    ) -> None:
        self._ladder, self._quiet = tuple(ladder), False
        self.slider = w.SelectionSlider(
            description=label, options=_options(ladder), continuous_update=False
        )
        self.others = w.Text(
            description=more or "", placeholder="several, with commas", continuous_update=False
        )
        labelled(self.slider, tooltip).add_class("ep-wide-readout")
        labelled(self.others, f"{label}: more values, each of which makes runs of its own")
        super().__init__([self.slider, *([self.others] if more is not None else [])])
        self.add_class("ep-slider-list")
        for control in (self.slider, self.others):
            control.observe(told(lambda _: self._edited()), "value")
        self.observe(told(lambda _: self._show()), "value")

    def _show(self) -> None:
        """The value, unless some of it has to be mended first."""
        if not self.value or not all(isinstance(one, int) for one in self.value):
            return
        first, *rest = self.value
        self._quiet = True
        try:
            options = _options(sorted({*self._ladder, first}))
            if list(self.slider.options) != options:
                self.slider.options = options
            self.slider.value = first
            self.others.value = ", ".join(map(str, rest))
        finally:
            self._quiet = False

    def _edited(self) -> None:
        if self._quiet:
            return
        typed = (part.strip() for part in self.others.value.replace(";", ",").split(","))
        self.value = tuple(dict.fromkeys([self.slider.value, *map(_whole, filter(None, typed))]))


def _options(numbers: Sequence[int]) -> list[tuple[str, int]]:
    return [(f"{one:,}", one) for one in numbers]


def _whole(text: str) -> Any:
    """A number from its text; what is none stays as it is."""
    return int(text) if text.isascii() and text.isdigit() else text
