"""The training loop: one model, one corpus, the plug-ins given, and nothing hidden."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.devices import pick_device
from embtie_widgets.progress import Progress, silent
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import BatchOrder, Corpus, all_windows
from embtie_widgets.training.interventions import Intervention, Step
from embtie_widgets.training.run_store import Checkpoint

_BUILDING = threading.Lock()  # initialisation draws from torch's one global generator


def build_model(config: TrainingConfig, *, tied: bool, seed: int) -> Any:
    """A fresh float32 model with transformers' own initialisation, drawn from `seed`."""
    from huggingface_hub.errors import StrictDataclassError
    from transformers import AutoConfig, AutoModelForCausalLM

    fields = dict(config.model) | {"tie_word_embeddings": tied}
    try:
        known = AutoConfig.for_model(fields.pop("model_type"), **fields)
        with _BUILDING, _seeded(seed):
            return AutoModelForCausalLM.from_config(known, dtype=torch.float32)
    except (ValueError, TypeError, StrictDataclassError) as error:
        raise EmbtieError(
            f"transformers refuses the model configuration: {str(error)[:200]}",
            "Give the fields of a causal language model that transformers knows.",
        ) from None


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """torch's global generator at `seed`, and as it was afterwards."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


def held_out_loss(model: Any, corpus: Corpus, batch: int, length: int) -> float:
    """Mean next-token cross-entropy in nats over every whole window of the corpus."""
    total, tokens = 0.0, 0
    with torch.no_grad():
        for window in all_windows(corpus.ids, batch, length):
            ids = window.to(model.device)
            logits = model(input_ids=ids[:, :-1], use_cache=False).logits.float()
            total += float(_cross_entropy(logits, ids[:, 1:])) * ids[:, 1:].numel()
            tokens += ids[:, 1:].numel()
    return total / max(1, tokens)


class Run:
    """A model in training: where it stands, what was logged, what was kept.

    metrics      one mapping per logged step: step, run, loss (plain cross-entropy, nats per
                 token, of that step's batch before the update), lr, gradient_norm (before
                 clipping), and what plug-ins add
    checkpoints  E and U at the steps asked for, in order, as float32 on the CPU
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
        self.batches = BatchOrder(corpus.ids, config.batch, config.length, config.seed)
        self.device = pick_device(config.device)
        self.model = model.to(self.device).train()
        self._check_ids(corpus)
        self._check_length()
        self.done = 0
        self.metrics: list[dict[str, Any]] = []
        self.checkpoints: list[Checkpoint] = []
        for plug in self.interventions:
            plug.on_build(self.model, name)
        self.optimiser = self._optimiser()
        self._keep_checkpoint()

    def train(self, progress: Progress = silent) -> None:
        """Go on to the last step.  `progress` may raise; what was logged stays.

        On one device, with one number of threads, the same run gives the same bits.
        """
        with _seeded(self.config.seed), _repeatable(self.device):
            while self.done < self.config.steps:
                self._advance()
                progress(f"training {self.name}", self.done, self.config.steps)

    def _advance(self) -> None:
        step = self._next_step()
        loss = self._loss(step)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        for plug in self.interventions:
            plug.on_gradients(step)
        self._update(step)
        for plug in self.interventions:
            plug.after_step(step)
        self.done = step.number
        if step.logged:
            self.metrics.append({name: _plain(value) for name, value in step.metrics.items()})
        self._keep_checkpoint()

    def _next_step(self) -> Step:
        number, config = self.done + 1, self.config
        window = self.batches[number].to(self.device)
        logged = number in (1, config.steps) or number % config.log_every == 0
        metrics = {"step": number, "run": self.name}
        return Step(number, self.name, self.model, window[:, :-1], window[:, 1:], logged, metrics)

    def _loss(self, step: Step) -> Tensor:
        def embedded(module: Any, arguments: Any, output: Tensor) -> Tensor:
            for plug in self.interventions:
                output = plug.on_embeddings(output, step)
            return output

        hook = self.model.get_input_embeddings().register_forward_hook(embedded)
        try:
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

    def _update(self, step: Step) -> None:
        limit = self.config.clip or float("inf")
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), limit)
        rate = self.config.learning_rate(step.number)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        step.metrics |= {"lr": rate, "gradient_norm": norm}

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

    def _keep_checkpoint(self) -> None:
        if self.done in self.config.checkpoints or self.done == self.config.steps:
            self.checkpoints.append(matrices_of(self.model, self.done))

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
    """A copy of the model's E and U as they are after `step`."""
    source = model.get_input_embeddings().weight
    target = model.get_output_embeddings().weight
    kept = source.detach().to("cpu", torch.float32, copy=True)
    if target is source:
        return Checkpoint(step, kept, kept)
    return Checkpoint(step, kept, target.detach().to("cpu", torch.float32, copy=True))


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
    return functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, Tensor) else value
