"""How many predictions of a run's batches are right, and how much data it has seen."""

from dataclasses import dataclass

from torch import Tensor

from embtie_widgets.training.interventions import Intervention, Step, registered


@registered("trial")
@dataclass
class TrialRecorder(Intervention):
    """Adds "accuracy" of the batch and "positions" seen so far to logged rows; where a window is
    one draw, as in SpamLang, `draws` adds independent "sequences"."""

    draws: bool = False

    def on_logits(self, logits: Tensor, step: Step) -> Tensor:
        """Count what the loss is about to see."""
        if step.logged:
            right = logits.detach().argmax(-1) == step.targets
            step.metrics["accuracy"] = right.float().mean()
            step.metrics["positions"] = step.number * step.targets.numel()
            if self.draws:
                step.metrics["sequences"] = step.number * len(step.targets)
        return logits
