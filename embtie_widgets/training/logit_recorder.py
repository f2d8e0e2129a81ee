"""The plug-in that writes down how far the logits are from 0, and the mean of the output matrix."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from embtie_widgets.measures.logits import logit_numbers, matrix_means
from embtie_widgets.requests.fields import whole
from embtie_widgets.training.interventions import Intervention, Step, registered


@registered("logits")
@dataclass
class LogitRecorder(Intervention):
    """Adds the numbers of `results.centering.CURVES` to the logged rows of a run, changes nothing.

    tokens  how many leading rows of the matrices are of real tokens; None for those not all 0

    Logits and matrices are those before the step's update, as the loss is.  Give it as the first
    plug-in: it sees what those before it have made of the logits, such as a cap.
    """

    tokens: int | None = None

    def __post_init__(self) -> None:
        if self.tokens is not None:
            whole("tokens", self.tokens, 1, 2**31 - 1)

    def on_logits(self, logits: Tensor, step: Step) -> Tensor:
        """Look at them, where the step is logged."""
        if step.logged:
            step.metrics |= logit_numbers(logits) | end_numbers(
                step.model.get_input_embeddings().weight,
                step.model.get_output_embeddings().weight,
                self.tokens,
            )
        return logits


def end_numbers(E: Tensor | None, U: Tensor | None, tokens: Any) -> dict[str, float]:
    """Means of a model's matrices (V, d); of a tied one the input's are those of the output."""
    found: dict[str, float] = {}
    if U is not None:
        found |= matrix_means(U, tokens)
    if E is not None and E is U:
        return found | {name: found[name.replace("input", "output")] for name in _INPUT}
    if E is not None:
        found |= matrix_means(E, tokens, "input")
    return found


_INPUT = ("mu_input", "mu_input_all", "row_norm_input")
