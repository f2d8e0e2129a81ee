"""The request behind the panel of output embedding centering."""

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import fields
from embtie_widgets.requests.mapping import checked_columns, checked_file
from embtie_widgets.requests.training import TRAIN_TOKENIZER, TrainingRequest

SOURCES = ("train", "file", "run")
NONE = "none"
PARTS = ("mu-centering", "mu-loss", "z-loss", "soft-cap", "coupled-adam", "sgd")
"""What a method may be put together from, in the order in which its name lists them."""
WEIGHED = ("mu-loss", "z-loss")  # the parts that have a coefficient
METHODS = (NONE, *PARTS[:4])
TYING = ("untied", "tied")
ROWS = ("tokens", "all")
SIZES = ("micro", "nano", "mini", "small")
MOST_CELLS, MOST_CHOICES = 1_000, 24


@dataclass(frozen=True, order=True)
class Cell:
    """One run of a sweep: what it differs in from the others.  `coefficient` is None for a method
    that has none."""

    size: str
    tied: bool
    method: str
    coefficient: float | None
    lr: float
    seed: int


@dataclass(frozen=True)
class CenteringRequest(TrainingRequest):
    """Train models that differ in how their output matrix is kept centred, in their learning rate,
    and in what else is listed: one run for each combination.

    `source` "train" does so here or on a cluster; a "file" holds a recorded sweep; a "run" is the
    folder that `RunRecorder` writes, or one of several such.  `file` and `columns` as for drift.

    methods       each "none", or of PARTS one or more with "+" between them
    tying         "untied", "tied" or both
    rates         peak learning rates; without any, `lr` alone
    coefficients  of mu-loss and z-loss, each with every method that has one
    cap           the soft-cap's c in c tanh(logit / c)
    interval      every so many steps mu-centering takes the mean off
    rows          whose mean it is: those of real "tokens", or "all" stored ones as in the paper
    extra_rows    rows without token, as models have them whose vocabulary is rounded up
    sizes         of the architecture that `preset` names
    seeds         without any, `seed` alone
    """

    source: str = "train"
    methods: tuple[str, ...] = METHODS
    tying: tuple[str, ...] = ("untied",)
    rates: tuple[float, ...] = ()
    coefficients: tuple[float, ...] = (1e-4,)
    cap: float = 30.0
    interval: int = 1
    rows: str = "tokens"
    extra_rows: int = 0
    sizes: tuple[str, ...] = ("micro",)
    seeds: tuple[int, ...] = ()
    tokenizer: str = field(default=TRAIN_TOKENIZER, kw_only=True)
    vocabulary: int = field(default=1_024, kw_only=True)
    steps: int = field(default=1_500, kw_only=True)
    batch: int = field(default=1, kw_only=True)
    length: int = field(default=64, kw_only=True)
    lr: float = field(default=0.1, kw_only=True)
    warmup: int = field(default=300, kw_only=True)
    every: int = field(default=10, kw_only=True)
    weight_decay: float = 0.0
    clip: float = 1.0
    eps: float = 1e-8
    file: str = ""
    columns: tuple[str, ...] = ()

    kind: ClassVar[str] = "centering"

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.choice("source", self.source, SOURCES)
        for name in ("methods", "tying", "rates", "coefficients", "sizes", "seeds"):
            object.__setattr__(self, name, fields.listed(name, getattr(self, name), MOST_CHOICES))
        self._check_choices()
        fields.number("cap", self.cap, 1e-3, 1e9)
        fields.whole("interval", self.interval, 1, 10**6)
        fields.choice("rows", self.rows, ROWS)
        fields.whole("extra_rows", self.extra_rows, 0, 100_000)
        fields.number("weight_decay", self.weight_decay, 0.0, 1e3)
        fields.number("clip", self.clip, 0.0, 1e9)
        fields.number("eps", self.eps, 0.0, 1.0)
        object.__setattr__(self, "columns", checked_columns(self.columns))
        checked_file(self.source, self.file)
        if (runs := self._count()) > MOST_CELLS:
            raise EmbtieError(
                f"The sweep has {runs:,} runs; at most {MOST_CELLS:,} are trained in one request.",
                "Leave out rates, coefficients, sizes or seeds.",
            )

    def _check_choices(self) -> None:
        methods = tuple(dict.fromkeys(spelt(one) for one in self.methods))
        object.__setattr__(self, "methods", methods)
        for name, options in (("tying", TYING), ("sizes", SIZES)):
            for value in getattr(self, name):
                fields.choice(name, value, options)
        for name, high in (("rates", 100.0), ("coefficients", 1e6)):
            object.__setattr__(self, name, fields.numbers(name, getattr(self, name), 0.0, high))
        object.__setattr__(self, "seeds", fields.wholes("seeds", self.seeds, 0, 2**31 - 1))
        for name in ("methods", "tying", "coefficients", "sizes"):
            fields.some(name, getattr(self, name))

    def _count(self) -> int:
        """How many cells there are, told without making them: a link may ask for millions."""
        methods = sum(len(self.coefficients) if is_weighed(one) else 1 for one in self.methods)
        others = map(len, (self.sizes, self.seeds or (0,), self.rates or (0,), self.tying))
        return methods * math.prod(others)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Every run once; the methods of one rate, size and seed stand side by side."""
        return tuple(
            Cell(size, tying == "tied", method, coefficient, lr, seed)
            for size in self.sizes
            for seed in self.seeds or (self.seed,)
            for lr in self.rates or (self.lr,)
            for tying in self.tying
            for method in self.methods
            for coefficient in (self.coefficients if is_weighed(method) else (None,))
        )


def spelt(method: Any) -> str:
    """A method's name with its parts in their order, each once; an EmbtieError for none."""
    parts = fields.text("a method", method).replace(" ", "").split("+")
    if parts == [NONE]:
        return NONE
    for part in parts:
        fields.choice("a method", part, (NONE, *PARTS))
    chosen = [part for part in PARTS if part in parts]
    if NONE in parts or {"sgd", "coupled-adam"} <= set(chosen):
        raise EmbtieError(
            f"A method is {fields.short(method)}; these do not go together.",
            "Leave one of them out.",
        )
    return "+".join(chosen)


def is_weighed(method: str) -> bool:
    """Whether a method has a coefficient."""
    return any(part in WEIGHED for part in method.split("+"))
