"""One run while it is recorded: which steps are caught, and by whom.

Whatever goes wrong here costs numbers of the recording, never the training: it is said once, and
the next step is tried again.
"""

import logging
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.transmission import each_nth
from embtie_widgets.training.recorder_hooks import Matrices, StepCapture, find_matrices
from embtie_widgets.training.recorder_plan import Plan
from embtie_widgets.training.recorder_shares import (
    ABSENT,
    TOGETHER,
    agree,
    all_well,
    processes,
    rank,
    share,
)
from embtie_widgets.training.recorder_writer import RunWriter

logger = logging.getLogger("embtie.recorder")


class Recording:
    """From the moment a model is attached until its training is left.

    `arm` wants to be called before the first forward pass of a step, `take` once, after its last
    backward pass and before its update.
    """

    def __init__(
        self,
        plan: Plan,
        model: Any,
        optimizer: Any = None,
        scaler: Any = None,
        done: int = 0,
        of: int | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self.plan, self.model, self.optimizer = plan, model, optimizer
        self.scaler = scaler if scaler is not None else getattr(optimizer, "scaler", None)
        self.done, self.of, self._first_step = done, of, done + 1
        self.matrices: Matrices = find_matrices(model)
        self.writer: RunWriter | None = None
        self._caught: StepCapture | None = None
        self._said = False
        self._weights = sum(p.numel() for p in model.parameters() if p.requires_grad)
        # Of so many recorded steps one has what the head transmits; known once one was caught.
        self._recorded, self._each = 0, 0
        if rank() == 0:
            self.writer = RunWriter(plan, model, self.matrices, done, of, about or {})
            _tell_moved(plan, self.writer)
        self._how = agree(
            f"{plan.folder.name}/{plan.name}"
        )  # behind all that can fail: the others count on who takes part
        if self.writer is not None and processes() > 1:
            with self._quiet():
                self.writer.add_settings(processes=processes(), recorded_by=self._how)

    def arm(self, step: int) -> None:
        """Catch this step, if it is one that is recorded."""
        self._release()
        if self._records(step):
            with self._quiet():
                transmits = not self._each or self._recorded % self._each == 0
                caught = StepCapture(self.matrices, step, self.scaler, transmits)
                caught.arm(self.model)
                self._caught = caught

    def take(self, step: int, loss: Any = None) -> None:
        """Write what was caught of the step; `loss` where the caller knows it better."""
        caught, writer = self._release(), self.writer
        if writer is not None and self.plan.keeps(step - 1) and writer.kept != step - 1:
            with self._quiet():
                writer.keep(step - 1)
        if self._records(step):
            with self._quiet():
                self._count(caught)
                whole, value = self._together(caught, loss)
                if writer is not None:
                    self._say(writer.write(step, value, self._rate(), whole))
        self.done = step

    def close(self, state: str) -> None:
        """The last checkpoint, the rows, and how it ended; no hook stays."""
        self._release()
        writer, self.writer = self.writer, None
        if writer is None:
            return
        with self._quiet():
            if writer.kept != self.done:
                writer.keep(self.done)
            writer.save_rows()
        with self._quiet():
            writer.store.set_state(state, self.done)

    def _count(self, caught: StepCapture | None) -> None:
        self._recorded += 1
        if not self._each and caught is not None and caught.head is not None and caught.positions:
            trained = 3.0 * caught.positions * self._weights
            self._each = each_nth(caught.head, caught.positions, trained)
            self._recorded = 1

    def _records(self, step: int) -> bool:
        return self._how != ABSENT and self.plan.logs(step, self._first_step, self.of)

    def _release(self) -> StepCapture | None:
        caught, self._caught = self._caught, None
        if caught is not None:
            caught.disarm()
        return caught

    def _together(self, caught: StepCapture | None, loss: Any) -> tuple[StepCapture | None, float]:
        """What all processes caught, and the loss; nothing is caught where one of them failed.

        All of them come here at the same steps, and none may be kept waiting.
        """
        fault: Exception | None = None if caught is None else caught.error
        value = torch.tensor(math.nan)
        try:
            value = self._loss(caught, loss)
        except Exception as error:  # told once the others know
            fault = fault or error
        good = caught is not None and fault is None
        if self._how == TOGETHER:
            good = all_well(good, self.matrices.input.device)
        if fault is not None:
            self._say(_words(fault))
        if caught is None or not good:
            return None, math.nan if self._how == TOGETHER else float(value)
        return caught, float(share(caught, value) if self._how == TOGETHER else value)

    def _loss(self, caught: StepCapture | None, given: Any) -> Tensor:
        value = math.nan
        if given is not None:
            value = float(given.detach() if isinstance(given, Tensor) else given)
        elif caught is not None and caught.calls["loss"]:
            value = float(caught.loss) / caught.scale
        return torch.tensor(value, device=self.matrices.input.device)

    def _rate(self) -> float:
        groups = getattr(self.optimizer, "param_groups", None) or [{}]
        own = [g for g in groups if any(p is self.matrices.input for p in g.get("params", ()))]
        return float((own or groups)[0].get("lr", math.nan))

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            logger.debug("while recording", exc_info=True)
            self._say(_words(error))

    def _say(self, what: str) -> None:
        """Once: a training of weeks must not be told the same thing at each step."""
        if what and not self._said:
            logger.warning(
                "The recording of '%s' lacks something, the training goes on. %s",
                self.plan.name,
                what,
            )
        self._said = self._said or bool(what)


def _words(error: Exception) -> str:
    return str(error) if isinstance(error, EmbtieError) else f"{type(error).__name__}: {error}"


def _tell_moved(plan: Plan, writer: RunWriter) -> None:
    given, taken = plan.folder, writer.store.folder
    if given != taken:
        logger.warning("'%s' holds a run already; this one goes to '%s'.", given.name, taken.name)
