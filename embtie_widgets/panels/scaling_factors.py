"""Choosing by what the input's gradient is multiplied: chips for usual factors, a line for others,
and for how long."""

import ipywidgets as w

from embtie_widgets.panels.chips import ChipPicker
from embtie_widgets.panels.fields import Field, labelled, whole_if_it_is
from embtie_widgets.requests.scaling import MOST_FACTORS

CHIPS = (2.0, 5.0, 10.0, 100.0)
_SCHEDULES = (("All the way", "all"), ("Early only", "early"))
_SCHEDULE_HELP = ("In every step", "In the first steps, then as usual")


class FactorPicker(ChipPicker):
    """Several factors; `value` is the request's field."""

    def __init__(self) -> None:
        most = f"Any numbers from 0, with commas between; at most {MOST_FACTORS} factors together"
        super().__init__(
            float,
            {
                one: (f"×{one:g}", f"Train a tied model with {one:g} times the input")
                for one in CHIPS
            },
            ("others", "0, 0.5, 20", most),
        )


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
