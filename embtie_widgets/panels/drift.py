"""The panel of drift: how far have the rows turned since the training began?"""

from collections.abc import Iterable, Mapping
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import drift as chart
from embtie_widgets.charts.theme import templates
from embtie_widgets.jobs.exports import csv_bytes, table_bytes
from embtie_widgets.panels import drift_tables as tables
from embtie_widgets.panels.exports import Offer, page_offer, picture_offers, selection_offer
from embtie_widgets.panels.fields import Field, Setting, card, labelled, section, segments
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.groups import GroupMeans
from embtie_widgets.panels.recorded import form_of
from embtie_widgets.panels.series import SeriesPicker
from embtie_widgets.panels.source import SourcePicker
from embtie_widgets.panels.state import PanelState
from embtie_widgets.panels.token_views import TokenViews
from embtie_widgets.panels.training_controls import TrainingControls
from embtie_widgets.panels.words import escape
from embtie_widgets.requests import DriftRequest
from embtie_widgets.results.drift import DriftReport
from embtie_widgets.widgets import PlotFigure

_SOURCES = (
    ("a model's checkpoints", "model"),
    ("twins in training here", "train"),
    ("a recorded file", "file"),
    ("a run that RunRecorder writes", "run"),
)
_SCALES = (("log of steps", "log"), ("steps", "linear"))
_CHANGES = (("Cosine", "cosine"), ("Degrees per step", "turn"))


