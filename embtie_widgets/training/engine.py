"""The training loop: one model, one corpus, the plug-ins given, and nothing hidden."""

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.devices import has_float64, pick_device
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus, all_windows
from embtie_widgets.training.interventions import Intervention, Step
from embtie_widgets.training.run_store import Checkpoint
from embtie_widgets.training.splitting import Split

# Initialisation and dropout draw from torch's one global generator: whoever does so holds this.
_DRAWING = threading.RLock()


def build_model(config: TrainingConfig, *, tied: bool, seed: int) -> Any:
    """A fresh model with transformers' own initialisation, drawn from `seed`, on the CPU."""
    from huggingface_hub.errors import StrictDataclassError
    from transformers import AutoConfig, AutoModelForCausalLM

    fields = dict(config.model) | {"tie_word_embeddings": tied}
    try:
        known = AutoConfig.for_model(fields.pop("model_type"), **fields)
        with _seeded(seed):
            made = AutoModelForCausalLM.from_config(known, dtype=torch.float32)
    except (ValueError, TypeError, StrictDataclassError) as error:
        raise EmbtieError(
            f"transformers refuses the model configuration: {str(error)[:200]}",
            "Give the fields of a causal language model that transformers knows.",
        ) from None
    return made.double() if config.precision == "float64" else made


