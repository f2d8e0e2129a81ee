"""The panel of the gradient bottleneck: how much of the logits' gradient reaches the hidden
state?"""

from collections.abc import Iterable, Mapping
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import bottleneck as chart
from embtie_widgets.charts.theme import templates
from embtie_widgets.jobs.exports import csv_bytes, table_bytes
from embtie_widgets.panels import bottleneck_tables as tables
from embtie_widgets.panels.bottleneck_controls import OfText
from embtie_widgets.panels.bottleneck_strip import StripView
from embtie_widgets.panels.exports import Offer, page_offer, picture_offers, selection_offer
from embtie_widgets.panels.fields import Field, Setting, card, section, segments
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.groups import GroupMeans
from embtie_widgets.panels.recorded import form_of
from embtie_widgets.panels.source import SourcePicker
from embtie_widgets.panels.state import PanelState
from embtie_widgets.panels.token_views import TokenViews
from embtie_widgets.panels.training_controls import TrainingControls
from embtie_widgets.panels.words import escape
from embtie_widgets.requests import BottleneckRequest
from embtie_widgets.results.bottleneck import BottleneckReport
from embtie_widgets.widgets import PlotFigure

_SOURCES = (
    ("models on a text", "text"),
    ("twins in training here", "train"),
    ("a run that RunRecorder writes", "run"),
)
_SCALES = (("steps", "linear"), ("log of steps", "log"))
_STEPS = (("Loss", "loss"), ("What it buys, log", "gain"))
_GROUPS = (("Of the gradient, r", "destroyed"), ("Of the target", "target_kept"))


