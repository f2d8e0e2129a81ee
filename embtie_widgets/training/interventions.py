"""Plug-ins that change a training run.  The loop calls the hooks and knows no plug-in."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from embtie_widgets.errors import EmbtieError


@dataclass
class Step:
    """The step under way, as the hooks see it.

    number     from 1
    run        the name of the run: "tied" or "untied" for twins
    input_ids  (B, T), targets (B, T) the ids that follow them
    metrics    columns of this step's row; hooks may add their own numbers
    logged     whether that row will be kept, so that costly numbers can be left out otherwise
    """

    number: int
    run: str
    model: Any
    input_ids: Tensor
    targets: Tensor
    logged: bool
    metrics: dict[str, Any] = field(default_factory=dict)


class Intervention:
    """Base of all plug-ins: each hook does nothing until a plug-in overrides it.

    Hooks are called in the order in which they stand here, plug-ins in the order in which they
    are given.  One plug-in may serve several runs one after the other: `on_build` starts each.
    """

    def on_build(self, model: Any, run: str) -> None:
        """Change the fresh model in place; drop what is left from an earlier run."""

    def on_optimiser(self, optimiser: Optimizer) -> Optimizer:
        """Change or replace the fresh optimiser."""
        return optimiser

    def on_embeddings(self, embeddings: Tensor, step: Step) -> Tensor:
        """Change the embedding output (B, T, d), or register a gradient hook on it."""
        return embeddings

    def on_logits(self, logits: Tensor, step: Step) -> Tensor:
        """Change the logits (B, T, V) that the loss sees."""
        return logits

    def on_loss(self, loss: Tensor, logits: Tensor, step: Step) -> Tensor:
        """Change the loss that is minimised; the logged one stays the plain cross-entropy."""
        return loss

    def on_gradients(self, step: Step) -> None:
        """Read or change the gradients, before they are clipped."""

    def after_step(self, step: Step) -> None:
        """Read or change the parameters after the optimiser's step."""


def checked_plugs(plugs: Any) -> tuple[Intervention, ...]:
    """The plug-ins given, if that is what they are."""
    given = tuple(plugs) if isinstance(plugs, Iterable) else (plugs,)
    stray = [type(plug).__name__ for plug in given if not isinstance(plug, Intervention)]
    if stray or not isinstance(plugs, Iterable):
        what = stray[0] if stray else "single intervention"
        raise EmbtieError(
            f"interventions is or holds a {what}; expected a list of Intervention objects.",
            "Give instances in a list, or an empty list for none.",
        )
    return given
