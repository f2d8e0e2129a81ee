"""The rows of compared matrices that copy the mean row, and a match without them."""

import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.mean_copies import mean_copies
from embtie_widgets.requests.pair import WITHOUT_COPIES
from embtie_widgets.sources.matching import Match

Rows = np.ndarray[Any, np.dtype[np.int64]]


class CopiedRows:
    """Which rows of each matrix are all but the mean row (`mean_copies`): found when they are first
    asked for, once for matrices of the same hash, and kept."""

    def __init__(self, stored: Mapping[str, torch.Tensor], hashes: Mapping[str, str]) -> None:
        self._stored, self._hashes = dict(stored), dict(hashes)
        self._found: dict[str, Rows] = {}
        self._lock = threading.Lock()

    def rows(self) -> dict[str, Rows]:
        """Those of every matrix by its name, in order."""
        with self._lock:
            for name, known in self._hashes.items():
                if known not in self._found:
                    self._found[known] = mean_copies(self._stored[name])
            return {name: self._found[known] for name, known in self._hashes.items()}

    def kept(self, matched: Mapping[str, Rows]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """(n,) whether no matrix has a copy for a token, by the rows (n,) that each is read by."""
        copies = self.rows()
        found = [np.isin(rows, copies[name]) for name, rows in matched.items()]
        return ~np.asarray(np.any(found, axis=0), bool)


def without(matched: Match, kept: "np.ndarray[Any, np.dtype[np.bool_]]") -> Match:
    """The match of the tokens that are `kept`; what is left out is counted for both models, and
    told."""
    n, left = len(kept), int((~kept).sum())
    if left == n:
        raise EmbtieError(
            f"Every one of the {n:,} common tokens has a row that copies the mean row in one of "
            "the matrices, so nothing is left to compare.",
            f"Compare with these rows: take the tick from “{WITHOUT_COPIES}” (leave_out_copies).",
        )
    counts = matched.counts | {"matched": n - left, "left_out_a": left, "left_out_b": left}
    places = np.flatnonzero(kept)
    return replace(
        matched,
        rows_a=matched.rows_a[places],
        rows_b=matched.rows_b[places],
        counts=counts,
        keys=[matched.keys[place] for place in places.tolist()],
        notes=[_told(left, n), *matched.notes],
    )


def _told(left: int, n: int) -> str:
    if not left:
        return "No common token has a row that copies the mean row, so none was left out for that."
    was = "was" if left == 1 else "were"
    return (
        f"{left:,} of {n:,} common tokens {was} left out, since one of the matrices has a copy of "
        "the mean row there."
    )