@contextmanager
def _seeded(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """torch's global generators at `seed`, of the CPU and of `device`, and as they were after.

    That of MPS, which knows no forks, stays at what was drawn last.
    """
    kind = "cpu" if device is None else device.type
    places = [device] if kind == "cuda" else []
    with _DRAWING, torch.random.fork_rng(places):
        torch.default_generator.manual_seed(seed)
        if kind in ("cuda", "mps"):
            getattr(torch, kind).manual_seed(seed)
        yield


class HeldOut(NamedTuple):
    """Mean next-token cross-entropy in nats, and the share of predictions that are right; NaN for
    none."""

    loss: float
    accuracy: float


def held_out_loss(
    model: Any,
    corpus: Corpus,
    batch: int,
    length: int,
    interventions: Sequence[Intervention] = (),
) -> float:
    """The loss of `held_out` alone."""
    return held_out(model, corpus, batch, length, interventions).loss


def held_out(
    model: Any,
    corpus: Corpus,
    batch: int,
    length: int,
    interventions: Sequence[Intervention] = (),
) -> HeldOut:
    """How a model does over every whole window of the corpus.

    With what the plug-ins change whenever the model predicts, a cap say, and without penalties.
    """
    total, right, tokens = 0.0, 0, 0
    with torch.no_grad():
        for window in all_windows(corpus.ids, batch, length):
            ids = window.to(model.device)
            logits = model(input_ids=ids[:, :-1], use_cache=False).logits
            for plug in interventions:
                logits = plug.in_use(logits)
            total += float(_cross_entropy(logits, ids[:, 1:])) * ids[:, 1:].numel()
            right += int((logits.argmax(-1) == ids[:, 1:]).sum())
            tokens += ids[:, 1:].numel()
    return HeldOut(total / tokens, right / tokens) if tokens else HeldOut(math.nan, math.nan)


class Run:
    """A model in training, and how far it has come.

    done      optimiser steps done
    whole     whether it stands between two steps: an interrupt may tear one
    split     how the gradient of the shared matrix is split; None where no plug-in asks for it
    diverged  the step whose loss or gradient is not finite, and that was not done; None for none
    """

    def __init__(
        self,
        config: TrainingConfig,
        model: Any,
        corpus: Corpus,
        name: str = "run",
        interventions: Sequence[Intervention] = (),
    ) -> None:
        self.config, self.name, self.interventions = config, name, tuple(interventions)
        self.batches = corpus.batches(config.batch, config.length, config.seed)
        self.device = pick_device(config.device)
        self._cast = _cast(config.precision, self.device)
        self.model = model.to(self.device).train()
        self._check_ids(corpus)
        self._check_length()
        self.done, self.whole = 0, True
        self.diverged: int | None = None
        for plug in self.interventions:
            plug.on_build(self.model, name)
        self.split = Split() if any(plug.splits for plug in self.interventions) else None
        self.optimiser = self._optimiser()

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be done as asked."""
        told = () if self.split is None else self.split.notes
        if self.diverged is None:
            return told
        steps = f"step {self.diverged:,} of {self.config.steps:,}"
        return (
            *told,
            f"In {steps} the loss or its gradient was not finite any more, so the run ended there; "
            "its matrices are those before it.",
        )

    @property
    def ended(self) -> bool:
        """Whether no step is left to do, or none can be done."""
        return self.done >= self.config.steps or self.diverged is not None

    @property
    def keeps(self) -> bool:
        """Whether E and U are to be kept as they are now."""
        return self.config.keeps(self.done) or self.ended

    def advance(self) -> dict[str, Any] | None:
        """Do the next step; its row where that is logged, and where the run diverges.

        A row has step, run, loss (plain cross-entropy, nats per token, of the batch before the
        update), lr, gradient_norm (before clipping), and what plug-ins add.  On one device, with
        one number of threads, the same step gives the same bits: its random numbers depend on the
        seed and on its number, whatever was drawn before.
        """
        step = self._next_step()
        seeds = np.random.SeedSequence([self.config.seed, step.number])
        with _seeded(int(seeds.generate_state(1)[0]), self.device), _repeatable(self.device):
            self._backward(step)
            self.whole = False
            for plug in self.interventions:
                plug.on_gradients(step)
            if self._is_finite(step):
                self._update(step)
                for plug in self.interventions:
                    plug.after_step(step)
                self.done, self.whole = step.number, True
            else:
                self.diverged = step.number
        shown = step.logged or self.diverged is not None
        return {k: _plain(v) for k, v in step.metrics.items()} if shown else None

    def finished(self) -> Any:
        """The model as it is handed out and stored."""
        model = self.model
        for plug in self.interventions:
            model = plug.finished(model)
        return model

    def state_dict(self) -> dict[str, Any]:
        """All that the remaining steps depend on: tensors and plain values."""
        return {
            "done": self.done,
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "plugs": [plug.state_dict() for plug in self.interventions],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from where `state_dict` was taken, to the same bits as without a break."""
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        for plug, known in zip(self.interventions, state["plugs"], strict=True):
            plug.load_state_dict(known)
        self.done, self.whole, self.diverged = int(state["done"]), True, None

    def _next_step(self) -> Step:
        number = self.done + 1
        window = self.batches[number].to(self.device)
        return Step(
            number=number,
            run=self.name,
            model=self.model,
            input_ids=window[:, :-1],
            targets=window[:, 1:],
            logged=self.config.logs(number),
            metrics={"step": number, "run": self.name},
            optimiser=self.optimiser,
        )

    def _backward(self, step: Step) -> None:
        self.optimiser.zero_grad(set_to_none=True)
        with nullcontext() if self.split is None else self.split.of(step):
            self._loss(step).backward()

    def _loss(self, step: Step) -> Tensor:
        def embedded(module: Any, arguments: Any, output: Tensor) -> Tensor:
            for plug in self.interventions:
                output = plug.on_embeddings(output, step)
            return output

        hook = self.model.get_input_embeddings().register_forward_hook(embedded)
        try:
            with self._autocast():
                logits = self.model(input_ids=step.input_ids, use_cache=False).logits
        finally:
            hook.remove()
        for plug in self.interventions:
            logits = plug.on_logits(logits, step)
        loss = _cross_entropy(logits, step.targets)
        step.metrics["loss"] = loss.detach()
        for plug in self.interventions:
            loss = plug.on_loss(loss, logits, step)
        return loss

    @property
    def precision(self) -> str:
        """Of the products."""
        exact = "float64" if self.config.precision == "float64" else "float32"
        return "bfloat16" if self._cast else exact

    def _autocast(self) -> Any:
        return torch.autocast(self.device.type, torch.bfloat16) if self._cast else nullcontext()

    def _is_finite(self, step: Step) -> bool:
        """Whether the step can be done: from what is not finite no model comes back."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        rate = self.config.learning_rate(step.number)
        step.metrics |= {"lr": rate, "gradient_norm": norm}
        return bool(torch.isfinite(norm) & torch.isfinite(step.metrics["loss"]))

    def _update(self, step: Step) -> None:
        norm = step.metrics["gradient_norm"]
        if self.config.clip:
            torch.nn.utils.clip_grads_with_norm_(self.model.parameters(), self.config.clip, norm)
            step.clip = torch.clamp(self.config.clip / (norm + 1e-6), max=1.0)
        for group in self.optimiser.param_groups:
            group["lr"] = step.metrics["lr"]
        self.optimiser.step()

    def _optimiser(self) -> torch.optim.Optimizer:
        config = self.config
        optimiser: torch.optim.Optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=config.lr,
            betas=config.betas,
            eps=config.eps,
            weight_decay=config.weight_decay,
        )
        for plug in self.interventions:
            optimiser = plug.on_optimiser(optimiser)
        return optimiser

    def _check_ids(self, corpus: Corpus) -> None:
        rows = self.model.get_input_embeddings().weight.shape[0]
        low, high = int(corpus.ids.min()), int(corpus.ids.max())
        if low < 0 or high >= rows:
            raise EmbtieError(
                f"The corpus has token ids from {low} to {high}; the model has {rows} rows.",
                "Use the tokenizer that belongs to the model, or a larger vocab_size.",
            )

    def _check_length(self) -> None:
        limit = getattr(self.model.config, "max_position_embeddings", None)
        if isinstance(limit, int) and 0 < limit < self.config.length:
            raise EmbtieError(
                f"length is {self.config.length}; the model has {limit} positions "
                "(max_position_embeddings).",
                "Set a smaller length in a TrainingConfig, or give the model more positions.",
            )


def matrices_of(model: Any, step: int) -> Checkpoint:
    """A copy of the model's E and U as they are after `step`, on the CPU."""
    source = model.get_input_embeddings().weight
    target = model.get_output_embeddings().weight
    kept = source.detach().to("cpu", copy=True)
    if target is source:
        return Checkpoint(step, kept, kept)
    return Checkpoint(step, kept, target.detach().to("cpu", copy=True))


def _cast(precision: str, device: torch.device) -> bool:
    """Whether products run in bfloat16 on the device."""
    if precision == "float64" and not has_float64(device):
        raise EmbtieError(
            f"The device '{device.type}' does not compute in float64.",
            "Choose the precision 'float32', or the device 'cpu'.",
        )
    if precision == "auto":
        return device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return precision == "bfloat16"


@contextmanager
def _repeatable(device: torch.device) -> Iterator[None]:
    """On CUDA, only kernels that give the same bits each time; the CPU's always do."""
    before = torch.get_deterministic_debug_mode()
    if device.type == "cuda":
        torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)


def _cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    exact = logits if logits.dtype == torch.float64 else logits.float()
    return functional.cross_entropy(exact.reshape(-1, exact.shape[-1]), targets.reshape(-1))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) and value.ndim == 0 else value
