"""The gradient of a shared matrix by the way it comes: two leaf views in one backward pass.

While a step's loss and gradients are made, the head reads the matrix through a second parameter
on the same memory.  One backward pass so leaves the input's part in the gradient of the one and
the output's part in that of the other; before and after, the model is tied as ever.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from embtie_widgets.training.interventions import Parts, Step

_NO_PARTS = (
    "The gradient is not split: this architecture ties its matrices in a way that does not let "
    "their two uses be told apart."
)


class Split:
    """Splits the gradient of each step, until a step shows that the model does not allow it."""

    def __init__(self) -> None:
        self.notes: tuple[str, ...] = ()

    @contextmanager
    def of(self, step: Step) -> Iterator[None]:
        """Around forward and backward pass of a step; fills its parts."""
        embedding, head = step.model.get_input_embeddings(), step.model.get_output_embeddings()
        if self.notes or not (_owns(embedding) and _owns(head)):
            self.notes = (_NO_PARTS,)
            yield
            return
        with _watched(step, embedding, head), _two_leaves(embedding, head) as leaves:
            yield
        self._hand_out(step, leaves, embedding.weight)

    def _hand_out(self, step: Step, leaves: tuple[Tensor, Tensor], shared: Tensor) -> None:
        into, out = (leaf.grad for leaf in leaves)
        if into is None or out is None:  # one of the two uses goes another way
            self.notes = (_NO_PARTS,)
            shared.grad = out if into is None else into
            return
        step.parts = Parts(into, out)
        # Clipping works in place on what the parameters have; the parts stay as they are.
        if leaves[1] is step.model.get_output_embeddings().weight:
            leaves[0].grad, leaves[1].grad = into.clone(), out.clone()
        else:
            shared.grad = into + out


def _owns(module: Any) -> bool:
    """Whether the weight is a parameter of the module itself, not made up from others."""
    return isinstance(module, nn.Module) and module._parameters.get("weight") is not None


@contextmanager
def _two_leaves(embedding: Any, head: Any) -> Iterator[tuple[Tensor, Tensor]]:
    """The parameters that the two uses read: for a tied model two on the same memory."""
    shared = embedding.weight
    if head.weight is not shared:
        yield shared, head.weight
        return
    view = nn.Parameter(shared.detach())
    head.weight = view
    try:
        yield shared, view
    finally:
        head.weight = shared


@contextmanager
def _watched(step: Step, embedding: Any, head: Any) -> Iterator[None]:
    """On logged steps, keep what the parts can be checked by."""
    if not step.logged:
        yield
        return

    def embedded(module: Any, arguments: Any, output: Tensor) -> Tensor:
        output.register_hook(lambda gradient: setattr(step, "embedding_gradient", gradient))
        return output.view_as(output)  # what plug-ins hook later works on the gradient before

    def headed(module: Any, arguments: tuple[Tensor, ...], output: Tensor) -> None:
        step.hidden = arguments[0].detach()
        output.register_hook(lambda gradient: setattr(step, "logit_gradient", gradient))

    hooks = [
        embedding.register_forward_hook(embedded),
        head.register_forward_hook(headed),
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
