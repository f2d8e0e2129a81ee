"""What the paper on the gradient bottleneck and the reply to it say of trained models.

The paper is Lost in Backpropagation, arXiv 2603.10145; its numbers here come from a digest of its
second version.  The reply is arXiv 2608.16671; losses as printed there.
"""

from dataclasses import dataclass

SEEDS = 5
FULL_LOSS = 2.253
"""Of the reply's model of bytes, width 32, with its head as it is."""


@dataclass(frozen=True)
class PublishedExcess:
    """Loss above that of the full head on WikiText-2, mean of five seeds.

    text      "bytes", "BPE-8192", or "" where that is not said; `width` of the model, else None
    interval  95 %, where it is printed
    """

    text: str
    width: int | None
    way: str
    rank: int | None
    excess: float
    interval: tuple[float, float] | None = None


EXCESS = (
    PublishedExcess("bytes", 32, "backward", 16, 0.063),
    PublishedExcess("bytes", 32, "backward", 8, 0.080),
    PublishedExcess("bytes", 32, "backward", 4, 0.202),
    PublishedExcess("bytes", 32, "factorised", 16, 0.144),
    PublishedExcess("bytes", 32, "factorised", 8, 0.183),
    PublishedExcess("bytes", 32, "factorised", 4, 0.293),
    PublishedExcess("BPE-8192", 96, "backward", 48, 0.059, (0.017, 0.101)),
    PublishedExcess("BPE-8192", 96, "factorised", 48, 0.180, (0.155, 0.204)),
    PublishedExcess("", None, "head-update", None, 0.625),
)
"""The reply's."""

NEVER_CORRECT = ((256, 2.259), (None, 2.253), (4_096, 2.264))
"""The reply's: outputs of the model of bytes, width 32, and its loss; 256 of them occur.  How many
the run between had is not known here."""

FIXED_POSITIONS = ((1, 1.0), (64, 0.266))
"""The reply's: length of a SpamLang sequence, and accuracy after the same number of positions."""


@dataclass(frozen=True)
class PublishedSpamLang:
    """The paper's largest run: symbols, length, positions seen."""

    symbols: int = 131_072
    length: int = 64
    positions: int = 41_000_000

    @property
    def occurrences(self) -> float:
        """How often each symbol stood in the text, as the paper counts data."""
        return self.positions / self.symbols

    @property
    def sequences_per_symbol(self) -> float:
        """How often each was drawn, as the reply counts it."""
        return self.occurrences / self.length


SPAMLANG = PublishedSpamLang()


@dataclass(frozen=True)
class PublishedRanks:
    """The paper's heads of lower rank, of models with 2 B parameters and 49,152 tokens: the one of
    the width's rank comes after so many tokens to what that of the least rank ends with."""

    width: int = 4_096
    least: int = 32
    tokens: float = 11e9
    reached_after: float = 700e6

    @property
    def faster(self) -> float:
        """By what factor."""
        return self.tokens / self.reached_after


RANKS = PublishedRanks()
