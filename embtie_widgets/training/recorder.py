"""Record a training of your own: `RunRecorder` in a Trainer, in a plain loop, or with accelerate.

What is relied on, in transformers' `trainer.py` (5.x) and `accelerator.py` (1.x):

- A step is: `on_step_begin`, then for each micro-batch forward and backward, then clipping, then
  `on_pre_optimizer_step`, the update, `zero_grad`, and `on_step_end` once `global_step` counts it.
  No event lies between the last backward pass and clipping, so the whole gradient is copied by a
  hook of the parameter, which autograd calls whenever it has added to it.
- `Trainer` tells accelerate to accumulate over one step, and divides itself: models that take
  `num_items_in_batch` divide by the targets of all micro-batches (and processes, whence the loss
  is multiplied by their number before DDP averages), others have their loss divided by how many
  micro-batches there are.  Either way gradients of micro-batches are summed.
- accelerate multiplies the loss by the scale of its GradScaler, which a prepared optimizer holds as
  `scaler`, and unscales in clipping or in the update: what hooks see is scaled.
- DDP averages over processes at the last micro-batch, in hooks of its own that run after those of
  the parameter: what we copy is what this process found.  With `sync_each_batch` it averages more
  often, which gives the same mean.
- Evaluation runs without gradients, between `on_step_end` and the next `on_step_begin`.
- Callbacks get the model that is not wrapped; its modules and parameters are those of the wrapped
  one, except under `nn.DataParallel` (several devices in one process) and FSDP.
"""

import os
import weakref
from pathlib import Path
from typing import Any, Self

from accelerate.utils import extract_model_from_parallel
from torch import nn
from transformers import TrainerCallback

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import fields
from embtie_widgets.training.recorder_plan import (
    DOUBLING,
    Checkpoints,
    Plan,
    checked_checkpoints,
)
from embtie_widgets.training.recorder_shares import rank
from embtie_widgets.training.recording import Recording, logger
from embtie_widgets.training.run_store import DONE, STOPPED
from embtie_widgets.training.store import writable_folder


