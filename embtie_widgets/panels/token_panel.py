"""What every panel has that shows a number per token of a model pair.

The pair and the device, a scatter of any two columns, the table and the card of tokens, the
selection that they share, the models as stored, and their settings and files are here.  A panel
adds its measure, one short file on top of the five parts that `panels/frame.py` lists:

1. Its request stands on `PairRequest`; its result is a `PairResult`.
2. `charts/norms.py` has `columns(result)`: a `Column` for each number per token, then those of
   `shared_columns(result)`.  Axes, table, card and hover take them from there.
3. The panel:

    class NormPanel(TokenPanel):
        title, lead = "Norms", "Do frequent tokens have longer rows?"
        help, asks = _HELP, NormRequest
        first_x, first_y = ("log_count", "bytes"), ("norm Tied", "norm In")
        first_sort = ("count", "norm Tied")
        score = "Mean norm"                  # what the means of groups of tokens are

        def measure_controls(self):          # field of the request -> control, and the sections;
            self.center = labelled(w.Checkbox(description="centre"), "Take the mean off first")
            return {"center": Field(self.center)}, [section("Norm", self.center, self.device)]

        def measure_views(self):             # the charts, above the scatter; made once
            self.chart = PlotFigure(templates(), chart.spec(None))
            return [card("", self.chart)]

        def number_views(self):              # tables of means, below the tokens; made once
            self.means = w.HTML()
            return [card("Means", self.means)]

        def measure_settings(self):          # what of these belongs into a link
            return {"log": Setting(self.log, "value", True)}

        def measure_exports(self):           # beside CSV, HTML and the scatter's picture
            return picture_offers(self.chart, self.with_lit(chart.caption))

        def columns(self, result):
            return chart.columns(result)

        def draw_words(self, result):        # sentences and tables of a new result
            self.headline.value = f"<p>{escape(chart.headline(result))}</p>"

        def draw_charts(self, result, lit):  # again for every selection; `lit` are rising places
            self.chart.show(chart.spec(result, lit))

        def basis(self, result):             # under the scatter's picture: what it rests on
            return chart.caption(result)

`self.headline` stands on top and `self.device` is placed by `measure_controls`.  The card's
neighbours come from `find_neighbours`, and `legend` says how they were found: a panel with a k or
a metric of its own overrides both.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import ipywidgets as w

from embtie_widgets.charts.columns import Column, Columns, Vector, positions
from embtie_widgets.charts.sentences import on_lit
from embtie_widgets.jobs import devices
from embtie_widgets.jobs.exports import csv_bytes
from embtie_widgets.jobs.lookup import ask_card
from embtie_widgets.panels.card import CardView
from embtie_widgets.panels.exports import Offer, csv_offer, page_offer, stamping
from embtie_widgets.panels.fields import Field, Setting, card, labelled, section
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.groups import GroupMeans
from embtie_widgets.panels.pair import PairPicker, pair_facts
from embtie_widgets.panels.scatter import ScatterView
from embtie_widgets.panels.tokens import TokenView
from embtie_widgets.results import PairResult, carried


class TokenPanel(Panel):
    """A panel about the tokens of a pair; see the module's text for what one adds to it.

    `parts` takes the place of what the frame runs requests with, and of `ask`, which finds a
    token's neighbours.  `first_x`, `first_y` and `first_sort` name columns for axes and order: the
    first one there is, of which the very first needs no word in a link.  `score` says what the
    means of groups are means of.
    """

    first_x: Sequence[str] = ("log_count",)
    first_y: Sequence[str] = ("bytes",)
    first_sort: Sequence[str] = ("count",)
    score: str = "Mean"

    def __init__(
        self, request: Any = None, *, parts: Mapping[str, Any] | None = None, **options: Any
    ) -> None:
        given = {"ask": self.find_neighbours, **(parts or {})}
        self._ask = given.pop("ask")
        self._columns: Columns | None = None
        super().__init__(request, **given, **options)
        self.state.observe(self.callback(self._keep_card), "result")
        self.begin()

    # What a panel adds.

    def measure_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """The controls by field of the request, and their sections; `self.device` among them."""
        return {}, [section("Machine", self.device)]

    def measure_views(self) -> Iterable[w.Widget]:
        """The charts of the measure, above the scatter."""
        return []

    def number_views(self) -> Iterable[w.Widget]:
        """Its tables of numbers, below the tokens."""
        return []

    def measure_settings(self) -> Mapping[str, Setting]:
        """How these are looked at, for links."""
        return {}

    def measure_exports(self) -> Iterable[Offer]:
        """Files of its own."""
        return []

    def columns(self, result: Any) -> list[Column]:
        """What is known of each token."""
        raise NotImplementedError

    def draw_words(self, result: Any) -> None:
        """Write a new result's sentences and tables."""

    def draw_charts(self, result: Any, lit: Vector) -> None:
        """Draw the measure's charts with the tokens at the places `lit` lit up."""

    def basis(self, result: Any) -> str:
        """What a picture of the tokens rests on, as plain text."""
        return ""

    def find_neighbours(self, request: Any, place: int, answer: Any, failed: Any) -> None:
        """Hand the neighbours of a token to `answer`, or what went wrong to `failed`."""
        ask_card(request, place, answer, failed)

    def legend(self, request: Any) -> str:
        """How the card's neighbours were found."""
        return "Ten nearest of the matched tokens by cosine."

    # What all of them have.

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """The pair, what the measure asks for, and the device."""
        request = self.state.request
        self.pair = PairPicker(request.a, request.b)
        self.pair.preset.observe(self.callback(self._take_pair), "value")
        offered = w.Dropdown(description="device", options=devices.available(request.device))
        self.device = labelled(offered, "Where it is computed")
        fields, sections = self.measure_controls()
        known = {**self.pair.fields(), **fields, "device": Field(self.device)}
        return known, [section("Models", self.pair), *sections]

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, the measure's charts, scatter, token card, table, numbers, groups, models."""
        self.headline = w.HTML().add_class("ep-headline")
        self.facts = w.HTML()
        self.scatter = ScatterView(self.state, self.callback, self.first_x, self.first_y)
        self.tokens = TokenView(self.state, self.callback, self.first_sort)
        self.groups = GroupMeans(self.state, self.callback, self.score)
        self.card = CardView(self._ask, self.legend, self.later)
        for source in (self.scatter.scatter, self.tokens.table, self.card.card):
            source.observe(self.callback(self._clicked), "clicked")
        return [
            self.headline,
            *self.measure_views(),
            card("", self.scatter).add_class("ep-scatter"),
            card("Token", self.card.card).add_class("ep-token"),
            card(
                "Tokens", self.selection_bar, self.tokens.kind.control, self.tokens.table
            ).add_class("ep-tokens"),
            *self.number_views(),
            *self.groups.cards,
            card("Models", self.facts),
        ]

    def build_settings(self) -> Mapping[str, Setting]:
        """Axes and zoom; search, kind, order and page of the table; the token's card."""
        scatter, table = self.scatter, self.tokens.table
        return {
            **self.measure_settings(),
            "x": Setting(scatter.x, "value", self.first_x[0]),
            "y": Setting(scatter.y, "value", self.first_y[0]),
            "zoom": Setting(scatter.scatter, "view", []),
            "find": Setting(table, "query", ""),
            "kind": Setting(self.state, "kind", ""),
            "only": Setting(self.state, "only", False),
            "sort": Setting(table, "sort", self.first_sort[0]),
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
            *self.measure_exports(),
            Offer(
                "Scatter PNG",
                "The scatter as it is shown",
                "-scatter.png",
                "image/png",
                begin=self._scatter_png,
            ),
        ]

    def draw(self, result: PairResult) -> None:
        """Show another result; the figures come last, being the heaviest."""
        self.draw_words(result)
        self.facts.value = pair_facts(result)
        self.pair.draw(result)
        self._offer_devices()
        self._columns = columns = Columns(result, self.columns(result))
        self.groups.draw(result)
        self.tokens.draw(columns, result)
        self.scatter.draw(columns)
        self.draw_charts(result, self._lit(result))

    def selected(self) -> None:
        """Light the chosen tokens up everywhere; the figures last."""
        self.tokens.refresh()
        self.scatter.refresh()
        if self.result is not None:
            self.draw_charts(self.result, self._lit(self.result))

    def edited(self) -> None:
        """Name the pair where the catalogue has it."""
        self.pair.follow(self.request)

    def prepare(self, request: Any) -> None:
        """Offer a device that was asked for even where it is missing; a run then says so."""
        self.device.options = devices.available(request.device)

    def open_card(self, token: int) -> None:
        """Show the card of a token, and the token as clicked in scatter and table; -1 for none."""
        if self.result is None or self._columns is None:
            return
        self.card.show(self.state.answered, self._columns, token)
        self.scatter.scatter.clicked = self.tokens.table.clicked = self.card.place

    def with_lit(self, caption: Callable[[Any], str]) -> Callable[[Any], str]:
        """The caption of a picture, which shows what is selected now."""

        def said(result: Any) -> str:
            state = self.state
            return caption(result) + on_lit(len(state.lit), state.found is not None, state.kind)

        return said

    # How it works.

    def _lit(self, result: PairResult) -> Vector:
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

    def _take_pair(self, _change: Any) -> None:
        request = self.pair.chosen(self.request)
        if request != self.request:
            self.request = request

    def _scatter_png(self, request: Any, result: PairResult, done: Any, failed: Any) -> None:
        said = self.with_lit(self.basis)(result)
        self.scatter.scatter.png(stamping(request, result, done), failed, caption=said)

    def _offer_devices(self) -> None:
        offered = devices.available(self.request.device)
        if list(self.device.options) != offered:
            with self._binding.quiet():
                self.device.options = offered
                self.device.value = self.request.device
