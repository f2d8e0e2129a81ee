"""The panel of output embedding centering: why logits run away, and what one subtraction does."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import centering as chart
from embtie_widgets.charts.centering_view import HELD_LOSS, final_loss
from embtie_widgets.charts.theme import templates
from embtie_widgets.jobs.exports import csv_bytes, table_bytes
from embtie_widgets.panels import centering_tables as tables
from embtie_widgets.panels.centering_choice import RunChooser
from embtie_widgets.panels.centering_controls import SweepControls
from embtie_widgets.panels.centering_place import PlacePicker
from embtie_widgets.panels.exports import Offer, page_offer, picture_offers
from embtie_widgets.panels.fields import Field, Setting, card, labelled, reoffer, section
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.recorded import form_of
from embtie_widgets.panels.setting_picker import SettingPicker
from embtie_widgets.panels.source import SourcePicker
from embtie_widgets.panels.training_controls import TrainingControls
from embtie_widgets.panels.words import escape
from embtie_widgets.requests.centering import CenteringRequest
from embtie_widgets.requests.centering_settings import SETTINGS
from embtie_widgets.results.centering import CenteringReport
from embtie_widgets.widgets import PlotFigure

_SOURCES = (
    ("runs trained here", "train"),
    ("a recorded sweep", "file"),
    ("runs that RunRecorder writes", "run"),
)
# Of a training's fields those that the sweep has its own controls for, or has no use for.
_NOT_ASKED = frozenset({"lr", "seed", "share_start"})
_ALL, _FEW = "all", 3


class CenteringPanel(Panel):
    """Loss, logits and the mean output row of runs that differ in what keeps the logits small.

    `CenteringPanel()` shows a sweep on the bundled sample; give a request, or any of its fields by
    name (`methods`, `tying`, `rates`, `coefficients`, `cap`, `steps`, `source`, `file`, ...).
    `parts` takes the place of what the frame runs requests with, and of what the form for recorded
    files looks with.
    """

    title = "Output centering"
    lead = "Why do logits run away at high learning rates, and what does one subtraction do?"
    asks = CenteringRequest

    def __init__(
        self,
        request: CenteringRequest | None = None,
        *,
        parts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._form, given = form_of("sweep", parts or {})
        super().__init__(request, **given, **options)
        self.begin()

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """Where the runs come from, what they differ in and share, and where they are trained."""
        self.training = TrainingControls(self.state.request, self.callback)
        self.sweep = SweepControls()
        self.setting = SettingPicker(CenteringRequest, SETTINGS, self.callback(self._take_setting))
        self.place = PlacePicker(self.callback, self._moved)
        *recipe, machine = self.training.sections
        self._trained = [
            self.setting,
            *self.sweep.sections,
            *recipe,
            section("Where", self.place, *machine.children[1:]),
        ]
        words = ("The runs are", "Where the runs come from")
        self.source = SourcePicker(_SOURCES, words, self._form(self.callback), self._ask_for)
        fields = {**self.training.fields(), **self.sweep.fields(), **self.source.fields()}
        return fields, [section("Source", self.source), *self._trained]

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, curves, grid, one run, loss by rate, sensitivities, effects, runs, facts."""
        self.headline = w.HTML().add_class("ep-headline")
        self.numbers, self.effects, self.one, self.facts = (w.HTML() for _ in range(4))
        self.lines, self.printed = w.HTML(), w.HTML(tables.printed_runs())
        self.chart = PlotFigure(templates(), chart.spec(None))
        self.grid = PlotFigure(templates(), chart.grid(None))
        self.rates = PlotFigure(templates(), chart.rates(None))
        self.weights = PlotFigure(templates(), chart.coefficients(None))
        self.sensitivity = PlotFigure(templates(), chart.sensitivity(None))
        self.grid.clicked = self.callback(self._clicked)
        self.captions = {
            name: w.HTML().add_class("ep-caption")
            for name in ("curves", "grid", "rates", "sensitivity", "weights")
        }
        self._build_choices()
        self.cards = self._carded()
        self._arrange(None)
        return [self.headline, *self.cards.values()]

    def _build_choices(self) -> None:
        """What of the result is looked at."""
        self.run_chooser = RunChooser(self.callback)
        self.curve = labelled(
            w.Dropdown(description="curves", options=[("the usual", _ALL)]), "What is drawn"
        )
        self.stretch = w.Checkbox(description="large and small at once", indent=False)
        self.stretch.add_class("ep-field").tooltip = "Stretch small numbers and squeeze large ones"
        self.measure = labelled(
            w.Dropdown(description="each cell shows", options=chart.measures_of(None)),
            "The number of each run that is drawn",
        )
        self.run_chooser.observe(self.callback(lambda _: self._redraw()), "value")
        for control in (self.curve, self.stretch, self.measure):
            control.observe(self.callback(lambda _: self._redraw()), "value")

    def _carded(self) -> dict[str, w.VBox]:
        said = self.captions
        looks = w.Box([self.curve, self.stretch]).add_class("ep-looks")
        cells = w.Box([self.measure]).add_class("ep-looks")
        scroll = w.Box([self.grid]).add_class("ep-grid").add_class("ep-scroll")
        return {
            "curves": card("", self.run_chooser, looks, self.chart, said["curves"]).add_class(
                "ep-curves"
            ),
            "grid": card("The sweep", cells, scroll, said["grid"]).add_class("ep-sweep"),
            "one": card("One run", self.one).add_class("ep-one"),
            "rates": card("Loss by learning rate", self.rates, said["rates"]),
            "sensitivity": card(
                "Sensitivity to the learning rate",
                self.sensitivity,
                said["sensitivity"],
                self.lines,
            ),
            "weights": card("Sensitivity by coefficient", self.weights, said["weights"]),
            "effects": card("What one subtraction changes", self.effects),
            "runs": card("Runs", self.numbers),
            "printed": card("How the paper's runs ended", self.printed),
            "facts": card("What was trained", self.facts),
        }

    def build_settings(self) -> Mapping[str, Setting]:
        """The run that is looked at, and what of it."""
        return {
            "run": Setting(self.run_chooser, "value", ""),
            "curve": Setting(self.curve, "value", _ALL),
            "log": Setting(self.stretch, "value", False),
            "cell": Setting(self.measure, "value", HELD_LOSS),
        }

    def build_exports(self) -> Iterable[Offer]:
        """Tables of runs, curves and sensitivities, the page, and the pictures."""
        return [
            Offer("CSV", "Every run with its numbers at the end", ".csv", "text/csv", csv_bytes),
            _frame_offer(
                "Curves CSV", "Every logged step of every run", "-curves",
                lambda result: result.curves_frame(), lambda result: _has_curves(result),
            ),
            _frame_offer(
                "Sensitivity CSV", "Every line of learning rates", "-sensitivity",
                lambda result: result.sensitivity_frame(), lambda result: bool(result.sensitivity),
            ),
            page_offer(),
            *picture_offers(self.chart, lambda result: chart.caption(result, self._view())),
            *picture_offers(self.grid, self._said_of_grid, "sweep", own=True),
            *picture_offers(self.rates, chart.rates_caption, "rates", own=True),
        ]  # fmt: skip

    def draw(self, result: CenteringReport) -> None:
        """Show another result, or as much of it as there is; the figures come last."""
        self._arrange(result)
        self.run_chooser.draw(result)
        self._offer(result)
        self.headline.value = tables.top(result)
        self.numbers.value, self.facts.value = tables.runs(result), tables.facts(result)
        self.effects.value, self.lines.value = tables.effects(result), tables.sensitivities(result)
        with self._binding.quiet():
            self.training.offer_devices(self.request.device)
        self._show(result)
        for name, figure, made in (
            ("rates", self.rates, chart.rates),
            ("weights", self.weights, chart.coefficients),
            ("sensitivity", self.sensitivity, chart.sensitivity),
        ):
            if self._is_seen(name):
                figure.show(made(result))

    def part_of(self, result: CenteringReport) -> str:
        """How far a result has come that is not whole."""
        return result.progress or "a part of the whole"

    def edited(self) -> None:
        """Ask for no more than what counts."""
        self.training.adapt()
        self.sweep.adapt(self.request)
        self.setting.follow(self.request)

    def check(self) -> None:
        """A recorded file or run must be named before it can be shown."""
        self.source.check()

    def prepare(self, request: Any) -> None:
        """Offer a device that was asked for even where it is missing; a run then says so."""
        self.training.prepare(request)

    # How it works.

    def _take_setting(self, request: CenteringRequest) -> None:
        self.request = replace(request, device=self.request.device)

    def _moved(self) -> None:
        """Elsewhere the same runs cost another time."""
        self._changed(self.request)

    def _ask_for(self, source: str) -> None:
        """Show the controls of a source, and no others."""
        trains = source == "train"
        for one in self._trained:
            one.layout.display = "" if trains else "none"
        self.training.show(self.training.fields().keys() - _NOT_ASKED if trains else ())

    def _arrange(self, result: CenteringReport | None) -> None:
        """Only what there is something to see of takes room."""
        runs = () if result is None else result.runs
        seen = {
            "curves": result is None or _has_curves(result),
            "grid": len(runs) > 1,
            "one": bool(runs),
            "rates": result is not None and len(result.rates) > 1,
            "sensitivity": result is not None and bool(result.sensitivity),
            "weights": result is not None and chart.has_coefficients(result),
            "effects": result is not None and bool(result.effects),
            "runs": bool(runs),
            "printed": result is not None and result.settings.get("source") == "train",
            "facts": result is not None,
        }
        for name, shown in seen.items():
            self.cards[name].layout.display = "" if shown else "none"
        # The words of few columns have room on a narrow page too.
        wide = result is not None and len(result.rates) > _FEW
        self.grid.layout.min_width = None if wide else "0"

    def _is_seen(self, name: str) -> bool:
        return bool(self.cards[name].layout.display != "none")

    def _offer(self, result: CenteringReport) -> None:
        """The curves and numbers that this result has; the chosen one is kept where it can be."""
        labels = [(chart.QUANTITIES[name].label, name) for name in chart.quantities_of(result)]
        reoffer(self.curve, [("the usual", _ALL), *labels])
        known, usual = chart.measures_of(result), (f"{final_loss(result)}, nats", HELD_LOSS)
        # What no run has yet, but all will have in the end, is not given up meanwhile.
        later = [usual] if result.progress and usual not in known else []
        reoffer(self.measure, [*later, *known])

    def _view(self) -> chart.View:
        view = replace(self.run_chooser.view(), log=self.stretch.value)
        alone = self.curve.value not in (_ALL, None)
        return replace(view, curves=(self.curve.value,)) if alone else view

    def _redraw(self) -> None:
        if self.result is not None and not self._drawing:
            self._show(self.result)

    def _show(self, result: CenteringReport) -> None:
        """What depends on the choices."""
        view, run = self._view(), self.run_chooser.run
        self.one.value = tables.card(result, run)
        said = {
            "curves": chart.caption(result, view),
            "grid": self._said_of_grid(result),
            "rates": chart.rates_caption(result),
            "sensitivity": chart.sensitivity_caption(result),
            "weights": chart.coefficients_caption(result),
        }
        for name, words in said.items():
            self.captions[name].value = f"<p>{escape(words)}</p>"
        self.grid.show(chart.grid(result, self._measure, "" if run is None else chart.key_of(run)))
        self.chart.show(chart.spec(result, view))

    def _said_of_grid(self, result: CenteringReport) -> str:
        return chart.grid_caption(result, self._measure)

    @property
    def _measure(self) -> str:
        return self.measure.value or HELD_LOSS

    def _clicked(self, trace: int, cell: tuple[int, ...]) -> None:
        """A cell opens its run."""
        run = None if self.result is None else chart.run_at(self.result, trace, cell)
        if run is not None:
            self.run_chooser.value = chart.key_of(run)


def _has_curves(result: CenteringReport) -> bool:
    return any(run.curves for run in result.runs)


def _frame_offer(label: str, title: str, suffix: str, frame: Any, has: Any) -> Offer:
    return Offer(
        label, title, f"{suffix}.csv", "text/csv",
        lambda request, result: table_bytes(request, result, frame(result)),
        needs=lambda state: state.result is not None and has(state.result),
    )  # fmt: skip