class RunRecorder(TrainerCallback):
    """Write into `folder` who writes into the embeddings of a model in training.

    folder       where the run goes: numbers per step, checkpoints of E and U, numbers per token
    every        each so many steps are recorded, and the first and the last
    checkpoints  which E and U are kept, beside the first and the last: "doubling" keeps those
                 after 1, 2, 4, 8, ... times `every` steps, a number those after each so many, a
                 list those after these steps
    name         of the run
    tokens       a tokenizer, or the tokens by row; a Trainer's own where it has one
    counts       (V,) how often each token stands in the training text, for bands of frequency

    With a Trainer: `Trainer(..., callbacks=[RunRecorder(folder)])`.  In a loop of your own:
    `attach` once, `observe` each step after the backward pass and before clipping and the update,
    `detach` at the end.  With several processes each of them records, and the first writes.

    A row of step n has the gradient of the step, and the loss, logits and matrices before its
    update.  The training is left as it is, bit for bit, and goes on whatever becomes of the record.
    """

    def __init__(
        self,
        folder: str | Path,
        every: int = 10,
        *,
        checkpoints: Checkpoints = DOUBLING,
        name: str = "run",
        tokens: Any = None,
        counts: Any = None,
    ) -> None:
        fields.whole("every", every, 1, 10**9)
        fields.text("name", name)
        first = rank() == 0 and os.environ.get("RANK", "0") == "0"
        if not folder:
            raise EmbtieError("The run has no folder.", "Name one that is yours to write.")
        place = writable_folder(folder, prefix="") if first else Path(folder)
        steps = checked_checkpoints(checkpoints)
        self._plan = Plan(place, every, steps, name, tokens, counts)
        self._recording: Recording | None = None
        self._at_exit: weakref.finalize[Any, Any] | None = None
        self.folder = place  # or beside it, if that holds a run already

    def attach(
        self,
        model: Any,
        optimizer: Any = None,
        *,
        scaler: Any = None,
        done: int = 0,
        of: int | None = None,
    ) -> Self:
        """Record the model's training from its next forward pass on.

        optimizer  for the learning rate
        scaler     a torch.amp.GradScaler, if the loop has one (accelerate's is found by itself)
        done       steps that were done before, to go on with a run in the folder
        of         how many there will be
        """
        fields.whole("done", done, 0, 2**53 - 1)
        self._begin(model, optimizer, scaler=scaler, done=done, of=of)
        self._now().arm(done + 1)
        return self

    def observe(self, loss: Any = None) -> None:
        """Once a step: after its (last) backward pass, before clipping and the update.

        Without `loss` the one that the model returned is logged.
        """
        recording = self._now()
        recording.take(recording.done + 1, loss)
        recording.arm(recording.done + 1)

    def detach(self) -> None:
        """The training is over: the last matrices are kept, and no hook stays in the model."""
        self._end(DONE)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Start a run, or go on with one."""
        try:
            if getattr(args, "n_gpu", 1) > 1:
                raise EmbtieError(
                    "Several devices in one process (nn.DataParallel) are not recorded.",
                    "Start one process for each, with torchrun or accelerate launch.",
                )
            self._begin(
                kwargs["model"],
                kwargs.get("optimizer"),
                done=state.global_step,
                of=state.max_steps,
                about=_recipe(args, state),
                tokens=kwargs.get("processing_class"),
            )
        except Exception as error:
            self._recording = None
            logger.warning("This training is not recorded. %s", error)

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Look at the step to come, if it is one that is recorded."""
        if self._recording is not None:
            self._recording.arm(state.global_step + 1)

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Its gradient is whole now; that it is clipped already does not matter."""
        if self._recording is not None:
            self._recording.take(state.global_step + 1)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """The training is over."""
        self._end(DONE)

    def _begin(
        self,
        model: Any,
        optimizer: Any,
        *,
        scaler: Any = None,
        done: int,
        of: int | None,
        about: dict[str, Any] | None = None,
        tokens: Any = None,
    ) -> None:
        self._end(STOPPED)
        if not isinstance(model, nn.Module):
            raise EmbtieError(
                f"What is to be recorded is a {type(model).__name__}, not a model.",
                "Give the loaded model that is trained, as those of transformers are.",
            )
        bare = extract_model_from_parallel(model, keep_torch_compile=False)
        plan = self._plan.with_tokens(tokens)
        self._recording = Recording(plan, bare, optimizer, scaler, done, of, about)
        if self._recording.writer is not None:
            self.folder = self._recording.writer.store.folder
        # A loop may end without a word; then the run has stopped as far as anybody knows.
        self._at_exit = weakref.finalize(self, self._recording.close, STOPPED)

    def _end(self, state: str) -> None:
        if self._at_exit is not None:
            self._at_exit.detach()
        if self._recording is not None:
            self._recording.close(state)
        self._recording = self._at_exit = None

    def _now(self) -> Recording:
        if self._recording is None:
            raise EmbtieError("No model is attached.", "Call .attach(model) before the training.")
        return self._recording


def _recipe(args: Any, state: Any) -> dict[str, Any]:
    """What a Trainer's arguments say, by the names that runs trained here have."""
    micro = getattr(args, "gradient_accumulation_steps", 1)
    processes = getattr(args, "world_size", 1)
    precision = "bfloat16" if getattr(args, "bf16", False) else "float32"
    return {
        "batch": args.train_batch_size * micro * processes,
        "accumulation": micro,
        "lr": args.learning_rate,
        "warmup": args.get_warmup_steps(state.max_steps),
        "clip": args.max_grad_norm,
        "weight_decay": args.weight_decay,
        "seed": args.seed,
        "precision": "float16" if getattr(args, "fp16", False) else precision,
    }
