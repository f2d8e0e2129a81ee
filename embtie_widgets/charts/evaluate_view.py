"""What is looked at of an evaluation: a metric, a task, items of one standing."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from embtie_widgets.results.evaluate import (
    ACCURACY,
    BY_LENGTH,
    BYTE_BITS,
    TOKEN_PERPLEXITY,
    WORD_PERPLEXITY,
    Evaluation,
    TaskItems,
    TaskScore,
)

Vector = np.ndarray[Any, np.dtype[Any]]
SIDES = ("A", "B")
SIGMAS = 1.96  # standard errors to either side of an interval that holds 95 %


@dataclass(frozen=True)
class Metric:
    """How a metric is called, on a control and on an axis, and what it means with its range."""

    label: str
    axis: str
    says: str


CHOICE_METRICS = {
    ACCURACY: Metric(
        "Accuracy",
        "right answers, %",
        "At how many of the items the right choice is the likeliest one, 0 to 100 %.",
    ),
    BY_LENGTH: Metric(
        "By length",
        "right answers by letter, %",
        "At how many of the items the right choice is the likeliest one letter for letter, 0 to "
        "100 %: log-likelihood over the length of the choice. A task that the harness does not "
        "count so is drawn by plain accuracy.",
    ),
}
TEXT_METRICS = {
    WORD_PERPLEXITY: Metric(
        "By word",
        "perplexity by word",
        "Among how many equally likely words the model chooses, on average: from 1 on, less is "
        "better, comparable between any two models.",
    ),
    TOKEN_PERPLEXITY: Metric(
        "By token",
        "perplexity by token",
        "Among how many equally likely tokens the model chooses, on average: from 1 on, less is "
        "better, comparable only where both cut the text into the same tokens.",
    ),
    BYTE_BITS: Metric(
        "Bits by byte",
        "bits by byte",
        "How many bits the model needs for a byte of the text: from 0 on, less is better, "
        "comparable between any two models.",
    ),
}
ALL = ""
BOTH, ONLY_A, ONLY_B, NEITHER = "both right", "only A", "only B", "neither"
STANDINGS = (BOTH, ONLY_A, ONLY_B, NEITHER)
CLOSER_A, CLOSER_B = "better in A", "better in B"
NAMES = {
    "perplexity": "Perplexity",
    "line-end": "Line ends",
    "piqa": "PIQA",
    "hellaswag": "HellaSwag",
    "winogrande": "WinoGrande",
    "arc_easy": "ARC, easy",
    "arc_challenge": "ARC, challenge",
    "boolq": "BoolQ",
    "openbookqa": "OpenBookQA",
    "blimp": "BLiMP",
}


def is_text(items: TaskItems) -> bool:
    """Whether it is a text that is predicted, not questions."""
    return not items.choices


def questions(result: Evaluation | None) -> list[str]:
    """The multiple-choice tasks of a result."""
    return [] if result is None else [t for t, one in result.items.items() if not is_text(one)]


def text_of(result: Evaluation | None) -> str | None:
    """The task of a result that is a text."""
    return next((t for t, one in result.items.items() if is_text(one)), None) if result else None


def score_of(result: Evaluation, task: str, side: str, metric: str) -> TaskScore | None:
    """A model's score in the metric, or in the first where the task has not that one."""
    found = result.scores.get(task, {}).get(side, {})
    return found.get(metric) or next(iter(found.values()), None)


def metric_of(result: Evaluation, task: str, metric: str) -> str:
    """The metric by which a task is drawn where this one is asked for."""
    one = next((s for side in SIDES if (s := score_of(result, task, side, metric))), None)
    return metric if one is None else one.metric


def standings(items: TaskItems, metric: str) -> Vector:
    """(items,) words: who is right, or in whom a passage takes fewer bits; "" while only one model
    has been asked."""
    if not set(SIDES) <= set(items.scores):
        return np.full(len(items.contexts), "", dtype=object)
    if is_text(items):
        closer = items.bits("A") <= items.bits("B")
        return np.where(closer, CLOSER_A, CLOSER_B).astype(object)
    a, b = (items.right(side, metric) for side in SIDES)
    return np.select([a & b, a, b], [BOTH, ONLY_A, ONLY_B], NEITHER).astype(object)


def filters(items: TaskItems) -> tuple[str, ...]:
    """The standings that items of a task can have."""
    return (CLOSER_A, CLOSER_B) if is_text(items) else STANDINGS


def value_of(items: TaskItems, side: str, metric: str) -> Vector:
    """(items,) what the plane draws: bits by byte of a passage, the margin of an item."""
    return items.bits(side) if is_text(items) else items.margin(side, metric)
