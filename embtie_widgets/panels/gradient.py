"""The panel of the gradient flow: who writes into the shared matrix, its input or its output?"""

from collections.abc import Iterable, Mapping
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import gradient as chart
from embtie_widgets.charts.theme import templates
from embtie_widgets.jobs.exports import csv_bytes, table_bytes
from embtie_widgets.panels import gradient_tables as tables
from embtie_widgets.panels.exports import Offer, page_offer, picture_offers, selection_offer
from embtie_widgets.panels.fields import (
    Field,
    Setting,
    card,
    labelled,
    section,
    segments,
    usable,
    whole_if_it_is,
)
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.groups import GroupMeans
from embtie_widgets.panels.pair import ModelPicker
from embtie_widgets.panels.recorded import form_of
from embtie_widgets.panels.source import SourcePicker
from embtie_widgets.panels.state import PanelState
from embtie_widgets.panels.token_views import TokenViews
from embtie_widgets.panels.training_controls import TrainingControls
from embtie_widgets.panels.words import escape
from embtie_widgets.requests import GradientFlowRequest
from embtie_widgets.results.gradient import GradientFlow
from embtie_widgets.widgets import PlotFigure

_SOURCES = (
    ("twins in training here", "train"),
    ("a model on a text, no training", "text"),
    ("a recorded file", "file"),
    ("a run that RunRecorder writes", "run"),
)
_OF_A_TEXT = frozenset({"corpus", "batch", "length", "precision", "device"})
_MODES = (("Corrected", "corrected"), ("Paper", "paper"))
_SCALES = (("steps", "linear"), ("log of steps", "log"))


