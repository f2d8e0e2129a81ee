"""How long translators are trained where nobody said it, and what a training costs.

All of it follows from a model's sizes, so that the same request trains in the same way anywhere.
"""

import math
import sys
from dataclasses import dataclass

from embtie_widgets.requests import LensRequest
from embtie_widgets.requests.lens import MOST_SHORT, SHORT

# Multiply-adds of a short training: about a quarter of a minute on two cores.
BUDGET, _ON_CARD = 0.75e12, 1e15
# Fewer positions than so many times the width say too little about a layer's map.
_LEAST_PER_WIDTH = 2
# Multiply-adds that passes over a logit cost: in softmax, KL, entropy, ranks; in a target alone.
PASSES, _TARGET_PASSES = 150.0, 200.0
# Multiply-adds of a decomposition, and of a metric and of a turn by it, over width^3.
_SOLVED, _METRIC, _TURN = 25.0, 25.0, 2.0
# What a step of the recipe "fast" looks at on a processor, and how many products it aims at; the
# published one sees all of U.
_POSITIONS, _WORDS, _WHOLE = (128, 4_096), 4_096, 8_192
_AIM = 2.5e9
_PUBLISHED_POSITIONS = 2_048


@dataclass(frozen=True)
class Size:
    """Of a model: numbers in all, rows and width of its head, layers."""

    parameters: int
    rows: int
    width: int
    layers: int


@dataclass(frozen=True)
class Plan:
    """A training: on how many tokens of text, in how many steps."""

    tokens: int
    steps: int


def plan(request: LensRequest, size: Size) -> Plan:
    """What was asked for; of what nobody chose, as much as is worth the while.

    Where a whole training takes too long, the closed form alone is taken: on all the text that
    there is time for, it is nearer than after a few steps on little text.
    """
    if request.train_tokens != SHORT:
        return Plan(request.train_tokens, request.steps)
    usual = request.steps == LensRequest.steps
    whole = Plan(MOST_SHORT, min(request.steps, LensRequest.steps))
    budget = _ON_CARD if _on_card(request.device) else BUDGET
    if _cost(request, size, whole) <= budget:
        return Plan(MOST_SHORT, request.steps)
    closed = request.start == "least-squares"
    few = 1 if closed else max(1, int(budget / 4 / _descent(request, size)))
    first = Plan(0, min(request.steps, few))
    left = (budget - _cost(request, size, first)) / _reading(size)
    tokens = round(max(left, _LEAST_PER_WIDTH * size.width), -2)
    return Plan(min(max(int(tokens), 2), MOST_SHORT), first.steps if usual else request.steps)


def training(request: LensRequest, size: Size) -> float:
    """Multiply-adds of its training."""
    return _cost(request, size, plan(request, size))


def _cost(request: LensRequest, size: Size, found: Plan) -> float:
    """The text read once, the decompositions, the steps, and the metrics before some of them."""
    if not found.steps:
        return 0.0
    natural, closed = request.recipe == "fast", request.start == "least-squares"
    cubes = size.layers * float(size.width) ** 3
    steps = found.steps - closed
    spent = found.tokens * _reading(size) + (_SOLVED * cubes if natural or closed else 0.0)
    measured = 1 + int(math.log2(steps)) if natural and steps else 0
    return spent + measured * _METRIC * cubes + steps * _descent(request, size)


def head(size: Size) -> float:
    """One state through translator, norm and head, and over all logits."""
    return size.width * (size.width + size.rows) + PASSES * size.rows


def _reading(size: Size) -> float:
    """A token through the model, its target, and its states' products."""
    target = size.rows * (size.width + _TARGET_PASSES)
    return size.parameters + target + size.layers * 2.0 * size.width**2


def _descent(request: LensRequest, size: Size) -> float:
    """A step forward and backward through every lens."""
    if request.recipe == "published":
        return 3.0 * _PUBLISHED_POSITIONS * size.layers * head(size)
    words = _WORDS if size.rows > _WHOLE else size.rows
    aimed = _AIM / (4 * words * size.width * size.layers or 1)
    positions = min(max(aimed, _POSITIONS[0]), _POSITIONS[1])
    products = 2.0 * words * size.width + PASSES * words + size.width**2
    return size.layers * (positions * products + _TURN * size.width**3)


def _on_card(device: str) -> bool:
    """Whether it runs on a graphics card; torch, if anybody needs it, is loaded by then."""
    if device != "auto" or "torch" not in sys.modules:
        return device == "cuda"
    import torch

    return torch.cuda.is_available()
