"""Choosing several values: chips for the usual ones, a line for others; and one or several."""

from collections.abc import Iterable, Mapping
from typing import Any

import ipywidgets as w
import traitlets as t

from embtie_widgets.panels.fields import Field, labelled
from embtie_widgets.panels.guard import told


class ChipPicker(w.VBox):
    """Several values of one kind; `value` is the request's field: these values, or texts where some
    are none, which a request refuses with a sentence.

    kind    float, int or str; numbers stand rising
    chips   value to its label and tooltip
    line    label, placeholder and tooltip of the line for other values; None for no line
    """

    value = t.Any(())

    def __init__(
        self,
        kind: type,
        chips: Mapping[Any, tuple[str, str]],
        line: tuple[str, str, str] | None,
    ) -> None:
        self._kind, self._quiet = kind, False
        self.chips = {
            value: w.ToggleButton(description=label, tooltip=tooltip)
            for value, (label, tooltip) in chips.items()
        }
        label, placeholder, tooltip = line or ("", "", "")
        self.others = labelled(
            w.Text(description=label, placeholder=placeholder, continuous_update=False), tooltip
        )
        row = [w.HBox(list(self.chips.values())).add_class("ep-chips")] if chips else []
        super().__init__([*row, *([self.others] if line else [])])
        self.add_class("ep-corpus")
        for control in (*self.chips.values(), self.others):
            control.observe(told(lambda _: self._edited()), "value")
        self.observe(told(lambda _: self.restore()), "value")

    def restore(self) -> None:
        """Show the value, unless some of it has to be mended first."""
        self._quiet = True
        try:
            if all(isinstance(one, self._kind) for one in self.value):
                for one, chip in self.chips.items():
                    chip.value = one in self.value
                typed = [_spelt(one) for one in self.value if one not in self.chips]
                self.others.value = ", ".join(typed)
        finally:
            self._quiet = False

    def _edited(self) -> None:
        if self._quiet:
            return
        picked = [one for one, chip in self.chips.items() if chip.value]
        typed = (part.strip() for part in self.others.value.replace(";", ",").split(","))
        self.value = self._read([*picked, *filter(None, typed)])

    def _read(self, given: Iterable[Any]) -> tuple[Any, ...]:
        """Each value once where all are values, else all as they are."""
        listed = list(given)
        try:
            values = tuple(dict.fromkeys(self._kind(one) for one in listed))
        except ValueError:
            return tuple(listed)
        return values if self._kind is str else tuple(sorted(values))


class OneOrSeveral(w.VBox):
    """A picker for what a request has two fields for, one value and a list that goes before it;
    `value` is the pair of both.  The last value cannot be taken away."""

    value = t.Tuple((None, ()))

    def __init__(self, picker: ChipPicker) -> None:
        self.picker, self._quiet = picker, False
        super().__init__([picker])
        self.picker.observe(told(lambda _: self._edited()), "value")
        self.observe(told(lambda _: self._show()), "value")

    def fields(self, one: str, several: str) -> dict[str, Field]:
        """The request's two fields by their names."""
        return {
            one: Field(self, lambda pair: pair[0], lambda given: (given, self.value[1])),
            several: Field(self, lambda pair: pair[1], lambda given: (self.value[0], given)),
        }

    def _show(self) -> None:
        one, several = self.value
        self._quiet = True
        try:
            self.picker.value = several or (one,)
            self.picker.restore()
        finally:
            self._quiet = False

    def _edited(self) -> None:
        if self._quiet:
            return
        picked, before = self.picker.value, self.value
        self.value = (picked[0], ()) if len(picked) == 1 else (before[0], picked)
        if self.value == before:
            self._show()


def _spelt(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.12g}"
