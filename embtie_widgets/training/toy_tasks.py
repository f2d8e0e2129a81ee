"""Toy tasks of the context staircase: all sequences of a few tokens, and the label of each."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests.staircase import StaircaseRequest

Ids = np.ndarray[Any, np.dtype[np.int64]]
Vector = np.ndarray[Any, np.dtype[Any]]

_LISTED = 10_000_000  # of so many sequences some are drawn without taking one twice
_ANCHOR = "anchor"
_EXTREMES = ("min", "max")


@dataclass(frozen=True, eq=False)
class ToyTask:
    """A finite task: what a model is trained on, and all that a signature counts.

    sequences  (n, L) rows of the embedding
    labels     (n,) rows of the unembedding
    anchors    (A,) rows of the embedding whose signatures are compared: every token that occurs
    tokens     name of each row of the embedding
    answers    (classes,) the label that each row of the unembedding stands for, rising
    target     (classes,) the distribution that labels are drawn from, of the operation "anchor"
    words      what is drawn and how many, for the page
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
    prefix, tokens = _alphabet(request)
    free = request.length - bool(prefix)
    if not free:
        raise EmbtieError(
            f'The operation "{request.operation}" on sequences of one token has nothing to work '
            "on: its first token says what to do.",
            "Set length to 2 or more.",
        )
    rng = np.random.default_rng([request.seed, 0])
    sequences = _sequences(request.tokens, free, prefix, request.samples, rng)
    target = _distribution(request) if request.operation == "anchor" else None
    if target is None:
        values = _OPERATIONS[request.operation](sequences, request)
    else:
        values = rng.choice(len(target), len(sequences), p=target)
    values = values + request.offset
    if request.modulus:
        values %= request.modulus
    answers, labels = np.unique(values, return_inverse=True)
    return ToyTask(
        sequences=sequences,
        labels=labels.astype(np.int64),
        anchors=np.unique(sequences),
        tokens=tokens,
        answers=answers.astype(np.int64),
        words=_words(request, len(sequences), free, len(prefix), len(answers)),
        target=None if target is None else _moved(target, answers, request),
    )


def anchors_of_parity(tokens: int) -> int:
    """How many of the tokens are counted by "parity": a fifth, and the rest is noise."""
    return max(1, tokens // 5)


def _alphabet(request: StaircaseRequest) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Rows that may stand first (none where any token may), and the names of all rows."""
    count = request.tokens
    if request.operation == "anchor":  # METHODS' context counts from 0
        return (count,), (*map(str, range(count)), _ANCHOR)
    if request.operation == "min-max":
        return (count, count + 1), (*map(str, range(1, count + 1)), *_EXTREMES)
    if request.operation == "parity":
        counted = anchors_of_parity(count)
        noise = (f"n{i}" for i in range(1, count - counted + 1))
        return (), (*(f"a{i}" for i in range(1, counted + 1)), *noise)
    return (), tuple(map(str, range(1, count + 1)))


def _sequences(
    count: int, free: int, prefix: tuple[int, ...], samples: int, rng: np.random.Generator
) -> Ids:
    """All sequences in order, or so many of them."""
    starts = max(1, len(prefix))
    total = starts * count**free  # Python's own integers know no overflow
    if not samples or samples >= total:
        codes: Ids = np.arange(total)
    elif total <= _LISTED:
        codes = np.sort(rng.choice(total, samples, replace=False))
    else:
        first = rng.integers(starts, size=(samples, 1))
        rest = rng.integers(count, size=(samples, free))
        return np.hstack([np.array(prefix)[first], rest]) if prefix else rest
    powers = count ** np.arange(free - 1, -1, -1)
    rest = codes[:, None] // powers % count
    return np.hstack([np.array(prefix)[codes // count**free][:, None], rest]) if prefix else rest


def _sum(sequences: Ids, _request: StaircaseRequest) -> Ids:
    return np.asarray((sequences + 1).sum(1))


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
    return np.asarray((sequences < anchors_of_parity(request.tokens)).sum(1) % 2)


_OPERATIONS: dict[str, Callable[[Ids, StaircaseRequest], Ids]] = {
    "sum": _sum,
    "difference": _difference,
    "product": _product,
    "min-max": _extreme,
    "parity": _parity,
}


def _distribution(request: StaircaseRequest) -> Vector:
    """(N,) over 0 to N - 1, cut off there: of 51 tokens the paper's normal(25, 1), Poisson(10) and
    exponential(5)."""
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


def _words(
    request: StaircaseRequest, taken: int, free: int, starts: int, classes: int
) -> dict[str, Any]:
    total = max(1, starts) * request.tokens**free
    return {
        "sequences": taken,
        "of": total if total < 2**53 else float(total),
        "tokens": request.tokens,
        "length": request.length,
        "labels": classes,
        "rule": _rule(request),
    }


def _rule(request: StaircaseRequest) -> str:
    """The label as a formula."""
    names = [f"x{i}" for i in range(1, request.length + 1)]
    rest = ", ".join(names[1:])
    inner = {
        "sum": " + ".join(names),
        "difference": f"|{' - '.join(names)}|"
        if request.length == 2
        else f"max({', '.join(names)}) - min({', '.join(names)})",
        "product": " * ".join(names),
        "min-max": f"x1({rest})",
        "anchor": f"drawn once from the {request.distribution} distribution",
        "parity": "number of tokens a, odd or even",
    }[request.operation]
    moved = f"{inner} + {request.offset}" if request.offset else inner
    return f"({moved}) mod {request.modulus}" if request.modulus else moved
