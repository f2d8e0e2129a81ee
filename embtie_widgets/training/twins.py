"""A tied and an untied run that differ in nothing but the tying."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embtie_widgets.hashing import tensor_hash
from embtie_widgets.progress import Progress, silent
from embtie_widgets.training import store
from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import as_corpus
from embtie_widgets.training.interventions import Intervention, checked_plugs
from embtie_widgets.training.run_store import Checkpoint, RunStore
from embtie_widgets.training.runs import RunSpec, start_of, trained

if TYPE_CHECKING:
    import pandas as pd

NAMES = {"untied": False, "tied": True}


@dataclass(frozen=True)
class Twins:
    """Both runs, by name ("untied", "tied").

    metrics      the logged rows of both, the untied first
    checkpoints  by run: (step, input, output) in order of steps
    folder       where all of it lies: untied/ and tied/, each the folder of a run and of a Hugging
                 Face model
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
    return {name: start_of(config, tied, share_start) for name, tied in NAMES.items()}


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

    `config` is a TrainingConfig, the name of a preset or a transformers configuration, `corpus`
    text, a pathlib.Path, token ids or a Corpus; `steps` overrides those of the configuration.
    Without `folder` a fresh temporary one is made.  When `progress` raises, or at an interrupt, the
    folder keeps what there is, and the same call goes on from there; a run that is whole already is
    not trained again.  That holds for plug-ins that embtie knows; with others all begins anew.
    """
    recipe = TrainingConfig.from_value(config)
    recipe = recipe if steps is None else replace(recipe, steps=steps)
    plugs = checked_plugs(interventions)
    place = store.writable_folder(folder, prefix="embtie-twins-")
    text = as_corpus(corpus, int(recipe.model.get("vocab_size") or 0))
    runs: dict[str, RunStore] = {}
    models: dict[str, Any] = {}
    for name, tied in NAMES.items():
        spec = RunSpec(name, recipe, tied, share_start, plugs)
        runs[name], models[name] = trained(spec, text, place / name, progress=progress)
    checkpoints = {name: tuple(run.checkpoints()) for name, run in runs.items()}
    return Twins(
        metrics=tuple(row for run in runs.values() for row in run.rows()),
        checkpoints=checkpoints,
        folder=place,
        models=models,
        settings=runs["tied"].manifest["settings"],
        hashes={"corpus": text.sha256, **_hashes(checkpoints)},
    )


def _hashes(checkpoints: Mapping[str, tuple[Checkpoint, ...]]) -> dict[str, str]:
    untied, tied = checkpoints["untied"][-1], checkpoints["tied"][-1]
    matrices = {"input": untied.input, "output": untied.output, "tied": tied.input}
    return {name: tensor_hash(matrix) for name, matrix in matrices.items()}
