"""The views that both panels of the staircase have: a training scrubbed from step to step."""

from collections.abc import Mapping

import ipywidgets as w
import traitlets as t

from embtie_widgets.charts import staircase as chart
from embtie_widgets.charts.theme import templates
from embtie_widgets.panels import staircase_tables as tables
from embtie_widgets.panels.exports import Offer, picture_offers
from embtie_widgets.panels.fields import Setting, card, labelled, reoffer, segments
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.words import escape
from embtie_widgets.results.staircase import StaircaseReport
from embtie_widgets.widgets import PlotFigure, StepSlider

_SCALES = (("log of steps", "log"), ("steps", "linear"))
_ARRANGED = (("as they come", chart.GIVEN), ("alike side by side", chart.ALIKE))


class StaircaseViews(t.HasTraits):
    """Slider, similarities, principal components, curves and pairs of a `panel`, made in its
    `build_views`; `arrange` is how anchors stand at first.

    at      the step that is looked at, -1 for the last; what a link carries
    pair    two anchors that are looked at, or none
    chosen  the anchors that stand out, of a result without tokens; else the panel's selection does
    """

    at = t.Int(chart.LAST)
    pair = t.List(t.Float())
    chosen = t.List(t.Float())

    def __init__(self, panel: Panel, noun: str, arrange: str = chart.GIVEN) -> None:
        super().__init__()
        self._panel, self._arranged, self._quiet = panel, arrange, False
        self._drawn: tuple[object, ...] = ()
        self.slider = StepSlider(label=noun.capitalize(), noun=noun, playable=True)
        self.run = _menu("run", "The training that is looked at")
        self.matrix = _menu("matrix", "Whose rows are compared with each other")
        self.signature = _menu("signature", "What its similarities are held against")
        self.arrange = _menu("anchors", "The order of rows and columns in the maps")
        self.arrange.options, self.arrange.value = _ARRANGED, arrange
        self.scale = segments("The axis of steps", _SCALES).add_class("ep-switch")
        self.spread = w.Checkbox(description="spread the colours", indent=False)
        labelled(self.spread, "From the least to the largest cosine of each map, not from −1 to 1")
        self.curves, self.maps, self.points = (
            PlotFigure(templates(), made(None)) for made in (chart.spec, chart.maps, chart.points)
        )
        self.captions = {
            name: w.HTML().add_class("ep-caption") for name in ("curves", "maps", "points")
        }
        self.pairs = w.HTML()
        self.cards = self._carded()
        self._listen(panel)

    def _carded(self) -> dict[str, w.VBox]:
        looks = w.Box([self.run, self.matrix, self.signature, self.arrange, self.spread])
        said = self.captions
        inside = [self.slider, looks.add_class("ep-looks"), self.maps, said["maps"]]
        return {
            "scrub": card("", *inside, self.points, said["points"]).add_class("ep-scrub"),
            "curves": card("Step by step", self.scale, self.curves, said["curves"]).add_class(
                "ep-climb"
            ),
            "pairs": card("Pairs", self.pairs).add_class("ep-pairs-of"),
        }

    def _listen(self, panel: Panel) -> None:
        redraw = panel.callback(lambda _: self._redraw())
        for control in (self.arrange, self.spread, self.scale):
            control.observe(redraw, "value")
        for control in (self.run, self.matrix, self.signature):
            control.observe(panel.callback(lambda _: self._picked()), "value")
        self.observe(redraw, ["at", "pair", "chosen"])
        self.slider.observe(panel.callback(lambda _: self._slid()), "index")
        self.curves.clicked = panel.callback(self._clicked_curve)
        self.maps.clicked = panel.callback(self._clicked_map)
        self.points.clicked = panel.callback(self._clicked_point)

    @property
    def settings(self) -> Mapping[str, Setting]:
        """What of a result is looked at, the step first of all."""
        return {
            "run": Setting(self.run, "value", ""),
            "matrix": Setting(self.matrix, "value", ""),
            "of": Setting(self.signature, "value", chart.ALL),
            "at": Setting(self, "at", chart.LAST),
            "pair": Setting(self, "pair", []),
            "lit": Setting(self, "chosen", []),
            "order": Setting(self.arrange, "value", self._arranged),
            "spread": Setting(self.spread, "value", False),
            "steps": Setting(self.scale, "value", "log"),
        }

    def picture_offers(self) -> list[Offer]:
        """Each figure as it is shown."""
        return [
            *picture_offers(self.curves, lambda result: chart.curves_caption(result, self.view())),
            *picture_offers(
                self.maps, lambda result: chart.maps_caption(result, self.view()), "maps", own=True
            ),
            *picture_offers(
                self.points,
                lambda result: chart.points_caption(result, self.view()),
                "components",
                own=True,
            ),
        ]

    def view(self) -> chart.View:
        """How the result is looked at now."""
        return chart.View(
            run=self.run.value or "",
            matrix=self.matrix.value or "",
            signature=self.signature.value or chart.ALL,
            step=self.at,
            scale=self.scale.value,
            arrange=self.arrange.value,
            spread=self.spread.value,
            pair=tuple(map(int, self.pair)),
            lit=self._lit(),
        )

    def draw(self, result: StaircaseReport) -> None:
        """Show another result, or as much of it as there is."""
        self._drawn = ()
        self._offer(result)
        self._arrange(result)
        self._show(result)

    def refresh(self) -> None:
        """Light up what is chosen now."""
        self._redraw()

    # How it works.

    def _lit(self) -> frozenset[int]:
        if chart.is_text(self._panel.result):
            return self._panel.state.lit
        return frozenset(map(int, self.chosen))

    def _offer(self, result: StaircaseReport) -> None:
        """The runs, matrices and signatures that there are, the chosen ones kept where they are
        among them."""
        self._quiet = True
        try:
            _offer_some(self.run, chart.run_choices(result))
            _offer_some(self.matrix, chart.matrix_choices(result, self.view()))
            _offer_some(self.signature, chart.signature_choices(result, self.view()))
        finally:
            self._quiet = False

    def _arrange(self, result: StaircaseReport) -> None:
        """Only what there is something to see of takes room."""
        known = chart.look(result, self.view()) is not None
        for name in ("scrub", "pairs"):
            self.cards[name].layout.display = "" if known else "none"

    def _picked(self) -> None:
        """Another matrix may have other rows, of which no pair is chosen."""
        result = self._panel.result
        if self._quiet or result is None:
            return
        self._offer(result)
        with self.hold_trait_notifications():
            self.pair = self.chosen = []
        self._redraw()

    def _redraw(self) -> None:
        if self._panel.result is not None and not self._quiet:
            self._show(self._panel.result)

    def _show(self, result: StaircaseReport) -> None:
        """Words first, then what moves with the step, the maps before all."""
        view = self.view()
        shown = chart.look(result, view)
        if shown is not None:
            self._slide(result, shown)
            self.pairs.value = tables.pairs(result, shown, view)
            self._say("maps", chart.maps_caption(result, view))
            self._say("points", chart.points_caption(result, view))
            self.maps.show(chart.maps(result, view))
            self.points.show(chart.points(result, view))
        self._draw_curves(result, view)

    def _draw_curves(self, result: StaircaseReport, view: chart.View) -> None:
        """All of them, or, where nothing but the step is another, the line at the step."""
        still = (view.run, view.matrix, view.scale)
        if still == self._drawn:
            self.curves.adapt(shapes=chart.stems(result, view))
            return
        self._drawn = still
        self._say("curves", chart.curves_caption(result, view))
        self.curves.show(chart.spec(result, view))

    def _say(self, name: str, words: str) -> None:
        self.captions[name].value = f"<p>{escape(words)}</p>"

    def _slide(self, result: StaircaseReport, shown: chart.Look) -> None:
        """The slider over the snapshots of the run that is looked at."""
        ticks = chart.ticks(result, self.view())
        self._quiet = True
        try:
            if (ticks["places"], ticks["readouts"]) != (self.slider.places, self.slider.readouts):
                self.slider.show(**ticks, index=shown.place)
            else:
                self.slider.index = shown.place
        finally:
            self._quiet = False

    def _slid(self) -> None:
        shown = chart.look(self._panel.result, self.view())
        if self._quiet or shown is None or self.slider.index < 0:
            return
        steps = chart.steps_of(shown.run)
        last = self.slider.index >= len(steps) - 1
        self.at = chart.LAST if last else int(steps[self.slider.index])

    def _clicked_curve(self, trace: int, place: tuple[int, ...]) -> None:
        """A point of a curve is a step to go to."""
        step = chart.step_at(self._panel.result, self.view(), trace, place)
        if step is not None:
            self.at = step

    def _clicked_map(self, _trace: int, place: tuple[int, ...]) -> None:
        """A cell is a pair, one on the diagonal an anchor."""
        pair = chart.anchors_at(self._panel.result, self.view(), place)
        if pair is not None and pair[0] == pair[1]:
            self._turn(pair[0])
        elif pair is not None:
            same = sorted(pair) == sorted(map(int, self.pair))
            self.pair = [] if same else [float(one) for one in pair]

    def _clicked_point(self, trace: int, place: tuple[int, ...]) -> None:
        anchor = chart.anchor_at(self._panel.result, self.view(), trace, place)
        if anchor is not None:
            self._turn(anchor)

    def _turn(self, anchor: int) -> None:
        """Choose an anchor, or give it up."""
        lit = self._lit() ^ {anchor}
        if chart.is_text(self._panel.result):
            self._panel.state.choose(lit)
        else:
            self.chosen = [float(one) for one in sorted(lit)]


def _menu(name: str, tooltip: str) -> w.Dropdown:
    made: w.Dropdown = labelled(w.Dropdown(description=name, options=[]), tooltip)
    return made


def _offer_some(menu: w.Dropdown, options: list[tuple[str, str]]) -> None:
    """Other options; out of sight where there is nothing to choose."""
    reoffer(menu, options)
    menu.layout.display = "" if len(options) > 1 else "none"
