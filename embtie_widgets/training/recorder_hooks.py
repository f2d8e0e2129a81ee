"""Catching both parts of the gradient of one step of somebody's training.

Nothing is changed: hooks read, and exist only during a step that is recorded.

- The input part is taken where the row of a token is looked up: the gradient that reaches this
  node of the graph is scattered over the ids of that call.  A factor that the embedding applies
  afterwards is then in it already, and calls and backward passes of one step add up.
- The whole gradient of a parameter is copied each time autograd has added to it, which is before
  anybody clips; the last copy of a step holds all its micro-batches.
- The head's input and the gradient of its logits give the output part times a random vector
  without making the matrix: the sum of the parts is checked by it.
- The factor that reaches the model's own loss in the backward pass is what the training multiplied
  it by (one over the micro-batches, the scale of a GradScaler), so the logged loss is the one whose
  gradient is logged.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

import torch
from torch import Tensor, nn

from embtie_widgets.errors import EmbtieError
from embtie_widgets.measures.gradient import scatter_rows
from embtie_widgets.measures.logits import SUMS, in_blocks, logit_sums
from embtie_widgets.measures.transmission import Passed, add_passed
from embtie_widgets.sources.live import matrices_of

_FARTHEST = 32  # nodes of the graph between an embedding's output and its lookup
_WHOLE = "Record a training that keeps whole matrices on each device (plain or DDP)."


@dataclass(frozen=True, eq=False)
class Matrices:
    """Where a model keeps E and U (V, d): its parameters, and the modules that use them.

    output  None for a model without a head, the input itself for one shared parameter
    """

    input: nn.Parameter
    output: nn.Parameter | None
    lookups: tuple[nn.Module, ...]
    heads: tuple[nn.Module, ...]

    @property
    def shared(self) -> bool:
        """Whether both places use one parameter, so that there is one gradient to split."""
        return self.output is self.input

    @property
    def tied(self) -> bool | None:
        """Whether input and output are the same numbers; None without output."""
        if self.output is None:
            return None
        return self.shared or self.output.data_ptr() == self.input.data_ptr()

    def trained(self) -> dict[str, nn.Parameter]:
        """By role, those that get a gradient; a shared one is the "input"."""
        roles: dict[str, nn.Parameter | None] = {"input": self.input}
        if not self.shared:
            roles["output"] = self.output
        return {role: p for role, p in roles.items() if p is not None and p.requires_grad}


def find_matrices(model: Any) -> Matrices:
    """Those of a loaded causal language model; an EmbtieError where they cannot be recorded."""
    E, U = matrices_of(model)
    if not isinstance(E, nn.Parameter):
        raise EmbtieError(
            f"The {type(model).__name__} has no input embedding that could be recorded.",
            "Give a model with get_input_embeddings(), as those of transformers have.",
        )
    if E.ndim != 2 or E.is_meta or any(hasattr(m, "placements") for m in (E, U)):
        raise EmbtieError("The embedding is spread over several devices.", _WHOLE)
    modules = list(model.modules())
    lookups = [m for m in modules if isinstance(m, nn.Embedding) and m.weight is E]
    lookups = lookups or [model.get_input_embeddings()]
    if any(getattr(module, "scale_grad_by_freq", False) for module in lookups):
        raise EmbtieError(
            "The embedding scales gradients by how often a token stands in the batch.",
            "Record a training without scale_grad_by_freq.",
        )
    heads = [m for m in modules if getattr(m, "weight", None) is U and m not in lookups]
    output = U if isinstance(U, nn.Parameter) else None
    return Matrices(E, output, tuple(lookups), tuple(heads) if output is not None else ())


def _caught(hook: Callable[..., None]) -> Callable[..., None]:
    """A hook that runs inside of somebody's training: whatever fails in it stays in `error`."""

    @wraps(hook)
    def quiet(self: "StepCapture", *args: Any) -> None:
        if self.error is not None:
            return
        try:
            with torch.no_grad(), torch.autocast(self.device.type, enabled=False):
                hook(self, *args)
        except Exception as error:
            self.error = error

    return quiet


