"""The alignment panel: how well In, Out and Tied map onto one another, token by token."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import alignment as chart
from embtie_widgets.charts.columns import positions
from embtie_widgets.charts.sentences import (
    cautions,
    exchange,
    on_chance,
    on_lit,
    scatter_caption,
)
from embtie_widgets.charts.theme import COMPARISONS, mark_of, templates
from embtie_widgets.jobs import devices
from embtie_widgets.jobs.exports import csv_bytes
from embtie_widgets.jobs.lookup import ask_card
from embtie_widgets.panels.card import CardView
from embtie_widgets.panels.exports import Offer, csv_offer, page_offer, picture_offers, stamping
from embtie_widgets.panels.fields import Field, Setting, card, labelled, section, whole_if_it_is
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.pair import PairPicker, pair_facts
from embtie_widgets.panels.scatter import FIRST_X, FIRST_Y, ScatterView
from embtie_widgets.panels.tokens import FIRST_SORT, TokenView
from embtie_widgets.panels.words import escape, interval, number, table
from embtie_widgets.requests import AlignRequest
from embtie_widgets.results import PairAlignment, carried
from embtie_widgets.widgets import PlotFigure

_HELP = """
<p>Each row of one matrix is carried by a map, fitted on all tokens, towards the row of the same
token in another matrix; the cosine says how well that went. <b>In</b> and <b>Out</b> are the input
and output matrix of the untied model A, <b>Tied</b> is the one matrix of B.</p>
<p>A map fitted and scored on the same tokens scores above zero on pure noise. So three numbers
stand side by side: <b>in-sample</b> as the paper prints it, <b>held out</b> on tokens that took no
part in the fit, where noise scores about 0, and <b>chance</b>, the in-sample score with the rows
of one matrix shuffled. In-sample counts for as much as it exceeds chance.</p>
"""


class AlignmentPanel(Panel):
    """How a tied matrix aligns with the input and output matrix of an untied model.

    `AlignmentPanel()` shows the bundled pair; give a request, or any of its fields by name
    (`a`, `b`, `map`, `center`, `ridge`, `holdout`, `seed`, `role_b`, `device`).  `parts` takes the
    place of what the frame runs requests with, and of `ask`, which finds a token's neighbours.
    """

    title = "Alignment"
    lead = "Does the tied matrix follow the untied model's input or its output?"
    help = _HELP
    asks = AlignRequest

    def __init__(
        self,
        request: AlignRequest | None = None,
        *,
        parts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        given = {"ask": ask_card, **(parts or {})}
        self._ask_card = given.pop("ask")
        super().__init__(request, **given, **options)
        self.state.observe(self.callback(self._keep_card), "result")
        self.begin()

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """The pair, the map, and how it is scored."""
        self.pair = PairPicker(self.state.request.a, self.state.request.b)
        self.pair.preset.observe(self.callback(self._take_pair), "value")
        self.map = labelled(
            _maps(), "identity: no map; orthogonal: Procrustes; linear: least squares"
        )
        self.center = labelled(
            w.Checkbox(description="subtract the column means", indent=False),
            "Centre both matrices before the fit, as the paper does",
        )
        self.ridge = labelled(
            w.FloatText(description="ridge", continuous_update=False),
            "A penalty on the linear map; 0 for plain least squares",
        )
        self.holdout = labelled(
            _holdout(), "Share of the tokens that takes no part in the second fit"
        )
        self.seed = labelled(
            w.FloatText(description="seed", continuous_update=False),
            "Which tokens are held out, and how rows are shuffled",
        )
        self.device = labelled(
            w.Dropdown(description="device", options=self._devices(self.state.request.device)),
            "Where it is computed",
        )
        fields = {
            **self.pair.fields(),
            "map": Field(self.map),
            "center": Field(self.center),
            "ridge": Field(self.ridge),
            "holdout": Field(self.holdout),
            "seed": Field(self.seed, to_request=whole_if_it_is),
            "device": Field(self.device),
        }
        numbers = w.Box([self.ridge, self.seed]).add_class("ep-pairs")
        scoring = section("Scoring", self.holdout, numbers, self.device)
        return fields, [
            section("Models", self.pair),
            section("Map", self.map, self.center),
            scoring,
        ]

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, histogram, scatter, token card, table, numbers, models."""
        self.headline = w.HTML().add_class("ep-headline")
        self.chart = PlotFigure(templates(), chart.spec(None))
        self.caption = w.HTML().add_class("ep-caption")
        self.summary, self.bands, self.facts = w.HTML(), w.HTML(), w.HTML()
        self.scatter = ScatterView(self.state, self.callback)
        self.tokens = TokenView(self.state, self.callback)
        self.card = CardView(self._ask_card, self.later)
        for source in (self.scatter.scatter, self.tokens.table, self.card.card):
            source.observe(self.callback(self._clicked), "clicked")
        return [
            self.headline,
            card("", self.chart, self.caption).add_class("ep-histogram"),
            card("", self.scatter).add_class("ep-scatter"),
            card("Token", self.card.card).add_class("ep-token"),
            card("Tokens", self.selection_bar, self.tokens.table).add_class("ep-tokens"),
            card("Means", self.summary),
            card("By token frequency", self.bands),
            card("Models", self.facts),
        ]

    def build_settings(self) -> Mapping[str, Setting]:
        """Axes and zoom of the scatter; search, order and page of the table; the token's card."""
        scatter, table = self.scatter, self.tokens.table
        return {
            "x": Setting(scatter.x, "value", FIRST_X),
            "y": Setting(scatter.y, "value", FIRST_Y),
            "zoom": Setting(scatter.scatter, "view", []),
            "find": Setting(table, "query", ""),
            "only": Setting(self.state, "only", False),
            "sort": Setting(table, "sort", FIRST_SORT),
            "down": Setting(table, "descending", True),
            "page": Setting(table, "page", 0),
            "token": Setting(table, "clicked", -1),
        }

    def build_exports(self) -> Iterable[Offer]:
        """Tables, page and pictures, each with its settings inside."""
        return [
            csv_offer(),
            Offer(
                "CSV of selection",
                "The selected tokens with their numbers",
                "-selection.csv",
                "text/csv",
                lambda request, result: csv_bytes(request, result, self.selection),
                needs=lambda state: state.result is not None and bool(state.selection),
            ),
            page_offer(),
            *picture_offers(self.chart, self._with_lit(chart.caption), "histogram"),
            Offer(
                "Scatter PNG",
                "The scatter as it is shown",
                "-scatter.png",
                "image/png",
                begin=self._scatter_png,
            ),
        ]

    def draw(self, result: PairAlignment) -> None:
        """Show another result; the figure comes last, being the heaviest."""
        self.headline.value = _headline(result)
        self.caption.value = f"<p>{escape(chart.caption(result))}</p>"
        self.summary.value, self.bands.value = _summary(result), _bands(result)
        self.facts.value = pair_facts(result)
        self.pair.draw(result)
        self._offer_devices()
        self.tokens.draw(result)
        self.scatter.draw(result)
        self.chart.show(chart.spec(result, self._lit(result)))

    def selected(self) -> None:
        """Light the chosen tokens up everywhere; the figure last."""
        self.tokens.refresh()
        self.scatter.refresh()
        if self.result is not None:
            self.chart.show(chart.spec(self.result, self._lit(self.result)))

    def open_card(self, token: int) -> None:
        """Show the card of a token, and ring it in the scatter and mark it in the table."""
        if self.result is not None:
            self.card.show(self.state.answered, self.result, token)
            self.scatter.scatter.clicked = self.tokens.table.clicked = self.card.place

    def edited(self) -> None:
        """Ridge belongs to the linear map; the pair is named where the catalogue has it."""
        self.ridge.disabled = self.map.value != "linear"
        self.pair.follow(self.request)

    def _take_pair(self, _change: Any) -> None:
        request = self.pair.chosen(self.request)
        if request != self.request:
            self.request = request

    def prepare(self, request: Any) -> None:
        """Offer a device that was asked for even where it is missing; a run then says so."""
        self.device.options = self._devices(request.device)

    def _lit(self, result: PairAlignment) -> Any:
        return positions(self.state.lit, len(result.tokens))

    def _clicked(self, change: Any) -> None:
        token, emptied = change["new"], change["owner"] is self.card.card and change["new"] < 0
        if token != self.card.place and not emptied:
            self.open_card(token)

    def _keep_card(self, change: Any) -> None:
        """Keep the card on its token in another result."""
        if change["old"] is not None and self.card.place >= 0:
            kept = carried(change["old"].tokens, change["new"].tokens, [self.card.place])
            self.open_card(min(kept, default=-1))

    def _scatter_png(self, request: Any, result: PairAlignment, done: Any, failed: Any) -> None:
        said = self._with_lit(scatter_caption)(result)
        self.scatter.scatter.png(stamping(request, result, done), failed, caption=said)

    def _with_lit(self, caption: Callable[[PairAlignment], str]) -> Callable[[PairAlignment], str]:
        """The caption of a picture, which shows what is selected now."""

        def said(result: PairAlignment) -> str:
            return caption(result) + on_lit(len(self.state.lit), self.state.found is not None)

        return said

    @staticmethod
    def _devices(chosen: str) -> list[str]:
        return list(dict.fromkeys([*devices.available(), chosen]))

    def _offer_devices(self) -> None:
        offered = self._devices(self.request.device)
        if list(self.device.options) != offered:
            with self._binding.quiet():
                self.device.options = offered
                self.device.value = self.request.device


