"""Plug-ins that keep the logits from running away, and those that show why they do.

The mean row mu of the output matrix is the part of it that all tokens share.  The gradient does not
move it: over the rows of an untied output matrix it adds up to 0.  Adam does, as it divides
each entry by a measure of its own.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW, Optimizer

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.centering import mu_loss, soft_cap, z_loss
from embtie_widgets.measures.means import mean_row
from embtie_widgets.requests.centering import NONE, spelt
from embtie_widgets.requests.fields import number, whole
from embtie_widgets.training.interventions import Intervention, Step, registered

WEIGHT = 1e-4  # the paper's, of mu-loss and of z-loss


@registered("mu-centering")
@dataclass
class MuCentering(Intervention):
    """After every `interval`th step, take the mean row off all stored rows of the output matrix.

    It is the mean of the first `rows` rows, those of real tokens, or of all.  As all rows move
    alike, the softmax of an untied model without cap stays what it was.  A tied matrix is moved as
    a whole, and its inputs with it.  What the optimiser remembers stays.
    """

    interval: int = 1
    rows: int | None = None

    def __post_init__(self) -> None:
        whole("interval", self.interval, 1, 10**9)
        _check_rows(self.rows)

    def on_build(self, model: Any, run: str) -> None:
        """Check that there are so many rows."""
        _check_rows(self.rows, _output(model))

    def after_step(self, step: Step) -> None:
        """Centre when it is time."""
        if step.number % self.interval == 0:
            with torch.no_grad():
                matrix = _own(step.model)
                matrix -= mean_row(matrix, self.rows)


@registered("mu-loss")
@dataclass
class MuLoss(Intervention):
    """Add coefficient |mu|^2, with the mean of the first `rows` rows or of all, to the loss."""

    coefficient: float = WEIGHT
    rows: int | None = None

    def __post_init__(self) -> None:
        number("coefficient", self.coefficient, 0.0, 1e9)
        _check_rows(self.rows)

    def on_build(self, model: Any, run: str) -> None:
        """Check that there are so many rows."""
        _check_rows(self.rows, _output(model))

    def on_loss(self, loss: Tensor, logits: Tensor, step: Step) -> Tensor:
        """The loss with the penalty."""
        return loss + self.coefficient * mu_loss(_output(step.model), self.rows)


@registered("z-loss")
@dataclass
class ZLoss(Intervention):
    """Add coefficient times the mean square of logsumexp over the logits that the loss sees."""

    coefficient: float = WEIGHT

    def __post_init__(self) -> None:
        number("coefficient", self.coefficient, 0.0, 1e9)

    def on_loss(self, loss: Tensor, logits: Tensor, step: Step) -> Tensor:
        """The loss with the penalty."""
        return loss + self.coefficient * z_loss(logits)


@registered("soft-cap")
@dataclass
class SoftCap(Intervention):
    """Logits are cap tanh(logit / cap), in training and whenever the model predicts."""

    cap: float = 30.0

    def __post_init__(self) -> None:
        number("cap", self.cap, 1e-6, 1e12)

    def on_logits(self, logits: Tensor, step: Step) -> Tensor:
        """As the loss sees them."""
        return self.in_use(logits)

    def in_use(self, logits: Tensor) -> Tensor:
        """As they are evaluated."""
        return soft_cap(logits, self.cap)


@registered("sgd")
@dataclass
class PlainSgd(Intervention):
    """Plain gradient descent at the run's rates: no momentum, no weight decay."""

    def on_optimiser(self, optimiser: Optimizer) -> Optimizer:
        """In place of the run's own."""
        return SGD(_parameters(optimiser), lr=optimiser.param_groups[0]["lr"])


