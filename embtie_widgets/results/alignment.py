"""Results of the alignment measures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.pair import pair_columns
from embtie_widgets.results.storage import storable

if TYPE_CHECKING:
    import pandas as pd


Vector = np.ndarray[Any, np.dtype[Any]]


@storable
@dataclass(frozen=True)
class Alignment:
    """How well one matrix maps onto another, token by token.

    cosine         (V,) in [-1, 1], of each mapped row with its target, the map fitted on all
                   rows; NaN where a row is zero or not finite
    mean, median   of the cosines that are not NaN
    interval       95 % bootstrap interval of the mean over tokens
    heldout_mean   the mean on rows that took no part in the fit; None without a hold-out
    heldout_interval  its 95 % bootstrap interval
    floor_mean     the same fit and score with the rows of y permuted: the level of pure chance;
                   None where it was not asked for
    floor_expected what theory gives for independent Gaussian rows: sqrt(d/V) for linear,
                   8/(3 pi) sqrt(d/V) for orthogonal of equal widths, 0 for identity; else None
    description    of the fitted map: kind, shape, rank, condition number, determinant sign
    settings       everything needed to repeat it
    hashes         of the two matrices by role, read when first asked for; without those that
                   are gone or changed by then
    """

    cosine: Vector
    mean: float
    median: float
    interval: tuple[float, float]
    heldout_mean: float | None
    heldout_interval: tuple[float, float] | None
    floor_mean: float | None
    floor_expected: float | None
    description: dict[str, Any]
    settings: dict[str, Any]
    hashes: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        kind = self.description.get("kind", "unknown")
        return f"Alignment({kind} map, {_scored(self):,} tokens, {_numbers(self)})"

    def to_frame(self) -> "pd.DataFrame":
        """One row per token: its row number and its cosine."""
        import pandas as pd

        return pd.DataFrame({"row": np.arange(len(self.cosine)), "cosine": self.cosine})


@storable
@dataclass(frozen=True)
class PairAlignment:
    """The comparisons of a model pair on the tokens that both have.

    comparisons   by name ("In->Out", "Out->Tied", "In->Tied"), all on the same n tokens
    rows_a, rows_b  (n,) the row of each token in model A and in model B
    tokens        n byte keys (None where tokens are not known)
    token_counts  (n,) how often each token occurs in the corpus that comes with the model, or
                  None where no corpus is known
    norms         row norms by matrix name ("In", "Out", "Tied"), each (n,)
    counts        of the vocabulary match; its kinds add up to the rows of both matrices
    kinds         (n,) the kind of each token, by its code in `results.groups`; None where no tokens
                  are known
    groups        one mapping per kind of token and per band of counts: "group", "tokens" (number),
                  the mean cosine by comparison name, and what `group_means` says beside it
    checks        identity checks that were passed before this result was given out
    models        what is known of A and B: name, revision, tied, shape, dtype, notes
    """

    comparisons: dict[str, Alignment]
    rows_a: Vector
    rows_b: Vector
    tokens: tuple[bytes | None, ...]
    token_counts: Vector | None
    norms: dict[str, Vector]
    counts: dict[str, int]
    kinds: Vector | None
    groups: tuple[dict[str, Any], ...]
    checks: dict[str, float]
    models: dict[str, dict[str, Any]]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    hashes: dict[str, str]

    def __repr__(self) -> str:
        names = " with ".join(repr(known["name"]) for known in self.models.values())
        wide = max(map(len, self.comparisons), default=0)
        lines = [
            f"  {name:<{wide}}  {_numbers(one)}, {_scored(one):,} tokens"
            for name, one in self.comparisons.items()
        ]
        return "\n".join([f"PairAlignment({names}, {len(self.tokens):,} common tokens)", *lines])

    def to_frame(self) -> "pd.DataFrame":
        """One row per token: text, bytes, kind, rows, count, norms and every cosine."""
        import pandas as pd

        columns = pair_columns(self)
        columns |= {f"norm {name}": values for name, values in self.norms.items()}
        columns |= {name: result.cosine for name, result in self.comparisons.items()}
        return pd.DataFrame(columns)

    def summary(self) -> list[dict[str, Any]]:
        """One mapping per comparison: the numbers that stand under the chart."""
        return [
            {
                "comparison": name,
                "mean": result.mean,
                "interval": list(result.interval),
                "median": result.median,
                "heldout_mean": result.heldout_mean,
                "heldout_interval": result.heldout_interval,
                "floor_mean": result.floor_mean,
                "floor_expected": result.floor_expected,
                "tokens": _scored(result),
            }
            for name, result in self.comparisons.items()
        ]

    def facts(self) -> dict[str, Any]:
        """All that is not a number per token: what every export carries."""
        return {
            "summary": self.summary(),
            "maps": {name: one.description for name, one in self.comparisons.items()},
            "counts": self.counts,
            "groups": self.groups,
            "checks": self.checks,
            "models": self.models,
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }


def _scored(result: Alignment) -> int:
    """How many tokens have a cosine."""
    return int(np.isfinite(result.cosine).sum())


def _numbers(result: Alignment) -> str:
    """The mean, and beside it what unseen rows and pure chance reach, where that was asked for."""
    low, high = result.interval
    words = [f"mean {result.mean:.4f} [{low:.4f}, {high:.4f}]"]
    beside = {"held-out": result.heldout_mean, "floor": result.floor_mean}
    return ", ".join(words + [f"{k} {v:.4f}" for k, v in beside.items() if v is not None])
