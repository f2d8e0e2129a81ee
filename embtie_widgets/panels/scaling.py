"""The panel of input scaling: what a shared matrix becomes when the input's voice is turned up."""

from collections.abc import Iterable, Mapping
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import scaling as chart
from embtie_widgets.charts.scaling_curves import LOSSES
from embtie_widgets.charts.theme import templates
from embtie_widgets.jobs.exports import csv_bytes, table_bytes
from embtie_widgets.jobs.scaling_card import ask_neighbours
from embtie_widgets.panels import scaling_tables
from embtie_widgets.panels.alignment import holdout_slider, map_buttons
from embtie_widgets.panels.exports import Offer, page_offer, picture_offers
from embtie_widgets.panels.fields import Field, Setting, card, labelled, section, segments
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.groups import GroupMeans
from embtie_widgets.panels.scaling_factors import FactorPicker, SchedulePicker
from embtie_widgets.panels.token_views import TokenViews
from embtie_widgets.panels.training_controls import TrainingControls
from embtie_widgets.panels.words import escape
from embtie_widgets.requests import ScalingRequest
from embtie_widgets.results.scaling import ScalingReport
from embtie_widgets.widgets import PlotFigure

_FIRST_X, _FIRST_Y = ("log_count", "bytes"), ("moved", "output plain", "row")
_FIRST_SORT = ("moved", "output plain")
_LOSSES = (("Loss", "loss"), ("Loss against ×1", "against"))


class ScalingPanel(Panel):
    """What becomes of a shared matrix when its input's gradient is multiplied.

    `ScalingPanel()` shows the factor 5 on the bundled sample; give a request, or any of its fields
    by name (`factors`, `schedule`, `early`, `map`, `holdout`, `steps`, `batch`, ...).  `parts`
    takes the place of what the frame runs requests with, and of `ask`, which finds a token's
    neighbours.
    """

    title = "Input scaling"
    lead = "What does a shared matrix become when its input is given a louder voice?"
    asks = ScalingRequest

    def __init__(
        self,
        request: ScalingRequest | None = None,
        *,
        parts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        given = {"ask": ask_neighbours, **(parts or {})}
        self._ask = given.pop("ask")
        super().__init__(request, **given, **options)
        self.begin()

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """The factors and when they count, the map, and all of a training."""
        self.training = TrainingControls(self.state.request, self.callback)
        self.factors, self.schedule = FactorPicker(), SchedulePicker()
        self.map = labelled(
            map_buttons(), "How tied is taken to untied; another one needs no new training"
        )
        self.holdout = labelled(
            holdout_slider(), "Share of the tokens that takes no part in the second fit"
        )
        fields = {
            "factors": Field(self.factors),
            **self.schedule.fields(),
            "map": Field(self.map),
            "holdout": Field(self.holdout),
            **self.training.fields(),
        }
        return fields, [
            section("The input's gradient times", self.factors, self.schedule),
            section("Alignment", self.map, self.holdout),
            *self.training.sections,
        ]

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, alignment by factor, training, numbers, tokens, groups, models."""
        self.headline = w.HTML().add_class("ep-headline")
        self.chart = PlotFigure(templates(), chart.spec(None))
        self.training_chart = PlotFigure(templates(), chart.curves(None))
        self.loss = segments(
            "What of the loss is drawn", _LOSSES, [LOSSES[name] for _, name in _LOSSES]
        )
        self.caption, self.training_caption = (w.HTML().add_class("ep-caption") for _ in range(2))
        self.numbers, self.facts = w.HTML(), w.HTML()
        self.published = w.HTML(scaling_tables.published())
        self.factor = labelled(
            w.Dropdown(description="tokens of", options=[]), "The run whose tokens are shown"
        )
        self.loss.observe(self.callback(lambda _: self._redraw()), "value")
        self.factor.observe(self.callback(lambda _: self._redraw_tokens()), "value")
        self.tokens = TokenViews(
            self, self._neighbours, self._legend, _FIRST_X, _FIRST_Y, _FIRST_SORT
        )
        self.groups = GroupMeans(self.state, self.callback, "Mean move towards the input")
        self.cards = {
            "alignment": card("", self.chart, self.caption).add_class("ep-scaling"),
            "training": card(
                "In training", self.loss, self.training_chart, self.training_caption
            ).add_class("ep-training"),
            "numbers": card("Numbers", self.numbers),
        }
        self.per_token = w.VBox(
            [card("What moved most", self.factor), *self.tokens.cards, *self.groups.cards]
        ).add_class("ep-page")
        self.cards["facts"] = card("Models and text", self.facts)
        self._arrange(None)
        return [
            self.headline,
            self.cards["alignment"],
            self.cards["training"],
            self.cards["numbers"],
            card("As published", self.published),
            self.per_token,
            self.cards["facts"],
        ]

    def build_settings(self) -> Mapping[str, Setting]:
        """Which loss, which run, and how its tokens are looked at."""
        return {
            "loss": Setting(self.loss, "value", "loss"),
            "of": Setting(self.factor, "value", ""),
            **self.tokens.settings,
        }

    def build_exports(self) -> Iterable[Offer]:
        """Tables by factor and by token, page, and pictures."""
        return [
            Offer("CSV", "Every factor with its numbers", ".csv", "text/csv", csv_bytes),
            Offer(
                "Tokens CSV",
                "Every token with its cosines in every run",
                "-tokens.csv",
                "text/csv",
                lambda request, result: table_bytes(request, result, result.token_frame()),
                needs=lambda state: state.result is not None and bool(state.result.whole),
            ),
            page_offer(),
            *picture_offers(self.chart, chart.caption),
            *picture_offers(self.training_chart, chart.training_caption, "training", own=True),
            self.tokens.picture_offer(self.tokens.with_lit(chart.token_caption)),
        ]

    def draw(self, result: ScalingReport) -> None:
        """Show another result, or as much of it as there is; the figures come last."""
        self._arrange(result)
        self.headline.value = scaling_tables.headline(result)
        self.caption.value = f"<p>{escape(chart.caption(result))}</p>"
        self.training_caption.value = f"<p>{escape(chart.training_caption(result))}</p>"
        self.numbers.value = scaling_tables.numbers(result)
        self.facts.value = scaling_tables.facts(result)
        with self._binding.quiet():
            self.training.offer_devices(self.request.device)
        self._offer_factors(result)
        if _has_tokens(result):
            self.groups.draw(result)
            self.tokens.draw(result, chart.columns(result, self.factor.value or ""))
        self.chart.show(chart.spec(result))
        self.training_chart.show(chart.curves(result, self.loss.value))

    def selected(self) -> None:
        """Light the chosen tokens up in scatter and table."""
        self.tokens.refresh()

    def part_of(self, result: ScalingReport) -> str:
        """How far a result has come that is not whole."""
        return result.progress or "a part of the whole"

    def edited(self) -> None:
        """Ask for no more than what counts."""
        self.training.adapt()
        self.schedule.adapt()

    def prepare(self, request: Any) -> None:
        """Offer a device that was asked for even where it is missing; a run then says so."""
        self.training.prepare(request)

    # How it works.

    def _arrange(self, result: ScalingReport | None) -> None:
        """Only what there is something to see of takes room."""
        whole = result is not None and bool(result.whole)
        seen = {
            "alignment": result is None or whole,
            "training": result is not None,
            "numbers": whole,
            "facts": result is not None,
        }
        for name, shown in seen.items():
            self.cards[name].layout.display = "" if shown else "none"
        self.per_token.layout.display = "" if result and _has_tokens(result) else "none"

    def _offer_factors(self, result: ScalingReport) -> None:
        """Every run whose tokens can be shown; the chosen one stays where it is among them."""
        offered, before = chart.options(result), self.factor.value
        if list(self.factor.options) != offered:
            self.factor.options = offered
            names = [name for _, name in offered]
            self.factor.value = before if before in names else next(iter(names), None)

    def _redraw(self) -> None:
        if self.result is not None and not self._drawing:
            self.training_chart.show(chart.curves(self.result, self.loss.value))

    def _redraw_tokens(self) -> None:
        if self.result is not None and not self._drawing and _has_tokens(self.result):
            self.tokens.draw(self.result, chart.columns(self.result, self.factor.value or ""))

    def _neighbours(self, request: Any, place: int, answer: Any, failed: Any) -> None:
        run = chart.chosen(self.result, self.factor.value or "")
        self._ask(request, place, 1.0 if run is None else run.factor, answer, failed)

    def _legend(self, _request: Any) -> str:
        return "Ten nearest rows by cosine."


def _has_tokens(result: ScalingReport) -> bool:
    """Whether tokens can be shown as they will stay: moved, where there is a factor."""
    there = bool(result.scaled) or (bool(result.whole) and not result.progress)
    return there and bool(result.tokens)
