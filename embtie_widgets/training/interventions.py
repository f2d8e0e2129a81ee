"""Plug-ins that change or watch a training run.  The loop calls the hooks and knows no plug-in."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

from torch import Tensor
from torch.optim import Optimizer

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests.fields import number, whole

Kind = TypeVar("Kind", bound=type["Intervention"])
INTERVENTIONS: dict[str, type["Intervention"]] = {}
"""The plug-ins that a run can be described by, by kind; `registered` adds to it."""


class Parts(NamedTuple):
    """The gradient (V, d) that comes by the input use of the matrix, and that by its output use.

    For a tied model they add up to the gradient of its one matrix; for an untied one they are the
    gradients of its two.  They are as the backward pass left them: not clipped.
    """

    input: Tensor
    output: Tensor


@dataclass
class Step:
    """The step under way, as the hooks see it.

    number     from 1
    run        the name of the run: "tied" or "untied" for twins
    input_ids  (B, T), targets (B, T) the ids that follow them
    metrics    columns of this step's row; hooks may add their own numbers
    logged     whether that row will be kept, so that costly numbers can be left out otherwise
    optimiser  the optimiser that does the step

    From `on_gradients` on, in a run that is split (one of its plug-ins says `splits`):

    parts      of every step; None where the model's way of tying does not allow it, which the run
               notes.  They are there to read: the matrix's own `.grad` is already their sum.
    embedding_gradient  (B, T, d) of logged steps: the gradient at the output of the embedding
               module, after all that plug-ins did to it, so that scattered over `input_ids` it is
               `parts.input` (for a module that looks up rows and nothing else)
    hidden     (B, T, d) of logged steps: what the head reads
    logit_gradient  (B, T, V) of logged steps: the gradient at the head's output, so that its
               product with `hidden` is `parts.output`.  In mixed precision both are as the head
               has them, in bfloat16.

    In `after_step`:

    clip       the factor by which clipping multiplied all gradients, a number or a scalar tensor
    """

    number: int
    run: str
    model: Any
    input_ids: Tensor
    targets: Tensor
    logged: bool
    metrics: dict[str, Any] = field(default_factory=dict)
    optimiser: Any = None
    parts: Parts | None = None
    embedding_gradient: Tensor | None = None
    hidden: Tensor | None = None
    logit_gradient: Tensor | None = None
    clip: Any = 1.0


class Intervention:
    """Base of all plug-ins: each hook does nothing until a plug-in overrides it.

    Hooks are called in the order in which they stand here, plug-ins in the order in which they
    are given; `in_use` and `finished` only after the training.  One plug-in may
    serve several runs one after the other: `on_build` starts each.
    What a plug-in remembers from step to step changes from `on_gradients` on, so that a step that
    is broken off before leaves no trace.
    """

    kind: ClassVar[str] = ""
    splits: bool = False  # whether it reads `step.parts`, so that the run has to be split

    def on_build(self, model: Any, run: str) -> None:
        """Change the fresh model in place; drop what is left from an earlier run."""

    def on_optimiser(self, optimiser: Optimizer) -> Optimizer:
        """Change or replace the fresh optimiser."""
        return optimiser

    def on_embeddings(self, embeddings: Tensor, step: Step) -> Tensor:
        """Change the embedding output (B, T, d), or register a gradient hook on it."""
        return embeddings

    def on_logits(self, logits: Tensor, step: Step) -> Tensor:
        """Change the logits (B, T, V) that the loss sees."""
        return logits

    def in_use(self, logits: Tensor) -> Tensor:
        """Change the logits (..., V) whenever the trained model predicts: what is a part of it."""
        return logits

    def on_loss(self, loss: Tensor, logits: Tensor, step: Step) -> Tensor:
        """Change the loss that is minimised; the logged one stays the plain cross-entropy."""
        return loss

    def on_gradients(self, step: Step) -> None:
        """Read or change the gradients, before they are clipped."""

    def after_step(self, step: Step) -> None:
        """Read or change the parameters after the optimiser's step."""

    def finished(self, model: Any) -> Any:
        """The trained model as it is handed out and stored: in a form that transformers knows."""
        return model

    def row_values(self) -> Mapping[str, Any]:
        """What is known of each row of the matrix by now, each (V,), for the run's folder."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """What a stopped run needs to go on as if it had not stopped: tensors, plain values."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take up what `state_dict` gave; called after `on_build`."""

    def to_dict(self) -> dict[str, Any]:
        """{"kind": ..., and the fields}; of a plug-in without a kind its class's name alone."""
        if not self.kind:
            return {"kind": type(self).__name__}
        names: list[str] = [f.name for f in fields(self)] if is_dataclass(self) else []
        return {"kind": self.kind, **{name: getattr(self, name) for name in names}}


def registered(kind: str) -> Callable[[Kind], Kind]:
    """Class decorator: plug-ins of this class describe themselves whole, and are made again."""

    def register(plug: Kind) -> Kind:
        plug.kind = kind
        INTERVENTIONS[kind] = plug
        return plug

    return register


def intervention_of(described: Mapping[str, Any]) -> Intervention:
    """The plug-in that `to_dict` described."""
    options = dict(described)
    kind = options.pop("kind", None)
    if kind not in INTERVENTIONS:
        raise EmbtieError(
            f"There is no intervention {kind!r}.", f"Known are: {', '.join(INTERVENTIONS)}."
        )
    return INTERVENTIONS[kind](**options)


@registered("input-scaling")
@dataclass
class InputScaling(Intervention):
    """Multiply the gradient at the embedding's output, in the first `until` steps or in all.

    A tied matrix so gets factor * G_in + G_out; the forward pass stays as it is.
    """

    factor: float
    until: int | None = None

    def __post_init__(self) -> None:
        number("factor", self.factor, 0.0, 1e9)
        if self.until is not None:
            whole("until", self.until, 0, 10**9)

    def on_embeddings(self, embeddings: Tensor, step: Step) -> Tensor:
        """Hook the gradient while it is time."""
        if self.until is None or step.number <= self.until:
            embeddings.register_hook(lambda gradient: self.factor * gradient)
        return embeddings


def checked_plugs(plugs: Any) -> tuple[Intervention, ...]:
    """The plug-ins given, if that is what they are."""
    given = tuple(plugs) if isinstance(plugs, Iterable) else (plugs,)
    stray = [type(plug).__name__ for plug in given if not isinstance(plug, Intervention)]
    if stray or not isinstance(plugs, Iterable):
        what = stray[0] if stray else "single intervention"
        raise EmbtieError(
            f"interventions is or holds a {what}; expected a list of Intervention objects.",
            "Give instances in a list, or an empty list for none.",
        )
    return given
