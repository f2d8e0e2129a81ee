"""Hashes of the matrices that a measure was given, as they were when it was taken."""

from collections.abc import Mapping
from typing import Any

import torch

from embtie_widgets.hashing import LazyHashes
from embtie_widgets.measures.matrices import as_matrix, survey


def watched(values: Mapping[str, Any], norms: Mapping[str, torch.Tensor]) -> LazyHashes:
    """By role; `norms` (V,) by role tell whether a matrix is still the one that was measured."""

    def same(name: str, matrix: torch.Tensor) -> bool:
        now = survey(matrix)[0]
        return now.shape == norms[name].shape and torch.allclose(
            now, norms[name], rtol=1e-6, atol=0.0, equal_nan=True
        )

    return LazyHashes(values, as_matrix, same)
