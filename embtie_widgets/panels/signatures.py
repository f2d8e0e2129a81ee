"""The panel of signatures in text: do embeddings follow what stands beside each token?"""

from collections.abc import Iterable, Mapping
from typing import Any

import ipywidgets as w

from embtie_widgets.charts import staircase as chart
from embtie_widgets.jobs.exports import csv_bytes, table_bytes
from embtie_widgets.panels import staircase_tables as tables
from embtie_widgets.panels.chips import ChipPicker
from embtie_widgets.panels.exports import Offer, page_offer, selection_offer
from embtie_widgets.panels.fields import (
    Field,
    Setting,
    card,
    fold,
    labelled,
    listed_names,
    section,
    usable,
    whole_if_it_is,
)
from embtie_widgets.panels.frame import Panel
from embtie_widgets.panels.recorded import form_of
from embtie_widgets.panels.series import SeriesPicker
from embtie_widgets.panels.source import SourcePicker
from embtie_widgets.panels.staircase_views import StaircaseViews
from embtie_widgets.panels.token_views import TokenViews
from embtie_widgets.panels.training_controls import TrainingControls
from embtie_widgets.requests import SignaturesRequest
from embtie_widgets.results.groups import KINDS
from embtie_widgets.results.staircase import StaircaseReport

_SOURCES = (
    ("a model's checkpoints", "model"),
    ("twins in training here", "train"),
    ("a run that RunRecorder writes", "run"),
)
_DIRECTIONS = {
    "next": ("what follows", "P(next token | token)"),
    "previous": ("what stands before", "P(token before | token)"),
}
_NUMBERS = {
    "anchors": ("how many", "So many of the most frequent tokens are compared"),
    "context": ("context of order 1", "How many tokens before it looks at; 0 leaves order 1 out"),
    "statistics": ("tokens of text", "So many tokens of the text are counted at most"),
    "probe_steps": ("probe steps", "How long the probe of order 1 is fitted"),
    "folds": ("folds", "Into how many parts the anchors are cut to hold one out"),
}


