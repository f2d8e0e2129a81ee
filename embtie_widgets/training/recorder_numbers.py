"""The numbers of one recorded step: from what the hooks caught, and from the matrices."""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from embtie_widgets.measures.gradient import Products, flow_numbers, row_products
from embtie_widgets.measures.logits import in_blocks, wide_type
from embtie_widgets.measures.transmission import passed_numbers
from embtie_widgets.training.recorder_hooks import StepCapture

_TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3}
_ROUGH = 0.1  # of a matrix or a head in half precision


def parts_of(caught: StepCapture) -> tuple[Tensor, Tensor] | None:
    """Input and output part (V, d) of the step, with the loss's scale taken out; None where a
    matrix is not trained, or there is but one, or the two have no sum.

    What was caught is used up: the check has to come first.
    """
    whole = caught.whole
    if caught.scale != 1.0:
        for part in (*whole.values(), caught.input_part):
            part /= caught.scale
    if caught.matrices.shared:
        own = caught.input_part
        return (own, whole["input"].sub_(own)) if whole else None
    if len(whole) < 2 or whole["input"].shape != whole["output"].shape:
        return None
    return whole["input"], whole["output"]


def check_of(caught: StepCapture) -> float:
    """Largest relative difference between each whole gradient and the sum of its parts, along a
    random direction; NaN where no logits were seen, so that the output part is not known."""
    products = {"input": caught.input_product}
    if caught.calls["head"]:
        products["output"] = caught.output_product
    along = {role: whole @ caught.probe for role, whole in caught.whole.items()}
    if caught.matrices.shared:
        known = along and len(products) == 2
        return _difference(along["input"], *products.values()) if known else math.nan
    found = [_difference(along[role], products[role]) for role in along if role in products]
    return max(found, default=math.nan)


def _difference(whole: Tensor, *parts: Tensor) -> float:
    size = sum(float(torch.linalg.vector_norm(part)) for part in parts)
    left = float(torch.linalg.vector_norm(whole - sum(parts)))
    return left / size if size else (math.nan if left else 0.0)


def wrong_parts(check: float, caught: StepCapture) -> str:
    """Why the parts are not to be given out, or nothing."""
    unseen = [role for role in caught.whole if not caught.calls[role]]
    if not unseen and "input" in caught.whole and not caught.calls["lookup"]:
        unseen = ["input"]
    if unseen:
        return (
            f"No gradient of the {unseen[0]} matrix was seen: in a loop of your own, call "
            "`observe` once a step, after the backward pass of the model that is attached."
        )
    allowed = _TOLERANCE.get(caught.matrices.input.dtype, _ROUGH)
    if check > max(allowed, _ROUGH if caught.rough else 0.0):
        return (
            f"The parts of the gradient do not sum to the whole (off by {check:.2g} of their "
            "size): the matrix is used in a third place, or its gradient still held that of an "
            "earlier step."
        )
    return ""


def gradient_numbers(parts: tuple[Tensor, Tensor], proxy: float) -> tuple[Products, dict[str, Any]]:
    """Products of the rows, and the curves that the parts decide."""
    products = row_products(*parts)
    return products, dict(flow_numbers(products, proxy))


def transmitted(caught: StepCapture) -> dict[str, float]:
    """What the head transmits of the logits' gradient; nothing where that was not measured."""
    if caught.head is None or caught.passed is None or not (caught.transmits and caught.positions):
        return {}
    return passed_numbers(caught.passed, caught.head)


def turn_numbers(
    now: Mapping[str, Tensor], first: Mapping[str, Tensor], before: Mapping[str, Tensor]
) -> dict[str, float]:
    """Of the matrices (V, d) by role: the mean cosine of the rows with those of the first and of
    the previous checkpoint.

    In float32 on the matrix's own device: `measures.drift` does the same in float64 for checkpoints
    on disk, which would be too slow within a training.
    """
    found: dict[str, float] = {}
    for role, matrix in now.items():
        for what, other in (("first", first[role]), ("previous", before[role])):
            found[f"{role}_to_{what}"] = mean_cosine(matrix.detach(), other)
    return found


def mean_cosine(a: Tensor, b: Tensor) -> float:
    """Mean over the rows of `a` and `b` (V, d) that have a direction in both; NaN without any."""
    found = torch.cat([_cosines(*pair) for pair in zip(in_blocks(a), in_blocks(b), strict=True)])
    return float(found.nanmean())


def _cosines(a: Tensor, b: Tensor) -> Tensor:
    wide = wide_type(a)
    a, b = a.to(wide), b.to(a.device, wide)
    lengths = torch.linalg.vector_norm(a, dim=1) * torch.linalg.vector_norm(b, dim=1)
    found: Tensor = torch.linalg.vecdot(a, b) / lengths
    return found
