"""How a loaded model gets from its last state to its logits, measured in its own forward pass.

Names in a configuration are no proof of a factor, so the model is asked: once with a few tokens,
and once with chosen numbers in place of the head's output.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.architecture import Layout
from embtie_widgets.sources.live import layout_of
from embtie_widgets.sources.offloaded import at_hand, input_device

_TOKENS = 5
# Numbers that every type holds exactly; the last one is beyond any cap.
_PROBES = (2.0**-10, -(2.0**-10), 0.5, -2.0, 7.0, 40.0, -300.0)
_BEYOND, _BEYOND_IN_HALF = 2.0**20, 2.0**12
_CLOSE = 1e-4


@dataclass(frozen=True)
class Readout:
    """logits = cap(logits * (hidden * projection(norm(state)) @ U.T + bias)), each where it is.

    norm        path of the final norm; None where the last block's state is used as it is
    projection  path of what narrows the normed state to the width of U; None without
    hidden      factor on the state before the head
    logits      factor on the head's output, bias included
    cap         c of c * tanh(logits / c), None without
    """

    norm: str | None
    projection: str | None = None
    hidden: float = 1.0
    logits: float = 1.0
    cap: float | None = None


def measure_readout(model: Any) -> Readout:
    """By two forward passes over a few tokens; the model is left as it was.

    An EmbtieError where the logits are something else than a scaled and capped head, or where the
    head makes numbers of a plain state that are not finite.
    """
    layout, head = layout_of(model), model.get_output_embeddings()
    before: list[torch.Tensor] = []
    through: list[torch.Tensor] = []

    def leaving(_module: Any, _inputs: Any, made: Any) -> Any:
        # Its own may be infinite in half precision.
        alone = isinstance(made, torch.Tensor)
        before.append(_normal(made if alone else made[0]))
        return before[-1] if alone else (before[-1], *made[1:])

    def crossing(_module: Any, inputs: Any, made: torch.Tensor) -> None:
        through.extend((inputs[0], made))

    last = layout.projection or layout.norm or f"{layout.layers}.{layout.layer_count - 1}"
    watched = dict(model.named_modules()).get(last)
    if watched is None or head is None:
        raise _other(model)
    with _hooked({watched: leaving, head: crossing}):
        few_logits(model)
    if not all(bool(made.isfinite().all()) for made in through):
        raise _not_finite(model)
    hidden = _factor(before[-1], through[0]) if before and through else None
    if hidden is None or not _is_linear(head, *through[:2]):
        raise _other(model)
    logits, cap = _after_head(model, head, _later_bias(model, head, layout))
    return Readout(layout.norm, layout.projection, hidden, logits, cap)


def _normal(like: torch.Tensor) -> torch.Tensor:
    drawn = torch.randn(like.shape, generator=torch.Generator().manual_seed(0))
    return drawn.to(like)


def _is_linear(head: Any, entering: torch.Tensor, leaving: torch.Tensor) -> bool:
    with at_hand(head):
        weight, bias = head.weight, getattr(head, "bias", None)
        plain = torch.nn.functional.linear(entering.to(weight.device), weight, bias)
    plain = plain.to(leaving.device)
    return torch.allclose(plain, leaving, rtol=1e-2, atol=_CLOSE * float(leaving.abs().max()))


def _later_bias(model: Any, head: Any, layout: Layout) -> Any:
    """A bias that the model adds behind the head rather than in it; 0 without."""
    if layout.output_bias is None or getattr(head, "bias", None) is not None:
        return 0
    return (dict(model.named_parameters()) | dict(model.named_buffers()))[layout.output_bias]


def _after_head(model: Any, head: Any, bias: Any) -> tuple[float, float | None]:
    """Factor and cap, from what the model makes of chosen numbers in place of its head's."""
    chosen: list[torch.Tensor] = []
    beyond = _BEYOND_IN_HALF if head.weight.dtype == torch.float16 else _BEYOND

    def replace(_module: Any, _inputs: Any, made: torch.Tensor) -> torch.Tensor:
        values = torch.tensor((*_PROBES, beyond), dtype=torch.float32, device=made.device)
        at = torch.arange(made.numel(), device=made.device) % len(values)
        chosen.append(values[at].view(made.shape))
        instead: torch.Tensor = (chosen[-1] - bias).to(made.dtype)
        return instead

    with _hooked({head: replace}):
        logits = few_logits(model)
    if not chosen or chosen[-1].shape != logits.shape:
        raise _other(model)
    z, y = chosen[-1].flatten(), logits.float().flatten()
    small, large = z.abs() == _PROBES[0], z == beyond
    factor = float((y[small] / z[small]).mean())
    top = float(y[large].mean())
    cap = None if abs(top - factor * beyond) <= _CLOSE * abs(top) else top
    expected = factor * z if cap is None else cap * torch.tanh(factor * z / cap)
    if not torch.allclose(y, expected, rtol=1e-2, atol=_CLOSE):
        raise _other(model)
    return round(factor, 7), cap


def _factor(before: torch.Tensor, after: torch.Tensor) -> float | None:
    """The number that `after` is of `before`; None where there is no one number."""
    if before.shape != after.shape:
        return None
    x, y = before.double().flatten(), after.double().flatten()
    factor = float(x @ y / (x @ x).clamp_min(1e-30))
    step = max(1e-3, torch.finfo(after.dtype).eps)
    close = torch.allclose(factor * x, y, rtol=step, atol=_CLOSE * float(y.abs().max()))
    return round(factor, 6) if close else None


def few_logits(model: Any) -> torch.Tensor:
    """(1, n, V): what the model says of a few tokens; it is left as it was."""
    device = input_device(model)
    ids = (
        torch.arange(3, 3 + _TOKENS, device=device)[None]
        % model.config.get_text_config().vocab_size
    )
    both = {"decoder_input_ids": ids} if getattr(model.config, "is_encoder_decoder", False) else {}
    training = model.training
    try:
        with torch.no_grad():
            logits: torch.Tensor = model.eval()(input_ids=ids, **both, use_cache=False).logits
    finally:
        model.train(training)
    return logits


@contextmanager
def _hooked(hooks: dict[Any, Callable[..., Any]]) -> Iterator[None]:
    handles = [module.register_forward_hook(hook) for module, hook in hooks.items()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _other(model: Any) -> EmbtieError:
    return EmbtieError(
        f"The logits of a {type(model).__name__} are not those of norm, head, scale and cap.",
        "Its matrices can be compared; its last state cannot be read by a lens. Where the final "
        "norm goes by an unusual name, ew.register_family(model_type, norm=...) tells it.",
    )


def _not_finite(model: Any) -> EmbtieError:
    return EmbtieError(
        f"The output matrix or its bias in this {type(model).__name__} holds numbers that are not "
        "finite: it makes NaN or infinite logits of a plain state.",
        "The weights may be damaged, or too large for float16: download them again, or load the "
        "model in float32.",
    )
