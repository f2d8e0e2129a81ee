"""Results of neighbour measures."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.alignment import Vector
from embtie_widgets.results.storage import storable

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Neighbours:
    """The nearest rows of one row, the nearest first.

    rows    (k,) row numbers
    values  (k,) cosine similarities in [-1, 1], or Euclidean distances
    """

    rows: Vector
    values: Vector
    settings: dict[str, Any]

    def to_frame(self) -> "pd.DataFrame":
        """One row per neighbour."""
        import pandas as pd

        return pd.DataFrame({"row": self.rows, self.settings["metric"]: self.values})


@storable
@dataclass(frozen=True)
class NeighbourLists:
    """The k nearest rows of many rows of one matrix (V, d).

    rows        (m, k) int32 row numbers, the nearest first; -1 where the asking row takes no part
    queries     (m,) the row that asks
    usable      (V,) bool: the rows that take part; these and no others are candidates
    duplicates  (V,) bool: another row that takes part holds the same values
    settings    k, metric, center, rows, rows_used, rows_left_out by reason, device
    """

    rows: Vector
    queries: Vector
    usable: Vector
    duplicates: Vector
    settings: dict[str, Any]

    def __repr__(self) -> str:
        known = self.settings
        return (
            f"NeighbourLists({known['k']} nearest by {known['metric']}, {len(self.queries):,} of "
            f"{known['rows']:,} rows asked, {known['rows_used']:,} candidates)"
        )

    def to_frame(self) -> "pd.DataFrame":
        """One row per pair: the row that asks, the place in its list, the neighbour."""
        import pandas as pd

        m, k = self.rows.shape
        return pd.DataFrame(
            {
                "row": np.repeat(self.queries, k),
                "place": np.tile(np.arange(1, k + 1), m),
                "neighbour": self.rows.ravel(),
            }
        )


@storable
@dataclass(frozen=True)
class KnnOverlap:
    """How many of the k nearest rows of each row two matrices share.

    per_token  (V,) in [0, 1], the common neighbours divided by k; NaN where a row takes no part
               or was not asked
    mean       of those that are not NaN
    interval   95 % bootstrap interval of the mean over tokens
    floor      k / (n - 1), n the rows that take part: the level of pure chance
    settings   k, metric, center, rows, rows_used, rows_left_out by reason, duplicates by matrix,
               sampled (how many rows were asked), seed, device
    hashes     of the two matrices, "x" and "y", read when first asked for
    """

    per_token: Vector
    mean: float
    interval: tuple[float, float]
    floor: float
    settings: dict[str, Any]
    hashes: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        low, high = self.interval
        return (
            f"KnnOverlap(k={self.settings['k']}, {self.settings['metric']}, mean {self.mean:.4f} "
            f"[{low:.4f}, {high:.4f}], floor {self.floor:.4f}, {self.settings['sampled']:,} tokens)"
        )

    def to_frame(self) -> "pd.DataFrame":
        """One row per token: its row number and its overlap."""
        import pandas as pd

        return pd.DataFrame({"row": np.arange(len(self.per_token)), "overlap": self.per_token})