class BottleneckPanel(Panel):
    """How much of the logits' gradient the head transmits to the hidden state.

    `BottleneckPanel()` shows the bundled twins on a text; give a request, or any of its fields by
    name (`source`, `model`, `other`, `text`, `corpus`, `positions`, `file`, `steps`, ...).  `parts`
    takes the place of what the frame runs requests with, and of `follow`, which looks into a run.
    """

    title = "Gradient bottleneck"
    lead = "How much of what the loss says about the logits reaches the hidden state?"
    asks = BottleneckRequest

    def __init__(
        self,
        request: BottleneckRequest | None = None,
        *,
        parts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._form, given = form_of("metrics", parts or {})
        self._drawn: BottleneckReport | None = None
        super().__init__(request, **given, **options)
        self.begin()

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """Where the gradient comes from, and what that source needs."""
        request = self.state.request
        self.training = TrainingControls(request, self.callback)
        self.of_text = OfText(request, self.training.corpus, self.callback(self._turn_beside))
        words = ("The gradient of", "Where the gradient comes from")
        self.source = SourcePicker(_SOURCES, words, self._form(self.callback), self._ask_for)
        known = self.source.fields()
        named = {name: known[name] for name in ("source", "file")}
        fields = {**self.training.fields(), **self.of_text.fields(), **named}
        recipe, text, machine = self.training.sections
        reading = [self.of_text.models, text, self.of_text.reading, recipe, machine]
        return fields, [section("Source", self.source), *reading]

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, line or curves, the text, positions, groups, tokens, spectrum, steps, facts."""
        self.headline = w.HTML().add_class("ep-headline")
        self.numbers, self.facts, self.meaning = (w.HTML() for _ in range(3))
        self.captions = {
            name: w.HTML().add_class("ep-caption")
            for name in ("first", "line", "positions", "groups", "spectrum", "steps")
        }
        self.chart = PlotFigure(templates(), chart.spec(None))
        self.line = PlotFigure(templates(), chart.line(None))
        self.positions = PlotFigure(templates(), chart.histogram(None))
        self.by_group = PlotFigure(templates(), chart.groups(None))
        self.spectrum = PlotFigure(templates(), chart.spectrum(None))
        self.steps = PlotFigure(templates(), chart.steps(None))
        self._build_choices()
        self.views = TokenViews(self, None, str, ("log_count",), ("visible",), ("times", "count"))
        self.groups = GroupMeans(
            self.state, self.callback, "r and what is transmitted of the target", "positions"
        )
        self.strip = StripView(self.callback, self.views.open_card)
        self.cards = self._carded()
        self._arrange(None)
        shown = self.cards
        below = ("spectrum", "steps", "numbers")
        return [
            self.headline,
            *(shown[name] for name in ("first", "line", "strip", "positions", "groups")),
            *self.views.cards,
            *self.groups.cards,
            *(shown[name] for name in below),
            shown["facts"],
        ]

    def _build_choices(self) -> None:
        """What of the result is looked at."""
        self.measure = segments("What is drawn", _labels(chart.SCALES))
        self.smooth = w.Checkbox(description="means over 20 steps", indent=False, value=True)
        self.smooth.add_class(
            "ep-field"
        ).tooltip = "Draw curves as means over the last 20 steps, single steps behind them"
        self.scale = segments("The axis of steps", _SCALES).add_class("ep-switch")
        self.stepped = segments("What the steps change", _STEPS)
        self.grouped = segments("Of which transmission", _GROUPS)
        self.looks = w.Box([self.smooth, self.scale]).add_class("ep-looks")
        for control in (self.measure, self.smooth, self.scale, self.stepped, self.grouped):
            control.observe(self.callback(lambda _: self._redraw()), "value")

    def _carded(self) -> dict[str, w.VBox]:
        said = self.captions
        first = card("", self.measure, self.meaning, self.chart, self.looks, said["first"])
        return {
            "first": first.add_class("ep-bottleneck"),
            "line": card("Against the width of the head", self.line, said["line"]),
            "strip": card("The text, token by token", self.strip).add_class("ep-strip"),
            "positions": card("Over positions", self.positions, said["positions"]),
            "groups": card(
                "By the token to be predicted", self.grouped, self.by_group, said["groups"]
            ),
            "spectrum": card("Rank of the gradient", self.spectrum, said["spectrum"]),
            "steps": card("Equal steps in the logits", self.stepped, self.steps, said["steps"]),
            "numbers": card("Numbers", self.numbers),
            "facts": card("What was measured", self.facts),
        }

    def build_settings(self) -> Mapping[str, Setting]:
        """The number, the axis of steps, the position of the text, and the views of tokens."""
        return {
            "curve": Setting(self.measure, "value", "r"),
            "smooth": Setting(self.smooth, "value", True),
            "steps": Setting(self.scale, "value", "linear"),
            "by": Setting(self.grouped, "value", "destroyed"),
            "step": Setting(self.stepped, "value", "loss"),
            **self.strip.settings,
            **self.views.settings,
        }

    def build_exports(self) -> Iterable[Offer]:
        """Tables of positions or steps and of tokens, the page, and the pictures."""
        return [
            Offer("CSV", "Every position, or every logged step", ".csv", "text/csv", csv_bytes),
            Offer(
                "Tokens CSV",
                "Every token: what is transmitted of it, and its numbers as a target",
                "-tokens.csv",
                "text/csv",
                lambda request, result: table_bytes(request, result, result.token_frame()),
                needs=lambda state: chart.has_tokens(state.result),
            ),
            selection_offer(self._selected_csv, chart.has_tokens),
            page_offer(),
            *picture_offers(self.chart, lambda result: chart.caption(result, self._view())),
            *_with(
                chart.has_positions,
                picture_offers(self.positions, chart.positions_caption, "positions", own=True),
            ),
            *_with(
                chart.has_spectrum,
                picture_offers(self.spectrum, chart.spectrum_caption, "spectrum", own=True),
            ),
            *_with(
                chart.has_steps, picture_offers(self.steps, chart.steps_caption, "steps", own=True)
            ),
            self.views.picture_offer(self.views.with_lit(chart.caption)),
        ]

    def draw(self, result: BottleneckReport) -> None:
        """Show another result, or as much of it as there is; the figures come last."""
        self._arrange(result)
        self._offer(result)
        self.headline.value = tables.top(result)
        self.numbers.value, self.facts.value = tables.numbers(result), tables.facts(result)
        self._say(result)
        with self._binding.quiet():
            self.training.offer_devices(self.request.device)
        self.strip.draw(result)
        if chart.has_tokens(result) and not chart.same_rows(self._drawn, result):
            self._drawn = result
            self.groups.draw(result)
            self.views.draw(result, chart.columns(result))
        self._show(result)
        self.spectrum.show(chart.spectrum(result))

    def selected(self) -> None:
        """Light the chosen tokens up in scatter and table."""
        self.views.refresh()

    def part_of(self, result: BottleneckReport) -> str:
        """How far a result has come that is not whole."""
        return result.progress or "a part of the whole"

    def edited(self) -> None:
        """Ask for no more than what counts."""
        self.training.adapt()
        self.of_text.adapt(self.request.source == "text")

    def check(self) -> None:
        """A recorded run must be named before it can be shown."""
        self.source.check()

    def prepare(self, request: Any) -> None:
        """Offer a device that was asked for even where it is missing, and show a second model where
        the request has one."""
        self.training.prepare(request)
        self.of_text.prepare(request)

    # How it works.

    def _ask_for(self, source: str) -> None:
        """Show the controls of a source, and no others."""
        trains, reads = source == "train", source == "text"
        wanted = self.training.fields() if trains else OfText.ASKED if reads else ()
        self.training.show(wanted, "Training" if trains else "")
        self.of_text.show(reads)

    def _turn_beside(self, change: Any) -> None:
        if not self._binding.silent:
            self._edited(change)

    def _arrange(self, result: BottleneckReport | None) -> None:
        """Only what there is something to see of takes room."""
        runs = result is not None and bool(result.runs)
        tokens = chart.has_tokens(result)
        grouped = tokens and bool(result and result.groups)
        seen = {
            "first": result is None or bool(chart.ratios(result)) or runs,
            "line": runs and bool(chart.ratios(result)),
            "strip": tokens,
            "positions": chart.has_positions(result),
            "groups": chart.has_groups(result),
            "spectrum": chart.has_spectrum(result),
            "steps": chart.has_steps(result),
            "numbers": result is not None and bool(result.models or result.runs),
            "facts": result is not None,
        }
        shown: dict[w.Widget, bool] = {self.cards[name]: on for name, on in seen.items()}
        shown |= dict.fromkeys(self.views.cards, tokens)
        shown |= dict.fromkeys(self.groups.cards, grouped)
        shown[self.looks] = runs
        for one, on in shown.items():
            one.layout.display = "" if on else "none"

    def _offer(self, result: BottleneckReport) -> None:
        """The numbers that this result has, the chosen one kept where it is among them."""
        offered = _labels(chart.measures_of(result))
        if list(self.measure.options) != offered:
            kept, self.measure.options = self.measure.value, offered
            if kept in [value for _, value in offered]:
                self.measure.value = kept

    def _say(self, result: BottleneckReport) -> None:
        said = {
            "line": chart.line_caption(result),
            "positions": chart.positions_caption(result),
            "groups": chart.groups_caption(result),
            "spectrum": chart.spectrum_caption(result),
            "steps": chart.steps_caption(result),
        }
        for name, words in said.items():
            self.captions[name].value = f"<p>{escape(words)}</p>"

    def _view(self) -> chart.View:
        return chart.View(self.measure.value or "r", self.smooth.value, self.scale.value)

    def _redraw(self) -> None:
        if self.result is not None and not self._drawing:
            self._show(self.result)

    def _show(self, result: BottleneckReport) -> None:
        """What depends on the choices."""
        view = chart.fitting(result, self._view())
        number = view.measure if view.measure in chart.SCALES else "r"
        self.meaning.value = f"<p class='ep-said'>{escape(chart.MEASURES[view.measure].says)}</p>"
        self.captions["first"].value = f"<p>{escape(chart.caption(result, view))}</p>"
        self.chart.show(chart.spec(result, view))
        self.line.show(chart.line(result, number))
        self.positions.show(chart.histogram(result, number))
        self.by_group.show(chart.groups(result, self.grouped.value))
        self.steps.show(chart.steps(result, self.stepped.value))

    def _selected_csv(self, request: Any, result: BottleneckReport) -> bytes:
        frame = result.token_frame().iloc[sorted(self.selection)]
        return table_bytes(request, result, frame)


def _labels(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(chart.MEASURES[name].label, name) for name in names]


def _with(has: Any, offers: list[Offer]) -> list[Offer]:
    """Only where there is such a chart."""
    return [Offer(**{**vars(one), "needs": _needing(has)}) for one in offers]


def _needing(has: Any) -> Any:
    def needs(state: PanelState) -> bool:
        return bool(has(state.result))

    return needs
