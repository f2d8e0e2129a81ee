"""What two models score, task by task and item by item."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.storage import storable

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]

WORD_PERPLEXITY, TOKEN_PERPLEXITY, BYTE_BITS = "word_perplexity", "token_perplexity", "byte_bits"
ACCURACY, BY_LENGTH = "acc", "acc_norm"
RIGHT = {ACCURACY, BY_LENGTH}
"""Metrics of which more is better, shares of right answers; of the others less is."""


@storable
@dataclass(frozen=True)
class TaskScore:
    """One model on one task.

    metric   "acc" (the likeliest choice), "acc_norm" (the likeliest by letter), or for a text
             "word_perplexity", "token_perplexity", "byte_bits"
    value    of it; `stderr` its standard error over items, None where one item says nothing of it
    chance   what guessing reaches, None for a text
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
    """The items of one task, and what each model made of them; all run alike.

    contexts  what the choices continue; of a text, its passages
    choices   of each item, as texts; () for a text
    gold      the right one by number, -1 for a text
    picked    by model, then metric: the number of the choice that the metric goes by
    scores    by model: log-likelihood in nats of every choice, one tuple for each item; of a text,
              that of the passage alone
    """

    contexts: tuple[str, ...]
    choices: tuple[tuple[str, ...], ...]
    gold: Vector
    picked: dict[str, dict[str, Vector]]
    scores: dict[str, tuple[tuple[float, ...], ...]]

    def right(self, model: str, metric: str) -> Vector:
        """(items,) whether the model's choice is the right one."""
        found: Vector = self.picked[model][metric] == self.gold
        return found

    def margin(self, model: str, metric: str) -> Vector:
        """(items,) by how many nats the right choice is likelier than the best other one, or, for
        "acc_norm", by how many nats a letter; above 0 where the model's choice is right."""
        found = np.empty(len(self.gold))
        for i, (scores, gold) in enumerate(zip(self.scores[model], self.gold, strict=True)):
            sizes = [
                max(1, len(choice)) if metric == BY_LENGTH else 1 for choice in self.choices[i]
            ]
            each = np.array(scores) / sizes
            found[i] = each[gold] - np.delete(each, gold).max()
        return found

    def bits(self, model: str) -> Vector:
        """(items,) of a text: bits that each passage takes by byte, at least 0."""
        sizes = [max(1, len(passage.encode())) for passage in self.contexts]
        nats = np.array([one[0] for one in self.scores[model]])
        found: Vector = -nats / np.log(2) / sizes
        return found


@storable
@dataclass(frozen=True)
class Difference:
    """B less A in one metric, over the same items; `stderr` None for a single item."""

    value: float
    stderr: float | None


@storable
@dataclass(frozen=True)
class Evaluation:
    """Scores by task, then model ("A", "B"), then metric.

    items     by task
    paired    by task, then metric; where both models have been through it
    models    by side: name, revision, tied or not, sizes, dtype
    failed    by task: what went wrong with it; the others stand
    progress  how far a run has come that is not whole; "" for a whole one
    """

    scores: dict[str, dict[str, dict[str, TaskScore]]]
    items: dict[str, TaskItems]
    paired: dict[str, dict[str, Difference]]
    models: dict[str, dict[str, Any]]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    hashes: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    progress: str = ""

    def __repr__(self) -> str:
        said = [
            f"{task} {side} {next(iter(metrics.values())).value:.3f}"
            for task, models in self.scores.items()
            for side, metrics in models.items()
        ]
        return f"Evaluation({'; '.join(said)})"

    def to_frame(self) -> "pd.DataFrame":
        """One row for each task, model and metric."""
        import pandas as pd

        rows = [
            {"task": task, "side": side, "model": self.models[side]["name"]} | vars(score)
            for task, models in self.scores.items()
            for side, metrics in models.items()
            for score in metrics.values()
        ]
        return pd.DataFrame(rows)

    def item_frame(self) -> "pd.DataFrame":
        """One row for each item: what it is, and what each model made of it."""
        import pandas as pd

        return pd.DataFrame([row for task in self.items for row in self._rows(task)])

    def _rows(self, task: str) -> list[dict[str, Any]]:
        items, rows = self.items[task], []
        for i, context in enumerate(items.contexts):
            choices = list(items.choices[i]) if items.choices else []
            row = {"task": task, "item": i, "context": context, "choices": choices}
            row["right"] = int(items.gold[i]) if items.choices else None
            for side, scores in items.scores.items():
                row[f"{side} nats"] = list(scores[i])
                for metric, picked in items.picked.get(side, {}).items():
                    row[f"{side} {metric}"] = int(picked[i])
            rows.append(row)
        return rows

    def facts(self) -> dict[str, Any]:
        """All that every export carries beside the rows."""
        paired = {t: {m: vars(d) for m, d in found.items()} for t, found in self.paired.items()}
        return {
            "models": self.models,
            "paired, B less A": paired,
            "failed": self.failed,
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }
