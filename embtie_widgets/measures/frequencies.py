"""Order-1 signatures seen through waves: which frequency of the context the embeddings follow."""

from typing import Any

import numpy as np

from embtie_widgets.measures.signatures import cosines, gram, pairs_correlation
from embtie_widgets.results.staircase import Vector


def frequency_correlations(signature: Any, similarity: Any, at: Any, period: int) -> Vector:
    """Pearson correlation (s, period // 2 + 1) in [-1, 1] by step and frequency k.

    Rows h_a = signature_a (A, labels, X) times cos(2 pi k j / period) over the contexts' numbers j,
    `at` (X,), are held against the similarity (s, A, A) of embeddings, over pairs of anchors.  NaN
    where all pairs of h are alike.  Frequency 0 is order 0.  Source: Context Staircase, the waves
    of its modular tasks.
    """
    waves = np.cos(2 * np.pi * np.outer(np.arange(period // 2 + 1), np.asarray(at)) / period)
    rows = np.moveaxis(np.asarray(signature, np.float64) @ waves.T, -1, 0)
    seen = cosines(gram(rows))
    targets = np.asarray(similarity, np.float64)
    found = [pairs_correlation(targets, one[None])["pearson"] for one in seen]
    return np.stack(found, 1)
