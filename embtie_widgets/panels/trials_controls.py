"""What an experiment on the bottleneck is asked by: which one, its runs, and how much data."""

from collections.abc import Callable

import ipywidgets as w
import traitlets as t

from embtie_widgets.charts.trials_view import RANKS, SPAMLANG, WAY_SAYS, WAY_WORDS
from embtie_widgets.panels.centering_controls import rate_chips, seed_chips, tying_chips
from embtie_widgets.panels.chips import ChipPicker
from embtie_widgets.panels.fields import Field, fold, labelled, section
from embtie_widgets.panels.guard import told
from embtie_widgets.panels.slider_list import SliderList
from embtie_widgets.requests.centering import SIZES
from embtie_widgets.requests.trials import RANKED, BottleneckTrialsRequest, Trial

_EXPERIMENTS = (("Head rank", RANKS), ("SpamLang", SPAMLANG))
_EXPERIMENT_HELP = (
    "Models on a text whose head, or whose way back through it, has a small rank",
    "Models on sequences that repeat one symbol",
)
_RANKS = (2, 4, 8, 16, 32)
_BUDGETS = (
    ("Positions", "positions"),
    ("Sequences", "sequences"),
    ("Per symbol", "per symbol"),
)
_BUDGET_HELP = (
    "Every run predicts so many positions: long sequences are then few",
    "Every run sees so many independent sequences: long ones then have more positions",
    "Every run sees so many independent sequences of each symbol",
)
_AMOUNTS = {
    "positions": "predicted positions",
    "sequences": "independent sequences",
    "per symbol": "sequences of each symbol",
}


def _powers(low: int, high: int) -> list[int]:
    return [2**power for power in range(low, high + 1)]


class ExperimentSwitch(w.VBox):
    """Which experiment; a click asks `turned` for the other one, which brings its own settings."""

    value = t.Unicode(RANKS)

    def __init__(self, turned: Callable[[str], None]) -> None:
        self._turned, self._quiet = turned, False
        self.buttons = labelled(
            w.ToggleButtons(
                description="experiment", options=_EXPERIMENTS, tooltips=_EXPERIMENT_HELP
            ),
            "Which experiment is made; each keeps its own settings",
        ).add_class("ep-segments")
        super().__init__([self.buttons])
        self.buttons.observe(told(lambda _: self._clicked()), "value")
        self.observe(told(lambda _: self._show()), "value")

    def _show(self) -> None:
        self._quiet = True
        try:
            self.buttons.value = self.value
        finally:
            self._quiet = False

    def _clicked(self) -> None:
        if not self._quiet:
            self._turned(self.buttons.value)


class TrialControls:
    """The controls of what the runs differ in, and of their data.

    A panel places `sections` among its own, adds `fields()` to its own, and calls `adapt(request)`
    in its `edited`.
    """

    def __init__(self) -> None:
        ways = {name: (words, WAY_SAYS[name]) for name, words in WAY_WORDS.items()}
        self.ways = ChipPicker(str, ways, None)
        chips = {one: (f"{one}", f"Train with a rank of {one}") for one in _RANKS}
        self.ranks = ChipPicker(int, chips, ("ranks", "24, 48", "Ranks, each with each such way"))
        self.size = labelled(
            w.Dropdown(description="size", options=SIZES), "The size of the architecture"
        )
        self.symbols = SliderList("symbols, V", "How many symbols there are", _powers(1, 17))
        self.widths = SliderList("width, d", "The width of the model", _powers(1, 10))
        self.lengths = SliderList(
            "length", "How many predictions a sequence of one symbol has", _powers(0, 9)
        )
        self.extra = SliderList(
            "never-correct classes",
            "Rows of the head that never are the answer, beside those of the symbols",
            [0, *_powers(6, 16)],
        )
        self.budget = labelled(
            w.ToggleButtons(description="a run's data", options=_BUDGETS, tooltips=_BUDGET_HELP),
            "What the number below counts",
        ).add_class("ep-segments")
        self.amount = SliderList("", "How much data every run sees", _powers(0, 24), None)
        self.layers = labelled(
            w.BoundedIntText(description="layers", min=0, max=24),
            "Layers between embedding and head; with none the head sees the embedding itself",
        )
        self.tying, self.rates, self.seeds = tying_chips(), rate_chips(), seed_chips()
        self.data, self.count = w.HTML(), w.HTML()
        self.sections = self._arranged()

    def _arranged(self) -> list[w.Widget]:
        self._of_ranks = section("Ways of the head", self.ways, self.ranks)
        self._of_symbols = section(
            "Language and model", self.symbols, self.widths, self.lengths, self.extra, self.layers
        )
        self._of_data = section("Data", self.budget, self.amount, self.data)
        runs = section("Learning rates", self.rates, self.tying)
        more = w.VBox([fold("Size and seeds", self.size, self.seeds), self.count])
        return [self._of_ranks, self._of_symbols, self._of_data, runs, more]

    def fields(self) -> dict[str, Field]:
        """The request's fields that these edit."""
        return {
            "ways": Field(self.ways),
            "ranks": Field(self.ranks),
            "size": Field(self.size),
            "symbols": Field(self.symbols),
            "widths": Field(self.widths),
            "lengths": Field(self.lengths),
            "extra": Field(self.extra),
            "budget": Field(self.budget),
            "amount": Field(self.amount, lambda pair: pair[0], lambda one: (one,)),
            "layers": Field(self.layers),
            "tying": Field(self.tying),
            **self.rates.fields("lr", "rates"),
            **self.seeds.fields("seed", "seeds"),
        }

    def adapt(self, request: BottleneckTrialsRequest) -> None:
        """Ask for no more than what counts, and say how many runs and how much data it makes."""
        ranks = request.experiment == RANKS
        shown = {
            self._of_ranks: ranks,
            self.ranks: bool({*RANKED} & {*request.ways}),
            self.size: ranks,
            self._of_symbols: not ranks,
            self._of_data: not ranks,
        }
        for one, seen in shown.items():
            one.layout.display = "" if seen else "none"
        self.amount.slider.description = _AMOUNTS[request.budget]
        self.data.value = "" if ranks else _said(_data(request))
        many = len(request.trials)
        self.count.value = _said(f"{many:,} run{'s' if many > 1 else ''}")


def _data(request: BottleneckTrialsRequest) -> str:
    """How much the least and the most supplied run see: sequences, and those of each symbol."""
    runs = sorted(request.trials, key=request.per_symbol)
    least, most = _sees(request, runs[0]), _sees(request, runs[-1])
    return least if least == most else f"From {least} to {most}"


def _sees(request: BottleneckTrialsRequest, one: Trial) -> str:
    sequences, each = request.draws(one).sequences, request.per_symbol(one)
    of = f"{one.symbols:,} symbols, length {one.length:,}"
    return f"{sequences:,} sequences ({of}): {each:,.3g} of each"


def _said(words: str) -> str:
    return f"<p class='ep-said'>{words}</p>"
