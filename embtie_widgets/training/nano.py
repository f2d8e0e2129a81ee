"""The bundled pair: how it was made, and how to make it again.

`embtie train-nano --corpus FILE` trains a tied and an untied nano model and writes the folder
that ships in the package as `embtie_widgets/data/nano`.
"""

import gzip
import hashlib
import json
import platform
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.training import store
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import (
    Corpus,
    corpus_from_documents,
    read_text,
    split_documents,
    train_tokenizer,
)
from embtie_widgets.training.engine import held_out_loss
from embtie_widgets.training.twins import Twins, train_twins

BUNDLED = Path(__file__).parents[1] / "data" / "nano"
SAMPLE, HELD_OUT = "corpus_sample.txt.gz", "heldout_sample.txt.gz"
RECIPE = TrainingConfig(
    steps=1000,
    lr=2e-3,
    warmup=60,
    checkpoints=(0, 50, 150, 350, 700),
    log_every=20,
    seed=20260327,
)
HELD_OUT_EVERY = 50  # one document in so many is kept out of training, tokenizer and counts
SAMPLE_EVERY = 8  # one training document in so many ships as the sample


@dataclass(frozen=True)
class NanoText:
    """The corpus cut in two: documents to train on, and documents never trained on."""

    training: tuple[str, ...]
    held_out: tuple[str, ...]
    name: str
    sha256: str

    @classmethod
    def read(cls, path: Path) -> "NanoText":
        """Every fiftieth document is held out, so that it comes from all parts of the text."""
        documents = split_documents(read_text(path))
        spare = HELD_OUT_EVERY // 2
        held_out = tuple(documents[spare::HELD_OUT_EVERY])
        if not held_out:
            raise EmbtieError(
                f"'{path.name}' is too short: {len(documents)} pieces of text, "
                f"{spare + 1} are needed.",
                "Give a text of at least half a million characters.",
            )
        kept = tuple(d for i, d in enumerate(documents) if i % HELD_OUT_EVERY != spare)
        return cls(kept, held_out, path.name, _file_hash(path))


def train_nano(
    out: str | Path,
    steps: int = RECIPE.steps,
    corpus: str | Path | None = None,
    note: str = "",
    progress: Progress = silent,
) -> Path:
    """Train the pair on `corpus` (a .txt or .txt.gz; the bundled sample by default) into `out`.

    `note` says in words what the corpus is, for the provenance file.
    """
    folder, recipe = Path(out), replace(RECIPE, steps=steps)
    progress("reading the text", 0, 1)
    text = NanoText.read(BUNDLED / SAMPLE if corpus is None else Path(corpus))
    progress("training the tokenizer", 0, 1)
    tokenizer = train_tokenizer(text.training, recipe.model["vocab_size"])
    progress("cutting the text into tokens", 0, 1)
    training = corpus_from_documents(text.training, tokenizer, text.name)
    held_out = corpus_from_documents(text.held_out, tokenizer, text.name)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="embtie-nano-") as scratch:
        twins = train_twins(recipe, training, folder=scratch, progress=progress)
        seconds = round(time.monotonic() - begun)
        _write_bundle(folder, twins, training, text)
    progress("measuring the loss on text held out", 0, 1)
    losses = _held_out_losses(folder, held_out, recipe)
    record = _provenance(folder, twins, text, training, losses, note, seconds)
    (folder / "provenance.json").write_text(json.dumps(record, indent=1), encoding="utf-8")
    return folder


def _write_bundle(folder: Path, twins: Twins, training: Corpus, text: NanoText) -> None:
    """Half precision throughout: the pair is for looking at, and has to travel."""
    steps = twins.settings["steps"]
    for name, model in twins.models.items():
        store.save_model(model, training.tokenizer, folder / f"nano-{name}", torch.float16)
    early = {name: [c for c in kept if c.step < steps] for name, kept in twins.checkpoints.items()}
    store.save_checkpoints(early, folder / "checkpoints", torch.float16)
    np.save(folder / "token_counts.npy", training.counts(twins.settings["model"]["vocab_size"]))
    _write_text(folder / SAMPLE, text.training[::SAMPLE_EVERY])
    _write_text(folder / HELD_OUT, text.held_out)


def _held_out_losses(folder: Path, held_out: Corpus, recipe: TrainingConfig) -> dict[str, float]:
    """Of the files as they ship: half-precision weights, float32 arithmetic."""
    from transformers import AutoModelForCausalLM

    losses = {}
    for name in ("tied", "untied"):
        with store.no_bars():
            model = AutoModelForCausalLM.from_pretrained(
                folder / f"nano-{name}", dtype=torch.float32
            )
        losses[name] = held_out_loss(model.eval(), held_out, recipe.batch, recipe.length)
    return losses


def _provenance(
    folder: Path,
    twins: Twins,
    text: NanoText,
    training: Corpus,
    losses: Mapping[str, float],
    note: str,
    seconds: int,
) -> dict[str, Any]:
    return {
        "command": f"embtie train-nano --corpus {text.name} --steps {twins.settings['steps']}",
        "corpus": {
            "name": text.name,
            "contents": note,
            "sha256": text.sha256,
            "training_tokens": len(training.ids),
            "training_documents": len(text.training),
            "held_out_documents": len(text.held_out),
        },
        "seed": twins.settings["seed"],
        "settings": twins.settings,
        "versions": _versions(),
        "machine": f"{platform.machine()} CPU, {torch.get_num_threads()} threads",
        "training_seconds": seconds,
        "loss_curve": _loss_curve(twins),
        "held_out_loss": dict(losses),
        "uniform_loss": float(np.log(twins.settings["model"]["vocab_size"])),
        "stored_as": "float16",
        "files": {
            path.relative_to(folder).as_posix(): _file_hash(path)
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "provenance.json"
        },
    }


def _loss_curve(twins: Twins) -> dict[str, list[float]]:
    curve: dict[str, list[float]] = {}
    for row in twins.metrics:
        curve.setdefault(row["run"], []).append(round(row["loss"], 4))
    steps = [row["step"] for row in twins.metrics if row["run"] == "tied"]
    return {"step": steps, **curve}


def _versions() -> dict[str, str]:
    import tokenizers
    import transformers

    from embtie_widgets import __version__

    return {
        "embtie": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "tokenizers": tokenizers.__version__,
    }


def _write_text(path: Path, documents: Sequence[str]) -> None:
    path.write_bytes(gzip.compress("".join(documents).encode(), compresslevel=9, mtime=0))


def _file_hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
