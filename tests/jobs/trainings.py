"""Trainings that take a moment, and what tests of jobs that train have in common."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from embtie_widgets.errors import Cancelled
from embtie_widgets.jobs import training_runs
from embtie_widgets.requests import CorpusRef
from tests.jobs.lens_models import words

VOCABULARY = 300
TINY = {
    "model_type": "olmo",
    "vocab_size": 48,
    "hidden_size": 12,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "max_position_embeddings": 16,
    "pad_token_id": None,
    "eos_token_id": 0,
}
"""A transformers configuration of 48 tokens."""


class Ear:
    """A `progress` that remembers, and stops the work where it is told to."""

    def __init__(self, stop: Callable[[str, int], bool] = lambda *_: False) -> None:
        self.stages: list[str] = []
        self.parts: list[Any] = []
        self._stop = stop

    def __call__(self, stage: str, done: int, total: int) -> None:
        self.stages.append(stage)
        if self._stop(stage, done):
            raise Cancelled

    def partial(self, result: Any) -> None:
        self.parts.append(result)


def write_text(folder: Path) -> Path:
    """A text of sixty documents, long enough for a tokenizer of 300 tokens to be learned from."""
    path = folder / "words.txt"
    path.write_text("\n\n".join(words(400, seed) for seed in range(60)))
    return path


def small(folder: Path) -> dict[str, Any]:
    """The fields of a request for models of 300 tokens on such a text, all but the steps."""
    return {
        "corpus": CorpusRef(str(write_text(folder))),
        "tokenizer": "train",
        "vocabulary": VOCABULARY,
        "batch": 2,
        "length": 16,
        "warmup": 2,
        "device": "cpu",
    }


@contextmanager
def cache_below(folder: Path) -> Iterator[Path]:
    """The folder, a cache in it that all tests of a module share, so that each model is trained
    once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "EMBTIE_CACHE", str(folder / "cache"))
        yield folder


def trained_from_here(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the runs that are trained from here on."""
    names: list[str] = []
    usual = training_runs.train_run

    def train(spec: Any, *rest: Any, **more: Any) -> Any:
        names.append(spec.name)
        return usual(spec, *rest, **more)

    monkeypatch.setattr(training_runs, "train_run", train)
    return names