class SignaturesPanel(Panel):
    """Input, output and tied matrices of language models against what stands beside each token.

    `SignaturesPanel()` shows the bundled pair; give a request, or any of its fields by name
    (`source`, `model`, `other`, `revisions`, `anchors`, `chosen`, `directions`, `context`, `file`,
    ...).  `parts` takes the place of what the frame runs requests with, and of what the form for
    recorded runs looks with.
    """

    title = "Signatures in text"
    lead = "Do embeddings follow what stands after a token, or before it: input, output, tied?"
    asks = SignaturesRequest

    def __init__(
        self,
        request: SignaturesRequest | None = None,
        *,
        parts: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self._form, given = form_of("drift", parts or {})
        super().__init__(request, **given, **options)
        self.begin()

    def build_controls(self) -> tuple[Mapping[str, Field], Iterable[w.Widget]]:
        """Whose matrices, which tokens and statistics, and what the source needs."""
        request = self.state.request
        self.training = TrainingControls(request, self.callback)
        self.series = SeriesPicker(request, self.callback(self._turned), least=1)
        words = ("The rows are those of", "Where the matrices come from")
        self.source = SourcePicker(_SOURCES, words, self._form(self.callback), self._ask_for)
        tokens, sources = self._token_controls(), self.source.fields()
        fields = {
            **self.training.fields(),
            **self.series.fields(),
            **{"source": sources["source"], "file": sources["file"]},
            **tokens,
        }
        return fields, [
            section("Source", self.source),
            self.series.section,
            *self._sections,
            *self.training.sections,
        ]

    def _token_controls(self) -> dict[str, Field]:
        """Which tokens are compared, and by what of the text."""
        self.numbers = {
            name: labelled(w.FloatText(description=said, continuous_update=False), tooltip)
            for name, (said, tooltip) in _NUMBERS.items()
        }
        self.chosen = labelled(
            w.Textarea(
                description="or these tokens alone",
                placeholder="Monday, Tuesday, 1, 2, 3",
                continuous_update=False,
                rows=2,
            ),
            "Tokens by their text with commas between them, a word also without the space before "
            "it; they go before the number",
        ).add_class("ep-text")
        self.kind_of = labelled(
            w.Dropdown(
                description="of the kind", options=[("any", ""), *((one, one) for one in KINDS)]
            ),
            "Only tokens of this kind are compared",
        )
        self.directions = ChipPicker(str, _DIRECTIONS, None)
        number = self.numbers
        self._sections = [
            section("Tokens", _pairs(number["anchors"], self.kind_of), self.chosen),
            section("Statistics", self.directions, _pairs(number["context"], number["statistics"]),
                    fold("Probe", _pairs(number["probe_steps"], number["folds"]))),
        ]  # fmt: skip
        return {
            **{name: Field(one, to_request=whole_if_it_is) for name, one in number.items()},
            "chosen": Field(self.chosen, listed_names, ", ".join),
            "kind_of": Field(self.kind_of),
            "directions": Field(self.directions),
        }

    def build_views(self) -> Iterable[w.Widget]:
        """Sentence, scrubbed views, curves, pairs, tokens, numbers, facts."""
        self.headline = w.HTML().add_class("ep-headline")
        self.views = StaircaseViews(self, "step", chart.ALIKE)
        first = ("rank",)
        self.tokens = TokenViews(self, None, str, first, ("next", "previous"), ("rank",))
        self.tokens.tokens.table.descending = False
        self.ends, self.facts = w.HTML(), w.HTML()
        self.cards = {
            **self.views.cards,
            "numbers": card("At the end", self.ends),
            "facts": card("Models and text", self.facts),
        }
        for name in ("scrub", "pairs", "numbers", "facts"):
            self.cards[name].layout.display = "none"
        self.per_token = w.VBox(self.tokens.cards).add_class("ep-page")
        self.per_token.layout.display = "none"
        shown = list(self.cards.values())
        self.views.observe(self.callback(lambda _: self._columns()), "at")
        for menu in (self.views.run, self.views.matrix, self.views.signature):
            menu.observe(self.callback(lambda _: self._columns()), "value")
        return [self.headline, *shown[:3], self.per_token, *shown[3:]]

    def build_settings(self) -> Mapping[str, Setting]:
        """The step, how it is looked at, and the views of tokens."""
        tokens = {
            name: one for name, one in self.tokens.settings.items() if name not in ("kind", "down")
        }
        down = Setting(self.tokens.tokens.table, "descending", False)
        return {**self.views.settings, **tokens, "down": down}

    def build_exports(self) -> Iterable[Offer]:
        """Every measure at every step, tokens, the page, and the pictures."""
        return [
            Offer("CSV", "Every measure at every step", ".csv", "text/csv", csv_bytes),
            selection_offer(self._selected_csv, lambda result: bool(result.tokens)),
            page_offer(),
            *self.views.picture_offers(),
        ]

    def draw(self, result: StaircaseReport) -> None:
        """Show another result, or as much of it as there is; the figures come last."""
        self.headline.value = tables.top(result)
        self.ends.value, self.facts.value = tables.numbers(result), tables.facts(result)
        self.cards["numbers"].layout.display = "" if self.ends.value else "none"
        self.cards["facts"].layout.display = ""
        with self._binding.quiet():
            self.training.offer_devices(self.request.device)
        self.views.draw(result)
        self._columns(result)

    def selected(self) -> None:
        """Light the chosen tokens up in every view."""
        self.tokens.refresh()
        self.views.refresh()

    def part_of(self, result: StaircaseReport) -> str:
        """How far a result has come that is not whole."""
        return result.progress or "a part of the whole"

    def edited(self) -> None:
        """Ask for no more than what counts; names go before a number."""
        self.training.adapt()
        self.series.adapt()
        named = listed_names(self.chosen.value)
        usable(self.numbers["anchors"], "the anchors are named" if named else "")

    def check(self) -> None:
        """A recorded run must be named before it can be shown."""
        self.source.check()

    def prepare(self, request: Any) -> None:
        """Offer a device that was asked for even where it is missing, and show a second model where
        the request has one."""
        self.training.prepare(request)
        self.series.prepare(request)

    # How it works.

    def _ask_for(self, source: str) -> None:
        """Show the controls of a source, and no others; every one reads a text."""
        self.training.show(self.training.fields() if source == "train" else ("corpus",))
        self.series.show(source == "model")

    def _turned(self, change: Any) -> None:
        """A second model is asked for, or given up."""
        if not self._binding.silent:
            self._edited(change)

    def _columns(self, drawn: StaircaseReport | None = None) -> None:
        """The numbers of every token at the step that is looked at."""
        result = drawn or (None if self._drawing else self.result)
        if result is None:
            return
        known = chart.columns(result, self.views.view()) if result.tokens else []
        self.per_token.layout.display = "" if known else "none"
        if known:
            self.tokens.draw(chart.anchor_tokens(result), known)

    def _selected_csv(self, request: Any, result: StaircaseReport) -> bytes:
        frame = chart.token_frame(result, self.views.view()).iloc[sorted(self.selection)]
        return table_bytes(request, result, frame)


def _pairs(*controls: w.Widget) -> w.Box:
    return w.Box(list(controls)).add_class("ep-pairs")