class DriftPanel(Panel):
    """How far the rows of input and output have turned, since the start and between checkpoints.

    `DriftPanel()` shows the bundled twins; give a request, or any of its fields by name (`source`,
    `model`, `other`, `revisions`, `count`, `file`, `steps`, ...).  `parts` takes the place of what
    the frame runs requests with, of `peek` and `follow`, which look into a recorded file and a run,
    and of `keep`, which takes an uploaded file.
    """

    title = "Drift"
    lead = "How far have the rows turned since the training began, and when: input, output, tied?"
    asks = DriftRequest

    def __init__(
        self,
        request: DriftRequest | None = None,
        *,
        parts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._form, given = form_of("drift", parts or {})
        super().__init__(request, **given, **options)
        self.begin()

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """Where the checkpoints come from, and what that source needs."""
        request = self.state.request
        self.training = TrainingControls(request, self.callback)
        self.series = SeriesPicker(request, self.callback(self._turned))
        words = ("The drift of", "Where the checkpoints come from")
        self.source = SourcePicker(_SOURCES, words, self._form(self.callback), self._ask_for)
        fields = {**self.training.fields(), **self.series.fields(), **self.source.fields()}
        shown = [section("Source", self.source), self.series.section, *self.training.sections]
        return fields, shown

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, both pictures, tokens, numbers, groups, facts."""
        self.headline = w.HTML().add_class("ep-headline")
        self.scale = segments("The axis of steps", _SCALES).add_class("ep-switch")
        self.change = segments("What of a change is drawn", _CHANGES)
        self.band = labelled(
            w.Dropdown(description="tokens", options=chart.band_choices(None)),
            "The tokens whose mean is drawn: all, those of one frequency, or every band by itself",
        )
        for control in (self.scale, self.change, self.band):
            control.observe(self.callback(lambda _: self._redraw()), "value")
        self.chart = PlotFigure(templates(), chart.spec(None))
        self.changes = PlotFigure(templates(), chart.change(None))
        self.caption, self.change_caption = (w.HTML().add_class("ep-caption") for _ in range(2))
        self.numbers, self.facts = w.HTML(), w.HTML()
        y = ("first Tied", "first Out", "first In")
        self.views = TokenViews(self, None, str, ("log_count",), y, ("count", *y))
        self.groups = GroupMeans(self.state, self.callback, "Mean cosine with the first checkpoint")
        looks = w.Box([self.scale, self.band]).add_class("ep-looks")
        self._numbers = card("Checkpoints", self.numbers)
        self._facts = card("Trainings", self.facts)
        changes = card("From checkpoint to checkpoint", self.change, self.changes)
        changes.children = (*changes.children, self.change_caption)
        self._arrange(None)
        return [
            self.headline,
            card("Since the first", looks, self.chart, self.caption).add_class("ep-drift"),
            changes.add_class("ep-changes"),
            self._numbers,
            *self.views.cards,
            *self.groups.cards,
            self._facts,
        ]

    def build_settings(self) -> Mapping[str, Setting]:
        """The axis of steps, what of a change is drawn, the band, and the views of tokens."""
        return {
            "steps": Setting(self.scale, "value", "log"),
            "change": Setting(self.change, "value", "cosine"),
            "band": Setting(self.band, "value", ""),
            **self.views.settings,
        }

    def build_exports(self) -> Iterable[Offer]:
        """Tables of checkpoints and tokens, the page, and the pictures."""
        return [
            Offer("CSV", "Every checkpoint of every training", ".csv", "text/csv", csv_bytes),
            Offer(
                "Tokens CSV",
                "Every token's cosines at the last checkpoint",
                "-tokens.csv",
                "text/csv",
                lambda request, result: table_bytes(request, result, result.token_frame()),
                needs=_has_rows,
            ),
            selection_offer(self._selected_csv, chart.has_rows),
            page_offer(),
            *picture_offers(self.chart, lambda result: chart.caption(result, self.band.value)),
            *picture_offers(self.changes, self._said_of_changes, "changes", own=True),
            self.views.picture_offer(self.views.with_lit(chart.caption)),
        ]

    def draw(self, result: DriftReport) -> None:
        """Show another result, or as much of it as there is; the figures come last."""
        self._arrange(result)
        self._offer_bands(result)
        self.headline.value = tables.top(result)
        self.numbers.value, self.facts.value = tables.numbers(result), tables.facts(result)
        with self._binding.quiet():
            self.training.offer_devices(self.request.device)
        if chart.has_rows(result):
            self.groups.draw(result)
            self.views.draw(result, chart.columns(result))
        self._show(result)

    def selected(self) -> None:
        """Light the chosen tokens up in scatter and table."""
        self.views.refresh()

    def part_of(self, result: DriftReport) -> str:
        """How far a result has come that is not whole."""
        return result.progress or "a part of the whole"

    def edited(self) -> None:
        """Ask for no more than what counts; names go before a number."""
        self.training.adapt()
        self.series.adapt()

    def check(self) -> None:
        """A recorded file or run must be named before it can be shown."""
        self.source.check()

    def prepare(self, request: Any) -> None:
        """Offer a device that was asked for even where it is missing, and show a second model where
        the request has one."""
        self.training.prepare(request)
        self.series.prepare(request)

    # How it works.

    def _ask_for(self, source: str) -> None:
        """Show the controls of a source, and no others."""
        trains = source == "train"
        self.training.show(self.training.fields() if trains else ())
        self.series.show(source == "model")

    def _turned(self, change: Any) -> None:
        """A second model is asked for, or given up."""
        if not self._binding.silent:
            self._edited(change)

    def _arrange(self, result: DriftReport | None) -> None:
        """Only what there is something to see of takes room."""
        rows = chart.has_rows(result)
        shown = {
            self._numbers: result is not None and bool(result.runs),
            self._facts: result is not None,
            **dict.fromkeys(self.views.cards, rows),
            **dict.fromkeys(self.groups.cards, rows and bool(result and result.groups)),
        }
        for one, seen in shown.items():
            one.layout.display = "" if seen else "none"

    def _offer_bands(self, result: DriftReport) -> None:
        """The bands that this result has, the chosen one kept where it is among them."""
        offered = chart.band_choices(result)
        if list(self.band.options) != offered:
            kept, self.band.options = self.band.value, offered
            if kept in [value for _, value in offered]:
                self.band.value = kept
        self.band.layout.display = "" if len(offered) > 1 else "none"

    def _view(self) -> chart.View:
        return chart.View(self.scale.value, self.band.value or "", self.change.value)

    def _redraw(self) -> None:
        if self.result is not None and not self._drawing:
            self._show(self.result)

    def _show(self, result: DriftReport) -> None:
        view = self._view()
        self.caption.value = f"<p>{escape(chart.caption(result, view.band))}</p>"
        self.change_caption.value = f"<p>{escape(self._said_of_changes(result))}</p>"
        self.chart.show(chart.spec(result, view))
        self.changes.show(chart.change(result, view))

    def _said_of_changes(self, result: DriftReport) -> str:
        return chart.change_caption(result, self.change.value)

    def _selected_csv(self, request: Any, result: DriftReport) -> bytes:
        frame = result.token_frame().iloc[sorted(self.selection)]
        return table_bytes(request, result, frame)


def _has_rows(state: PanelState) -> bool:
    return chart.has_rows(state.result)
