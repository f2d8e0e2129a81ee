"""How much a visitor of a public page may ask for: every bound, and what is said at it.

They hold on public pages alone.  `check` judges a request before any of its work; what shows only
later, such as the rows of a tokenizer or the bytes of a download, is judged where it is known.
"""

import threading
from collections.abc import Iterator
from typing import Any

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.progress import spoken
from embtie_widgets.requests import CorpusRef, EvaluateRequest, ModelRef, Request, StaircaseRequest
from embtie_widgets.requests.corpus import DATASETS
from embtie_widgets.requests.fields import names_of
from embtie_widgets.requests.training import OWN_TOKENIZER, TRAIN_TOKENIZER, TrainingRequest
from embtie_widgets.sources.named_models import check_model
from embtie_widgets.sources.permission import is_public

JOB_SECONDS = 30 * 60
STEPS_IN_ALL = 20_000
STEP_TOKENS = 8_192  # of a training, in a step
STEP_LOGITS = 2**25
READ_LETTERS = 2_000_000  # of a text that is evaluated, each counted in every window
SEQUENCES = 20_000_000  # that a toy model sees, over all epochs
DATASET_MB = 200
MATRIX_NUMBERS = 2**30  # rows times width
FETCHED_BYTES = 4 * 10**9  # of all that one kernel brings from the hub

_TRAINING = {"vocabulary": 32_768, "steps": 2_000, "length": 1_024}
_SERIES = {"revisions": 24, "count": 24}
_PROBES = {"probe_steps": 1_000, "folds": 10}
MOST: dict[str, dict[str, int]] = {
    "align": {},
    "bottleneck": {**_TRAINING, "positions": 20_000, "gram": 4_000},
    "bottleneck-trials": {
        **_TRAINING, "ranks": 512, "symbols": 65_536, "widths": 512, "lengths": 1_024,
        "extra": 65_536, "layers": 8,
    },
    "centering": {**_TRAINING, "extra_rows": 32_768},
    "checkpoints": _SERIES,
    "drift": {**_TRAINING, **_SERIES},
    "evaluate": {"letters": 200_000, "length": 2_048, "limit": 1_000, "shots": 8},
    "geometry": {"k": 200, "spectral_k": 256, "components": 512, "top": 4_096},
    "gradient-flow": {**_TRAINING, "batches": 64},
    "input-scaling": _TRAINING,
    "lens": {"length": 1_024, "positions": 20_000, "steps": 2_000, "train_tokens": 1_000_000},
    "norm-frequency": {},
    "paper-tables": {"fetch": False},
    "parameters": {},
    "signatures": {
        **_TRAINING, **_SERIES, **_PROBES, "anchors": 500, "chosen": 500, "context": 256,
        "statistics": 5_000_000,
    },
    "staircase": {"width": 512, "layers": 4, "epochs": 5_000, "snapshots": 100, **_PROBES},
}  # fmt: skip
"""By kind and field: the largest value, for a list of names their number."""

_HINT = "Ask for less, or run embtie yourself, which has no such bound."


def check(request: Request) -> None:
    """An EmbtieError for what a visitor of a public page may not ask for, in a sentence."""
    if not is_public():
        return
    for model in _models(request):
        check_model(model)
    for name, most in MOST[request.kind].items():
        _check_field(name, getattr(request, name), most)
    _check_corpus(getattr(request, "corpus", None))
    if isinstance(request, TrainingRequest):
        _check_training(request)
    if isinstance(request, EvaluateRequest):
        _check_evaluation(request)
    if isinstance(request, StaircaseRequest):
        seen = request.epochs * (request.samples or request.sequences)
        _refuse("a toy model sees", seen, SEQUENCES, "sequences, over all epochs")


def check_logits(positions: int, rows: int) -> None:
    """Of one step of a training, once it is known how many rows its matrix has."""
    _refuse("a step has", positions * rows, STEP_LOGITS, "logits, its tokens times its rows")