@registered("coupled-adam")
@dataclass
class CoupledAdam(Intervention):
    """AdamW whose second moment of the embedding matrices is the mean over the vocabulary.

    So all rows are divided by the same, and the mean row of an untied output matrix stays where it
    is, but for weight decay.  Source: Stollenwerk & Stollenwerk 2025.
    """

    def on_build(self, model: Any, run: str) -> None:
        """Find the matrices; a tied one is there once."""
        matrices = (model.get_input_embeddings().weight, _own(model))
        self._matrices = tuple({id(matrix): matrix for matrix in matrices}.values())

    def on_optimiser(self, optimiser: Optimizer) -> Optimizer:
        """In place of AdamW, with its settings."""
        if not isinstance(optimiser, AdamW):
            raise EmbtieError(
                f"Coupled Adam changes AdamW; the run has {type(optimiser).__name__}.",
                "Leave one of the two plug-ins out.",
            )
        matrices, self._matrices = self._matrices, ()  # a recipe must not keep a model alive
        return CoupledAdamW(_parameters(optimiser), matrices, **optimiser.defaults)


class CoupledAdamW(AdamW):
    """AdamW with one second moment (1, d) for all rows of each of `matrices` (V, d)."""

    def __init__(
        self, parameters: Iterable[Tensor], matrices: Iterable[Tensor], **defaults: Any
    ) -> None:
        super().__init__(parameters, **{k: defaults[k] for k in _SETTINGS})
        self._matrices = tuple(matrices)

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step of all parameters."""
        gradients = [matrix.grad for matrix in self._matrices]
        for matrix in self._matrices:
            matrix.grad = None  # AdamW leaves alone what has no gradient
        loss = super().step(closure)
        for matrix, gradient in zip(self._matrices, gradients, strict=True):
            matrix.grad = gradient
            if gradient is not None:
                self._step_of(matrix, gradient)
        return cast("float | None", loss)

    def _step_of(self, matrix: Tensor, gradient: Tensor) -> None:
        group, state = self.param_groups[0], self.state[matrix]
        if not state:
            state["step"] = torch.tensor(0.0)
            state["exp_avg"] = torch.zeros_like(matrix)
            state["exp_avg_sq"] = torch.zeros_like(matrix[:1])
        state["step"] += 1
        done, (beta1, beta2) = int(state["step"]), group["betas"]
        first: Tensor = state["exp_avg"].lerp_(gradient, 1 - beta1)
        second: Tensor = state["exp_avg_sq"].lerp_(
            gradient.square().mean(0, keepdim=True), 1 - beta2
        )
        scale = (second / (1 - beta2**done)).sqrt() + group["eps"]
        matrix.mul_(1 - group["lr"] * group["weight_decay"])
        matrix.addcdiv_(first, scale, value=-group["lr"] / (1 - beta1**done))


_SETTINGS = ("lr", "betas", "eps", "weight_decay")


def method_plugs(
    method: str,
    coefficient: float | None = None,
    cap: float = 30.0,
    interval: int = 1,
    rows: int | None = None,
) -> tuple[Intervention, ...]:
    """The plug-ins of a method by its name; `coefficient` weighs mu-loss and z-loss.

    The z-loss sees capped logits, in whatever order the two stand.
    """
    weight = WEIGHT if coefficient is None else coefficient
    make: dict[str, Callable[[], Intervention]] = {
        "mu-centering": lambda: MuCentering(interval, rows),
        "mu-loss": lambda: MuLoss(weight, rows),
        "z-loss": lambda: ZLoss(weight),
        "soft-cap": lambda: SoftCap(cap),
        "coupled-adam": CoupledAdam,
        "sgd": PlainSgd,
    }
    name = spelt(method)
    return () if name == NONE else tuple(make[part]() for part in name.split("+"))


def _output(model: Any) -> Tensor:
    """The matrix (V, d) that the head reads."""
    return cast("Tensor", model.get_output_embeddings().weight)


def _own(model: Any) -> Tensor:
    """That matrix, to be changed in place."""
    matrix = _output(model)
    if not isinstance(matrix, nn.Parameter):
        raise EmbtieError(
            "The output matrix of this run is a product of others, so that it cannot be moved.",
            "Leave out the factorised head, or the method that moves its matrix.",
        )
    return matrix


def _parameters(optimiser: Optimizer) -> list[Tensor]:
    return [p for group in optimiser.param_groups for p in group["params"]]


def _check_rows(rows: int | None, matrix: Tensor | None = None) -> None:
    if rows is not None:
        whole("rows", rows, 1, 10**9 if matrix is None else len(matrix))
