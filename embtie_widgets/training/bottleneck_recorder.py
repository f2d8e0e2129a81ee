"""The plug-in that writes down how much of the logits' gradient reaches the hidden state."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from embtie_widgets.measures.transmission import MOST, Passed, add_passed, passed_numbers
from embtie_widgets.requests.fields import whole
from embtie_widgets.training.interventions import Intervention, Step, registered


@registered("bottleneck")
@dataclass
class BottleneckRecorder(Intervention):
    """Adds the numbers of `results.bottleneck.CURVES` to the logged rows of a run, changes nothing.

    positions  of the batch that are measured, or all where it has no more

    The gradient is that of the loss that is minimised, at the head's own product: before a cap,
    and whatever is done to it on its way back.  It and the head are those before the update.
    """

    positions: int = MOST

    def __post_init__(self) -> None:
        whole("positions", self.positions, 1, 2**31 - 1)

    def on_embeddings(self, embeddings: Tensor, step: Step) -> Tensor:
        """Where the step is logged, wait for what the head gives out in it."""
        if step.logged:
            head = step.model.get_output_embeddings()
            self._passed = Passed.none(head.weight)

            def scored(module: Any, arguments: Any, logits: Tensor) -> None:
                hook.remove()
                logits.register_hook(
                    lambda g: add_passed(self._passed, g, head.weight, self.positions)
                )

            hook = head.register_forward_hook(scored)
        return embeddings

    def on_gradients(self, step: Step) -> None:
        """Its numbers."""
        if step.logged:
            head = step.model.get_output_embeddings()
            step.metrics |= passed_numbers(self._passed, head.weight)
            del self._passed
