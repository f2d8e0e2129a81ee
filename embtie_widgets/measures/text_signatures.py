"""Signatures of tokens in a running text: what follows a token, or stands before it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results.staircase import Signature, Vector

NEXT, PREVIOUS = "next", "previous"
# Of order 1: so many contexts, the most frequent tokens, and so many directions of labels.
MOST_CONTEXTS, MOST_DIRECTIONS = 32, 64
_STAGE = "counting what stands beside tokens"


@dataclass(frozen=True, eq=False)
class Beside:
    """P(label, a token present | anchor) with its labels turned and cut to a few directions.

    signature  values (A, directions, X): products between rows are those of the whole, as far as
               the directions hold it
    share      of the squared length that they hold, 1 where nothing was cut off
    """

    signature: Signature
    share: float


def beside(ids: Any, anchors: Any, rows: int, direction: str = NEXT) -> Any:
    """P(the token beside = v | a token is the anchor a), a sparse matrix (A, rows) of float64.

    `ids` (N,) are a running text below `rows`; `direction` "next" looks at the token after,
    "previous" at the one before.  Each row sums to 1; that of an anchor with nothing beside it is
    zero.  Source: Context Staircase, the next-token signature; the other direction is its mirror.
    """
    from scipy import sparse

    text, chosen = _read(ids, anchors, rows, direction)
    places, at = _places(text, chosen, rows)
    counts = sparse.coo_array(
        (np.ones(len(at)), (at, text[places + 1])), shape=(len(chosen), rows)
    ).tocsr()
    return _shares(counts, np.bincount(at, minlength=len(chosen)))


def beside_with(
    ids: Any,
    anchors: Any,
    rows: int,
    context: int,
    direction: str = NEXT,
    *,
    contexts: int = MOST_CONTEXTS,
    directions: int = MOST_DIRECTIONS,
    progress: Progress = silent,
) -> Beside:
    """Order 1: P(the token beside = v, b is among the `context` tokens on the other side | a).

    Presence alone counts, not how often or where; so a row does not sum to 1.  b is one of the
    `contexts` most frequent tokens of the text; the labels are turned to their main axes and cut to
    `directions` of them, without which the table (A, rows, contexts) would be too large.
    """
    from scipy import sparse

    text, chosen = _read(ids, anchors, rows, direction)
    seen = np.bincount(text, minlength=rows)
    tokens = np.argsort(-seen, kind="stable")[: min(contexts, int((seen > 0).sum()))]
    places, at = _places(text, chosen, rows)
    parts = []
    for done, token in enumerate(tokens):
        progress(_STAGE, done, len(tokens))
        sofar = np.concatenate([[0], np.cumsum(text == token)])
        present = sofar[places] > sofar[np.maximum(places - context, 0)]
        where = (at[present], text[places[present] + 1])
        ones = np.ones(int(present.sum()))
        parts.append(sparse.coo_array((ones, where), shape=(len(chosen), rows)).tocsr())
    counts = np.bincount(at, minlength=len(chosen))
    whole = sparse.vstack([_shares(part, counts) for part in parts]).tocsr()
    progress("finding the main axes of the labels", 0, 1)
    values, share = _turned(whole, directions)
    values = np.moveaxis(values.reshape(len(tokens), len(chosen), -1), 0, 2)
    axes = np.arange(values.shape[1])
    settings = {"context": context, "direction": direction, "share": share}
    return Beside(Signature(values, chosen, axes, tokens, counts, 1, settings), share)


def _read(ids: Any, anchors: Any, rows: int, direction: str) -> tuple[Vector, Vector]:
    """The text as it is read, backwards for "previous", and the anchors."""
    text, chosen = np.asarray(ids, np.int64), np.asarray(anchors, np.int64)
    for name, values in (("The text", text), ("The list of anchors", chosen)):
        if values.ndim != 1 or len(values) < 2 or values.min() < 0 or values.max() >= rows:
            raise EmbtieError(
                f"{name} is of shape {values.shape} or holds ids outside 0 to {rows - 1:,}.",
                "Give at least two token ids in one row, each the number of a row.",
            )
    return (text if direction == NEXT else text[::-1]), chosen


def _places(text: Vector, anchors: Vector, rows: int) -> tuple[Vector, Vector]:
    """Where anchors stand with a token after them, and which of them each is."""
    row_of = np.full(rows, -1)
    row_of[anchors] = np.arange(len(anchors))
    at = row_of[text[:-1]]
    places = np.flatnonzero(at >= 0)
    return places, at[places]


def _shares(counts: Any, totals: Vector) -> Any:
    """Counts (A, rows) over how often each anchor stands there."""
    from scipy import sparse

    return (sparse.diags_array(1 / np.maximum(totals, 1)) @ counts).tocsr()


def _turned(rows: Any, directions: int) -> tuple[Vector, float]:
    """Sparse rows (n, k) by at most so many of their main axes, and the share of their squared
    length that these hold."""
    from scipy.sparse.linalg import svds

    used = rows[:, np.unique(rows.indices)]
    few = min(used.shape)
    if few <= directions + 1:
        dense = used.toarray()
        if used.shape[1] > few:  # as many axes as rows hold all of them
            left, sizes, _ = np.linalg.svd(dense, full_matrices=False)
            dense = left * sizes
        return dense, 1.0
    left, sizes, _ = svds(used, k=directions, v0=np.ones(few), solver="arpack")
    values = (left * sizes)[:, ::-1]
    return values, float(np.square(values).sum() / used.power(2).sum())
