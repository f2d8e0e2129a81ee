"""The result of comparing neighbours and spectra of a model pair."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.alignment import Vector
from embtie_widgets.results.neighbours import KnnOverlap
from embtie_widgets.results.pair import pair_columns
from embtie_widgets.results.spectra import MatrixGeometry, SpaceComparison
from embtie_widgets.results.spectral import SpectralDistance
from embtie_widgets.results.storage import storable

if TYPE_CHECKING:
    import pandas as pd


@storable
@dataclass(frozen=True)
class PairGeometry:
    """How alike In, Out and Tied are in their neighbours, their graphs and their spectra.

    overlaps      by comparison name ("In->Out", "Out->Tied", "In->Tied"): which share of a token's
                  k nearest neighbours is common; NaN for tokens that take no part or were not asked
    spectral      the omnibus distance by comparison; empty where it was not asked for
    spaces        linear CKA and the overlap of leading subspaces, by comparison; empty where they
                  were not asked for
    matrices      spectrum, isotropy and mean by matrix name ("In", "Out", "Tied"); empty as well
    rows_a, rows_b  (n,) the row of each token in model A and in model B
    tokens        n byte keys (None where tokens are not known)
    token_counts  (n,) how often each token occurs in the corpus that comes with the model, or
                  None where no corpus is known
    kinds         (n,) the kind of each token, by its code in `results.groups`; None where no tokens
                  are known
    groups        one mapping per group of tokens: "group", "tokens" and the mean overlap by
                  comparison name, and what `group_means` says beside it
    norms         row norms by matrix name, each (n,)
    duplicates    (n,) by matrix name: whether another token's row is equal to this one's
    usable        (n,) whether a token takes part in the neighbours: its row in every matrix has a
                  direction, or for Euclidean distances is finite
    counts        of the vocabulary match; its kinds add up to the rows of both matrices
    checks        identity checks that were passed before this result was given out
    models        what is known of A and B: name, revision, tied, shape, dtype, notes
    """

    overlaps: dict[str, KnnOverlap]
    spectral: dict[str, SpectralDistance]
    spaces: dict[str, SpaceComparison]
    matrices: dict[str, MatrixGeometry]
    rows_a: Vector
    rows_b: Vector
    tokens: tuple[bytes | None, ...]
    token_counts: Vector | None
    kinds: Vector | None
    groups: tuple[dict[str, Any], ...]
    norms: dict[str, Vector]
    duplicates: dict[str, Vector]
    usable: Vector
    counts: dict[str, int]
    checks: dict[str, float]
    models: dict[str, dict[str, Any]]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    hashes: dict[str, str]

    @property
    def k(self) -> int:
        """How many neighbours each token was asked for."""
        return int(self.settings["k"])

    @property
    def asked(self) -> int:
        """How many tokens were asked for their neighbours."""
        scores = [np.isfinite(one.per_token).sum() for one in self.overlaps.values()]
        return int(max(scores, default=0))

    @property
    def sampled(self) -> bool:
        """Whether only some of the tokens that take part were asked."""
        return self.asked < int(self.usable.sum())

    def __repr__(self) -> str:
        names = " with ".join(repr(known["name"]) for known in self.models.values())
        asked = f", {self.asked:,} of them asked" if self.sampled else ""
        wide = max(map(len, self.overlaps), default=0)
        lines = [f"  {row['comparison']:<{wide}}  {_words(row, self.k)}" for row in self.summary()]
        first = f"PairGeometry({names}, {len(self.tokens):,} common tokens{asked})"
        return "\n".join([first, *lines])

    def to_frame(self) -> "pd.DataFrame":
        """One row per token: text, bytes, kind, rows, count, norms, overlap by comparison, and
        whether another token has its row."""
        import pandas as pd

        columns = pair_columns(self)
        columns |= {f"norm {name}": values for name, values in self.norms.items()}
        columns |= {f"overlap {name}": one.per_token for name, one in self.overlaps.items()}
        columns |= {f"duplicate {name}": values for name, values in self.duplicates.items()}
        return pd.DataFrame(columns)

    def spectra_frame(self) -> "pd.DataFrame":
        """One row per rank: the singular values of each matrix, empty beyond its last."""
        import pandas as pd

        frame = pd.DataFrame(
            {name: pd.Series(one.spectrum.singular_values) for name, one in self.matrices.items()}
        )
        frame.insert(0, "rank", np.arange(1, len(frame) + 1))
        return frame

    def summary(self) -> list[dict[str, Any]]:
        """One mapping per comparison: each measure, and beside it what chance gives."""
        return [
            {
                "comparison": name,
                "knn": one.mean,
                "knn_interval": list(one.interval),
                "knn_floor": one.floor,
                "tokens": int(np.isfinite(one.per_token).sum()),
                **_pair("spectral", self.spectral.get(name), "distance"),
                **self._spaces(name),
            }
            for name, one in self.overlaps.items()
        ]

    def _spaces(self, name: str) -> dict[str, float | None]:
        space = self.spaces.get(name)
        return {
            **_pair("cka", getattr(space, "cka", None), "value"),
            **_pair("debiased_cka", getattr(space, "debiased_cka", None), "value"),
            **_pair("subspace", getattr(space, "tokens", None), "mean"),
        }

    def numbers(self) -> dict[str, dict[str, Any]]:
        """By matrix name, what is said of it in one number each."""
        return {
            name: {
                "rows": len(self.tokens),
                "width": self._width(name),
                "duplicates": int(doubles.sum()),
                **(self.matrices[name].numbers() if name in self.matrices else {}),
            }
            for name, doubles in self.duplicates.items()
        }

    def _width(self, name: str) -> int:
        return int(self.models["B" if name == "Tied" else "A"]["width"])

    def facts(self) -> dict[str, Any]:
        """All that is not a number per token: what every export carries."""
        return {
            "summary": self.summary(),
            "matrices": self.numbers(),
            "groups": self.groups,
            "counts": self.counts,
            "checks": self.checks,
            "models": self.models,
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }


def _pair(name: str, found: Any, part: str) -> dict[str, Any]:
    """A measure and its floor; None where it was not taken, or has no value."""
    value = None if found is None else getattr(found, part)
    known = value is not None and not np.isnan(value)
    return {name: value if known else None, f"{name}_floor": found.floor if known else None}


def _words(row: dict[str, Any], k: int) -> str:
    """The numbers of one comparison, each with what chance gives."""
    low, high = row["knn_interval"]
    words = [f"KNN@{k} {row['knn']:.4f} [{low:.4f}, {high:.4f}], floor {row['knn_floor']:.4f}"]
    for name, title in (
        ("spectral", "spectral distance"),
        ("cka", "CKA"),
        ("subspace", "subspace"),
    ):
        if row[name] is not None:
            floor = row[f"{name}_floor"]
            beside = "" if floor is None else f" (floor {floor:.4f})"
            words.append(f"{title} {row[name]:.4f}{beside}")
    return ", ".join(words)