class StepCapture:
    """What is caught of one step, from `arm` to `disarm`; sums over its micro-batches.

    Linear in the loss, so that they are averaged over processes as gradients are:
    input_part      (V, d) the scattered input part; empty unless the parameter is shared
    whole           by role, the parameter's whole gradient (V, d) before clipping
    input_product   (V,) input part times `probe`
    output_product  (V,) output part times `probe`
    loss            of the model's own loss
    Sums:
    proxy           squared norm of the gradient at the lookups
    logits          (SUMS,) of `measures.logits.logit_sums`
    passed          of `measures.transmission`, empty unless the step `transmits`; None without head
    Others:
    seen            (V,) which tokens stood in the batch
    calls           how often the head and the loss were seen, and each parameter's gradient
    positions       how many the head has scored
    head            U (V, d) where a module reads it, else None
    scale           what a GradScaler had multiplied the loss by
    rough           whether logits were in half precision
    """

    def __init__(
        self, matrices: Matrices, seed: int, scaler: Any = None, transmits: bool = True
    ) -> None:
        self.matrices, self._scaler, self.transmits = matrices, scaler, transmits
        self.error: Exception | None = None
        self.scale, self.rough = 1.0, False
        self.calls = {"input": 0, "output": 0, "lookup": 0, "head": 0, "loss": 0}
        E, self._handles = matrices.input, list[Any]()
        self.device, rows = E.device, len(E)
        self.dtype = torch.float64 if E.dtype == torch.float64 else torch.float32
        self.fine = torch.float32 if self.device.type == "mps" else torch.float64
        new = partial(torch.zeros, device=self.device, dtype=self.dtype)
        self.input_part = new(E.shape if matrices.shared and E.requires_grad else (0, 0))
        self.whole = {role: new(p.shape) for role, p in matrices.trained().items()}
        self.input_product, self.output_product = new(rows), new(rows)
        self.loss, self.proxy = new(()), new((), dtype=self.fine)
        self.logits = new(SUMS, dtype=self.fine)
        self.head = matrices.output if matrices.heads else None
        self.passed = None if self.head is None else Passed.none(self.head)
        self.seen, self.positions = new(rows, dtype=torch.bool), 0
        # A generator of its own: the training's random numbers stay what they are.
        drawn = torch.Generator().manual_seed(seed)
        self.probe = torch.randn(E.shape[1], generator=drawn).to(self.device, self.dtype)

    def arm(self, model: Any) -> None:
        """From the next forward pass on."""
        try:
            self._hook_up(model)
        except BaseException:
            self.disarm()
            raise

    def _hook_up(self, model: Any) -> None:
        trained, held = self.matrices.trained(), self._handles
        for role, parameter in trained.items():
            hook = partial(self._added, role)
            held.append(parameter.register_post_accumulate_grad_hook(hook))
        for module in self.matrices.lookups if "input" in trained else ():
            held.append(module.register_forward_hook(self._looked_up, with_kwargs=True))
        for module in self.matrices.heads:
            held.append(module.register_forward_hook(self._scored, with_kwargs=True))
        held.append(model.register_forward_hook(self._answered))

    def disarm(self) -> None:
        """No hook is left on any module or parameter."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    @_caught
    def _looked_up(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        if output.requires_grad:  # not so while a model is evaluated
            ids = args[0] if args else kwargs["input"]
            node = _lookup_of(output.grad_fn)
            node.register_prehook(partial(self._row_gradients, ids.detach(), module))

    @_caught
    def _row_gradients(self, ids: Tensor, module: Any, gradients: Any) -> None:
        ids, gradient = ids.reshape(-1), gradients[0].reshape(ids.numel(), -1)
        self.seen[ids] = True
        self.calls["lookup"] += 1
        padding = getattr(module, "padding_idx", None)
        if padding is not None:  # its row learns nothing by the input
            known = ids != padding
            ids, gradient = ids[known], gradient[known]
        self.proxy += torch.linalg.vector_norm(gradient, dtype=self.fine).square()
        if len(self.input_part):
            scatter_rows(ids, gradient, len(self.input_part), self.input_part)
        self.input_product.index_add_(0, ids, gradient.to(self.dtype) @ self.probe)

    @_caught
    def _added(self, role: str, parameter: Any) -> None:
        if self._scaler is not None and not self.calls[role]:
            self.scale = float(self._scaler.get_scale())
        gradient = parameter.grad
        self.whole[role].copy_(gradient.to_dense() if gradient.is_sparse else gradient)
        self.calls[role] += 1

    @_caught
    def _scored(self, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        hidden = args[0] if args else next(iter(kwargs.values()))
        if not output.requires_grad or output.shape[-1] != len(self.output_product):
            return
        self.calls["head"] += 1
        self.positions += output.numel() // output.shape[-1]
        self.rough = self.rough or output.dtype.itemsize < 4
        along = (hidden.detach().to(self.dtype) @ self.probe).reshape(-1)
        self.logits += logit_sums(output)
        output.register_hook(partial(self._logit_gradients, along))

    @_caught
    def _logit_gradients(self, along: Tensor, gradient: Tensor) -> None:
        blocks = in_blocks(gradient.reshape(-1, gradient.shape[-1]))
        for block, part in zip(blocks, along.split(len(blocks[0])), strict=True):
            self.output_product += block.to(self.dtype).T @ part
        if self.transmits and self.head is not None and self.passed is not None:
            add_passed(self.passed, gradient, self.head)

    @_caught
    def _answered(self, module: Any, args: Any, output: Any) -> None:
        loss = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
        if isinstance(output, tuple) and output and loss is None:
            loss = output[0]
        if isinstance(loss, Tensor) and loss.numel() == 1 and loss.requires_grad:
            # A copy: what is returned may be changed in place before the backward pass.
            loss.register_hook(partial(self._weighed, loss.detach().clone()))

    @_caught
    def _weighed(self, loss: Tensor, weight: Tensor) -> None:
        self.loss += (loss * weight).reshape(()).to(self.loss)
        self.calls["loss"] += 1


def _lookup_of(node: Any) -> Any:
    """The node of the graph at which rows were looked up, for what an embedding gave out."""
    near, met = deque([node]), 0
    while near and met < _FARTHEST:
        node = near.popleft()
        met += 1
        if node is not None and node.name().startswith("EmbeddingBackward"):
            return node
        near.extend(next_node for next_node, _ in getattr(node, "next_functions", ()))
    raise EmbtieError(
        "The embedding's lookup is not found in the graph of the step.",
        "Record a model whose embedding is a torch.nn.Embedding that is not compiled.",
    )
