"""What one subtraction of the mean row does to the predictions of a model that was trained here."""

import copy
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from embtie_widgets.jobs.cells import CellTask
from embtie_widgets.jobs.centering_plan import mean_rows
from embtie_widgets.jobs.training_plan import Plan
from embtie_widgets.jobs.training_runs import finished, runs_folder
from embtie_widgets.measures.centering import effect_of_centering
from embtie_widgets.measures.means import mean_row
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import CenteringRequest
from embtie_widgets.requests.centering import NONE
from embtie_widgets.results.centering import DONE, CenteringRun, Effect
from embtie_widgets.training.corpus import Corpus, all_windows
from embtie_widgets.training.run_store import RunStore
from embtie_widgets.training.runs import load_trained

_TOKENS = 1_024  # predictions that are compared
_WORDS = {
    (False, False): "All logits of a position move by one number, so every probability stays; "
    "what is left is rounding.",
    (False, True): "A cap of {cap:g} comes after the move and bends it, so probabilities change.",
    (True, False): "The matrix is the input's too: every token is read as another vector, so "
    "probabilities change.",
    (True, True): "Every token is read as another vector, and a cap of {cap:g} bends the move of "
    "the logits, so probabilities change.",
}


def effects_of(
    request: CenteringRequest,
    plan: Plan,
    tasks: list[CellTask],
    runs: list[CenteringRun],
    progress: Progress = silent,
) -> tuple[Effect, ...]:
    """Of each tying's run without any method whose mean row is longest, without and with cap."""
    found: list[Effect] = []
    for tied in sorted({task.cell.tied for task in tasks}):
        task = _telling(tasks, runs, tied)
        store = None if task is None else _store(task, runs[task.number])
        if task is not None and store is not None:
            progress(f"taking the mean row off {task.spec.name}", 0, 1)
            found += _effects(request, plan, task, store, progress)
    return tuple(found)


def _telling(tasks: list[CellTask], runs: list[CenteringRun], tied: bool) -> CellTask | None:
    lengths = {
        task.number: runs[task.number].numbers.get("mu_output", 0.0)
        for task in tasks
        if task.cell.tied == tied and task.cell.method == NONE and runs[task.number].state == DONE
    }
    return tasks[max(lengths, key=lengths.__getitem__)] if lengths else None


def _store(task: CellTask, run: CenteringRun) -> RunStore | None:
    """Where its model is, if it is still kept; one that came from elsewhere has a name of there."""
    return finished(runs_folder() / str(run.about.get("key")), task.spec.config)


def _effects(
    request: CenteringRequest, plan: Plan, task: CellTask, store: RunStore, progress: Progress
) -> Iterator[Effect]:
    cell, rows = task.cell, mean_rows(request, plan)
    model, ids = load_trained(store).eval(), _ids(request, plan)
    output = model.get_output_embeddings().weight
    hidden = _read_by_head(model, ids)
    moved = _read_by_head(_centred(model, rows), ids) if cell.tied else None
    for cap in (None, request.cap):
        numbers = effect_of_centering(
            output, hidden, moved=moved, cap=cap, rows=rows, progress=progress
        )
        yield Effect(
            method=cell.method,
            tied=cell.tied,
            capped=cap is not None,
            changes=_WORDS[cell.tied, cap is not None].format(cap=request.cap),
            lr=cell.lr,
            size=cell.size,
            **numbers,
        )


def _ids(request: CenteringRequest, plan: Plan) -> Tensor:
    """(B, T) of the text held out, or where that is too short of what was learned from."""
    whole = len(plan.held.ids) > request.length
    text: Corpus = plan.held if whole else plan.corpus
    windows = all_windows(text.ids, math.ceil(_TOKENS / request.length), request.length)
    return next(windows)[:, :-1]


def _centred(model: Any, rows: int | None) -> Any:
    """A copy whose one matrix is without its mean row."""
    other = copy.deepcopy(model)
    with torch.no_grad():
        matrix = other.get_output_embeddings().weight
        matrix -= mean_row(matrix, rows)
    return other


def _read_by_head(model: Any, ids: Tensor) -> Tensor:
    """(N, d) hidden states as the head gets them."""
    with _heard(model.get_output_embeddings()) as read, torch.no_grad():
        model(input_ids=ids, use_cache=False)
    return read[0].flatten(0, -2)


@contextmanager
def _heard(head: Any) -> Iterator[list[Tensor]]:
    read: list[Tensor] = []
    hook = head.register_forward_pre_hook(lambda _module, given: read.append(given[0]))
    try:
        yield read
    finally:
        hook.remove()
