"""Toy tasks of the context staircase: all sequences of a few tokens, and the label of each."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests.staircase import StaircaseRequest

Ids = np.ndarray[Any, np.dtype[np.int64]]
Vector = np.ndarray[Any, np.dtype[Any]]

_LISTED = 10_000_000  # of so many sequences some are drawn without taking one twice
_BEGUN = ("anchored-sum", "min-max", "anchor")  # the first token is not one of the numbers


@dataclass(frozen=True, eq=False)
class ToyTask:
    """A finite task: what a model is trained on, and all that a signature counts.

    sequences  (n, L) rows of the embedding
    labels     (n,) rows of the unembedding
    anchors    (A,) rows of the embedding whose signatures are compared: every token that occurs,
               of "anchored-sum" the anchors alone
    tokens     name of each row of the embedding
    answers    (classes,) the label that each row of the unembedding stands for, rising
    target     (classes,) the distribution that labels are drawn from, of the operation "anchor"
    words      the rule as a formula, and how many sequences and labels there are
    """

    sequences: Ids
    labels: Ids
    anchors: Ids
    tokens: tuple[str, ...]
    answers: Ids
    words: dict[str, Any]
    target: Vector | None = None


def open_task(request: StaircaseRequest) -> ToyTask:
    """The task of a request; the same request gives the same task."""
    if request.length < 2 and request.operation in _BEGUN:
        raise EmbtieError(
            f'The operation "{request.operation}" needs sequences of two tokens or more: the last '
            "is what the first is about.",
            "Set length to 2 or more.",
        )
    rng = np.random.default_rng([request.seed, 0])
    places, tokens = _alphabet(request)
    sequences = _sequences(places, request.samples, rng)
    target = _distribution(request) if request.operation == "anchor" else None
    if target is None:
        values = _OPERATIONS[request.operation](sequences, request)
    else:
        values = rng.choice(len(target), len(sequences), p=target)
    values = values + request.offset
    if request.modulus:
        values %= request.modulus
    answers, labels = np.unique(values, return_inverse=True)
    compared = places[0] if request.operation == "anchored-sum" else np.arange(len(tokens))
    return ToyTask(
        sequences=sequences,
        labels=labels.astype(np.int64),
        anchors=np.intersect1d(compared, sequences),
        tokens=tokens,
        answers=answers.astype(np.int64),
        words={"words": _rule(request), "sequences": len(sequences), "labels": len(answers)},
        target=None if target is None else _moved(target, answers, request),
    )


def _alphabet(request: StaircaseRequest) -> tuple[list[Ids], tuple[str, ...]]:
    """The rows that may stand at each position, and the names of all rows: numbers come first."""
    count, apart = request.tokens, request.anchors
    numbers, anchors = np.arange(count), np.arange(count, count + apart)
    names = [str(i) for i in range(1, count + 1)]
    rest = request.length - 1
    if request.operation == "anchor":  # the paper's context counts from 0
        return [anchors, *[numbers] * rest], (*map(str, range(count)), "anchor")
    if request.operation == "min-max":
        return [anchors, *[numbers] * rest], (*names, "min", "max")
    if request.operation == "anchored-sum":
        return [*[anchors] * rest, numbers], (*names, *(f"+{i}" for i in range(1, apart + 1)))
    if request.operation == "parity":
        names = [*(f"a{i}" for i in range(1, apart + 1)),
                 *(f"n{i}" for i in range(1, count - apart + 1))]  # fmt: skip
    return [numbers] * request.length, tuple(names)


def _sequences(places: list[Ids], samples: int, rng: np.random.Generator) -> Ids:
    """All sequences in order, or so many of them."""
    sizes = [len(rows) for rows in places]
    total = math.prod(sizes)  # Python's own integers know no overflow
    if samples and samples < total and total > _LISTED:
        return np.stack([rng.choice(rows, samples) for rows in places], 1)
    if samples and samples < total:
        codes = np.sort(rng.choice(total, samples, replace=False))
    else:
        codes = np.arange(total)
    digits = np.unravel_index(codes, sizes)
    return np.stack([rows[digit] for rows, digit in zip(places, digits, strict=True)], 1)


def _sum(sequences: Ids, _request: StaircaseRequest) -> Ids:
    return np.asarray((sequences + 1).sum(1))


def _anchored_sum(sequences: Ids, request: StaircaseRequest) -> Ids:
    """The anchor "+1" stands in the row behind the last number."""
    added = sequences[:, :-1] - request.tokens + 1
    return np.asarray(added.sum(1) + sequences[:, -1] + 1)


def _difference(sequences: Ids, _request: StaircaseRequest) -> Ids:
    """|a - b| of pairs; of more tokens the same without an order of them: largest less smallest."""
    return np.asarray(np.ptp(sequences, 1))


def _product(sequences: Ids, request: StaircaseRequest) -> Ids:
    """With a modulus taken on the way, which keeps whole numbers whole."""
    found = np.ones(len(sequences), np.int64)
    for column in (sequences + 1).T:
        found *= column
        if request.modulus:
            found %= request.modulus
    return found


def _extreme(sequences: Ids, request: StaircaseRequest) -> Ids:
    rest = sequences[:, 1:] + 1
    is_least = sequences[:, 0] == request.tokens
    return np.asarray(np.where(is_least, rest.min(1), rest.max(1)))


def _parity(sequences: Ids, request: StaircaseRequest) -> Ids:
    return np.asarray((sequences < request.anchors).sum(1) % 2)


_OPERATIONS: dict[str, Callable[[Ids, StaircaseRequest], Ids]] = {
    "sum": _sum,
    "anchored-sum": _anchored_sum,
    "difference": _difference,
    "product": _product,
    "min-max": _extreme,
    "parity": _parity,
}


def _distribution(request: StaircaseRequest) -> Vector:
    """(N,) over 0 to N - 1, cut off there: of 51 tokens the paper's normal(25, 1), Poisson(10) and
    exponential(5)."""
    from scipy import stats  # slow to import

    top = request.tokens - 1
    at = np.arange(request.tokens)
    edges = np.arange(request.tokens + 1)
    found: dict[str, Vector] = {
        "uniform": np.ones(request.tokens),
        "normal": np.diff(stats.norm.cdf(edges - 0.5, top / 2, 1)),
        "poisson": stats.poisson.pmf(at, max(top / 5, 0.5)),
        "exponential": np.diff(stats.expon.cdf(edges, scale=max(top / 10, 0.25))),
    }
    chosen = found[request.distribution]
    return np.asarray(chosen / chosen.sum())


def _moved(target: Vector, answers: Ids, request: StaircaseRequest) -> Vector:
    """The distribution over the answers that occur, after offset and modulus."""
    values = np.arange(len(target)) + request.offset
    if request.modulus:
        values = values % request.modulus
    return np.array([target[values == answer].sum() for answer in answers])


def _rule(request: StaircaseRequest) -> str:
    """The label as a formula."""
    names = [f"x{i}" for i in range(1, request.length + 1)]
    added = " + ".join([*(f"a{i}" for i in range(1, request.length)), "x"])
    spread = f"max({', '.join(names)}) - min({', '.join(names)})"
    inner = {
        "sum": " + ".join(names),
        "anchored-sum": added,
        "difference": spread if request.length > 2 else f"|{' - '.join(names)}|",
        "product": " * ".join(names),
        "min-max": f"min or max of {', '.join(names[1:])}, as x1 says",
        "anchor": f"drawn once from the {request.distribution} distribution",
        "parity": "whether the number of tokens a is odd",
    }[request.operation]
    moved = f"{inner} + {request.offset}" if request.offset else inner
    return f"({moved}) mod {request.modulus}" if request.modulus else moved
