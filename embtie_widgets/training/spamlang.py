"""SpamLang: sequences of one symbol, drawn uniformly and repeated; the next one is to be predicted.

A sequence of `length` predictions is `length` + 1 copies, so that one of length 1 is a symbol to be
copied once.  Batches are drawn anew for every step and never from what was drawn before, so a run
knows exactly how many independent sequences it has seen; the training loop and its store carry it
out as they do a run on a text.

An architecture that tells positions by rotations alone, as most presets do, cannot tell the copies
apart: attention averages equal values, so all positions of a sequence have the same logits, and a
long sequence teaches what one of length 1 does.  "nano-gpt2", which adds a vector for each
position, can.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests.trials import Draws
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Batches, Corpus
from embtie_widgets.training.interventions import Intervention
from embtie_widgets.training.presets import shaped

_LOGITS = 2**24  # held at once where every symbol is asked for
_ASKED = 2**28  # logits at most for the positions after the first


class SpamLang(Corpus):
    """The language of so many symbols; `ids` are the symbols, each once."""

    def __init__(self, symbols: int) -> None:
        super().__init__(np.arange(symbols, dtype=np.int64), name=f"SpamLang of {symbols:,}")

    @property
    def symbols(self) -> int:
        """How many there are."""
        return len(self.ids)

    @cached_property
    def sha256(self) -> str:
        """Not that of a text which counts up."""
        return hashlib.sha256(f"SpamLang {self.symbols}".encode()).hexdigest()

    def batches(self, batch: int, length: int, seed: int) -> Batches:
        """Draws of the symbols, independent of each other."""
        return _Batches(self.symbols, batch, length, seed)


class _Batches:
    def __init__(self, symbols: int, batch: int, length: int, seed: int) -> None:
        self._symbols, self._batch, self._length, self._seed = symbols, batch, length, seed

    def __getitem__(self, step: int) -> Tensor:
        """(batch, length + 1) ids of step `step`, counted from 1."""
        draw = np.random.default_rng([self._seed, step]).integers(self._symbols, size=self._batch)
        return _repeated(torch.from_numpy(draw), self._length)


def _repeated(symbols: Tensor, length: int) -> Tensor:
    return symbols[:, None].repeat(1, length + 1)


def spam_config(
    config: TrainingConfig, draws: Draws, preset: str, rows: int, layers: int, width: int
) -> TrainingConfig:
    """The recipe `config` for a model of so many `rows`: symbols, and classes that never occur."""
    return replace(
        config,
        model=shaped(preset, rows, draws.length, layers, width),
        steps=draws.steps,
        batch=draws.batch,
        length=draws.length,
        warmup=min(config.warmup, draws.steps // 4),
        log_every=max(1, min(config.log_every, draws.steps // 50)),
    )


def spam_numbers(
    model: Any,
    language: SpamLang,
    length: int,
    interventions: Sequence[Intervention] = (),
    progress: Progress = silent,
) -> dict[str, float]:
    """How a model does on every symbol.

    loss, accuracy  in nats, and a share, over all `length` positions of the sequences asked for
    first_accuracy  at the first position, of every symbol
    later_accuracy  at the positions after it; NaN where there are none
    asked           how many symbols, evenly spread, were asked for at all positions: every one
                    where they are not very many
    """
    rows = model.get_output_embeddings().weight.shape[0]
    every = torch.arange(language.symbols)
    count = max(1, min(language.symbols, _ASKED // (rows * length)))
    some = every[:: max(1, language.symbols // count)]
    _, first = _ask(model, every, 1, rows, interventions, progress)
    loss, right = _ask(model, some, length, rows, interventions, progress)
    return {
        "loss": float(loss.mean()),
        "accuracy": float(right.mean()),
        "first_accuracy": float(first.mean()),
        "later_accuracy": float(right[1:].mean()) if length > 1 else math.nan,
        "asked": float(len(some)),
    }


def _ask(
    model: Any,
    symbols: Tensor,
    length: int,
    rows: int,
    interventions: Sequence[Intervention],
    progress: Progress,
) -> tuple[Tensor, Tensor]:
    """Loss (length,) and share of right predictions (length,), each over the symbols."""
    loss, right = torch.zeros(length, dtype=torch.float64), torch.zeros(length, dtype=torch.float64)
    for part in symbols.split(max(1, _LOGITS // (rows * length))):
        progress("asking for every symbol", int(part[0]), int(symbols[-1]) + 1)
        ids = _repeated(part, length).to(model.device)
        with torch.no_grad():
            logits = model(input_ids=ids[:, :-1], use_cache=False).logits
            for plug in interventions:
                logits = plug.in_use(logits)
        nats = functional.cross_entropy(
            logits.float().flatten(0, 1), ids[:, 1:].flatten(), reduction="none"
        )
        loss += nats.view(-1, length).sum(0).double().cpu()
        right += (logits.argmax(-1) == ids[:, 1:]).sum(0).double().cpu()
    return loss / len(symbols), right / len(symbols)
