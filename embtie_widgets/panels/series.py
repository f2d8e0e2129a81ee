"""Choosing one model or two, and which of their checkpoints."""

from collections.abc import Callable
from typing import Any

import ipywidgets as w

from embtie_widgets.panels.fields import (
    Field,
    labelled,
    listed_names,
    number_box,
    section,
    usable,
    whole_if_it_is,
)
from embtie_widgets.panels.models import ModelsPicker
from embtie_widgets.requests.checkpoints import MOST


class SeriesPicker(ModelsPicker):
    """The controls of a request with `revisions` and `count` too.

    A panel places `section` among its own and adds `fields()` to its own; it calls `adapt` in its
    `edited` and `prepare` in its `prepare`.  `turned` is called where the second model is asked for
    or given up; `least` checkpoints are needed.
    """

    def __init__(self, request: Any, turned: Callable[[Any], None], least: int = 2) -> None:
        super().__init__(request, turned, "Draw the checkpoints of another model too")
        for picker in (self.model, self.other):
            picker.revision.layout.display = "none"  # the series takes many in place of the one
        self.count, self.revisions = which_checkpoints(least)
        which = w.VBox([self.count, self.revisions]).add_class("ep-corpus")
        self.section = section("Models", *self.controls, which)

    def fields(self) -> dict[str, Field]:
        """The request's fields that these edit."""
        return {
            **super().fields(),
            "revisions": Field(self.revisions, listed_names, ", ".join),
            "count": Field(self.count, to_request=whole_if_it_is),
        }

    def adapt(self) -> None:
        """Names go before a number."""
        usable(self.count, "the revisions are named" if listed_names(self.revisions.value) else "")

    def show(self, shown: bool) -> None:
        """Whether there is a model to choose."""
        self.section.layout.display = "" if shown else "none"


def which_checkpoints(least: int) -> tuple[w.FloatText, w.Textarea]:
    """How many of a series at the `least`, or the names of some."""
    count = number_box(
        "checkpoints",
        f"{least} to {MOST}, spread evenly over all, the first and the last among them",
    )
    names = w.Textarea(
        description="or these alone",
        placeholder="step0, step1000, main",
        continuous_update=False,
        rows=2,
    )
    tooltip = "Names of revisions with commas between them; they go before the number"
    return count, labelled(names, tooltip).add_class("ep-text")
