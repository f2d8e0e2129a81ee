"""A tied and an untied run that differ in nothing but the tying."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from embtie_widgets.hashing import tensor_hash
from embtie_widgets.progress import Progress, silent
from embtie_widgets.training import store
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus, as_corpus
from embtie_widgets.training.engine import Run, build_model
from embtie_widgets.training.interventions import Intervention, checked_plugs
from embtie_widgets.training.run_store import Checkpoint

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Twins:
    """Both runs, by name ("untied", "tied").

    metrics      the logged rows of both, the untied first
    checkpoints  by run: (step, input, output) in order of steps
    folder       where all of it lies: untied/ and tied/ in the Hugging Face layout,
                 checkpoints/, metrics.csv and settings.json
    models       by run: the trained model
    hashes       of the corpus, and of the final matrices as `load` gives them
    """

    metrics: tuple[dict[str, Any], ...]
    checkpoints: Mapping[str, tuple[Checkpoint, ...]]
    folder: Path
    models: Mapping[str, Any]
    settings: dict[str, Any]
    hashes: dict[str, str]

    def __repr__(self) -> str:
        last = {row["run"]: f"{row['run']} loss {row['loss']:.4f}" for row in self.metrics}
        steps = f"{self.settings['steps']:,} steps"
        return f"Twins({', '.join([steps, *last.values()])})"

    def to_frame(self) -> "pd.DataFrame":
        """One row per logged step of each run."""
        import pandas as pd

        return pd.DataFrame(list(self.metrics))


def build_twins(config: TrainingConfig, *, share_start: bool = False) -> dict[str, Any]:
    """An untied and a tied model with equal bodies and three unrelated embedding matrices.

    With `share_start` the tied matrix starts as a copy of the untied input: the two are then
    aligned before any training, which is a trap and not a finding.
    """
    untied_seed, tied_seed = np.random.SeedSequence(config.seed).generate_state(2).tolist()
    untied = build_model(config, tied=False, seed=untied_seed)
    tied = build_model(config, tied=True, seed=tied_seed)
    body = {**dict(untied.named_parameters()), **dict(untied.named_buffers())}
    matrix = tied.get_input_embeddings().weight
    with torch.no_grad():
        for name, value in [*tied.named_parameters(), *tied.named_buffers()]:
            if value is not matrix:
                value.copy_(body[name])
        if share_start:
            matrix.copy_(untied.get_input_embeddings().weight)
    return {"untied": untied, "tied": tied}


def train_twins(
    config: Any,
    corpus: Any,
    steps: int | None = None,
    interventions: Sequence[Intervention] = (),
    *,
    share_start: bool = False,
    folder: str | Path | None = None,
    progress: Progress = silent,
) -> Twins:
    """Train the untied twin, then the tied one, on the same batches in the same order.

    `config` is a TrainingConfig or a transformers configuration, `corpus` text, a pathlib.Path,
    token ids or a Corpus; `steps` overrides those of the configuration.  Without `folder` a
    fresh temporary one is made.  When `progress` raises, the folder keeps what was logged.
    """
    recipe = TrainingConfig.from_value(config)
    recipe = recipe if steps is None else replace(recipe, steps=steps)
    interventions = checked_plugs(interventions)
    models = build_twins(recipe, share_start=share_start)
    place = store.writable_folder(folder, prefix="embtie-twins-")
    text = as_corpus(corpus, models["tied"].get_input_embeddings().weight.shape[0])
    settings = _settings(recipe, text, interventions, share_start)
    runs: dict[str, Run] = {}
    try:
        for name, model in models.items():
            runs[name] = Run(recipe, model, text, name, interventions)
            runs[name].train(progress)
    finally:
        if runs:
            store.save_runs(place, runs, settings)
    for name, model in models.items():
        store.save_model(model, text.tokenizer, place / name)
    return Twins(
        metrics=tuple(row for run in runs.values() for row in run.metrics),
        checkpoints={name: tuple(run.checkpoints) for name, run in runs.items()},
        folder=place,
        models=models,
        settings=settings,
        hashes=_hashes(runs, text),
    )


def _settings(
    config: TrainingConfig, corpus: Corpus, plugs: Sequence[Intervention], share_start: bool
) -> dict[str, Any]:
    return config.to_dict() | {
        "corpus": corpus.name,
        "corpus_tokens": len(corpus.ids),
        "interventions": [type(plug).__name__ for plug in plugs],
        "share_start": share_start,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def _hashes(runs: Mapping[str, Run], corpus: Corpus) -> dict[str, str]:
    untied, tied = runs["untied"].checkpoints[-1], runs["tied"].checkpoints[-1]
    return {
        "corpus": corpus.sha256,
        "input": tensor_hash(untied.input),
        "output": tensor_hash(untied.output),
        "tied": tensor_hash(tied.input),
    }
