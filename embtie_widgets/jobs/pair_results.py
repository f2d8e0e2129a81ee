"""What every result about a pair says in the same way: tokens, models, settings, first notes."""

from typing import Any

import numpy as np

from embtie_widgets.jobs.pairs import OpenPair, describe
from embtie_widgets.requests import PairRequest


def common_fields(request: PairRequest, pair: OpenPair) -> dict[str, Any]:
    """The fields of a `PairResult` that do not depend on what is measured."""
    exchanged = {"exchanged": True} if pair.exchanged else {}
    return {
        "rows_a": pair.matched.rows_a,
        "rows_b": pair.matched.rows_b,
        "tokens": tuple(pair.matched.keys),
        "token_counts": own_counts(pair),
        "kinds": pair.kinds,
        "counts": dict(pair.matched.counts),
        "models": {"A": describe(pair.a), "B": describe(pair.b)},
        "settings": {
            **request.to_dict(),
            "policy": pair.matched.policy,
            "cached": False,
            **exchanged,
        },
        "hashes": pair.roles.hashes,
    }


def own_counts(pair: OpenPair) -> "np.ndarray[Any, np.dtype[np.int64]] | None":
    """How often each matched token stands in the text that A, or else B, was trained on; None
    where neither says."""
    sides = ((pair.a, pair.matched.rows_a), (pair.b, pair.matched.rows_b))
    known = [(m.token_counts, rows) for m, rows in sides if m.token_counts is not None]
    return np.asarray(known[0][0])[known[0][1]] if known else None


def pair_notes(pair: OpenPair) -> list[str]:
    """What was decided until the measuring began."""
    own = [f"{model.name}: {note}" for model in (pair.a, pair.b) for note in model.notes]
    return [*pair.notes, *pair.roles.notes, *own, *pair.matched.notes]
