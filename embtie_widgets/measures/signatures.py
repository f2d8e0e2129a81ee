"""Probability signatures: what stands with a token, and which label, in so many sequences; and how
alike the rows of a matrix are in the same way."""

import math
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent, spoken
from embtie_widgets.results.staircase import Signature, Vector

MOST_ENTRIES = 2**27
# So many places are counted at once, or as many as the table has.
_AT_ONCE = 2**22
# Cosines of rows that are equal differ by the rounding of float64 only.
CONSTANT = 1e-9


def signature(
    sequences: Any,
    labels: Any,
    order: int = 0,
    *,
    anchors: Any = None,
    progress: Progress = silent,
) -> Signature:
    """P(label, tokens at `order` other positions | token) of sequences (n, L) with labels (n,).

    A position I is drawn evenly, and beside it `order` distinct other ones in an order, evenly too;
    row a is given that the token at I is a.  Values are (A, labels) for order 0, (A, labels, X) and
    (A, labels, X, X) above: exact, each row sums to 1, and summed over a context they are those of
    the order below.  Without labels (None), the co-occurrence P(tokens | token), (A, X) or
    (A, X, X).  `anchors` are the tokens that get a row, all that occur without.

    Whole numbers all; about 16 bytes an entry, 2^27 entries at most.  Source: Context Staircase,
    the definitions of phi.
    """
    tokens = _whole(sequences, "sequences", 2)
    known = None if labels is None else _whole(labels, "labels", 1)
    _check(tokens, known, order)
    context, inside = np.unique(tokens, return_inverse=True)
    chosen = context if anchors is None else _chosen(anchors, context)
    names, marks = (
        (np.empty(0, np.int64), None) if known is None else np.unique(known, return_inverse=True)
    )
    shape = (len(chosen), *([len(names)] if known is not None else []), *[len(context)] * order)
    _check_size(shape)
    row_of = np.full(len(context), -1)
    row_of[np.searchsorted(context, chosen)] = np.arange(len(chosen))
    places = _places(inside.reshape(tokens.shape), marks, row_of, shape, progress)
    table = _counted(places, math.prod(shape)).reshape(shape)
    other = math.perm(tokens.shape[1] - 1, order)
    counts = np.bincount(row_of[inside.ravel()] + 1, minlength=len(chosen) + 1)[1:]
    table /= (counts * other).reshape(-1, *[1] * (table.ndim - 1))
    settings = {"sequences": len(tokens), "length": tokens.shape[1], "labels": known is not None}
    return Signature(table, chosen, names, context, counts, order, settings)


def gram(rows: Any) -> Vector:
    """Products of all rows (..., A, A), float64, of rows (..., A, k) or a sparse (A, k)."""
    if hasattr(rows, "toarray"):
        return np.asarray((rows @ rows.T).toarray(), np.float64)
    values = np.asarray(rows, np.float64)
    return np.asarray(values @ np.swapaxes(values, -1, -2))


def cosines(products: Vector) -> Vector:
    """Cosine of each pair of rows (..., A, A) from their `gram`; NaN where a row is zero."""
    lengths = np.sqrt(np.diagonal(products, axis1=-2, axis2=-1))
    with np.errstate(invalid="ignore", divide="ignore"):
        found = products / (lengths[..., :, None] * lengths[..., None, :])
    return np.asarray(np.clip(found, -1.0, 1.0))


def pairs(similarity: Vector) -> Vector:
    """The strictly upper triangle (..., A (A - 1) / 2) of (..., A, A)."""
    return np.asarray(similarity[(..., *np.triu_indices(similarity.shape[-1], 1))])


def is_constant(similarity: Vector) -> bool:
    """Whether all pairs of (..., A, A) are alike, at each step."""
    found = pairs(similarity)
    found = found[..., np.isfinite(found).all(tuple(range(found.ndim - 1)))]
    return found.size == 0 or bool((np.ptp(found, axis=-1) <= CONSTANT).all())


def pairs_correlation(embedding: Vector, signature: Vector) -> dict[str, Vector]:
    """How two similarities (s, A, A) agree over pairs of anchors: "pearson" and "spearman" in
    [-1, 1], NaN where one does not vary, and "fit", 1 - mean squared difference; each (s,).

    One of them may be (1, A, A).  Pairs with a row of zeros are left out.
    """
    found = [_agreement(*both) for both in _known_pairs(embedding, signature)]
    names = ("pearson", "spearman", "fit")
    return {name: np.array([one[i] for one in found]) for i, name in enumerate(names)}


def pairs_pearson(embedding: Vector, signature: Vector) -> Vector:
    """The first of these alone (s,)."""
    return np.array([pearson(*both) for both in _known_pairs(embedding, signature)])


