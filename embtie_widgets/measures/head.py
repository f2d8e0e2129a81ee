"""The way from a state of the residual stream to logits, by the model's own pieces in float32."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from embtie_widgets.measures.foresight import refuse_foresight
from embtie_widgets.sources.alone import alone_with
from embtie_widgets.sources.language_model import headless, refuse_encoders
from embtie_widgets.sources.live import layout_of
from embtie_widgets.sources.offloaded import at_hand
from embtie_widgets.sources.readout import Readout, measure_readout

# What accelerate hangs on a module to fetch its weights.
_PLACING = ("forward", "_old_forward", "_hf_hook")


@dataclass(frozen=True, eq=False)
class Head:
    """logits = cap(factor * (hidden * projection(norm(state)) @ U.T + bias)), all in float32.

    norm        the final norm; None where the last block's state is read as it is
    projection  what narrows the normed state to the width of U; None without
    weight      U (V, d), shared with the model where that is float32 already
    bias        (V,), whether it stands in the head or behind it; None without
    readout     the factors and the cap, as measured in the model's forward pass
    precision   the coarsest type that the model itself computes these steps in

    Nothing here takes gradients; they pass through to the states.
    """

    norm: nn.Module | None
    projection: nn.Module | None
    weight: Tensor
    bias: Tensor | None
    readout: Readout
    precision: torch.dtype

    @classmethod
    def of(cls, model: Any, device: torch.device | None = None) -> "Head":
        """Measured on a loaded decoder; on `device`, or else where the model's head is.

        An EmbtieError where the model has no head, has an encoder before it, looks ahead, or makes
        its logits by something else than norm, head, scale and cap.
        """
        refuse_others(model)
        with alone_with(model):
            refuse_foresight(model)
            return cls._measured(model, device)

    @classmethod
    def _measured(cls, model: Any, device: torch.device | None) -> "Head":
        readout, layout = measure_readout(model), layout_of(model)
        head, modules = model.get_output_embeddings(), dict(model.named_modules())
        with at_hand(head):
            device = device or head.weight.device
            weight, bias = _float32(head.weight, device), getattr(head, "bias", None)
            bias = None if bias is None else _float32(bias, device)
            kinds = [head.weight.dtype]
        if bias is None and layout.output_bias is not None:
            held = dict(model.named_parameters()) | dict(model.named_buffers())
            bias = _float32(held[layout.output_bias], device)
        copies: list[nn.Module | None] = []
        for path in (readout.norm, readout.projection):
            module = modules.get(path or "")
            copies.append(None if module is None or not path else _copy(module, device))
            kinds += [p.dtype for p in module.parameters()] if path and module else []
        coarsest = max(kinds, key=lambda kind: torch.finfo(kind).eps)
        return cls(copies[0], copies[1], weight, bias, readout, coarsest)

    @property
    def device(self) -> torch.device:
        """Where the states have to be."""
        return self.weight.device

    def norm_only(self, states: Tensor) -> Tensor:
        """(n, d) -> (n, d) through the final norm alone."""
        return states if self.norm is None else self.norm(states)

    def normed(self, states: Tensor) -> Tensor:
        """(n, d) -> (n, width of U): what the head itself is given, its factor included."""
        made = self.norm_only(states)
        made = made if self.projection is None else self.projection(made)
        return made if self.readout.hidden == 1 else made * self.readout.hidden

    def read(self, normed: Tensor, rows: slice = slice(None), out: Tensor | None = None) -> Tensor:
        """(n, width of U), as `normed` gives it -> (n, V) logits, or those of some rows of U.

        `out` is written to where it is given; no gradients pass then.
        """
        # The factor goes to the narrow side: the wide one is passed over as seldom as possible.
        narrow = normed if self._factor == 1 else normed * self._factor
        if self._bias is None:
            made = torch.mm(narrow, self.weight[rows].T, out=out)
        else:
            made = torch.addmm(self._bias[rows], narrow, self.weight[rows].T, out=out)
        cap = self.readout.cap
        return made if cap is None else torch.mul(torch.tanh(made, out=out), cap, out=out)

    def read_one(self, normed: Tensor, tokens: Tensor) -> Tensor:
        """(n,) the logit of one token for each state."""
        made = (normed * self.weight[tokens]).sum(-1) * self._factor
        made = made if self._bias is None else made + self._bias[tokens]
        cap = self.readout.cap
        return made if cap is None else torch.tanh(made) * cap

    def logits(self, states: Tensor) -> Tensor:
        """(n, d) -> (n, V), for states before the final norm."""
        return self.read(self.normed(states))

    @property
    def _factor(self) -> float:
        """On the logits, as far as it stands before the bend of the cap."""
        return self.readout.logits / (1 if self.readout.cap is None else self.readout.cap)

    @cached_property
    def _bias(self) -> Tensor | None:
        return None if self.bias is None else self.bias * self._factor


def refuse_others(model: Any) -> None:
    """An EmbtieError for what is no decoder with a head."""
    name = type(model).__name__
    refuse_encoders(model.config, name)
    getter = getattr(model, "get_output_embeddings", None)
    if getter is None or getter() is None:
        raise headless(name)


def _float32(tensor: Tensor, device: torch.device) -> Tensor:
    floating = tensor.is_floating_point()
    return tensor.detach().to(device, torch.float32 if floating else tensor.dtype)


def _copy(module: nn.Module, device: torch.device) -> nn.Module:
    """The same module in float32, without gradients and without anybody's hooks.

    Tensors that are float32 on that device already are shared.
    """
    made = type(module).__new__(type(module))
    nn.Module.__init__(made)
    kept = made.__dict__.keys() | {*_PLACING}
    made.__dict__.update({k: v for k, v in module.__dict__.items() if k not in kept})
    with at_hand(module):
        held = {**module._parameters, **module._buffers}
        ready = {name: _float32(t, device) for name, t in held.items() if t is not None}
    for name in held:
        tensor = ready.get(name)
        if tensor is not None and name in module._parameters:
            made.register_parameter(name, nn.Parameter(tensor, requires_grad=False))
        else:
            made.register_buffer(name, tensor)
    for name, child in module._modules.items():
        made._modules[name] = None if child is None else _copy(child, device)
    return made.eval()
