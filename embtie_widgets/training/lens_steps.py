"""How translators are moved: by the closed form, by the published recipe, by natural gradients.

A natural gradient step measures a change of a translator by what it does to the distribution:
the gradient is divided by the covariance of the states on the one side and, on the other, by the
mean Fisher information of the head, carried back through the final norm.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.devices import has_float64
from embtie_widgets.progress import Progress
from embtie_widgets.training.lens_loss import Divergence, Words
from embtie_widgets.training.lens_states import Moments, Window

# Ridges to choose from, relative to the variance of each coordinate.
_RIDGES = [10 ** (power / 2) for power in range(-12, 3)]
_STATES, _FISHER = 1e-2, 0.3  # damping of the two sides of the natural gradient
_ASKED = 1024  # positions that the Fisher side is measured at, at least
_WHOLE, _TOP, _DRAWN = 8192, 3072, 1024  # vocabularies above _WHOLE are sampled


@dataclass(frozen=True)
class Recipe:
    """How gradients become steps; the learning rate falls linearly to 0."""

    lr: float | None
    momentum: float
    weight_decay: float
    clip: float | None
    natural: bool

    def optimizer(self, parameters: list[torch.nn.Parameter], lr: float) -> torch.optim.SGD:
        """SGD with Nesterov momentum, whose rate is of whole steps: momentum does not raise it."""
        return torch.optim.SGD(
            parameters,
            lr=lr * (1 - self.momentum),
            momentum=self.momentum,
            nesterov=self.momentum > 0,
            weight_decay=self.weight_decay,
        )


RECIPES = {
    "fast": Recipe(lr=None, momentum=0.5, weight_decay=0.0, clip=None, natural=True),
    "published": Recipe(lr=1.0, momentum=0.9, weight_decay=1e-3, clip=1.0, natural=False),
}


@dataclass(frozen=True, eq=False)
class Fit:
    """What follows from the moments: inverses (L, d, d), the closed form, ridges by layer."""

    inverses: Tensor
    weights: Tensor
    biases: Tensor
    ridges: list[float]


def fit(found: Moments, progress: Progress) -> Fit:
    """Affine ridge regression of the aims on the states of each layer, the ridge chosen by
    generalised cross-validation."""
    L, d = found.centre.shape
    weights, inverses = torch.empty_like(found.gram), torch.empty_like(found.gram)
    biases, ridges = torch.empty_like(found.centre), []
    eye = torch.eye(d, device=weights.device)
    for layer in range(L):
        progress("solving least squares", layer, L)
        scale, values, basis = _spectrum(found.gram[layer])
        known = basis.T @ (scale[:, None] * _double(found.cross[layer]))
        ridge = _ridge(values, known.square().sum(1), found)
        side = scale[:, None] * basis
        slope = ((side / (values + ridge)) @ known).to(weights)
        inverses[layer] = ((side / (values + max(ridge, _STATES))) @ side.T).to(weights)
        weights[layer] = slope.T - eye
        biases[layer] = found.aim - found.centre[layer] @ slope
        ridges.append(ridge)
    progress("solving least squares", L, L)
    return Fit(inverses, weights, biases, ridges)


def _double(tensor: Tensor) -> Tensor:
    return (tensor if has_float64(tensor.device) else tensor.cpu()).double()


def _spectrum(gram: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Scales that bring the coordinates to variance 1, and eigenvalues and vectors after that."""
    gram = _double(gram)
    variance = gram.diagonal()
    floor = float(variance.max()) * 1e-12 or 1.0
    scale = variance.clamp_min(floor).rsqrt()
    values, basis = torch.linalg.eigh(scale[:, None] * gram * scale)
    return scale, values.clamp_min(0), basis


def _ridge(values: Tensor, explained: Tensor, found: Moments) -> float:
    """The ridge whose error on other positions is likely the least (Golub, Heath, Wahba 1979)."""

    def error(ridge: float) -> float:
        left = found.square - float(
            (explained * (values + 2 * ridge) / (values + ridge) ** 2).sum()
        )
        free = 1 - (float((values / (values + ridge)).sum()) + 1) / found.n
        return max(left, 0.0) / free**2 if free > 0 else float("inf")

    return min(_RIDGES, key=error)


