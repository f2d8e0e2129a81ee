"""The loss on text held out at the end of a run, beside its other numbers."""

from typing import Any, ClassVar

from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.engine import held_out_loss
from embtie_widgets.training.interventions import Intervention, Step

NAME = "held_loss"
# About so many tokens say the loss to a hundredth of a nat.
_MOST_TOKENS = 32_768


class HeldOutLoss(Intervention):
    """Adds `held_loss` to the row of the last step: nats per token on the text held out, after it.

    A text too short for a window of `length` tokens gives none; of a long one only the beginning is
    read.
    """

    kind: ClassVar[str] = "held-out-loss"

    def __init__(self, corpus: Corpus, steps: int, batch: int, length: int) -> None:
        self._steps, self._batch, self._length = steps, batch, length
        most = max(1, _MOST_TOKENS // length) * length + 1
        self._text = Corpus(corpus.ids[:most], corpus.tokenizer, corpus.name)

    def to_dict(self) -> dict[str, Any]:
        """What it reads, by hash."""
        return {"kind": self.kind, "text": self._text.sha256, "length": self._length}

    def after_step(self, step: Step) -> None:
        """Measure after the last step."""
        if step.number != self._steps or len(self._text.ids) <= self._length:
            return
        step.model.eval()
        step.metrics[NAME] = held_out_loss(step.model, self._text, self._batch, self._length)
        step.model.train()
