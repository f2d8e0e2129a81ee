"""What a sweep of output centering is asked by: methods with their numbers, and the grid."""

import ipywidgets as w

from embtie_widgets.charts.centering_view import method_words
from embtie_widgets.panels.chips import ChipPicker, OneOrSeveral
from embtie_widgets.panels.fields import (
    Field,
    fold,
    labelled,
    number_box,
    pairs,
    section,
    whole_if_it_is,
)
from embtie_widgets.requests.centering import (
    NONE,
    PARTS,
    SIZES,
    TYING,
    CenteringRequest,
    is_weighed,
)

_METHOD_HELP = {
    NONE: "Nothing beside AdamW",
    "mu-centering": "After each step the mean row is taken off the output matrix",
    "mu-loss": "The loss has the squared length of the mean row added, weighed",
    "z-loss": "The loss has the squared log of the softmax's sum added, weighed",
    "soft-cap": "Logits are squeezed between minus and plus the cap",
    "coupled-adam": "Adam with one second moment for all rows of an embedding matrix",
    "sgd": "No Adam: each step is the rate times the gradient",
}
_TYING = {
    "untied": ("untied", "Input and output have a matrix each"),
    "tied": ("tied", "Input and output share one: what moves one moves the other"),
}
_SIZES = {name: (name, f"Train the size '{name}' of the architecture") for name in SIZES}
_RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)
_ROWS = (("Real tokens", "tokens"), ("All stored rows", "all"))
_ROWS_HELP = (
    "Rows that belong to no token, as models have that round their vocabulary up, do not count",
    "As in the paper: rows that belong to no token count too",
)
_NUMBERS = {
    "cap": ("cap", "The soft-cap's c: logits become c tanh(logit / c)"),
    "interval": ("every … steps", "So often the mean row is taken off"),
    "extra_rows": ("rows without token", "So many more rows are stored, as real models have them"),
    "weight_decay": ("weight decay", "AdamW's"),
    "clip": ("clip at", "A longer gradient is shortened to this length; 0 for never"),
    "eps": ("Adam's ε", "What Adam adds below the fraction, against division by nothing"),
}
_WHOLE = ("interval", "extra_rows")


def tying_chips() -> ChipPicker:
    """Tied, untied or both."""
    return ChipPicker(str, {name: _TYING[name] for name in TYING}, None)


def rate_chips() -> OneOrSeveral:
    """One learning rate or several."""
    chips = {one: (f"{one:g}", f"Train at a highest learning rate of {one:g}") for one in _RATES}
    others = ("others", "0.002, 0.02", "Highest learning rates; several make a sweep")
    return OneOrSeveral(ChipPicker(float, chips, others))


def seed_chips() -> OneOrSeveral:
    """One seed or several."""
    seeds = ("seeds", "0, 1, 2", "Each draws the models' start and the order of the batches")
    return OneOrSeveral(ChipPicker(int, {}, seeds))


class SweepControls:
    """The controls of what the runs of a sweep differ in, and of what they share beside a training.

    A panel places `sections` among its own, adds `fields()` to its own, and calls `adapt(request)`
    in its `edited`.
    """

    def __init__(self) -> None:
        combined = "Parts with + between them, several with commas"
        self.methods = ChipPicker(
            str,
            {name: (method_words(name), _METHOD_HELP[name]) for name in (NONE, *PARTS)},
            ("together", "mu-centering+soft-cap", combined),
        )
        self.tying = tying_chips()
        self.sizes = ChipPicker(str, _SIZES, None)
        weights = ("coefficients", "1e-4, 0.1", "λ of μ-loss and z-loss; several make a run each")
        self.coefficients = ChipPicker(float, {}, weights)
        self.rates, self.seeds = rate_chips(), seed_chips()
        self.rows = labelled(
            w.ToggleButtons(description="mean row of", options=_ROWS, tooltips=_ROWS_HELP),
            "Whose mean is taken off",
        ).add_class("ep-segments")
        self.numbers = {name: number_box(*words) for name, words in _NUMBERS.items()}
        self.count = w.HTML()
        self.sections = self._arranged()

    def _arranged(self) -> list[w.Widget]:
        number = self.numbers
        weighed = pairs(self.coefficients, number["cap"], number["interval"])
        self.mean = w.VBox([self.rows, number["extra_rows"]]).add_class("ep-corpus")
        optimiser = pairs(number["weight_decay"], number["clip"], number["eps"])
        return [
            section(
                "Methods",
                self.methods,
                self.tying,
                weighed,
                fold("Mean row and optimiser", self.mean, optimiser),
            ),
            section("Learning rates", self.rates),
            w.VBox([fold("Sizes and seeds", self.sizes, self.seeds), self.count]),
        ]

    def fields(self) -> dict[str, Field]:
        """The request's fields that these edit."""
        whole = dict.fromkeys(_WHOLE, whole_if_it_is)
        return {
            "methods": Field(self.methods),
            "tying": Field(self.tying),
            "sizes": Field(self.sizes),
            "coefficients": Field(self.coefficients),
            "rows": Field(self.rows),
            **self.rates.fields("lr", "rates"),
            **self.seeds.fields("seed", "seeds"),
            **{
                name: Field(one, to_request=whole.get(name, float))
                for name, one in self.numbers.items()
            },
        }

    def adapt(self, request: CenteringRequest) -> None:
        """Ask for no more than what counts, and say how many runs it makes."""
        parts = {part for method in request.methods for part in method.split("+")}
        counts = {
            self.coefficients: any(map(is_weighed, request.methods)),
            self.numbers["cap"]: "soft-cap" in parts,
            self.numbers["interval"]: "mu-centering" in parts,
            self.mean: bool({"mu-centering", "mu-loss"} & parts),
        }
        for one, seen in counts.items():
            one.layout.display = "" if seen else "none"
        many = len(request.cells)
        self.count.value = f"<p class='ep-said'>{many:,} run{'s' if many > 1 else ''}</p>"
