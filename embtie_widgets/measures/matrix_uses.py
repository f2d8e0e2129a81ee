"""The uses that a forward pass makes of the input and the output matrix, and what comes back.

All functions of torch that the model calls are heard, so whatever else is done with a matrix than
looking up rows and multiplying states is noticed, and nothing is guessed from module names.
"""

import time
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.gradient import scatter_rows, wide

Slots = list[tuple[Any, str]]

_OFTEN = 0.2  # seconds between two reports
_AT_ONCE = 8_000_000  # numbers of a logit gradient in half precision that are made float32
_HEAVY = (functional.linear, torch.addmm)


def slots(model: Any, matrix: Tensor) -> Slots:
    """Where in the model a matrix stands, as modules and names of their parameters.

    What stands there may be another tensor while the model computes: weights that wait elsewhere
    are put in for their turn.
    """
    return [
        (module, name)
        for module in model.modules()
        for name, held in module._parameters.items()
        if held is matrix
    ]


class Part:
    """One part (V, d) of a gradient while it comes in, and its product with a random vector.

    total    in float32 at least
    squares  of the gradients at the embedding's output, summed
    """

    def __init__(self, matrix: Tensor) -> None:
        self.rows, width = matrix.shape
        device = torch.device("cpu") if matrix.is_meta else matrix.device
        self.total = wide(torch.empty(0, dtype=matrix.dtype, device=device)).new_zeros(matrix.shape)
        drawn = torch.randn(width, generator=torch.Generator().manual_seed(0))
        self._probe, self._product = drawn.to(self.total), self.total.new_zeros(self.rows)
        self.squares = 0.0

    def add_rows(self, ids: Tensor, grads: Tensor) -> None:
        """What comes back to looked-up rows: ids (n,), gradients (n, d)."""
        ids, grads = ids.to(self.total.device), grads.to(self.total)
        scatter_rows(ids, grads, self.rows, into=self.total)
        self._product.index_add_(0, ids, grads @ self._probe)
        self.squares += float(torch.linalg.vector_norm(grads)) ** 2

    def add_products(self, grads: Tensor, states: Tensor) -> None:
        """What comes back to the logits (n, V) of states (n, d)."""
        size = len(grads)
        if grads.dtype != self.total.dtype:
            size = max(1, _AT_ONCE // self.rows)
        for g, h in zip(grads.split(size), states.split(size), strict=True):
            g, h = g.to(self.total), h.to(self.total)
            self.total.addmm_(g.T, h)
            self._product += g.T @ (h @ self._probe)

    def mean(self, count: int) -> Tensor:
        """That of the mean over so many positions, once all has come in."""
        self._product /= count
        return self.total.div_(count)

    def check(self) -> float:
        """How far the sum is from the products that were made another way, as a share of these."""
        size = float(torch.linalg.vector_norm(self._product))
        left = float(torch.linalg.vector_norm(self.total @ self._probe - self._product))
        return left / size if size else left


class Uses(TorchFunctionMode):
    """A context in which a model computes its logits once; `come_back` then fills the parts.

    `hear` is called every now and then, on the way there and back, and may raise.
    """

    def __init__(
        self,
        matrices: tuple[Slots, Slots],
        parts: tuple[Part, Part],
        hear: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__()
        self._input, self._output = matrices
        self._parts, self._hear, self._heard = parts, hear, time.monotonic()
        self._looked_up: list[tuple[Tensor, int | None, Tensor]] = []
        self._others: list[Tensor] = []
        self._multiplied = False

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Every function of torch goes through here."""
        kwargs = kwargs or {}
        made = func(*args, **kwargs)
        self._tell()
        if not isinstance(made, Tensor) or not made.is_floating_point():
            return made
        if func in _HEAVY and made.requires_grad:
            made.register_hook(self._tell)
        if func is functional.embedding and _stands_in(self._input, _second(args, kwargs)):
            return self._look_up(made, *_lookup(*args, **kwargs))
        if func is functional.linear and _stands_in(self._output, _second(args, kwargs)):
            self._multiply(made, kwargs.get("input", args[0] if args else None))
        elif made.requires_grad and any(map(self._is_ours, _flat((*args, *kwargs.values())))):
            self._others.append(made)
        return made

    def come_back(self, loss: Tensor) -> None:
        """Add the gradient of the loss to the parts; the graph is used up."""
        if not (self._looked_up and self._multiplied and loss.requires_grad):
            raise _other("its matrices are not used as an embedding and a head")
        targets = [*(out for *_, out in self._looked_up), *self._others]
        grads = torch.autograd.grad(loss, targets, allow_unused=True)
        rows, others = grads[: len(self._looked_up)], grads[len(self._looked_up) :]
        if any(g is not None and bool(g.any()) for g in others):
            raise _other("a matrix has a use beside embedding and head")
        for (ids, padding, _), g in zip(self._looked_up, rows, strict=True):
            if g is not None:
                self._add_rows(ids.flatten(), padding, g.flatten(0, -2))

    def _add_rows(self, ids: Tensor, padding: int | None, grads: Tensor) -> None:
        if padding is not None:
            learns = ids != padding % self._parts[0].rows
            ids, grads = ids[learns], grads[learns]
        self._parts[0].add_rows(ids, grads)

    def _look_up(self, made: Tensor, ids: Tensor, padding: int | None) -> Tensor:
        # The graph begins here; a copy goes on, so that work in place leaves this one alone.
        out = made.detach().requires_grad_()
        self._looked_up.append((ids, padding, out))
        return out.clone()

    def _multiply(self, made: Tensor, states: Tensor) -> None:
        if not made.requires_grad:
            return
        self._multiplied, held = True, states.detach()

        def back(grads: Tensor) -> None:
            self._parts[1].add_products(grads.flatten(0, -2), held.flatten(0, -2))

        # By a hook, so that the gradient of all logits need not be kept.
        made.register_hook(back)

    def _is_ours(self, value: Any) -> bool:
        return _stands_in(self._input, value) or _stands_in(self._output, value)

    def _tell(self, *_: Any) -> None:
        if time.monotonic() - self._heard > _OFTEN:
            self._hear()
            self._heard = time.monotonic()


def _lookup(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, *_: Any, **__: Any
) -> tuple[Tensor, int | None]:
    """Of the arguments of `torch.nn.functional.embedding`."""
    return input, padding_idx


def _second(args: Any, kwargs: Any) -> Any:
    """The weight, in `functional.embedding` and `functional.linear`."""
    return args[1] if len(args) > 1 else kwargs.get("weight")


def _stands_in(places: Slots, value: Any) -> bool:
    return any(getattr(module, name) is value for module, name in places)


def _flat(values: tuple[Any, ...]) -> list[Any]:
    nested = [value if isinstance(value, list | tuple) else (value,) for value in values]
    return [value for inner in nested for value in inner if isinstance(value, Tensor)]


def _other(why: str) -> EmbtieError:
    return EmbtieError(
        f"The gradient of this model cannot be split by its two uses: {why}.",
        "Its matrices can be compared all the same.",
    )