def principal_points(products: Vector, before: Vector | None = None) -> tuple[Vector, Vector]:
    """Two principal components of rows from their `gram` (s, A, A): points (s, A, 2), and the share
    of the variance that each holds (s, 2).

    Each step is turned or mirrored to lie as near as it can to the one before it, the first to
    `before` (A, 2).
    """
    centred = products - products.mean(-1, keepdims=True)
    centred -= centred.mean(-2, keepdims=True)
    sizes, axes = np.linalg.eigh(centred)
    sizes = np.clip(sizes[:, ::-1], 0, None)
    found = np.zeros((*axes.shape[:2], 2))  # a single row has but one axis
    found[..., : axes.shape[2]] = (axes[:, :, ::-1] * np.sqrt(sizes[:, None]))[..., :2]
    for step, points in enumerate(found):
        if before is not None:
            left, _, right = np.linalg.svd(points.T @ before)
            found[step] = points @ (left @ right)
        before = found[step]
    total = sizes.sum(-1, keepdims=True)
    share = np.divide(sizes, total, out=np.zeros_like(sizes), where=total > 0)
    return found, np.pad(share, ((0, 0), (0, 1)))[:, :2]


def _known_pairs(embedding: Vector, signature: Vector) -> Iterator[tuple[Vector, Vector]]:
    """At each step, the pairs that both similarities have a number for."""
    both = np.broadcast_arrays(pairs(embedding), pairs(signature))
    for x, y in zip(*both, strict=True):
        known = np.isfinite(x) & np.isfinite(y)
        yield x[known], y[known]


def _agreement(x: Vector, y: Vector) -> tuple[float, float, float]:
    from scipy.stats import rankdata

    if not len(x):
        return (math.nan, math.nan, math.nan)
    # Rounding that parts equal similarities would give them ranks.
    ranks = [rankdata(np.round(one, 9)) for one in (x, y)]
    return pearson(x, y), pearson(*ranks), float(1 - np.square(x - y).mean())


def pearson(x: Vector, y: Vector) -> float:
    """Correlation of two vectors; NaN where one does not vary."""
    if len(x) < 2 or min(np.ptp(x), np.ptp(y)) <= CONSTANT:
        return math.nan
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip(x @ y / math.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def _places(
    inside: Vector, marks: Vector | None, row_of: Vector, shape: tuple[int, ...], progress: Progress
) -> Iterator[Vector]:
    """Where in the table each draw falls: an array for each choice of positions."""
    order = len(shape) - (1 if marks is None else 2)
    choices = list(permutations(range(inside.shape[1]), order + 1))
    for done, (at, *others) in enumerate(choices):
        progress("counting signatures", done, len(choices))
        rows = row_of[inside[:, at]]
        known = rows >= 0
        columns = [inside[known, other] for other in others]
        if marks is not None:
            columns = [marks[known], *columns]
        yield np.ravel_multi_index((rows[known], *columns), shape)


def _counted(places: Iterator[Vector], size: int) -> Vector:
    table, waiting, held = np.zeros(size), [], 0
    for place in places:
        waiting.append(place)
        held += len(place)
        if held > max(size, _AT_ONCE):
            table += np.bincount(np.concatenate(waiting), minlength=size)
            waiting, held = [], 0
    if waiting:
        table += np.bincount(np.concatenate(waiting), minlength=size)
    return table


def _whole(values: Any, name: str, axes: int) -> Vector:
    """As int64 with so many axes."""
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    try:
        given = np.asarray(values)
    except ValueError:  # rows of several lengths
        raise EmbtieError(f"{name} are ragged.", "Give sequences of one length.") from None
    expected = "(n, L), sequences of one length" if axes == 2 else "(n,), one for each sequence"
    if given.ndim != axes or not given.size or given.dtype.kind not in "iub":
        raise EmbtieError(
            f"{name} are {given.dtype} of shape {given.shape}; expected whole numbers {expected}.",
            "Give token and label numbers as integers.",
        )
    return given.astype(np.int64)


def _check(tokens: Vector, labels: Vector | None, order: int) -> None:
    lowest = 1 if labels is None else 0
    if not isinstance(order, int | np.integer) or order not in range(lowest, 3):
        raise EmbtieError(
            f"The order {order} is not known; expected {lowest} to 2"
            + (" for a signature without labels." if labels is None else "."),
            "Choose one of these.",
        )
    if order >= tokens.shape[1]:
        raise EmbtieError(
            f"Order {order} needs sequences of at least {order + 1} tokens; these have "
            f"{tokens.shape[1]}.",
            "Choose a lower order or longer sequences.",
        )
    if labels is not None and len(labels) != len(tokens):
        raise EmbtieError(
            f"There are {len(labels)} labels for {len(tokens)} sequences.",
            "Give one label for each sequence.",
        )


def _chosen(anchors: Any, context: Vector) -> Vector:
    chosen = _whole(anchors, "anchors", 1)
    missing = chosen[~np.isin(chosen, context)]
    if len(missing) or len(np.unique(chosen)) < len(chosen):
        what = f"{missing[0]} does not occur" if len(missing) else "one of them stands twice"
        raise EmbtieError(f"Anchors: {what}.", "Give tokens of the sequences, each once.")
    return chosen


def _check_size(shape: tuple[int, ...]) -> None:
    size = math.prod(shape)
    if size > MOST_ENTRIES:
        raise EmbtieError(
            f"The signature would have {' x '.join(map(str, shape))} entries, "
            f"{spoken(16.0 * size)}; at most {MOST_ENTRIES:,} are counted.",
            "Choose a lower order, fewer anchors or fewer tokens.",
        )
