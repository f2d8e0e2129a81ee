"""A small result of norms against frequency, for tests of what shows it."""

from dataclasses import replace
from typing import Any

import numpy as np

from embtie_widgets.measures.correlation import correlate
from embtie_widgets.measures.frequency import of_norms
from embtie_widgets.measures.statistics import group_means
from embtie_widgets.results import Counts, PairNorms
from embtie_widgets.results.groups import groups_of
from tests.sample_results import pair_result

NAMES = ("In", "Out", "Tied")


def counts_of(n: int, zeros: int = 0, name: str = "a text") -> Counts:
    """Counts from many to none; the last `zeros` are 0."""
    counts = np.rint(np.geomspace(100_000, 1, n)).astype(np.int64)
    counts[n - zeros :] = 0
    total = int(counts.sum())
    return Counts(counts, total, 0, 1, 9, name, "ab" * 32, "cd" * 32, None, (), {})


def norms_result(n: int = 300, zeros: int = 30, two: bool = False, **settings: Any) -> PairNorms:
    """n tokens, the first ones hostile; In is flat, Out and Tied rise; token 3 is not finite in
    In.  With `two`, B has counts of its own."""
    plain, counts = pair_result(n), counts_of(n, zeros)
    own = counts_of(n, 2 * zeros, "another text") if two else counts
    rng, log_count = np.random.default_rng(0), np.log10(counts.counts + 1)
    norms = {
        "In": 1 + 0.05 * rng.random(n),
        "Out": 1 + 0.2 * log_count + 0.1 * rng.random(n),
        "Tied": 1.1 + 0.2 * log_count + 0.1 * rng.random(n),
    }
    norms["In"][3] = np.nan
    found = {
        name: of_norms(norms[name], (own if name == "Tied" else counts).counts) for name in NAMES
    }
    kept = np.arange(n) != 3
    pairs = (("In", "Out"), ("In", "Tied"), ("Out", "Tied"))
    result = PairNorms(
        matrices=found,
        rows_a=plain.rows_a,
        rows_b=plain.rows_b,
        tokens=plain.tokens,
        token_counts=counts.counts,
        kinds=plain.kinds,
        groups=(),
        between={f"{a}, {b}": correlate(norms[a][kept], norms[b][kept]) for a, b in pairs},
        frobenius=dict.fromkeys(NAMES, 12.34),
        corpora={"A": counts, "B": own} if two else {"A": counts},
        counts=plain.counts,
        checks={},
        models=plain.models,
        notes=("One row is not finite and was left out.",),
        settings={"seed": 0, **settings},
        hashes=plain.hashes,
    )
    return replace(result, groups=group_means(groups_of(result), norms))
