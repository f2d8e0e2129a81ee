"""The panel of experiments on the gradient bottleneck: does it matter what is not transmitted?"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import trials as chart
from embtie_widgets.charts.theme import templates
from embtie_widgets.charts.trials_view import ACROSS, RANKS, SPAMLANG
from embtie_widgets.jobs.exports import csv_bytes, table_bytes
from embtie_widgets.panels import trials_tables as tables
from embtie_widgets.panels.exports import Offer, page_offer, picture_offers
from embtie_widgets.panels.fields import Field, Setting, card, labelled, reoffer, section
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.setting_picker import SettingPicker
from embtie_widgets.panels.training_controls import TrainingControls
from embtie_widgets.panels.trials_choice import RunFilter, RunMenu
from embtie_widgets.panels.trials_controls import ExperimentSwitch, TrialControls
from embtie_widgets.panels.words import escape
from embtie_widgets.requests.trials import BottleneckTrialsRequest
from embtie_widgets.requests.trials_settings import SETTINGS
from embtie_widgets.results.trials import TrialsReport
from embtie_widgets.widgets import PlotFigure

# Of a training's fields those that an experiment has its own controls for, or has no use for.
_NOT_ASKED = frozenset({"lr", "seed", "share_start"})
_NOT_OF_SPAMLANG = frozenset({"batch", "length", "corpus", "tokenizer", "vocabulary"})
_USUAL = "usual"  # what is drawn first, of either experiment
_CURVES = {
    RANKS: (("Loss", _USUAL), ("Above the full head", "against")),
    SPAMLANG: (
        ("Right predictions", _USUAL),
        ("Loss", "loss"),
        ("Not transmitted", "destroyed"),
    ),
}
_CURVE_HELP = {
    RANKS: ("Loss of each step's batch", "Less that of the full head at the same step"),
    SPAMLANG: (
        "Share of right predictions in each step's batch",
        "Loss of each step's batch",
        "Share of the logit gradient's length that does not reach the hidden state",
    ),
}
_CLICK = "A click on a cell opens its run below."
_ACROSS = (("Positions", "positions"), ("Independent sequences", "sequences"))


class BottleneckTrialsPanel(Panel):
    """Models whose head lets less of the gradient through, and models of repeated symbols.

    `BottleneckTrialsPanel()` shows head ranks on the bundled sample; give a request, or any of its
    fields by name (`experiment`, `ways`, `ranks`, `symbols`, `widths`, `lengths`, `budget`, ...).
    `parts` takes the place of what the frame runs requests with.
    """

    title = "Bottleneck trials"
    lead = "Does it matter what is not transmitted to the hidden state?"
    asks = BottleneckTrialsRequest

    def __init__(
        self,
        request: BottleneckTrialsRequest | None = None,
        *,
        parts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._kept: dict[str, BottleneckTrialsRequest] = {}
        super().__init__(request, **(parts or {}), **options)
        self.begin()

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """Which experiment, a ready setting, what runs differ in, and what they share."""
        self.training = TrainingControls(self.state.request, self.callback)
        self.experiment = ExperimentSwitch(self.callback(self._turned))
        self.setting = SettingPicker(
            BottleneckTrialsRequest, SETTINGS, self.callback(self._take_setting)
        )
        self.trials = TrialControls()
        fields = {
            **self.training.fields(),
            "experiment": Field(self.experiment),
            **self.trials.fields(),
        }
        top = section("Experiment", self.experiment, self.setting)
        return fields, [top, *self.trials.sections, *self.training.sections]

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, curves, losses above the full head, heat map, one run, runs, facts."""
        self.headline = w.HTML().add_class("ep-headline")
        self.above, self.one, self.numbers, self.facts = (w.HTML() for _ in range(4))
        self.chart = PlotFigure(templates(), chart.spec(None))
        self.excess = PlotFigure(templates(), chart.excess(None))
        self.grid = PlotFigure(templates(), chart.grid(None))
        self.grid.clicked = self.callback(self._clicked)
        self.captions = {
            name: w.HTML().add_class("ep-caption") for name in ("curves", "excess", "grid")
        }
        self._build_choices()
        self.cards = self._carded()
        self._arrange(None)
        return [self.headline, *self.cards.values()]

    def _build_choices(self) -> None:
        """What of the result is looked at."""
        self.only, self.run_menu = RunFilter(self.callback), RunMenu(self.callback)
        self.curve = _segments("drawn", _CURVES[RANKS], _CURVE_HELP[RANKS])
        self.across = _segments(
            "against",
            _ACROSS,
            tuple(f"The number of {words} seen so far" for words in ACROSS.values()),
        )
        self.measure = labelled(
            w.Dropdown(description="each cell shows", options=chart.measures_of(None)),
            "The number of each run that is drawn",
        )
        for control, trait in (
            (self.only, "value"),
            (self.run_menu, "key"),
            (self.curve, "value"),
            (self.across, "value"),
            (self.measure, "value"),
        ):
            control.observe(self.callback(lambda _: self._redraw()), trait)

    def _carded(self) -> dict[str, w.VBox]:
        said = self.captions
        looks = w.Box([self.curve, self.across]).add_class("ep-looks")
        cells = w.Box([self.measure]).add_class("ep-looks")
        scroll = w.Box([self.grid]).add_class("ep-grid").add_class("ep-scroll")
        curves = card("", self.only, looks, self.chart, said["curves"]).add_class("ep-curves")
        return {
            "curves": curves,
            "excess": card(
                "Loss above the full head", self.excess, said["excess"], self.above
            ).add_class("ep-excess"),
            "grid": card("Runs side by side", cells, scroll, said["grid"]).add_class("ep-sweep"),
            "one": card("One run", self.run_menu, self.one).add_class("ep-one"),
            "runs": card("Runs", self.numbers),
            "printed": card("As printed", w.HTML(tables.printed_symbols())),
            "facts": card("What was trained", self.facts),
        }

    def build_settings(self) -> Mapping[str, Setting]:
        """Which runs are drawn, against what, and the one that is looked at."""
        return {
            "only": Setting(self.only, "value", ""),
            "curve": Setting(self.curve, "value", _USUAL),
            "across": Setting(self.across, "value", "positions"),
            "cell": Setting(self.measure, "value", "accuracy"),
            "run": Setting(self.run_menu, "key", ""),
        }

    def build_exports(self) -> Iterable[Offer]:
        """Tables of runs and curves, the page, and the pictures."""
        return [
            Offer("CSV", "Every run with its numbers at the end", ".csv", "text/csv", csv_bytes),
            Offer(
                "Curves CSV",
                "Every logged step of every run",
                "-curves.csv",
                "text/csv",
                lambda request, result: table_bytes(request, result, result.curve_frame()),
            ),
            page_offer(),
            *picture_offers(self.chart, lambda result: chart.caption(result, self._view())),
            *_where(
                picture_offers(self.excess, chart.excess_caption, "excess", own=True),
                lambda result: bool(result.excess),
            ),
            *_where(
                picture_offers(self.grid, self._said_of_grid, "grid", own=True), chart.has_grid
            ),
        ]

    def draw(self, result: TrialsReport) -> None:
        """Show another result, or as much of it as there is; the figures come last."""
        self._arrange(result)
        self.headline.value = tables.top(result)
        self._offer(result)
        self.numbers.value, self.facts.value = tables.runs(result), tables.facts(result)
        self.above.value = tables.excess(result)
        self.captions["excess"].value = _captioned(chart.excess_caption(result))
        with self._binding.quiet():
            self.training.offer_devices(self.request.device)
        self._show(result)
        if self._is_seen("excess"):
            self.excess.show(chart.excess(result))

    def part_of(self, result: TrialsReport) -> str:
        """How far a result has come that is not whole."""
        return result.progress or "a part of the whole"

    def edited(self) -> None:
        """Ask for no more than what counts."""
        language = self.request.experiment == SPAMLANG
        asked = self.training.fields().keys() - _NOT_ASKED
        self.training.show(asked - _NOT_OF_SPAMLANG if language else asked)
        self.trials.adapt(self.request)
        self.setting.follow(self.request)

    def prepare(self, request: Any) -> None:
        """Offer a device that was asked for even where it is missing; a run then says so."""
        self.training.prepare(request)

    # How it works.

    def _turned(self, experiment: str) -> None:
        """The other experiment, as it was left, else by the first setting that is ready for it."""
        before = self.request
        self._kept[before.experiment] = before
        ready = (f for f, _ in SETTINGS.values() if f.get("experiment", RANKS) == experiment)
        fields = {"experiment": experiment, **next(ready, {})}
        asked = self._kept.get(experiment) or BottleneckTrialsRequest(**fields)
        self.request = replace(asked, device=before.device)

    def _take_setting(self, request: BottleneckTrialsRequest) -> None:
        self.request = replace(request, device=self.request.device)

    def _arrange(self, result: TrialsReport | None) -> None:
        """Only what there is something to see of takes room."""
        runs = () if result is None else result.trials
        language = result is not None and result.experiment == SPAMLANG
        seen = {
            "curves": result is None or any(len(run.curves) for run in runs),
            "excess": result is not None and bool(result.excess),
            "grid": chart.has_grid(result),
            "one": bool(runs),
            "runs": bool(runs),
            "printed": language,
            "facts": result is not None,
        }
        for name, shown in seen.items():
            self.cards[name].layout.display = "" if shown else "none"
        self.across.layout.display = "" if language else "none"
        self.grid.layout.min_width = "0"

    def _is_seen(self, name: str) -> bool:
        return bool(self.cards[name].layout.display != "none")

    def _offer(self, result: TrialsReport) -> None:
        """The choices that this result has; those made are kept where they can be."""
        self.only.draw(result)
        self.run_menu.draw(result)
        reoffer(self.curve, list(_CURVES[result.experiment]))
        self.curve.tooltips = _CURVE_HELP[result.experiment]
        reoffer(self.measure, chart.measures_of(result))

    def _view(self) -> chart.View:
        return chart.View(self.only.only, self.across.value, self.curve.value or _USUAL)

    def _redraw(self) -> None:
        if self.result is not None and not self._drawing:
            self._show(self.result)

    def _show(self, result: TrialsReport) -> None:
        """What depends on the choices."""
        view, run = self._view(), self.run_menu.run
        self.one.value = tables.card(result, run)
        self.captions["curves"].value = _captioned(chart.caption(result, view))
        self.captions["grid"].value = _captioned(f"{self._said_of_grid(result)} {_CLICK}")
        if self._is_seen("grid"):
            key = "" if run is None else chart.key_of(run)
            self.grid.show(chart.grid(result, self._measure, key))
        self.chart.show(chart.spec(result, view))

    def _said_of_grid(self, result: TrialsReport) -> str:
        return chart.grid_caption(result, self._measure)

    @property
    def _measure(self) -> str:
        return self.measure.value or "accuracy"

    def _clicked(self, trace: int, cell: tuple[int, ...]) -> None:
        """A cell opens its run."""
        run = None if self.result is None else chart.run_at(self.result, trace, cell)
        if run is not None:
            self.run_menu.key = chart.key_of(run)


def _where(offers: list[Offer], has: Callable[[TrialsReport], bool]) -> list[Offer]:
    """The offers of a figure that not every result has."""
    return [
        replace(one, needs=lambda state: state.result is not None and has(state.result))
        for one in offers
    ]


def _captioned(words: str) -> str:
    return f"<p>{escape(words)}</p>"


def _segments(label: str, options: Any, tips: tuple[str, ...]) -> w.ToggleButtons:
    return labelled(
        w.ToggleButtons(description=label, options=options, tooltips=tips), label
    ).add_class("ep-segments")
