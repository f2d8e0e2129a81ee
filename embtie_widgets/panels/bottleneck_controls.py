"""What a measurement of the gradient bottleneck on a text asks for: models, text, and sizes."""

from collections.abc import Callable
from typing import Any

import ipywidgets as w

from embtie_widgets.panels.chips import ChipPicker
from embtie_widgets.panels.corpus import CorpusPicker
from embtie_widgets.panels.fields import Field, fold, labelled, number_box, section, whole_if_it_is
from embtie_widgets.panels.lens_text import pasted_text
from embtie_widgets.panels.models import ModelsPicker
from embtie_widgets.requests import BottleneckRequest
from embtie_widgets.requests.bottleneck import HELD


class OfText(ModelsPicker):
    """Models, a text that is pasted, and sizes; the corpus that stands for it, how long its pieces
    are and the machine are among the controls of a training.

    A panel places `sections` among its own and adds `fields()` to its own; it calls `adapt` in its
    `edited` and `prepare` in its `prepare`.
    """

    ASKED = frozenset({"corpus", "length", "device", "seed"})

    def __init__(
        self, request: BottleneckRequest, corpus: CorpusPicker, turned: Callable[[Any], None]
    ) -> None:
        super().__init__(request, turned, "Measure another model on the same text", whole=True)
        self._corpus = corpus
        self.text = pasted_text()
        self.positions = number_box("positions", "About how many predicted tokens are measured")
        self.gram = number_box(
            "in the spectrum", "So many positions at most enter the singular spectrum"
        )
        self.held = labelled(
            w.Dropdown(description="held in", options=HELD),
            "The precision in which the models are held",
        )
        self.steps_at = ChipPicker(
            float,
            {},
            (
                "equal steps of",
                "0.1, 1, 10",
                "Lengths of the steps in the logits, as multiples of the gradient's length",
            ),
        )
        sizes = w.Box([self.positions, self.gram]).add_class("ep-pairs")
        more = fold("More of the measurement", self.steps_at, self.held)
        self.models = section("Models", *self.controls)
        self.reading = w.VBox([self.text, sizes, more]).add_class("ep-section")

    def fields(self) -> dict[str, Field]:
        """The request's fields that these edit."""
        return {
            **super().fields(),
            "text": Field(self.text),
            "positions": Field(self.positions, to_request=whole_if_it_is),
            "gram": Field(self.gram, to_request=whole_if_it_is),
            "steps_at": Field(self.steps_at),
            "held": Field(self.held),
        }

    def show(self, shown: bool) -> None:
        """Whether a text is measured."""
        for one in (self.models, self.reading):
            one.layout.display = "" if shown else "none"
        self.adapt(shown)

    def adapt(self, reads: bool = True) -> None:
        """What is pasted goes before the corpus."""
        self._corpus.give_way(self.text.value if reads else "")
