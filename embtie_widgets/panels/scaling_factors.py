"""Choosing by what the input's gradient is multiplied: chips for usual factors, a line for others,
and for how long."""

from collections.abc import Iterable
from typing import Any

import ipywidgets as w
import traitlets as t

from embtie_widgets.panels.fields import Field, labelled, whole_if_it_is
from embtie_widgets.requests.scaling import MOST_FACTORS

CHIPS = (2.0, 5.0, 10.0, 100.0)
_SCHEDULES = (("All the way", "all"), ("Early only", "early"))
_SCHEDULE_HELP = ("In every step", "In the first steps, then as usual")


class FactorPicker(w.VBox):
    """Several factors; `value` is the request's field: numbers, or texts where some are none,
    which a request refuses with a sentence."""

    value = t.Any(())

    def __init__(self) -> None:
        self.chips = {factor: _chip(factor) for factor in CHIPS}
        self.others = labelled(
            w.Text(description="others", placeholder="0, 0.5, 20", continuous_update=False),
            f"Any numbers from 0, with commas between; at most {MOST_FACTORS} factors together",
        )
        self._quiet = False
        row = w.HBox(list(self.chips.values())).add_class("ep-chips")
        super().__init__([row, self.others])
        self.add_class("ep-corpus")
        for control in (*self.chips.values(), self.others):
            control.observe(lambda _: self._edited(), "value")
        self.observe(lambda _: self._show(), "value")

    def _show(self) -> None:
        self._quiet = True
        try:
            if all(isinstance(one, float) for one in self.value):
                for factor, chip in self.chips.items():
                    chip.value = factor in self.value
                self.others.value = ", ".join(f"{one:g}" for one in self.value if one not in CHIPS)
        finally:
            self._quiet = False

    def _edited(self) -> None:
        if self._quiet:
            return
        picked = [factor for factor, chip in self.chips.items() if chip.value]
        typed = [part.strip() for part in self.others.value.replace(";", ",").split(",")]
        self.value = _read([*picked, *(part for part in typed if part)])


class SchedulePicker(w.VBox):
    """All through, or in the first steps only."""

    def __init__(self) -> None:
        self.schedule = w.ToggleButtons(
            description="when", options=_SCHEDULES, tooltips=_SCHEDULE_HELP
        ).add_class("ep-segments")
        labelled(self.schedule, "In which steps the factor counts")
        self.early = labelled(
            w.FloatText(description="in the first steps", continuous_update=False),
            "So many steps are scaled; those after are as usual",
        )
        super().__init__([self.schedule, self.early])
        self.add_class("ep-corpus")
        self.adapt()

    def fields(self) -> dict[str, Field]:
        """The request's fields that this edits."""
        return {
            "schedule": Field(self.schedule),
            "early": Field(self.early, to_request=whole_if_it_is),
        }

    def adapt(self) -> None:
        """Ask for a number of steps only where it counts."""
        self.early.layout.display = "" if self.schedule.value == "early" else "none"


def _chip(factor: float) -> w.ToggleButton:
    return w.ToggleButton(
        description=f"×{factor:g}", tooltip=f"Train a tied model with {factor:g} times the input"
    )


def _read(given: Iterable[Any]) -> tuple[Any, ...]:
    """Rising numbers, each once, where all are numbers."""
    listed = list(given)
    try:
        return tuple(sorted({float(one) for one in listed}))
    except ValueError:
        return tuple(listed)
