"""Results of neighbour measures."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from embtie_widgets.results.alignment import Vector

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
