"""Choosing one model, and another one to stand beside it."""

from collections.abc import Callable
from typing import Any

import ipywidgets as w

from embtie_widgets.panels.fields import Field, labelled
from embtie_widgets.panels.guard import told
from embtie_widgets.panels.pair import ModelPicker
from embtie_widgets.requests import ModelRef


class ModelsPicker:
    """The controls of a request with `model`, `other` and `models`.

    A panel places `controls` in a section of its own and adds `fields()` to its own; it calls
    `prepare` in its `prepare`.  `turned` is called where the second model is asked for or given up,
    which `tooltip` says the use of; where the `whole` of a model is read, that bounds the choice.
    """

    def __init__(
        self, request: Any, turned: Callable[[Any], None], tooltip: str, whole: bool = False
    ) -> None:
        self.model = ModelPicker("Model", request.model, whole)
        self.other = ModelPicker("Beside it", request.models[-1], whole)
        self.beside = w.Checkbox(
            description="a second model beside it", indent=False, value=len(request.models) > 1
        )
        labelled(self.beside, tooltip)
        self.beside.observe(told(lambda _: self._show_beside()), "value")
        self.beside.observe(told(turned), "value")
        self.controls: list[w.Widget] = [self.model, self.beside, self.other]
        self._show_beside()

    def fields(self) -> dict[str, Field]:
        """The request's fields that these edit."""
        return {
            "model": Field(self.model),
            "other": Field(
                self.other, self._other_or_none, lambda other: other or self.other.value
            ),
        }

    def prepare(self, request: Any) -> None:
        """Show a second model where the request has one."""
        self.beside.value = len(request.models) > 1
        self.other.value = request.models[-1]

    def _other_or_none(self, other: ModelRef | dict[str, Any]) -> Any:
        """The first model stands for no other one."""
        return other if self.beside.value else self.model.value

    def _show_beside(self) -> None:
        self.other.layout.display = "" if self.beside.value else "none"
