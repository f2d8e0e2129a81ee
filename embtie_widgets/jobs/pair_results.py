"""What every result about a pair says in the same way: tokens, models, settings, first notes."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from embtie_widgets.jobs.pairs import OpenPair, describe
from embtie_widgets.requests import PairRequest
from embtie_widgets.requests.pair import WITHOUT_COPIES
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.scales import are_capped


def common_fields(request: PairRequest, pair: OpenPair) -> dict[str, Any]:
    """The fields of a `PairResult` that do not depend on what is measured."""
    exchanged = {"exchanged": True} if pair.exchanged else {}
    centring = pair.roles.centring
    taken_off = {} if centring is None else {"mean rows taken off": dict(centring.facts)}
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
            **taken_off,
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
    decided = [*pair.notes, *pair.roles.notes, *centring_notes(pair)]
    return [*decided, *own, *copies_notes(pair), *pair.matched.notes]


def copies_notes(pair: OpenPair) -> Iterator[str]:
    """Which rows were added and never trained, once for each matrix, and what becomes of them."""
    seen: set[str] = set()
    for name, rows in pair.roles.copies.rows().items():
        known = pair.roles.hashes[name]
        if len(rows) and known not in seen:
            yield (
                f"{name}: {_which(rows)} all but the mean row, as rows are that were added to a "
                f"finished model and never trained. {_role(pair, name, rows)}"
            )
        seen.add(known)


def _role(pair: OpenPair, name: str, copies: "np.ndarray[Any, np.dtype[np.int64]]") -> str:
    """What rows that copy the mean row do to a comparison, and what would be done about it."""
    if not np.isin(copies, pair.roles.rows[name]).any():
        return "No such row takes part in what is compared."
    return (
        "They crowd each other's lists of neighbours; the control "
        f"“{WITHOUT_COPIES}” (leave_out_copies) compares without them."
    )


def _which(rows: "np.ndarray[Any, np.dtype[np.int64]]") -> str:
    if len(rows) == 1:
        return f"row {rows[0]} is"
    whole = rows[-1] - rows[0] + 1 == len(rows)
    joined = f"{rows[0]} to {rows[-1]}"
    return f"rows {joined} ({len(rows):,}) are" if whole else f"{len(rows):,} of rows {joined} are"


def centring_notes(pair: OpenPair) -> Iterator[str]:
    """What was centred, and what that would do to the models; nothing where nothing was asked."""
    centring = pair.roles.centring
    if centring is None:
        return
    if not centring.facts:
        yield "No matrix here is an output matrix, so none was centred."
    for name, facts in centring.facts.items():
        model = pair.b if name == "Tied" else pair.a
        share = "" if facts["share"] is None else f", {facts['share']:.1%} of the mean row length"
        zeros = f"; {facts['zero']:,} rows of zeros stay" if facts["zero"] else ""
        zeros += f"; {facts['without token']:,} rows without token stay" * (
            facts["without token"] > 0
        )
        yield (
            f"{name} is centred: the mean of its {facts['rows']:,} rows is taken off, of length "
            f"{facts['length']:.4g}{share}{zeros}. {_meaning(model)}"
        )
    if "Tied" not in centring.facts:
        yield f"Tied is not centred, since it is no output matrix of {pair.b.name} ({pair.b.tied})."


def _meaning(model: Loaded) -> str:
    """What a model would make of its centred output matrix."""
    if model.output is model.input:
        return (
            f"{model.name} is {model.tied}: its input rows have moved by as much, so as a model it "
            "would not predict the same."
        )
    if are_capped(model.scales):
        return (
            f"{model.name} is {model.tied}, so its input stays; but it caps its logits, which the "
            "mean row shifts, so as a model it would not predict the same."
        )
    return (
        f"{model.name} is {model.tied}: its input stays, and so does its softmax over these rows."
    )