def _maps() -> w.ToggleButtons:
    options = [("Identity", "identity"), ("Orthogonal", "orthogonal"), ("Linear", "linear")]
    return w.ToggleButtons(description="map", options=options).add_class("ep-segments")


def _holdout() -> w.FloatSlider:
    # The number beside it can be typed over, and is read as it stands: 30 % would be taken for 30.
    return w.FloatSlider(
        description="held out",
        min=0.0,
        max=0.9,
        step=0.05,
        readout_format=".2f",
        continuous_update=False,
    )


def _headline(result: PairAlignment) -> str:
    beware = "".join(
        f'<div class="ep-alert" role="note"><b>Beware.</b> {escape(text)}</div>'
        for text in cautions(result)
    )
    turned = exchange(result)
    note = f'<p class="ep-aside">{escape(turned)}</p>' if turned else ""
    return f"<p>{escape(chart.headline(result))}</p>{note}{beware}"


def _named(comparison: str) -> str:
    color = mark_of(comparison).color
    return f'<span class="ep-dot" style="background:{color}"></span>{chart.label(comparison)}'


def _summary(result: PairAlignment) -> str:
    rows = [
        [
            _named(row["comparison"]),
            f"{number(row['mean'])} <small>{interval(row['interval'])}</small>",
            f"{number(row['heldout_mean'])} <small>{interval(row['heldout_interval'])}</small>",
            number(row["floor_mean"]),
            number(row["floor_expected"]),
            number(row["median"]),
            f"{row['tokens']:,}",
        ]
        for row in sorted(result.summary(), key=lambda row: _place(row["comparison"]))
    ]
    head = ["", "in-sample", "held out", "chance", "chance in theory", "median", "tokens"]
    why = on_chance(result)
    told = f"<p class='ep-quiet'>{escape(why)}</p>" if why else ""
    return table(head, rows, "mean cosine by comparison") + told


def _place(comparison: str) -> int:
    return list(COMPARISONS).index(comparison)


def _bands(result: PairAlignment) -> str:
    if not result.bands:
        return "<p class='ep-quiet'>No token counts are known for this pair.</p>"
    names = [name for name in COMPARISONS if name in result.comparisons]
    rows = [
        [escape(band["band"]), f"{band['tokens']:,}", *(number(band.get(name)) for name in names)]
        for band in result.bands
    ]
    return table(
        ["times in the corpus", "tokens", *map(_named, names)],
        rows,
        "mean cosine by token frequency",
    )