def check_matrix(shape: tuple[int, ...], name: str) -> None:
    """Of a model's matrix, before it is read."""
    numbers = shape[0] * shape[1] if len(shape) == 2 else 0
    _refuse("a matrix has", numbers, MATRIX_NUMBERS, "numbers, rows times width", f"{name} has")


_fetched, _lock = 0, threading.Lock()


def take_fetching(size: int, name: str) -> None:
    """Count what is about to come from the hub; an EmbtieError where that is more than one visitor
    may bring here, before a byte of it has moved."""
    global _fetched
    if not is_public():
        return
    with _lock:
        if _fetched + size > FETCHED_BYTES:
            raise Interrupted(
                f"{name} is {spoken(size)}; on a public page a visitor brings at most "
                f"{spoken(FETCHED_BYTES)} from the hub, and {spoken(_fetched)} of these are used.",
                "Choose a smaller model, or run embtie yourself, which has no such bound.",
            )
        _fetched += size


def _models(request: Request) -> Iterator[ModelRef]:
    """Every model that a request names, whatever for."""
    for name in names_of(type(request)):
        value = getattr(request, name)
        if isinstance(value, ModelRef):
            yield value
        elif name == "tokenizer" and value not in (OWN_TOKENIZER, TRAIN_TOKENIZER):
            yield ModelRef(value)


def _check_field(name: str, value: Any, most: int) -> None:
    if isinstance(value, tuple):
        numbers = [one for one in value if isinstance(one, int)]
        value = max(numbers) if numbers else len(value)
    if name == "limit" and value == 0:
        raise EmbtieError(
            f"On a public page `limit` is at most {most:,}, and 0 asks for all there are.", _HINT
        )
    if name == "fetch" and value:
        raise EmbtieError(
            "On a public page nothing is fetched for the papers' tables.",
            "Ask for them without fetching, or run embtie yourself.",
        )
    if value > most:
        raise EmbtieError(
            f"On a public page `{name}` is at most {most:,}; {value:,} is asked for.", _HINT
        )


def _check_corpus(corpus: CorpusRef | None) -> None:
    """What lies in the owner's folder is laid out to be read; a data set may have no end."""
    if corpus is None or not corpus.ref.startswith(DATASETS):
        return
    if not 1 <= corpus.limit_mb <= DATASET_MB:
        raise EmbtieError(
            f"On a public page 1 to {DATASET_MB} million bytes of a data set are read, and "
            f"`limit_mb` is {corpus.limit_mb:,}.",
            f"Set it to {DATASET_MB} or less, or run embtie yourself.",
        )


def _check_training(request: Any) -> None:
    drawn = getattr(request, "experiment", "") == "spamlang"
    runs = max(_runs(request), 1)
    said = f"the {runs:,} runs of {request.steps:,} steps asked for are"
    _refuse(
        "a training takes", request.steps * runs, STEPS_IN_ALL, "steps, all runs together", said
    )
    if not drawn:
        _refuse("a step takes", request.batch * request.length, STEP_TOKENS, "tokens")
        if request.tokenizer == TRAIN_TOKENIZER:
            rows = request.vocabulary + getattr(request, "extra_rows", 0)
            check_logits(request.batch * request.length, rows)
        return
    for trial in request.trials:
        draws = request.draws(trial)
        check_logits(draws.batch * draws.length, (trial.symbols or 0) + (trial.extra or 0))


def _runs(request: Any) -> int:
    """How many models a request trains."""
    several = getattr(request, "cells", ()) or getattr(request, "trials", ())
    return len(several) or 2 + len(getattr(request, "factors", ()))


def _check_evaluation(request: EvaluateRequest) -> None:
    read = request.letters * request.length // request.stride
    _refuse("a text takes", read, READ_LETTERS, "letters, each counted in every window")


def _refuse(what: str, value: int, most: int, of: str, said: str = "asked for are") -> None:
    if is_public() and value > most:
        raise EmbtieError(
            f"On a public page {what} at most {most:,} {of}; {said} {value:,}.", _HINT
        )
