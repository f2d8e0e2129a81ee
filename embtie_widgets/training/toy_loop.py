"""Training a toy model: every epoch alike, and its matrices kept as it goes."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from embtie_widgets.measures.devices import pick_device
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests.staircase import StaircaseRequest
from embtie_widgets.training.toy_models import ToyModel, build_toy
from embtie_widgets.training.toy_tasks import ToyTask

Vector = np.ndarray[Any, np.dtype[Any]]
POINTS = 300  # of a curve, about
_AT_ONCE = 2**24  # numbers of the widest array in a block of sequences


@dataclass
class ToyRun:
    """What is known of a training; it grows as that goes on.

    steps       epochs done when the matrices were kept
    embedding   (X, d) of each, unembedding (classes, d)
    attention   (layers, X, classes) of each: mean over all places of a token of the attention that
                the last position pays to it, where the label is that class, else 0; None without
    curves      step, loss (mean cross-entropy in nats over all sequences), accuracy
    diverged    the epoch in which the loss or a gradient was not finite any more, where it ended
    parameters  numbers that are trained
    """

    steps: list[int] = field(default_factory=list)
    embedding: list[Vector] = field(default_factory=list)
    unembedding: list[Vector] = field(default_factory=list)
    attention: list[Vector | None] = field(default_factory=list)
    curves: dict[str, list[float]] = field(
        default_factory=lambda: {"step": [], "loss": [], "accuracy": []}
    )
    diverged: int | None = None
    parameters: int = 0
    device: str = "cpu"


def kept_epochs(epochs: int, count: int) -> tuple[int, ...]:
    """About so many epochs from 0 to the last, spread evenly over their logarithm."""
    spread = np.geomspace(1, epochs, max(1, count - 1)).round().astype(int)
    return (0, *np.unique(spread).tolist())


def train_toy(
    request: StaircaseRequest,
    task: ToyTask,
    progress: Progress = silent,
    show: Callable[[ToyRun], None] = lambda run: None,
) -> ToyRun:
    """Train the model of a request on its task; `show` sees the run at each snapshot.

    An epoch is one step on all sequences, or one on each of its batches in a new order.  On the
    CPU, with one number of threads, a request gives the same bits again.
    """
    device = pick_device(request.device)
    model = build_toy(request, task).to(device)
    ids, labels = (torch.from_numpy(one).to(device) for one in (task.sequences, task.labels))
    inputs = model.inputs(ids)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimiser = _optimiser(request, trained)
    order = np.random.default_rng([request.seed, 1])
    run = ToyRun(parameters=sum(p.numel() for p in trained), device=device.type)
    kept = set(kept_epochs(request.epochs, request.snapshots))
    drawn = kept.union(kept_epochs(request.epochs, POINTS))
    for epoch in range(request.epochs + 1):
        if epoch in drawn:
            _look(run, model, (inputs, ids, labels), epoch, keep=epoch in kept)
            if epoch in kept:
                show(run)
        if epoch == request.epochs or run.diverged is not None:
            break
        for batch in _batches(len(ids), request.batch, order):
            progress("training", epoch, request.epochs)
            if not _step(model, optimiser, inputs[batch], labels[batch]):
                run.diverged = epoch + 1
                break
    return run


def _optimiser(request: StaircaseRequest, trained: list[Any]) -> torch.optim.Optimizer:
    kind: Any = {"adam": torch.optim.AdamW, "sgd": torch.optim.SGD}[request.optimiser]
    made: torch.optim.Optimizer = kind(
        trained, lr=request.lr, weight_decay=request.weight_decay, fused=True
    )
    return made


def _batches(count: int, size: int, order: np.random.Generator) -> list[Any]:
    if not size or size >= count:
        return [slice(None)]
    parts = np.split(order.permutation(count), range(size, count, size))
    return [torch.from_numpy(part) for part in parts]


def _step(
    model: ToyModel, optimiser: torch.optim.Optimizer, inputs: Tensor, labels: Tensor
) -> bool:
    """One update, left undone and answered with False where it is not finite."""
    optimiser.zero_grad(set_to_none=True)
    loss = functional.cross_entropy(model(inputs), labels)
    loss.backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    lengths = torch.stack([loss.detach(), *(g.norm() for g in gradients)])
    if not bool(lengths.isfinite().all()):
        return False
    optimiser.step()
    return True


def _look(
    run: ToyRun, model: ToyModel, data: tuple[Tensor, Tensor, Tensor], epoch: int, keep: bool
) -> None:
    """A point of the curves, and the matrices where they are to be kept."""
    inputs, _, labels = data
    with torch.no_grad():
        loss, right = _judged(model, inputs, labels)
        run.curves["step"].append(epoch)
        run.curves["loss"].append(loss)
        run.curves["accuracy"].append(right)
        if not math.isfinite(loss):
            run.diverged = run.diverged or epoch
            return
        if keep:
            run.steps.append(epoch)
            run.embedding.append(model.rows.detach().cpu().numpy().copy())
            run.unembedding.append(model.unembedding.detach().cpu().numpy().copy())
            run.attention.append(_attention(model, *data))


def _judged(model: ToyModel, inputs: Tensor, labels: Tensor) -> tuple[float, float]:
    """Mean loss and accuracy over all sequences."""
    loss, right = 0.0, 0
    for at in _blocks(model, inputs):
        logits = model(inputs[at])
        loss += float(functional.cross_entropy(logits, labels[at], reduction="sum"))
        right += int((logits.argmax(1) == labels[at]).sum())
    return loss / len(inputs), right / len(inputs)


def _attention(model: ToyModel, inputs: Tensor, ids: Tensor, labels: Tensor) -> Vector | None:
    """(layers, X, classes); NaN for a token that does not occur."""
    tokens, classes = len(model.embedding), len(model.unembedding)
    counts = torch.bincount(ids.flatten(), minlength=tokens)[:, None]
    totals: list[Tensor] = []
    for at in _blocks(model, inputs):
        weights = model.attended(inputs[at])
        totals = totals or [torch.zeros(tokens * classes, device=ids.device) for _ in weights]
        places = (ids[at] * classes + labels[at, None]).flatten()
        for total, one in zip(totals, weights, strict=True):
            total.index_add_(0, places, one.flatten())
    found = [(total.view(tokens, classes) / counts).cpu().numpy() for total in totals]
    return np.stack(found) if found else None


def _blocks(model: ToyModel, inputs: Tensor) -> list[slice]:
    classes, width = model.unembedding.shape
    size = max(1, _AT_ONCE // max(classes, 4 * width * inputs.shape[1]))
    return [slice(at, at + size) for at in range(0, len(inputs), size)]
