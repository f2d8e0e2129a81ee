"""What a training run is made of: everything that decides its numbers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import fields
from embtie_widgets.training.presets import preset

PRECISIONS = ("auto", "float32", "bfloat16", "float64")


@dataclass(frozen=True)
class TrainingConfig:
    """One run's recipe.

    model         a transformers configuration as a mapping with "model_type"; whether it is tied
                  is decided by the run, not here
    steps         optimiser steps, each on `batch` windows of `length` tokens
    lr            peak learning rate: linear warm-up over `warmup` steps, then a cosine down to
                  `final_fraction` of it at the last step
    weight_decay  of AdamW, on every parameter, embeddings included
    clip          largest gradient norm, over all parameters together; 0 never clips
    device        "cpu", "cuda", "mps", or "auto" for the fastest of this machine
    precision     of the products: "float32"; "bfloat16", the weights staying float32; "auto" for
                  bfloat16 on a CUDA device that has it, else float32; "float64", weights and all
    checkpoints   steps after which E and U are kept (0 is the start); the last is always kept,
                  those past the last are left out
    log_every     every so many steps a row of metrics is kept; the first and last always
    """

    model: Mapping[str, Any] = field(default_factory=lambda: preset("nano-olmo"))
    steps: int = 300
    batch: int = 16
    length: int = 128
    lr: float = 3e-3
    warmup: int = 50
    final_fraction: float = 0.1
    betas: tuple[float, float] = (0.9, 0.95)
    eps: float = 1e-8
    weight_decay: float = 0.1
    clip: float = 1.0
    seed: int = 0
    device: str = "cpu"
    precision: str = "auto"
    checkpoints: tuple[int, ...] = (0,)
    log_every: int = 10

    def __post_init__(self) -> None:
        if not isinstance(self.model, Mapping) or "model_type" not in self.model:
            raise EmbtieError(
                "The model configuration names no model_type.",
                'Give a mapping such as {"model_type": "olmo", "hidden_size": 128, ...}.',
            )
        for name in ("steps", "batch", "length", "log_every"):
            fields.whole(name, getattr(self, name), 1, 10**9)
        for name in ("warmup", "seed"):
            fields.whole(name, getattr(self, name), 0, 2**31 - 1)
        for name in ("lr", "eps", "weight_decay", "clip"):
            fields.number(name, getattr(self, name), 0.0, 1e9)
        fields.number("final_fraction", self.final_fraction, 0.0, 1.0)
        if len(_listed("betas", self.betas)) != 2:
            raise EmbtieError(
                "betas needs exactly two numbers.", "Give a pair such as (0.9, 0.95)."
            )
        for beta in self.betas:
            fields.number("betas", beta, 0.0, 1.0, below=True)
        for step in _listed("checkpoints", self.checkpoints):
            fields.whole("checkpoints", step, 0, 10**9)
        fields.choice("precision", self.precision, PRECISIONS)

    @classmethod
    def from_value(cls, value: Any) -> Self:
        """From itself, the name of a preset, or a transformers configuration, a mapping or not."""
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            return cls(model=preset(value))
        return cls(model=value.to_dict() if hasattr(value, "to_dict") else value)

    def logs(self, step: int) -> bool:
        """Whether step `step`, counted from 1, is logged."""
        return step in (1, self.steps) or step % self.log_every == 0

    def keeps(self, done: int) -> bool:
        """Whether E and U are kept as they are after so many steps."""
        return done in self.checkpoints or done == self.steps

    def learning_rate(self, step: int) -> float:
        """The rate of step `step`, counted from 1."""
        if step <= self.warmup:
            return self.lr * step / self.warmup
        after = (step - self.warmup) / max(1, self.steps - self.warmup)
        wave = 0.5 * (1.0 + math.cos(math.pi * min(1.0, after)))
        return self.lr * (self.final_fraction + (1.0 - self.final_fraction) * wave)

    def to_dict(self) -> dict[str, Any]:
        """Every field as a plain JSON value."""
        lists = {"betas": list(self.betas), "checkpoints": list(self.checkpoints)}
        return asdict(self) | lists


def _listed(name: str, value: Any) -> Sequence[Any]:
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise EmbtieError(
            f"{name} is a {type(value).__name__}; expected several numbers.",
            f"Give {name} as a tuple or a list.",
        )
    return value
