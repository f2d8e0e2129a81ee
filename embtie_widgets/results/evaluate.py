"""What two models score, task by task and item by item."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.storage import storable

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]


@storable
@dataclass(frozen=True)
class TaskScore:
    """One model on one task.

    metric   "acc", "acc_norm" (by length in bytes), "perplexity" by word, "bits_per_byte", ...
    value    of it; `stderr` its standard error over items, None where that has no meaning
    chance   what guessing reaches, None for a perplexity
    items    how many were scored
    """

    metric: str
    value: float
    stderr: float | None
    chance: float | None
    items: int


@storable
@dataclass(frozen=True)
class TaskItems:
    """The items of one task, and what each model made of them; rows run alike in all of it.

    contexts  what the choices continue; of a perplexity, the text of the window
    choices   of each item, as texts; () for a perplexity
    gold      the right one by number, -1 for a perplexity
    picked    by model: the number of the likeliest choice
    scores    by model: log-likelihood in nats of every choice, one list for each item; of a
              perplexity, that of the window alone
    """

    contexts: tuple[str, ...]
    choices: tuple[tuple[str, ...], ...]
    gold: Vector
    picked: dict[str, Vector]
    scores: dict[str, tuple[tuple[float, ...], ...]]


@storable
@dataclass(frozen=True)
class Evaluation:
    """Scores by task, then model, then metric; the first metric of a task is the paper's.

    paired    by task: difference of the two models' first metric (b - a) with its standard error
              over the same items
    models    by name as it is shown: reference, revision, tied or not, sizes, dtype
    failed    by task: what went wrong with it; the others stand
    """

    scores: dict[str, dict[str, dict[str, TaskScore]]]
    items: dict[str, TaskItems]
    paired: dict[str, tuple[float, float]]
    models: dict[str, dict[str, Any]]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    hashes: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        said = [
            f"{task} {name} {next(iter(metrics.values())).value:.3f}"
            for task, models in self.scores.items()
            for name, metrics in models.items()
        ]
        return f"Evaluation({'; '.join(said)})"

    def to_frame(self) -> "pd.DataFrame":
        """One row for each task, model and metric."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"task": task, "model": name} | vars(score)
                for task, models in self.scores.items()
                for name, metrics in models.items()
                for score in metrics.values()
            ]
        )

    def facts(self) -> dict[str, Any]:
        """All that every export carries beside the rows."""
        return {
            "models": self.models,
            "paired": self.paired,
            "failed": self.failed,
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }
