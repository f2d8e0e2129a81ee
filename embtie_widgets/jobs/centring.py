"""Output matrices without their mean row, as a comparison before and after centring needs them."""

import math
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from embtie_widgets.hashing import tensor_hash
from embtie_widgets.measures.means import center, mean_share
from embtie_widgets.progress import Progress

Vector = np.ndarray[Any, np.dtype[np.int64]]


class Centring:
    """Copies of matrices without their mean rows: made when they are first asked for, each once,
    and kept.  The matrices themselves, `stored` by name, are never changed.

    The mean is that of all rows of real tokens, whether the other model has these or not; `padding`
    has the rows of each matrix that belong to none.  A copy of half precision would be rounded
    anew, so it has 32 bits.  `facts` tells by name what was taken off: over how many "rows", how
    many of zeros stay ("zero"), how many others "without token", the
    mean row's "length", its "share" of the mean length of a row, its "bound_ratio" (None where
    there was no mean), and the "sha256" of what is left.
    """

    def __init__(
        self, stored: Mapping[str, torch.Tensor], padding: Mapping[str, Vector] | None = None
    ) -> None:
        self._stored, self._lock = dict(stored), threading.Lock()
        self._padding = padding or {}
        self._made: dict[int, torch.Tensor] = {}
        self.facts: dict[str, dict[str, Any]] = {}

    def matrices(self, progress: Progress) -> dict[str, torch.Tensor]:
        """The copies by name; one for a matrix that has two names."""
        with self._lock:
            for name, matrix in self._stored.items():
                if name not in self.facts:
                    self.facts[name] = self._known(matrix) or self._centred(name, progress)
            return {name: self._made[id(matrix)] for name, matrix in self._stored.items()}

    def missing(self) -> int:
        """Bytes of the copies that are still to be made."""
        distinct = {id(one): one.numel() * _type(one).itemsize for one in self._stored.values()}
        return sum(size for key, size in distinct.items() if key not in self._made)

    def _known(self, matrix: torch.Tensor) -> dict[str, Any] | None:
        """What was told of this matrix under another name."""
        same = (self.facts.get(name) for name, one in self._stored.items() if one is matrix)
        return next((facts for facts in same if facts is not None), None)

    def _centred(self, name: str, progress: Progress) -> dict[str, Any]:
        matrix, padding = self._stored[name], self._padding.get(name, ())
        mean = mean_share(matrix, padding=padding, progress=progress)
        made = center(matrix, padding=padding, dtype=_type(matrix), progress=progress)
        left = mean.settings["rows_left_out"]
        facts = {
            "rows": mean.settings["rows_used"],
            "zero": left["zero"],
            "without token": left.get("without token", 0),
            "length": mean.length,
            "share": None if math.isnan(mean.value) else mean.value,
            "bound_ratio": None if math.isnan(mean.bound_ratio) else mean.bound_ratio,
            "sha256": tensor_hash(made, progress),
        }
        self._made[id(matrix)] = made
        return facts


def _type(matrix: torch.Tensor) -> torch.dtype:
    """Its own, but no less than 32 bits."""
    return torch.promote_types(matrix.dtype, torch.float32)