class Metric:
    """Turns gradients of a translator into natural gradients."""

    def __init__(self, found: Moments, fitted: Fit, loss: Divergence, seed: int) -> None:
        self.centre, self.inverses, self.loss = found.centre, fitted.inverses, loss
        values, basis = torch.linalg.eigh(_double(found.spread))
        root = basis * values.clamp_min(0).sqrt()
        self._root = root.to(found.gram) * loss.factor
        self._left: dict[int, Tensor] = {}
        self._seed = seed

    def measure(self, layer: int, states: Tensor) -> None:
        """The Fisher side, at translated states (n, d)."""
        generator = torch.Generator().manual_seed(self._seed + layer)
        noise = torch.randn(len(states), len(self._root), generator=generator).to(self._root)
        back = _double(self.loss.back(states, noise @ self._root.T))
        fisher = back.T @ back / len(back)
        damping = _FISHER * fisher.diagonal().mean().clamp_min(1e-30)
        fisher.diagonal().add_(damping)
        self._left[layer] = torch.linalg.inv(fisher).to(self._root)

    def turn(self, layer: int, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Gradients of A (d, d) and b (d,) to the steps that change the distribution evenly."""
        left, centre = self._left[layer], self.centre[layer]
        # About the centre of the states A and b hardly disturb each other.
        turned = left @ (weight - torch.outer(bias, centre)) @ self.inverses[layer]
        return turned, left @ bias - turned @ centre

    def asked(self) -> int:
        """How many positions `measure` wants."""
        return max(_ASKED, 4 * self.centre.shape[1])


class Vocabulary:
    """What part of a large vocabulary a step looks at: the words that the text makes likely, and
    some of the others drawn to stand for all of these."""

    def __init__(self, loss: Divergence, likely: Tensor, seed: int) -> None:
        self._loss, rows = loss, len(likely)
        self.sampled = rows > _WHOLE and loss.cap is None
        if self.sampled:
            self._generator = torch.Generator().manual_seed(seed)
            order = likely.cpu().argsort(descending=True, stable=True)
            self._top, self._rest = order[:_TOP], order[_TOP:]
            share = likely.cpu()[self._rest]
            self._chance = 0.5 * share / share.sum() + 0.5 / len(share)

    def draw(self) -> Words | None:
        """Other words at each call; None where all are looked at."""
        if not self.sampled:
            return None
        drawn = torch.multinomial(self._chance, _DRAWN, replacement=True, generator=self._generator)
        stands_for = torch.cat([torch.zeros(_TOP), -(self._chance[drawn] * _DRAWN).log()])
        weight, bias = self._loss.all.weight, self._loss.all.bias
        rows = torch.cat([self._top, self._rest[drawn]]).to(weight.device)
        added = stands_for.to(weight)
        return Words(weight[rows], added if bias is None else added + bias[rows])


def gradients(
    loss: Divergence,
    window: Window,
    rows: Tensor,
    layer: int,
    parameters: tuple[Tensor, Tensor],
    words: Words | None,
) -> tuple[float, Tensor, Tensor]:
    """Mean KL in nats of one layer at those positions; its gradients by A (d, d) and b (d,)."""
    x, (weight, bias) = window.states[layer][rows], parameters
    kl, back = loss(translated(x, weight, bias), window.target.rows(rows), words, gradient=True)
    mean = float(kl.mean())
    if back is None or not mean < float("inf"):
        raise EmbtieError(
            f"The training of the lens went astray: the KL of layer {layer} is no number.",
            "Set a smaller learning rate.",
        )
    return mean, back.T @ x / len(x), back.mean(0)


def translated(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """(n, d) -> (n, d)."""
    return x + torch.nn.functional.linear(x, weight, bias)


def usual_lr(tokens: int, width: int) -> float:
    """For natural gradients: the fewer positions a step has, the less of it is to be trusted."""
    return float(min(0.5, 0.05 * (tokens / width) ** 0.5))


def usual_tokens(recipe: str, head: Any, layers: int) -> int:
    """Positions a step: as many as keep one on a processor below about a tenth of a second."""
    if recipe == "published":
        return 2048
    rows, width = head.weight.shape
    products = 4 * layers * width * min(rows, _TOP + _DRAWN if rows > _WHOLE else rows)
    budget = 2.5e9 if head.device.type == "cpu" else 1e12
    return int(min(max(budget / products, 128), 4096))
