"""What every panel has that shows a number per token of a model pair.

The pair and the device, a scatter of any two columns, the table and the card of tokens, the
selection that they share, the models as stored, and their settings and files are here.  A panel
adds its measure, one short file on top of what a panel needs by `panels/frame.py`:

1. Its request stands on `PairRequest`; its result is a `PairResult`.
2. `charts/norms.py` has `columns(result)`: a `Column` for each number per token, then those of
   `shared_columns(result)`.  Axes, table, card and hover take them from there.
3. The panel:

    class NormPanel(TokenPanel):
        title, lead = "Norms", "Do frequent tokens have longer rows?"
        asks = NormRequest
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

        def changes(self, before, after):    # its numbers before and after centring, and what of
            return before_after.norms_changes(before, after)    # them can change: `reach(after)`

`self.headline` stands on top and `self.device` is placed by `measure_controls`.  The card's
neighbours come from `find_neighbours`, and `legend` says how they were found: a panel with a k or
a metric of its own overrides both.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import ipywidgets as w

from embtie_widgets.charts.before_after import Change
from embtie_widgets.charts.columns import Column, Vector, positions
from embtie_widgets.jobs import devices
from embtie_widgets.jobs.exports import csv_bytes
from embtie_widgets.jobs.lookup import ask_card
from embtie_widgets.panels.before_after import BeforeAfter, centred_words
from embtie_widgets.panels.exports import Offer, csv_offer, page_offer, selection_offer
from embtie_widgets.panels.fields import Field, Setting, card, labelled, section
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.groups import GroupMeans
from embtie_widgets.panels.pair import PairPicker, pair_facts
from embtie_widgets.panels.token_views import TokenViews
from embtie_widgets.requests.pair import WITHOUT_COPIES
from embtie_widgets.results import PairResult

OTHER_SIDE_SECONDS = 20.0
_COPIES_HELP = (
    "Rows that were added to a finished model and never trained copy its mean row; the notes say "
    "which there are. They can take no part in anything that is measured here"
)


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
        super().__init__(request, **given, **options)
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

    def changes(self, before: Any, after: Any) -> Sequence[Change]:
        """The numbers of two results before and after the output matrices were centred."""
        return []

    def reach(self, after: Any) -> str:
        """Which of them centring can change, and which not."""
        return ""

    def find_neighbours(self, request: Any, place: int, answer: Any, failed: Any) -> None:
        """Hand the neighbours of a token to `answer`, or what went wrong to `failed`."""
        ask_card(request, place, answer, failed)

    def legend(self, request: Any) -> str:
        """How the card's neighbours were found."""
        return f"Ten nearest of the matched tokens by cosine{centred_words(request)}."

    # What all of them have.

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """The pair, what the measure asks for, and the device."""
        request = self.state.request
        self.pair = PairPicker(request.a, request.b)
        self.pair.preset.observe(self.callback(self._take_pair), "value")
        offered = w.Dropdown(description="device", options=devices.available(request.device))
        self.device = labelled(offered, "Where it is computed")
        fields, sections = self.measure_controls()
        self.sides = BeforeAfter(self.state, self.callback, self.changes, self.reach)
        box = w.Checkbox(description=WITHOUT_COPIES, indent=False)
        self.without_copies = labelled(box, _COPIES_HELP)
        own = {
            "mu_centered": Field(self.sides.toggle),
            "leave_out_copies": Field(self.without_copies),
            "device": Field(self.device),
        }
        known = {**self.pair.fields(), **fields, **own}
        rows = section("Rows that are compared", self.without_copies)
        centring = section("Before or after centring", self.sides.toggle)
        return known, [section("Models", self.pair), rows, centring, *sections]

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, the measure's charts, scatter, token card, table, numbers, groups, models."""
        self.headline = w.HTML().add_class("ep-headline")
        self.facts = w.HTML()
        self.groups = GroupMeans(self.state, self.callback, self.score)
        firsts = (self.first_x, self.first_y, self.first_sort)
        self.views = views = TokenViews(self, self._ask, self.legend, *firsts)
        self.scatter, self.tokens, self.card = views.scatter, views.tokens, views.card
        return [
            self.headline,
            self.sides.card,
            *self.measure_views(),
            *views.cards,
            *self.number_views(),
            *self.groups.cards,
            card("Models", self.facts),
        ]

    def build_settings(self) -> Mapping[str, Setting]:
        """Those of the measure, then those of the tokens."""
        return {**self.measure_settings(), **self.views.settings}

    def build_exports(self) -> Iterable[Offer]:
        """Tables, page and pictures, each with its settings inside."""
        return [
            csv_offer(),
            selection_offer(lambda request, result: csv_bytes(request, result, self.selection)),
            page_offer(),
            *self.measure_exports(),
            self.views.picture_offer(self.with_lit(self.basis)),
        ]

    def draw(self, result: PairResult) -> None:
        """Show another result; the figures come last, being the heaviest."""
        self.draw_words(result)
        self.facts.value = pair_facts(result)
        self.pair.draw(result)
        self._offer_devices()
        self.groups.draw(result)
        self.views.draw(result, self.columns(result))
        self.draw_charts(result, self._lit(result))

    def selected(self) -> None:
        """Light the chosen tokens up everywhere; the figures last."""
        self.views.refresh()
        if self.result is not None:
            self.draw_charts(self.result, self._lit(self.result))

    def edited(self) -> None:
        """Name the pair where the catalogue has it."""
        self.pair.follow(self.request)

    def prepare(self, request: Any) -> None:
        """Offer a device that was asked for even where it is missing; a run then says so."""
        self.device.options = devices.available(request.device)

    def at_hand(self, request: Any) -> Any:
        """The other side of what is shown, where that was seen."""
        return self.sides.at_hand(request)

    def patience(self, request: Any) -> float:
        """More for the other side of what is shown: its cost is known, and it was asked for."""
        return (
            OTHER_SIDE_SECONDS if self.sides.is_other_side(request) else super().patience(request)
        )

    def open_card(self, token: int) -> None:
        """Show the card of a token, and the token as clicked in scatter and table; -1 for none."""
        self.views.open_card(token)

    def with_lit(self, caption: Callable[[Any], str]) -> Callable[[Any], str]:
        """The caption of a picture, which shows what is selected now."""
        return self.views.with_lit(caption)

    # How it works.

    def _lit(self, result: PairResult) -> Vector:
        return positions(self.state.lit, len(result.tokens))

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
