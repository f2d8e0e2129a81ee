"""The panel of the lens: what each layer of two models already knows of their final answer."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import lens as chart
from embtie_widgets.charts.lens_grid import passages
from embtie_widgets.charts.lens_parts import contributions, has_training, training
from embtie_widgets.charts.lens_words import MEASURES, contribution_caption, training_caption
from embtie_widgets.charts.theme import templates
from embtie_widgets.jobs import devices
from embtie_widgets.jobs.exports import csv_bytes, table_bytes
from embtie_widgets.jobs.lens_files import trained_lens
from embtie_widgets.jobs.uploads import LENS, keep_upload
from embtie_widgets.panels import lens_tables
from embtie_widgets.panels.exports import Offer, page_offer, picture_offers
from embtie_widgets.panels.fields import (
    Field,
    Setting,
    card,
    labelled,
    section,
    segments,
    whole_if_it_is,
)
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.lens_grid import GridView
from embtie_widgets.panels.lens_source import LensPicker
from embtie_widgets.panels.lens_text import TextPicker
from embtie_widgets.panels.pair import PairPicker
from embtie_widgets.panels.state import PanelState
from embtie_widgets.panels.words import escape
from embtie_widgets.requests import LensRequest
from embtie_widgets.requests.lens import PRECISIONS
from embtie_widgets.results.lens import PairLens
from embtie_widgets.widgets import PlotFigure

_ACROSS = (("by layer", "layer"), ("by share of the depth", "depth"))


class LensPanel(Panel):
    """What each layer of two models already knows of their final answer.

    `LensPanel()` shows the bundled twins; give a request, or any of its fields by name (`a`, `b`,
    `lens`, `mode`, `text`, `corpus`, ...).  `parts` takes the place of what the frame runs requests
    with, of `saved`, which gives the bytes of a trained lens, and of `keep`, which takes an
    uploaded one.
    """

    title = "Lens"
    lead = (
        "How much of the final answer does each layer already know, in a tied and an untied model?"
    )
    asks = LensRequest

    def __init__(
        self,
        request: LensRequest | None = None,
        *,
        parts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        given = {"saved": trained_lens, "keep": partial(keep_upload, LENS), **(parts or {})}
        self._saved, self._keep = given.pop("saved"), given.pop("keep")
        super().__init__(request, **given, **options)
        self.begin()

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """Models, lens, text, floor and machine."""
        request = self.state.request
        self.pair = PairPicker(request.a, request.b, whole=True)
        self.pair.preset.observe(self.callback(self._take_pair), "value")
        self.source = LensPicker(self._keep, self.callback)
        self.text = TextPicker(request.corpus)
        self.floor = labelled(
            w.Checkbox(description="floor at the embedding", indent=False),
            "Estimate what no lens at the embedding could know; needs tokens that come often",
        )
        self.precision = labelled(
            w.Dropdown(description="precision", options=PRECISIONS),
            "How the models are held; norm, head and softmax are float32 in any case",
        )
        self.device = labelled(
            w.Dropdown(description="device", options=devices.available(request.device)),
            "Where it is computed",
        )
        self.seed = labelled(
            w.FloatText(description="seed", continuous_update=False),
            "Draws batches of a training, and intervals",
        )
        fields = {
            **self.pair.fields(),
            **self.source.fields(),
            **self.text.fields(),
            "floor": Field(self.floor),
            "precision": Field(self.precision),
            "device": Field(self.device),
            "seed": Field(self.seed, to_request=whole_if_it_is),
        }
        machine = w.Box([self.precision, self.device, self.seed]).add_class("ep-pairs")
        return fields, [
            section("Models", self.pair),
            section("Lens", self.source),
            section("Text", self.text, self.floor),
            section("Machine", machine),
        ]

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, curves, grid, layers, training, numbers, models."""
        self.headline = w.HTML().add_class("ep-headline")
        self.measure = segments(
            "What of a layer is drawn", [(one.label, name) for name, one in MEASURES.items()]
        )
        self.across = segments("The axis of layers", _ACROSS)
        for control in (self.measure, self.across):
            control.observe(self.callback(lambda _: self._redraw()), "value")
        self.chart = PlotFigure(templates(), chart.spec(None))
        self.meaning = w.HTML()
        self.caption, self.layers_caption, self.training_caption = (
            w.HTML().add_class("ep-caption") for _ in range(3)
        )
        self.grid = GridView(self.callback, self._redraw)
        self.layers = PlotFigure(templates(), contributions(None))
        self.training = PlotFigure(templates(), training(None))
        self.numbers, self.facts = w.HTML(), w.HTML()
        curves = card("", self.measure, self.meaning, self.across, self.chart, self.caption)
        self.cards = {
            "curves": curves.add_class("ep-lens"),
            "training": card("How the translators learn", self.training, self.training_caption),
            "grid": card("Token by token", self.grid),
            "layers": card("What each layer contributes", self.layers, self.layers_caption),
            "numbers": card("Numbers", self.numbers),
            "facts": card("Models and text", self.facts),
        }
        self._arrange(None)
        return [self.headline, *self.cards.values()]

    def build_settings(self) -> Mapping[str, Setting]:
        """The curve, its axis, and the cell of the grid."""
        return {
            "curve": Setting(self.measure, "value", "kl"),
            "across": Setting(self.across, "value", "layer"),
            **self.grid.settings,
        }

    def build_exports(self) -> Iterable[Offer]:
        """Tables, page, pictures, and the lenses that were trained or loaded."""
        return [
            Offer("CSV", "Every point of both curves", ".csv", "text/csv", csv_bytes),
            Offer(
                "Positions CSV",
                "KL at every position and point, with the tokens",
                "-positions.csv",
                "text/csv",
                lambda request, result: table_bytes(request, result, result.token_frame()),
                needs=_has_curves,
            ),
            page_offer(),
            *picture_offers(self.chart, chart.caption),
            *picture_offers(self.grid.figure, chart.caption, "grid", own=True),
            *(self._lens_offer(side) for side in "AB"),
        ]

    def _lens_offer(self, side: str) -> Offer:
        return Offer(
            f"Save lens {side}",
            f"The tuned lens of model {side}, to be loaded again here or by ew.load_lens",
            f"-{side.lower()}.safetensors",
            "application/octet-stream",
            lambda _request, result: self._saved(result, side),
            needs=lambda state: _has_lens(state, side),
            lacks="no lens of this model was trained for it",
        )

    def draw(self, result: PairLens) -> None:
        """Show another result, or as much of it as there is; the figures come last."""
        self._arrange(result)
        self.headline.value = lens_tables.headline(result)
        self.caption.value = f"<p>{escape(chart.caption(result))}</p>"
        self.layers_caption.value = f"<p>{escape(contribution_caption(result))}</p>"
        self.training_caption.value = f"<p>{escape(training_caption(result))}</p>"
        self.numbers.value = lens_tables.numbers(result)
        self.facts.value = lens_tables.facts(result)
        self._offer_devices()
        self.grid.draw(result)
        self.layers.show(contributions(result))
        self.training.show(training(result))
        self._show(result)

    def part_of(self, result: PairLens) -> str:
        """How far a result has come that is not whole."""
        return result.progress or "a part of the whole"

    def edited(self) -> None:
        """Name the pair where the catalogue has it; say what the switches mean."""
        self.pair.follow(self.request)
        self.source.adapt()
        self.text.adapt()

    def prepare(self, request: Any) -> None:
        """Offer a device that was asked for even where it is missing; a run then says so."""
        self.device.options = devices.available(request.device)

    # How it works.

    def _arrange(self, result: PairLens | None) -> None:
        """Only what there is something to see of takes room."""
        lenses = {} if result is None else result.lenses
        begun = has_training(result) and not lenses and result is not None and not result.failed
        seen = {
            "curves": not begun,  # there is none before the first model is measured
            "training": has_training(result),
            "grid": bool(passages(result)),
            "layers": bool(lenses),
            "numbers": bool(lenses),
            "facts": result is not None,
        }
        for name, shown in seen.items():
            self.cards[name].layout.display = "" if shown else "none"
        differ = len({len(one.kl_bits) for one in lenses.values()}) > 1
        self.across.layout.display = "" if differ else "none"

    def _redraw(self) -> None:
        if self.result is not None and not self._drawing:
            self._show(self.result)

    def _show(self, result: PairLens) -> None:
        self.meaning.value = f"<p class='ep-said'>{escape(MEASURES[self.measure.value].says)}</p>"
        shown = chart.spec(result, self.measure.value, self.across.value, self.grid.layer.value)
        self.chart.show(shown)

    def _take_pair(self, _change: Any) -> None:
        request = self.pair.chosen(self.request)
        if request != self.request:
            self.request = request

    def _offer_devices(self) -> None:
        offered = devices.available(self.request.device)
        if list(self.device.options) != offered:
            with self._binding.quiet():
                self.device.options = offered
                self.device.value = self.request.device


def _has_curves(state: PanelState) -> bool:
    return state.result is not None and bool(state.result.lenses)


def _has_lens(state: PanelState, side: str) -> bool:
    """Whether its lens is one that was not a file before."""
    one = state.result.lenses.get(side) if state.result is not None else None
    return one is not None and one.settings.get("translators") in ("trained", "bundled")
