"""A multiple-choice task, through the harness: which of the choices does a model hold likeliest?"""

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.evaluate_sides import Side, opening
from embtie_widgets.measures.scores import mean_and_error
from embtie_widgets.progress import Progress
from embtie_widgets.requests.evaluate import EvaluateRequest
from embtie_widgets.results.evaluate import Difference, TaskItems, TaskScore
from embtie_widgets.sources.models import OpenModel
from embtie_widgets.sources.task_files import TaskItemsFile

Answers = dict[str, Any]


def needs_harness() -> None:
    """An EmbtieError where the harness is not installed."""
    if find_spec("lm_eval") is None:
        raise EmbtieError(
            "Multiple-choice tasks need the evaluation harness, which is not installed.",
            "Install it with: pip install 'embtie[evaluate]'. A perplexity works without it.",
        )


@dataclass(frozen=True)
class ChoiceTask:
    """The items of a task."""

    given: TaskItemsFile

    @property
    def sha256(self) -> str:
        """Of all items."""
        return self.given.sha256

    @property
    def notes(self) -> tuple[str, ...]:
        """Which items, and what of them was left out."""
        return (f"{len(self.given.docs):,} items, of {self.given.name}.", *self.given.notes)

    def facts(self, request: EvaluateRequest) -> Any:
        """What of the request decides the answers."""
        return request.limit, request.shots, request.seed if request.shots else 0

    def answers(
        self, side: Side, opened: OpenModel, request: EvaluateRequest, progress: Progress
    ) -> Answers:
        """What `evaluate_harness.asked` gives."""
        # The harness takes seconds to load, and most requests do without.
        from embtie_widgets.jobs.evaluate_harness import Reader, asked

        if request.shots >= len(self.given.docs):
            raise EmbtieError(
                f"{self.given.task} has {len(self.given.docs):,} items, too few for "
                f"{request.shots} worked examples before each.",
                "Ask for fewer, or give more items.",
            )
        stage = f"{self.given.task}, {opened.name}"
        reader = Reader(
            opened.model, side.tokenizer, opening(opened, side.tokenizer), stage, progress
        )
        return asked(self.given, reader, request.limit, request.shots, request.seed)

    def scores(self, answers: Answers) -> dict[str, TaskScore]:
        """By metric, as the harness has them; chance is the mean of one over the choices."""
        count = len(answers["gold"])
        chance = float(np.mean([1 / len(choices) for choices in answers["choices"]]))
        return {
            metric: TaskScore(metric, value, error, chance, count)
            for metric, (value, error) in answers["metrics"].items()
        }

    def items(self, answers: dict[str, Answers]) -> TaskItems:
        """The items, and what each side has picked."""
        one = next(iter(answers.values()))
        return TaskItems(
            contexts=tuple(one["contexts"]),
            choices=tuple(map(tuple, one["choices"])),
            gold=one["gold"],
            picked={side: own["picked"] for side, own in answers.items()},
            scores={side: tuple(map(tuple, own["nats"])) for side, own in answers.items()},
        )

    def paired(self, a: Answers, b: Answers) -> dict[str, Difference]:
        """B less A by metric: of the items that only one of them has right."""
        gold = a["gold"]
        found = {}
        for metric in a["metrics"]:
            ours, theirs = (one["picked"][metric] == gold for one in (a, b))
            found[metric] = Difference(*mean_and_error(theirs.astype(float) - ours.astype(float)))
        return found
