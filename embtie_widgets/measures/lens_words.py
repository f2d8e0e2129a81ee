"""What is said where a lens cannot be shown, or only in part."""

from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError

Vector = np.ndarray[Any, np.dtype[Any]]


def other_layers(given: int, layers: int) -> EmbtieError:
    """Translators of another model."""
    return EmbtieError(
        f"The tuned lens has {given} translators; the model has {layers} blocks and needs "
        f"{layers}.",
        "Train translators for this model, or choose those that were.",
    )


def not_its_own(name: str, apart: float) -> EmbtieError:
    """The check that every curve rests on."""
    return EmbtieError(
        f"The last-layer check failed: the last state of this {name}, read by its own final norm "
        f"and head, misses the model's own logits by {apart:.2g} of the largest. Its layers would "
        "be read wrongly, so no curve is drawn.",
        "Where the final norm or the blocks go by unusual names, ew.register_family(model_type, "
        "norm=..., layers=...) tells them.",
    )


def not_finite(whole: Vector, kl: Vector, precision: torch.dtype) -> list[str]:
    """Which layers have states that are not finite, and what else has no KL for it.

    whole (L + 1, n) says which states are finite; kl (L + 1, n) is NaN where it is not known.
    """
    n, unanswered = whole.shape[1], ~np.isfinite(kl[-1])
    broken = np.flatnonzero(~whole.all(axis=1))
    strange = np.flatnonzero((np.isnan(kl) & whole & ~unanswered).any(axis=1))
    said = []
    if len(broken):
        most = int((~whole).sum(axis=1).max())
        said.append(
            f"States are not finite {_places(broken)}, at up to {most:,} of {n:,} positions; the "
            "means leave these out."
        )
    if unanswered.any():
        said.append(
            f"At {int(unanswered.sum()):,} of {n:,} positions the model's own answer is not "
            "finite, so no layer has a KL there."
        )
    if len(strange):
        said.append(f"What the lens makes of finite states is not finite {_places(strange)}.")
    return [f"{' '.join(said)} {_hint(precision)}"] if said else []


def _places(layers: Vector) -> str:
    """ "at the embedding", "after block 3", "after blocks 3 to 12": from the first to the last."""
    first, last = int(layers[0]), int(layers[-1])
    start = "at the embedding" if first == 0 else ""
    blocks = [max(first, 1), last]
    if last == 0:
        return start
    run = f"after block {last}" if blocks[0] == last else f"after blocks {blocks[0]} to {last}"
    return f"{start} and {run}" if start else run


def _hint(precision: torch.dtype) -> str:
    if precision == torch.float16:
        return "float16 ends at 65,504: load the model in float32 or bfloat16."
    return "The weights or the translators may be damaged; float32 is the safest to load in."
