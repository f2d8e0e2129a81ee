"""The panel of the context staircase: which signature of a toy task do embeddings follow, when?"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import ipywidgets as w

from embtie_widgets.jobs.exports import csv_bytes
from embtie_widgets.panels import staircase_tables as tables
from embtie_widgets.panels.exports import Offer, page_offer
from embtie_widgets.panels.fields import Field, Setting, card
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.setting_picker import SettingPicker
from embtie_widgets.panels.staircase_controls import StaircaseControls
from embtie_widgets.panels.staircase_extras import ExtrasView
from embtie_widgets.panels.staircase_views import StaircaseViews
from embtie_widgets.requests import StaircaseRequest
from embtie_widgets.requests.staircase_settings import SETTINGS
from embtie_widgets.results.staircase import StaircaseReport


class StaircasePanel(Panel):
    """Embeddings of a small model against the signatures of its task, step by step.

    `StaircasePanel()` shows a task that ships; give a request, or any of its fields by name
    (`operation`, `tokens`, `length`, `modulus`, `model`, `activation`, `gamma`, `epochs`,
    `orders`, ...).  `parts` takes the place of what the frame runs requests with.
    """

    title = "Context staircase"
    lead = "Which statistics of its task do a model's embeddings follow, and in which order?"
    asks = StaircaseRequest

    def __init__(
        self,
        request: StaircaseRequest | None = None,
        *,
        parts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(request, **(parts or {}), **options)
        self.begin()

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """Ready settings, and everything that they fill in."""
        self.controls = StaircaseControls(self.state.request)
        self.setting = SettingPicker(StaircaseRequest, SETTINGS, self._take_setting)
        return self.controls.fields(), [self.setting, *self.controls.sections]

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, scrubbed views, curves, pairs, what single tasks show, numbers, facts."""
        self.headline = w.HTML().add_class("ep-headline")
        self.views = StaircaseViews(self, "epoch")
        self.extras = ExtrasView()
        self.numbers, self.facts = w.HTML(), w.HTML()
        self.cards = {
            **self.views.cards,
            "extras": self.extras.card,
            "numbers": card("At the end", self.numbers),
            "facts": card("What was trained", self.facts),
        }
        for name in ("scrub", "pairs", "extras", "numbers", "facts"):
            self.cards[name].layout.display = "none"
        return [self.headline, *self.cards.values()]

    def build_settings(self) -> Mapping[str, Setting]:
        """The step, and how it is looked at."""
        return self.views.settings

    def build_exports(self) -> Iterable[Offer]:
        """Every measure at every step, the page, and the pictures."""
        return [
            Offer("CSV", "Every measure at every step", ".csv", "text/csv", csv_bytes),
            page_offer(),
            *self.views.picture_offers(),
        ]

    def draw(self, result: StaircaseReport) -> None:
        """Show another result, or as much of it as there is; the figures come last."""
        self.headline.value = tables.top(result)
        self.numbers.value, self.facts.value = tables.numbers(result), tables.facts(result)
        self.cards["numbers"].layout.display = "" if self.numbers.value else "none"
        self.cards["facts"].layout.display = ""
        with self._binding.quiet():
            self.controls.offer_devices(self.request.device)
        self.views.draw(result)
        self.extras.draw(result)

    def part_of(self, result: StaircaseReport) -> str:
        """How far a result has come that is not whole."""
        return result.progress or "a part of the whole"

    def edited(self) -> None:
        """Ask for no more than what counts, and say which setting this is."""
        self.controls.adapt()
        self.setting.follow(self.request)

    def prepare(self, request: Any) -> None:
        """Offer a device that was asked for even where it is missing; a run then says so."""
        self.controls.prepare(request)

    def _take_setting(self, request: StaircaseRequest) -> None:
        self.request = replace(request, device=self.request.device)