class GradientFlowPanel(Panel):
    """Who writes into the shared matrix: the gradient by its input and by its output use.

    `GradientFlowPanel()` shows twins in training; give a request, or any of its fields by name
    (`source`, `preset`, `corpus`, `batch`, `warmup`, `model`, `file`, ...).  `parts` takes the
    place of what the frame runs requests with, of `peek` and `follow`, which look into a recorded
    file and a run, and of `keep`, which takes an uploaded file.
    """

    title = "Gradient flow"
    lead = "Who writes into the shared matrix: its use at the input, or its use at the output?"
    asks = GradientFlowRequest

    def __init__(
        self,
        request: GradientFlowRequest | None = None,
        *,
        parts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._form, given = form_of("gradient", parts or {})
        self._drawn: GradientFlow | None = None
        super().__init__(request, **given, **options)
        self.begin()

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """Where the gradient comes from, and what that source needs."""
        request = self.state.request
        self.training = TrainingControls(request, self.callback)
        self.model = ModelPicker("Model", request.model, whole=True)
        self.batches = labelled(
            w.FloatText(description="batches", continuous_update=False),
            "In how many batches of the text the gradient is split",
        )
        self._of_a_text = section("Model", self.model, self.batches)
        words = ("The gradient of", "Where the gradient comes from")
        self.source = SourcePicker(_SOURCES, words, self._form(self.callback), self._ask_for)
        fields = {
            **self.training.fields(),
            "model": Field(self.model),
            "batches": Field(self.batches, to_request=whole_if_it_is),
            **self.source.fields(),
        }
        return fields, [section("Source", self.source), self._of_a_text, *self.training.sections]

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, curves, bands, tokens, numbers, groups, facts."""
        self.headline = w.HTML().add_class("ep-headline")
        self.mode = segments("Which gradient", _MODES, [chart.MODE_WORDS[m] for _, m in _MODES])
        self.measure = segments("What of it is drawn", _labels(chart.MEASURES))
        self.smooth = w.Checkbox(description="means over 20 steps", indent=False, value=True)
        self.scale = segments("The axis of steps", _SCALES)
        for control in (self.mode, self.measure, self.smooth, self.scale):
            control.observe(self.callback(lambda _: self._redraw()), "value")
        self.smooth.tooltip = (
            "Draw curves as means over the last 20 steps, single steps behind them"
        )
        self.mode_words, self.meaning, self.numbers, self.facts = (w.HTML() for _ in range(4))
        self.chart = PlotFigure(templates(), chart.spec(None))
        self.bands = PlotFigure(templates(), chart.bands(None))
        self.caption, self.bands_caption = (w.HTML().add_class("ep-caption") for _ in range(2))
        self.views = TokenViews(
            self, None, str, ("log_count",), ("share tied", "share untied"), ("count", "share tied")
        )
        self.groups = GroupMeans(self.state, self.callback, "The output's mean share of lengths")
        self.looks = w.Box([self.smooth, self.scale.add_class("ep-switch")]).add_class("ep-looks")
        curves = [self.mode, self.mode_words, self.measure, self.meaning, self.chart, self.looks]
        self.cards = {
            "curves": card("", *curves, self.caption).add_class("ep-flow"),
            "bands": card("Into which rows", self.bands, self.bands_caption).add_class("ep-bands"),
            "numbers": card("Means over steps", self.numbers),
            "facts": card("Runs", self.facts),
        }
        self._by_group = self.groups.cards
        self._arrange(None)
        shown = self.cards
        tokens = [*self.views.cards, shown["numbers"], *self._by_group, shown["facts"]]
        return [self.headline, shown["curves"], shown["bands"], *tokens]

    def build_settings(self) -> Mapping[str, Setting]:
        """Mode, curve, means, the axis of steps, and the views of tokens."""
        return {
            "mode": Setting(self.mode, "value", "corrected"),
            "curve": Setting(self.measure, "value", "share"),
            "smooth": Setting(self.smooth, "value", True),
            "steps": Setting(self.scale, "value", "linear"),
            **self.views.settings,
        }

    def build_exports(self) -> Iterable[Offer]:
        """Tables of steps and tokens, the page, and the pictures."""
        return [
            Offer("CSV", "Every logged step of every run", ".csv", "text/csv", csv_bytes),
            Offer(
                "Tokens CSV",
                "Every token's row: lengths by either path, and shares",
                "-tokens.csv",
                "text/csv",
                lambda request, result: table_bytes(request, result, result.token_frame()),
                needs=lambda state: chart.has_rows(state.result),
            ),
            selection_offer(self._selected_csv, chart.has_rows),
            page_offer(),
            *picture_offers(self.chart, lambda result: chart.caption(result, self._view())),
            *map(_with_bands, picture_offers(self.bands, chart.bands_caption, "bands", own=True)),
            self.views.picture_offer(self.views.with_lit(chart.caption)),
        ]

    def draw(self, result: GradientFlow) -> None:
        """Show another result, or as much of it as there is; the figures come last."""
        self._arrange(result)
        self._offer(result)
        self.headline.value = tables.top(result)
        self.numbers.value, self.facts.value = tables.numbers(result), tables.facts(result)
        self.bands_caption.value = f"<p>{escape(chart.bands_caption(result))}</p>"
        with self._binding.quiet():
            self.training.offer_devices(self.request.device)
        if chart.has_rows(result) and not chart.same_rows(self._drawn, result):
            self._drawn = result
            self.groups.draw(result)
            self.views.draw(result, chart.columns(result))
        self._show(result)
        if chart.has_bands(result):
            self.bands.show(chart.bands(result))

    def selected(self) -> None:
        """Light the chosen tokens up in scatter and table."""
        self.views.refresh()

    def part_of(self, result: GradientFlow) -> str:
        """How far a result has come that is not whole."""
        return result.progress or "a part of the whole"

    def edited(self) -> None:
        """Ask for no more than what counts."""
        self.training.adapt()

    def check(self) -> None:
        """A recorded file or run must be named before it can be shown."""
        self.source.check()

    def prepare(self, request: Any) -> None:
        """Offer a device that was asked for even where it is missing; a run then says so."""
        self.training.prepare(request)

    # How it works.

    def _ask_for(self, source: str) -> None:
        """Show the controls of a source, and no others."""
        trains, splits = source == "train", source == "text"
        wanted = self.training.fields() if trains else _OF_A_TEXT if splits else ()
        self.training.show(wanted, "Training" if trains else "Batches")
        self._of_a_text.layout.display = "" if splits else "none"

    def _arrange(self, result: GradientFlow | None) -> None:
        """Only what there is something to see of takes room."""
        rows, drawn = chart.has_rows(result), result is None or bool(result.runs)
        shown = {
            self.cards["bands"]: chart.has_bands(result),
            self.cards["numbers"]: result is not None and bool(result.runs),
            self.cards["facts"]: result is not None,
            **dict.fromkeys(self.views.cards, rows),
            **dict.fromkeys(self._by_group, rows and bool(result and result.groups)),
            self.looks: drawn and not (result and result.settings.get("source") == "text"),
            self.mode_words: drawn,
            self.mode: result is None or len(chart.modes_of(result)) > 1,
        }
        for one, seen in shown.items():
            one.layout.display = "" if seen else "none"

    def _offer(self, result: GradientFlow) -> None:
        """The curves that this result has, the chosen one kept where it is among them."""
        offered = _labels(chart.measures_of(result) or chart.MEASURES)
        if list(self.measure.options) != offered:
            kept, self.measure.options = self.measure.value, offered
            if kept in [value for _, value in offered]:
                self.measure.value = kept

    def _view(self) -> chart.View:
        measure = self.measure.value or "share"
        return chart.View(self.mode.value, measure, self.smooth.value, self.scale.value)

    def _redraw(self) -> None:
        if self.result is not None and not self._drawing:
            self._show(self.result)

    def _show(self, result: GradientFlow) -> None:
        view = chart.fitting(result, self._view())
        said = escape(chart.mode_words(result, view))
        self.mode_words.value = f"<p class='ep-said'>{said}</p>"
        self.meaning.value = f"<p class='ep-said'>{escape(view.shown.says)}</p>"
        for control in (self.measure, self.meaning):
            control.layout.display = "" if result.runs and not view.paper else "none"
        usable(self.smooth, "the paper's proxy is shown as it is" if view.paper else "")
        self.caption.value = f"<p>{escape(chart.caption(result, view))}</p>"
        self.chart.show(chart.spec(result, view))

    def _selected_csv(self, request: Any, result: GradientFlow) -> bytes:
        frame = result.token_frame().iloc[sorted(self.selection)]
        return table_bytes(request, result, frame)


def _labels(names: Iterable[str]) -> list[tuple[str, str]]:
    return [(chart.MEASURES[name].label, name) for name in names]


def _with_bands(offer: Offer) -> Offer:
    """Only where there are any."""
    return Offer(**{**vars(offer), "needs": lambda state: chart.has_bands(_result(state))})


def _result(state: PanelState) -> GradientFlow | None:
    shown: GradientFlow | None = state.result
    return shown
