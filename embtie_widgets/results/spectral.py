"""Results of comparing two matrices by the spectra of their neighbour graphs."""

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
class SpectralDistance:
    """How far apart two neighbour graphs of the same tokens are, in their omnibus embedding.

    distance     from 0 (equal graphs) upwards, without a unit; there is no universal largest value,
                 so it is read beside the floor
    floor        the distance when the tokens of the second graph are permuted: what two graphs of
                 these shapes give whose labels have nothing to do with each other; None where it
                 was not asked for
    eigenvalues  (components,) of the omnibus matrix, the largest in magnitude first
    settings     everything needed to repeat it, and how exactly it was solved: "residual" is the
                 largest length of M q - lambda q over the wanted pairs, relative to the smallest
                 wanted magnitude; "tied_at_cut" says how many equal magnitudes the cut falls among
    hashes       of the two matrices by role, where they are known
    """

    distance: float
    floor: float | None
    eigenvalues: Vector
    settings: dict[str, Any]
    hashes: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        beside = "" if self.floor is None else f", permuted {self.floor:.4f}"
        k, used = self.settings.get("k"), self.settings.get("rows_used")
        return (
            f"SpectralDistance({self.distance:.4f}{beside}, k={k}, "
            f"{len(self.eigenvalues)} components, {used:,} tokens)"
        )

    def to_frame(self) -> "pd.DataFrame":
        """One row per component: its eigenvalue."""
        import pandas as pd

        numbers = np.arange(1, len(self.eigenvalues) + 1)
        return pd.DataFrame({"component": numbers, "eigenvalue": self.eigenvalues})
