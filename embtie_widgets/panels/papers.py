"""The panel of the papers' tables: each printed number beside the one that is computed here."""

from collections.abc import Iterable, Mapping
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import papers as chart
from embtie_widgets.charts.papers_view import PAPERS, SIGNS, counted, label, present
from embtie_widgets.charts.papers_words import fetch_line, lackings
from embtie_widgets.charts.theme import templates
from embtie_widgets.jobs import devices
from embtie_widgets.jobs.exports import csv_bytes
from embtie_widgets.jobs.offered import MODEL, RECORDED, names_of
from embtie_widgets.panels import papers_tables as tables
from embtie_widgets.panels.chips import ChipPicker
from embtie_widgets.panels.exports import Offer, page_offer, picture_offers
from embtie_widgets.panels.facts import facts_of
from embtie_widgets.panels.fields import (
    Field,
    Setting,
    card,
    fold,
    labelled,
    number_box,
    pairs,
    reoffer,
    section,
    usable,
    whole_if_it_is,
)
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.named import named
from embtie_widgets.panels.words import escape, paragraphs
from embtie_widgets.requests.papers import ITEMS, PaperTablesRequest
from embtie_widgets.results.papers import PaperItem, PaperTables
from embtie_widgets.widgets import CopyButton, PlotFigure

_FIRST = next(iter(ITEMS))
_ALL = ("all of them", "")
_ITEMS = ("or these alone", "table-1, figure-2", "Names of tables and figures; none for all")
_CLICK = "A click on a bar opens its numbers below."


