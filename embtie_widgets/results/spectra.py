"""Results of the measures of one space as a whole, and of two: spectra, CKA, subspaces."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.alignment import Vector
from embtie_widgets.results.storage import storable

if TYPE_CHECKING:
    import pandas as pd


@storable
@dataclass(frozen=True)
class Spectrum:
    """The singular values of the n rows of a matrix (V, d) that take part.

    singular_values      (min(n, d),) float64, the largest first, in the unit of the entries; those
                         that are rounding alone are 0
    rows                 n
    effective_rank       in [1, min(n, d)]: exp of the Shannon entropy of sigma / sum(sigma)
    participation_ratio  in [1, min(n, d)]: (sum lambda)^2 / sum lambda^2, lambda = sigma^2
    top_share            in (0, 1]: the largest lambda over their sum
    condition            1 and more: the largest sigma over the last; infinite where the last is 0
    rank                 how many are not 0
    settings             everything needed to repeat it

    A spectrum of zeros alone has rank 0 and no other number: NaN.
    """

    singular_values: Vector
    rows: int
    effective_rank: float
    participation_ratio: float
    top_share: float
    condition: float
    rank: int
    settings: dict[str, Any]
    hashes: Mapping[str, str] = field(default_factory=dict)

    @property
    def normalised(self) -> Vector:
        """The singular values over sqrt(n): root mean square of the rows along each direction.

        On this scale spectra of matrices with different numbers of rows stand beside each other:
        a matrix stacked on itself has the same.
        """
        return np.asarray(self.singular_values / np.sqrt(self.rows))

    @property
    def frobenius(self) -> float:
        """The root of the sum of the squared entries (of the centred ones where centred)."""
        return float(np.linalg.norm(self.singular_values))

    def __repr__(self) -> str:
        return (
            f"Spectrum({self.rows:,} rows, rank {self.rank}, effective rank "
            f"{self.effective_rank:.1f}, participation ratio {self.participation_ratio:.1f}, "
            f"condition {self.condition:.3g})"
        )

    def to_frame(self) -> "pd.DataFrame":
        """One row per singular value: as it is, and normalised."""
        import pandas as pd

        columns = {
            "rank": np.arange(1, len(self.singular_values) + 1),
            "singular value": self.singular_values,
            "normalised": self.normalised,
        }
        return pd.DataFrame(columns)


@storable
@dataclass(frozen=True)
class MeanShare:
    """How much of a matrix (V, d) is its mean row mu.

    value        in [0, 1]: |mu| over the mean length of the rows
    energy       in [0, 1]: |mu|^2 over the mean squared length: what centring takes away
    length       |mu|, in the unit of the entries
    bound_ratio  max |(u - mu) mu| / max |u mu| over the rows u: below 1, centring narrows the
                 range of the logits along mu; NaN where there is no mean but rounding
    """

    value: float
    energy: float
    length: float
    bound_ratio: float
    settings: dict[str, Any]

    def __repr__(self) -> str:
        return (
            f"MeanShare({self.value:.4f} of the mean length, {self.energy:.4f} of the energy, "
            f"B-ratio {self.bound_ratio:.4f})"
        )

    def __float__(self) -> float:
        return self.value

    def to_frame(self) -> "pd.DataFrame":
        """One row."""
        return _one_row(self, "value", "energy", "length", "bound_ratio")


@storable
@dataclass(frozen=True)
class Isotropy:
    """How evenly the rows u of a matrix spread over its eigen-directions v.

    value    in [0, 1]: min / max over v of Z(v) = sum over u of exp(u v); 1 for the same in all
    log_min, log_max  the natural logarithms of the two, which do not underflow
    """

    value: float
    log_min: float
    log_max: float
    settings: dict[str, Any]

    def __repr__(self) -> str:
        return f"Isotropy({self.value:.4g})"

    def __float__(self) -> float:
        return self.value

    def to_frame(self) -> "pd.DataFrame":
        """One row."""
        return _one_row(self, "value", "log_min", "log_max")


@storable
@dataclass(frozen=True)
class Cka:
    """Linear centred kernel alignment of two matrices with the same tokens row by row.

    value         in [0, 1], 1 for the same up to rotation and scale; the debiased one in [-1, 1]
    floor         its mean over all permutations of the rows of y, exactly: the level of chance;
                  0 for the debiased one
    floor_spread  its standard deviation over them
    debiased      whether the diagonals are kept out, which makes unrelated rows come to 0
    """

    value: float
    floor: float
    floor_spread: float
    debiased: bool
    settings: dict[str, Any]
    hashes: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        kind = "debiased, " if self.debiased else ""
        return f"Cka({kind}{self.value:.4f}, floor {self.floor:.4f} +- {self.floor_spread:.2g})"

    def to_frame(self) -> "pd.DataFrame":
        """One row."""
        return _one_row(self, "value", "floor", "floor_spread", "debiased")


@storable
@dataclass(frozen=True)
class SubspaceOverlap:
    """How far the leading k directions of two matrices span the same subspace.

    correlations  (k,) in [0, 1], the largest first: cosines of the principal angles
    mean          of them
    chance        (k,) the same by chance: rows of y permuted, or random directions
    floor         their mean
    settings      with `side`: "tokens" (left singular vectors) or "width" (right ones), and `k`
                  as it was used: no more than the ranks allow
    """

    correlations: Vector
    mean: float
    chance: Vector
    floor: float
    settings: dict[str, Any]
    hashes: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        known = self.settings
        return (
            f"SubspaceOverlap({known['k']} directions, {known['side']}, mean {self.mean:.4f}, "
            f"floor {self.floor:.4f})"
        )

    def to_frame(self) -> "pd.DataFrame":
        """One row per direction."""
        import pandas as pd

        columns = {
            "direction": np.arange(1, len(self.correlations) + 1),
            "correlation": self.correlations,
            "chance": self.chance,
        }
        return pd.DataFrame(columns)


@storable
@dataclass(frozen=True)
class MatrixGeometry:
    """All that is said of one matrix as a whole; each part says itself what it means."""

    spectrum: Spectrum
    isotropy: Isotropy
    mean: MeanShare

    def __repr__(self) -> str:
        return (
            f"MatrixGeometry({self.spectrum!r}, isotropy {self.isotropy.value:.4f}, "
            f"mean share {self.mean.value:.4f})"
        )

    def numbers(self) -> dict[str, float]:
        """What is said in one number each."""
        return {
            "rank": self.spectrum.rank,
            "effective_rank": self.spectrum.effective_rank,
            "participation_ratio": self.spectrum.participation_ratio,
            "top_share": self.spectrum.top_share,
            "condition": self.spectrum.condition,
            "frobenius": self.spectrum.frobenius,
            "isotropy": self.isotropy.value,
            "mean_share": self.mean.value,
            "mean_energy": self.mean.energy,
            "bound_ratio": self.mean.bound_ratio,
        }

    def to_frame(self) -> "pd.DataFrame":
        """One row: each number in its column."""
        import pandas as pd

        return pd.DataFrame([self.numbers()])


@storable
@dataclass(frozen=True)
class SpaceComparison:
    """How alike two matrices are as wholes.

    cka, debiased_cka  linear CKA, plain and debiased
    tokens             overlap of the leading left singular subspaces
    width              of the right ones, for two matrices in one basis; else None
    """

    cka: Cka
    debiased_cka: Cka
    tokens: SubspaceOverlap
    width: SubspaceOverlap | None = None

    def to_frame(self) -> "pd.DataFrame":
        """One row per measure: its value and its floor."""
        import pandas as pd

        measures = {"cka": self.cka.value, "debiased cka": self.debiased_cka.value}
        floors = [self.cka.floor, self.debiased_cka.floor]
        for name, one in (("subspace (tokens)", self.tokens), ("subspace (width)", self.width)):
            if one is not None:
                measures[name] = one.mean
                floors.append(one.floor)
        columns = {"measure": list(measures), "value": list(measures.values()), "floor": floors}
        return pd.DataFrame(columns)


def _one_row(result: Any, *names: str) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame([{name: getattr(result, name) for name in names}])
