"""Runs of tests: built, trained to their end, and what they logged."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from embtie_widgets.training.config import TrainingConfig
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.engine import Run, build_model
from embtie_widgets.training.interventions import Intervention


@dataclass(frozen=True)
class Trained:
    """The run, and its rows."""

    run: Run
    rows: list[dict[str, Any]]


def trained(
    recipe: TrainingConfig,
    corpus: Corpus,
    plugs: Sequence[Intervention] = (),
    *,
    tied: bool = True,
    name: str = "tied",
) -> Trained:
    """From seed 1 to the last step."""
    run = Run(recipe, build_model(recipe, tied=tied, seed=1), corpus, name, plugs)
    return Trained(run, finish(run))


def finish(run: Run) -> list[dict[str, Any]]:
    """The rows of the steps that are left."""
    rows = [run.advance() for _ in range(run.config.steps - run.done)]
    return [row for row in rows if row is not None]