class PaperTablesPanel(Panel):
    """Every printed number of the papers beside the one computed here, and where they part, why.

    `PaperTablesPanel()` shows what ships with embtie; give a request, or any of its fields by name
    (`items`, `fetch`, `data`, `stand_in`, `device`, `seed`).  `parts` takes the place of what the
    frame runs requests with.
    """

    title = "Paper tables"
    lead = "Which of the papers' numbers come out again, and where they do not, why?"
    asks = PaperTablesRequest

    def __init__(
        self,
        request: PaperTablesRequest | None = None,
        *,
        parts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._picked = ""  # what a user chose, kept while it is not there yet
        super().__init__(request, **(parts or {}), **options)
        self.runbar.run.description = "Recompute"
        self.begin()

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """Which items, where models and recorded runs come from, and on what it is computed."""
        papers = {
            name: (words, f"All tables and figures of arXiv:{number}")
            for name, (words, number) in PAPERS.items()
        }
        self.items = ChipPicker(str, papers, _ITEMS)
        self.fetch = labelled(
            w.Checkbox(description="fetch models that are missing", indent=False),
            "Bring their matrices from the hub; what is missing is listed with its size",
        )
        if names_of(MODEL) is not None:
            usable(self.fetch, "the bounds of this page let nobody fetch them all")
        self.stand_in = labelled(
            w.Checkbox(description="bundled models as stand-ins", indent=False),
            "Where a model is not here; such numbers are marked and not held against the print",
        )
        self.data = named(
            RECORDED,
            "the papers' recorded runs",
            "a folder",
            "A folder with the CSV and JSON files that the authors released, under any names",
        )
        self.device = labelled(
            w.Dropdown(description="device", options=devices.available(self.state.request.device)),
            "Where it is computed",
        )
        self.seed = number_box("seed", "How rows are shuffled where chance is measured")
        fields = {
            "items": Field(self.items),
            "fetch": Field(self.fetch),
            "stand_in": Field(self.stand_in),
            "data": Field(self.data, str.strip),
            "device": Field(self.device),
            "seed": Field(self.seed, to_request=whole_if_it_is),
        }
        return fields, [
            section("Papers", self.items),
            section("Models and runs", self.fetch, self.stand_in, self.data),
            section("Machine", pairs(self.device, self.seed)),
        ]

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, bars of all items, one item with chart and numbers, what is missing, facts."""
        self.headline = w.HTML().add_class("ep-headline")
        self.about, self.numbers, self.missing, self.facts = (w.HTML() for _ in range(4))
        self.overview = PlotFigure(templates(), chart.overview(None))
        self.overview.clicked = self.callback(self._clicked)
        self.chart = PlotFigure(templates(), chart.spec(None))
        self.captions = {name: w.HTML().add_class("ep-caption") for name in ("overview", "item")}
        self.command, self.copy = w.HTML(), CopyButton(label="Copy this command")
        self.menu = labelled(w.Dropdown(description="table or figure"), "Whose numbers are shown")
        self.only = labelled(
            w.Dropdown(description="numbers", options=[_ALL]), "Only those of one verdict"
        )
        for control in (self.menu, self.only):
            control.observe(self.callback(self._chosen), "value")
        self.cards = self._carded()
        self._arrange(None)
        return [self.headline, *self.cards.values()]

    def _carded(self) -> dict[str, w.VBox]:
        looks = w.Box([self.menu, self.only]).add_class("ep-chooser")
        line = w.Box([self.command, self.copy]).add_class("ep-command")
        said = self.captions
        return {
            "overview": card("All tables and figures", self.overview, said["overview"]).add_class(
                "ep-overview"
            ),
            "item": card(
                "One of them", looks, self.about, self.chart, said["item"], self.numbers
            ).add_class("ep-item"),
            "missing": card("What is not here", self.missing, line),
            "facts": card("What it was computed from", fold("Settings and hashes", self.facts)),
        }

    def build_settings(self) -> Mapping[str, Setting]:
        """Which item is open, and which of its numbers."""
        return {
            "item": Setting(self.menu, "value", _FIRST),
            "only": Setting(self.only, "value", ""),
        }

    def build_exports(self) -> Iterable[Offer]:
        """Every number as a table, the page, and both pictures."""
        return [
            Offer("CSV", "Every number: printed, here, verdict", ".csv", "text/csv", csv_bytes),
            page_offer(),
            *picture_offers(self.chart, lambda _: _caption(self.item)),
            *picture_offers(self.overview, chart.overview_caption, "overview", own=True),
        ]

    @property
    def item(self) -> PaperItem | None:
        """The table or figure that is open; None before there is any."""
        return None if self.result is None else self._item_of(self.result)

    def draw(self, result: PaperTables) -> None:
        """Show another result, or as much of it as there is; the figures come last."""
        self._arrange(result)
        self.headline.value = tables.top(result)
        self._offer(result)
        self._say_missing(result)
        with self._binding.quiet():
            self.device.options = devices.available(self.request.device)
        self.captions["overview"].value = paragraphs(f"{chart.overview_caption(result)} {_CLICK}")
        self._show(result)

    def part_of(self, result: PaperTables) -> str:
        """How many of the items there are already."""
        asked = PaperTablesRequest(items=tuple(result.settings["items"]))
        return f"{len(result.items)} of {len(asked.names)} tables and figures"

    def prepare(self, request: Any) -> None:
        """Offer a device that was asked for even where it is missing; a run then says so."""
        self.device.options = devices.available(request.device)

    # How it works.

    def _item_of(self, result: PaperTables) -> PaperItem | None:
        return result.items.get(self.menu.value or "")

    def _arrange(self, result: PaperTables | None) -> None:
        """Only what there is something to see of takes room."""
        items = () if result is None else result.items.values()
        seen = {
            "overview": result is not None,
            "item": bool(items),
            "missing": any(number.missing for item in items for number in item.numbers),
            "facts": bool(items),
        }
        for name, shown in seen.items():
            self.cards[name].layout.display = "" if shown else "none"

    def _offer(self, result: PaperTables) -> None:
        """The items of this result; the one that was chosen is taken up once it is there."""
        options = [(f"{label(name)}: {counted(i)}", name) for name, i in result.items.items()]
        reoffer(self.menu, options)
        if self._picked in result.items:
            self.menu.value = self._picked

    def _say_missing(self, result: PaperTables) -> None:
        lacking = lackings(result.items.values())
        self.missing.value = tables.missing(result.items.values())
        self.copy.text = fetch_line(lacking)
        self.command.value = f"<code>{escape(self.copy.text)}</code>" if self.copy.text else ""
        self.copy.layout.display = "" if self.copy.text else "none"

    def _chosen(self, change: Any) -> None:
        if self.result is None or self._drawing:
            return
        if change["owner"] is self.menu and change["new"] is not None:
            self._picked = change["new"]
        self._show(self.result)

    def _show(self, result: PaperTables) -> None:
        """What depends on the choices."""
        item = self._item_of(result)
        verdicts = [] if item is None else present(item.numbers)
        held, self._drawing = self._drawing, True
        try:
            reoffer(self.only, [_ALL, *((f"{SIGNS[v].glyph} {v}", v) for v in verdicts)])
        finally:
            self._drawing = held
        self.about.value = tables.about(item)
        self.numbers.value = tables.numbers(item, self.only.value or "")
        self.facts.value = _facts(item)
        self.captions["item"].value = paragraphs(_caption(item))
        self.overview.show(chart.overview(result, self.menu.value or ""))
        self.chart.show(chart.spec(item))

    def _clicked(self, trace: int, place: tuple[int, ...]) -> None:
        """A bar opens its item."""
        name = chart.item_at(self.result, trace, place)
        if name is not None:
            self.menu.value = name


def _caption(item: PaperItem | None) -> str:
    return "" if item is None else chart.item_caption(item)


def _facts(item: PaperItem | None) -> str:
    if item is None:
        return ""
    return facts_of({label(item.name): item.settings}, item.hashes, (), "what was computed") or (
        "<p class='ep-quiet'>Nothing was computed for it.</p>"
    )
