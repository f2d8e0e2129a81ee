"""Results of the measures of row norm against token frequency."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.alignment import Vector
from embtie_widgets.results.counts import Counts
from embtie_widgets.results.pair import pair_columns
from embtie_widgets.results.storage import storable

if TYPE_CHECKING:
    import pandas as pd

Interval = tuple[float, float]


@storable
@dataclass(frozen=True)
class Correlation:
    """How two vectors go together over the tokens that have both, each number in [-1, 1].

    tokens         how many that are
    pearson        of the values, `spearman` of their ranks (equal values share the mean rank); NaN
                   for fewer than three tokens or where one of the vectors is constant
    pearson_interval, spearman_interval  95 % intervals over tokens
    pearson_floor, spearman_floor  chance: shuffled, 95 % of all correlations are no larger than
                   this, whatever their sign
    floor_expected what theory gives for it: 1.96 / sqrt(tokens - 1)
    """

    tokens: int
    pearson: float
    spearman: float
    pearson_interval: Interval
    spearman_interval: Interval
    pearson_floor: float
    spearman_floor: float
    floor_expected: float

    def __repr__(self) -> str:
        low, high = self.pearson_interval
        rank_low, rank_high = self.spearman_interval
        return (
            f"Pearson {self.pearson:.3f} [{low:.3f}, {high:.3f}], Spearman {self.spearman:.3f} "
            f"[{rank_low:.3f}, {rank_high:.3f}], chance {self.spearman_floor:.3f}"
        )


@storable
@dataclass(frozen=True)
class RunningMedian:
    """The median norm along the frequency, and the quartiles around it, in G windows.

    log_count      (G,) the median of log10(count + 1) in each window, rising
    median, lower, upper  (G,) median and quartiles of the norms there, in the norm's unit
    tokens         (G,) how many tokens each window holds
    """

    log_count: Vector
    median: Vector
    lower: Vector
    upper: Vector
    tokens: Vector

    @property
    def peak(self) -> tuple[float, float] | None:
        """Where the median is largest, (log10(count + 1), norm); None without a window."""
        if not len(self.median):
            return None
        top = int(np.argmax(self.median))
        return float(self.log_count[top]), float(self.median[top])


@storable
@dataclass(frozen=True)
class UnseenRows:
    """The rows whose token does not occur: how many, median and quartiles of their norms, NaN
    where there is none."""

    rows: int
    median: float
    lower: float
    upper: float


@storable
@dataclass(frozen=True)
class NormFrequency:
    """The row norms of one matrix against how often the tokens occur.

    norm         (V,) Euclidean length of each row; NaN for rows that are not finite
    counts       (V,) whole numbers, at least 0
    used         (V,) the rows behind `correlation` and `curve`: count above 0, row finite
    correlation  of log_count and norm over these rows
    curve        running median and quartiles of the norm over these rows
    unseen       the rows of count 0 that are finite and not zero; they are in neither of the two
    settings     everything needed to repeat it, and which rows were left out
    hashes       of the matrix, read when first asked for
    """

    norm: Vector
    counts: Vector
    used: Vector
    correlation: Correlation
    curve: RunningMedian
    unseen: UnseenRows
    settings: dict[str, Any]
    hashes: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def log_count(self) -> Vector:
        """(V,) log10(count + 1), at least 0."""
        return np.asarray(np.log10(self.counts.astype(float) + 1))

    @property
    def pearson(self) -> float:
        """Pearson correlation of log_count and norm over the rows used."""
        return self.correlation.pearson

    @property
    def spearman(self) -> float:
        """Spearman rank correlation of the same."""
        return self.correlation.spearman

    @property
    def apart(self) -> Vector:
        """(V,) the rows of count 0 that are finite and not zero."""
        return np.asarray((self.counts == 0) & np.isfinite(self.norm) & (self.norm > 0))

    def __repr__(self) -> str:
        return (
            f"NormFrequency({self.correlation.tokens:,} tokens seen, {self.unseen.rows:,} not, "
            f"{self.correlation!r})"
        )

    def to_frame(self) -> "pd.DataFrame":
        """One row per token: its row number, count, log count, norm, and whether it was used."""
        import pandas as pd

        columns = {
            "row": np.arange(len(self.norm)),
            "count": self.counts,
            "log_count": self.log_count,
            "norm": self.norm,
            "used": self.used,
        }
        return pd.DataFrame(columns)


@storable
@dataclass(frozen=True)
class PairNorms:
    """Norm against frequency for the matrices of a model pair, on the tokens that both have.

    matrices      by name ("In", "Out", "Tied"), all on the same n tokens
    rows_a, rows_b  (n,) the row of each token in model A and in model B
    tokens        n byte keys (None where tokens are not known)
    token_counts  (n,) how often each token occurs, as A cuts the text
    kinds         (n,) the code of each token's kind, None where it is not known
    groups        one mapping per group of tokens: "group", "tokens", and the mean norm by matrix
    between       correlations of the norms of the same tokens, by two names ("In, Out")
    frobenius     Frobenius norm of each whole matrix as stored, from its finite rows
    corpora       what was counted, by model: "A" and "B", or one for both where they cut the text
                  alike, or where only one of them has counts
    counts        of the vocabulary match; its kinds add up to the rows of both matrices
    checks        identity checks that were passed before this result was given out
    models        what is known of A and B: name, revision, tied, shape, dtype, notes
    """

    matrices: dict[str, NormFrequency]
    rows_a: Vector
    rows_b: Vector
    tokens: tuple[bytes | None, ...]
    token_counts: Vector
    kinds: Vector | None
    groups: tuple[dict[str, Any], ...]
    between: dict[str, Correlation]
    frobenius: dict[str, float]
    corpora: dict[str, Counts]
    counts: dict[str, int]
    checks: dict[str, float]
    models: dict[str, dict[str, Any]]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    hashes: dict[str, str]

    @property
    def counted_twice(self) -> bool:
        """Whether Tied has counts of its own, its tokenizer being another one."""
        return len(self.corpora) > 1

    def __repr__(self) -> str:
        names = " with ".join(repr(known["name"]) for known in self.models.values())
        wide = max(map(len, self.matrices), default=0)
        lines = [f"  {name:<{wide}}  {one.correlation!r}" for name, one in self.matrices.items()]
        return "\n".join([f"PairNorms({names}, {len(self.tokens):,} common tokens)", *lines])

    def to_frame(self) -> "pd.DataFrame":
        """One row per token: text, bytes, kind, rows, counts, and its norm in each matrix."""
        import pandas as pd

        columns = pair_columns(self)
        if self.counted_twice:
            columns["count in B"] = self.matrices["Tied"].counts
        columns |= {f"norm {name}": one.norm for name, one in self.matrices.items()}
        return pd.DataFrame(columns)

    def summary(self) -> list[dict[str, Any]]:
        """One mapping per matrix: the numbers that stand under the chart."""
        return [
            {
                "matrix": name,
                **asdict(one.correlation),
                "unseen": one.unseen.rows,
                "unseen_median": one.unseen.median,
                "left_out": sum(one.settings["rows_left_out"].values()),
                "peak": one.curve.peak,
                "frobenius": self.frobenius[name],
            }
            for name, one in self.matrices.items()
        ]

    def facts(self) -> dict[str, Any]:
        """All that is not a number per token: what every export carries."""
        return {
            "summary": self.summary(),
            "between": {name: asdict(one) for name, one in self.between.items()},
            "measures": {name: one.settings for name, one in self.matrices.items()},
            "corpora": {model: counts.facts() for model, counts in self.corpora.items()},
            "groups": self.groups,
            "counts": self.counts,
            "checks": self.checks,
            "models": self.models,
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }
