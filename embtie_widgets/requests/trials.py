"""The request behind the panel of experiments on the gradient bottleneck."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import fields
from embtie_widgets.requests.centering import SIZES, TYING
from embtie_widgets.requests.training import TRAIN_TOKENIZER, TrainingRequest

EXPERIMENTS = ("ranks", "spamlang")
FULL = "full"
RANKED = ("factorised", "backward")  # the ways that have a rank
WAYS = (FULL, *RANKED, "head-update")
SEQUENCES, POSITIONS, PER_SYMBOL = BUDGETS = ("sequences", "positions", "per symbol")
MOST_TRIALS, MOST_CHOICES = 200, 16


@dataclass(frozen=True, order=True)
class Trial:
    """One run of an experiment: what it differs in from the others.

    way      of a head's rank: one of WAYS; of SpamLang "full"
    rank     of the ways that have one, else None
    symbols, width, length, extra  of SpamLang, else None: symbols that occur, width of the model,
             times a symbol is repeated, classes beside them that never occur
    """

    way: str
    rank: int | None
    tied: bool
    lr: float
    seed: int
    symbols: int | None = None
    width: int | None = None
    length: int | None = None
    extra: int | None = None


@dataclass(frozen=True)
class Draws:
    """The data of a run of SpamLang: `batch` independent sequences of `length` predicted positions
    in each of `steps` steps."""

    steps: int
    batch: int
    length: int

    @property
    def sequences(self) -> int:
        """All of them."""
        return self.steps * self.batch

    @property
    def positions(self) -> int:
        """Of all sequences."""
        return self.sequences * self.length


@dataclass(frozen=True)
class BottleneckTrialsRequest(TrainingRequest):
    """Train models whose head lets less of the gradient through, one run for each combination.

    `experiment` "ranks" trains a small language model on a text, with the head as it is ("full"),
    "factorised" through a rank, with only the "backward" pass restricted to a rank (logits and
    the head's own update intact, length of the gradient matched), or with the part of the head's
    own update taken off that the hidden state does not see ("head-update").  "spamlang" trains on
    sequences that repeat one symbol, drawn uniformly.

    ways, ranks   of "ranks", each rank with each way that has one
    tying, rates, seeds  as for output centering
    size          of the architecture of `preset`, of "ranks"
    symbols, widths, lengths, extra  of "spamlang": how many symbols, width of the model, times a
                  symbol is repeated, and how many classes there are beside them that never occur
    budget        of "spamlang": whether `amount` counts independent "sequences", such sequences
                  "per symbol", or the predicted "positions", of which one sequence has `length`;
                  every run of it takes about `steps` steps, so that the batches differ
    layers        of "spamlang"
    """

    experiment: str = "ranks"
    ways: tuple[str, ...] = WAYS
    ranks: tuple[int, ...] = (4, 16)
    tying: tuple[str, ...] = ("untied",)
    rates: tuple[float, ...] = ()
    seeds: tuple[int, ...] = ()
    size: str = "micro"
    symbols: tuple[int, ...] = (1_024,)
    widths: tuple[int, ...] = (32,)
    lengths: tuple[int, ...] = (1, 64)
    extra: tuple[int, ...] = (0,)
    budget: str = "positions"
    amount: int = 65_536
    layers: int = 1
    tokenizer: str = field(default=TRAIN_TOKENIZER, kw_only=True)
    vocabulary: int = field(default=512, kw_only=True)
    steps: int = field(default=1_500, kw_only=True)
    batch: int = field(default=4, kw_only=True)
    length: int = field(default=64, kw_only=True)
    every: int = field(default=10, kw_only=True)

    kind: ClassVar[str] = "bottleneck-trials"

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.choice("experiment", self.experiment, EXPERIMENTS)
        for name, options in (("ways", WAYS), ("tying", TYING)):
            found = fields.some(name, getattr(self, name))
            object.__setattr__(self, name, tuple(fields.choice(name, v, options) for v in found))
        object.__setattr__(self, "rates", fields.numbers("rates", self.rates, 0.0, 100.0))
        bounds = {
            "seeds": (0, 2**31 - 1), "ranks": (1, 65_536), "symbols": (2, 1_000_000),
            "widths": (2, 8_192), "lengths": (1, 4_096), "extra": (0, 1_000_000),
        }  # fmt: skip
        for name, (low, high) in bounds.items():
            found = fields.wholes(name, getattr(self, name), low, high, MOST_CHOICES)
            object.__setattr__(self, name, found if name == "seeds" else fields.some(name, found))
        fields.choice("size", self.size, SIZES)
        fields.choice("budget", self.budget, BUDGETS)
        fields.whole("amount", self.amount, 1, 10**9)
        fields.whole("layers", self.layers, 0, 24)
        if (runs := self._count()) > MOST_TRIALS:
            raise EmbtieError(
                f"The experiment has {runs:,} runs; at most {MOST_TRIALS:,} are "
                "trained in one request.",
                "Leave out ranks, widths, lengths, rates or seeds.",
            )

    def _count(self) -> int:
        """How many trials there are, told without making them: a link may ask for millions."""
        alike = map(len, (self.seeds or (0,), self.rates or (0,), self.tying))
        ranked = sum(len(self.ranks) if way in RANKED else 1 for way in self.ways)
        repeated = math.prod(map(len, (self.symbols, self.widths, self.extra, self.lengths)))
        return math.prod(alike) * (ranked if self.experiment == "ranks" else repeated)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """Every run once."""
        return self._ranked if self.experiment == "ranks" else self._repeated

    def draws(self, trial: Trial) -> Draws:
        """The data of a run of SpamLang: `amount`, in about `steps` steps; with fewer sequences
        than steps, in as many as there are sequences."""
        sequences = self.sequences(trial)
        batch = max(1, round(sequences / self.steps))
        return Draws(max(1, round(sequences / batch)), batch, trial.length or 1)

    def sequences(self, one: Trial) -> int:
        """About how many independent sequences a run of SpamLang sees; its batches round that."""
        counted = {
            POSITIONS: self.amount / (one.length or 1),
            SEQUENCES: self.amount,
            PER_SYMBOL: self.amount * (one.symbols or 1),
        }
        return max(1, round(counted[self.budget]))

    def per_symbol(self, trial: Trial) -> float:
        """How often a run of SpamLang draws each of its symbols, on average."""
        return self.draws(trial).sequences / (trial.symbols or 1)

    @property
    def _ranked(self) -> tuple[Trial, ...]:
        return tuple(
            Trial(way, rank, tying == "tied", lr, seed)
            for seed in self.seeds or (self.seed,)
            for lr in self.rates or (self.lr,)
            for tying in self.tying
            for way in self.ways
            for rank in (self.ranks if way in RANKED else (None,))
        )

    @property
    def _repeated(self) -> tuple[Trial, ...]:
        return tuple(
            Trial(FULL, None, tying == "tied", lr, seed, symbols, width, length, extra)
            for seed in self.seeds or (self.seed,)
            for lr in self.rates or (self.lr,)
            for tying in self.tying
            for symbols in self.symbols
            for width in self.widths
            for extra in self.extra
            for length in self.lengths
        )
