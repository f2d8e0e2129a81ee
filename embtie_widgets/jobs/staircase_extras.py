"""What single toy tasks show besides: the labels of an anchor, where attention goes, and whether
the signatures of order 0 alone would do."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import rel_entr, softmax

from embtie_widgets.measures.frequencies import frequency_correlations
from embtie_widgets.measures.signatures import pearson, signature
from embtie_widgets.requests import StaircaseRequest
from embtie_widgets.results.staircase import MatrixTrack, Signature
from embtie_widgets.training.toy_loop import ToyRun
from embtie_widgets.training.toy_tasks import ToyTask

Vector = np.ndarray[Any, np.dtype[Any]]
_TIE = 1e-12
_OF_NUMBERS = ("sum", "anchored-sum", "difference", "product")


def extras_of(
    request: StaircaseRequest, task: ToyTask, run: ToyRun, steps: int
) -> tuple[dict[str, Vector], dict[str, float]]:
    """Arrays by the names of EXTRAS of the first so many steps, and numbers of the task."""
    extras: dict[str, Vector] = {"answers": task.answers}
    numbers: dict[str, float] = {}
    if task.target is not None and run.embedding:
        row = run.embedding[-1][request.tokens]
        learned = softmax(run.unembedding[-1].astype(np.float64) @ row)
        counted = np.bincount(task.labels, minlength=len(task.answers)) / len(task.labels)
        extras |= {"target": task.target, "empirical": counted, "learned": learned}
        found = agreement(task.target, learned)
        numbers = {name: value for name, value in found.items() if np.isfinite(value)}
    paid = [one for one in run.attention[:steps] if one is not None]
    if paid:
        extras["attention"] = np.stack(paid)[:, :, task.anchors].sum(-1).mean(1)
    return extras, numbers


def waves_of(
    request: StaircaseRequest,
    task: ToyTask,
    signatures: Mapping[str, Signature],
    embedding: MatrixTrack,
) -> dict[str, Vector]:
    """Which frequency the embedding follows, where order 1 is known and tokens are numbers."""
    one = signatures.get("order 1")
    if one is None or request.operation not in _OF_NUMBERS:
        return {}
    numbers = [int(task.tokens[row]) for row in one.context]
    period = request.modulus or request.tokens
    found = frequency_correlations(one.values, embedding.similarity, numbers, period)
    return {"frequencies": found.astype(np.float32)}


def agreement(target: Vector, learned: Vector) -> dict[str, float]:
    """Of two distributions: Pearson correlation, KL(target || learned) and Jensen-Shannon
    divergence, in nats."""
    middle = (target + learned) / 2
    return {
        "pearson": pearson(target, learned),
        "kl": float(rel_entr(target, learned).sum()),
        "jsd": float(rel_entr(target, middle).sum() + rel_entr(learned, middle).sum()) / 2,
    }


def solved_by_order_zero(task: ToyTask) -> float:
    """Share of the sequences whose label is where the order-0 signatures of its tokens add up to
    the most; labels that tie share the sequence."""
    known = signature(task.sequences, task.labels, 0)
    rows = known.values[np.searchsorted(known.anchors, task.sequences)].sum(1)
    best = rows >= rows.max(1, keepdims=True) - _TIE
    right = best[np.arange(len(rows)), np.searchsorted(known.labels, task.labels)]
    return float((right / best.sum(1)).mean())
