"""From an EvaluateRequest to an Evaluation: tasks read, each model through all of them in turn."""

import time
from typing import Any, Protocol

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.jobs import evaluate_cost
from embtie_widgets.jobs.cache import entry_key, keep, kept_or_made, latest, recall
from embtie_widgets.jobs.estimate import experience
from embtie_widgets.jobs.evaluate_choices import ChoiceTask, needs_harness
from embtie_widgets.jobs.evaluate_sides import Side, prepare
from embtie_widgets.jobs.evaluate_text import TextTask
from embtie_widgets.jobs.opened import described
from embtie_widgets.jobs.pairs import is_here
from embtie_widgets.jobs.parts import Part, known_part
from embtie_widgets.progress import Progress, hand_on, silent
from embtie_widgets.requests.corpus import BUNDLED, OWN
from embtie_widgets.requests.evaluate import OWN_TASK, PERPLEXITY, EvaluateRequest
from embtie_widgets.results.evaluate import Difference, Evaluation, TaskItems, TaskScore
from embtie_widgets.sources.corpora import find_corpus
from embtie_widgets.sources.hub import is_hub_id
from embtie_widgets.sources.models import OpenModel, open_model
from embtie_widgets.sources.once import read_once
from embtie_widgets.sources.own_task import line_ends
from embtie_widgets.sources.prose import read_prose
from embtie_widgets.sources.task_files import read_task

Answers = dict[str, Any]


class Task(Protocol):
    """What two models are put to: `TextTask` or `ChoiceTask`."""

    @property
    def sha256(self) -> str:
        """Of all items."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences about the items."""

    def facts(self, request: EvaluateRequest) -> Any:
        """What of the request decides a model's answers."""

    def answers(
        self, side: Side, opened: OpenModel, request: EvaluateRequest, progress: Progress
    ) -> Answers:
        """A model's answers, plain enough to be kept; "notes" are sentences about them."""

    def scores(self, answers: Answers) -> dict[str, TaskScore]:
        """By metric."""

    def items(self, answers: dict[str, Answers]) -> TaskItems:
        """The items with the answers of each side."""

    def paired(self, a: Answers, b: Answers) -> dict[str, Difference]:
        """By metric, B less A."""


def run_evaluate(request: EvaluateRequest, progress: Progress = silent) -> Evaluation:
    """Put two models to the same tasks; a task that fails leaves the others."""
    if PERPLEXITY in request.tasks and not request.text and request.corpus.ref != OWN:
        find_corpus(request.corpus)  # what is mistyped is told before models are opened for it
    with read_once():
        tasks, failed = _tasks(request, progress)
        sides = prepare(request, progress)
        work = _Work(request, tasks, failed, sides, progress)
        found: Evaluation = kept_or_made(
            request, work.hashes, work.done, lambda made: not made.failed
        )
    return found


def look_up(request: EvaluateRequest) -> Evaluation | None:
    """What an earlier run has left, where text and items ship with embtie or are pasted; where a
    model is on the hub, the result that came last."""
    shipped = set(request.tasks) <= {PERPLEXITY, OWN_TASK}
    if not shipped or (not request.text and request.corpus.ref not in (OWN, BUNDLED)):
        return None
    away = [ref for ref in (request.a, request.b) if not is_here(ref)]
    if away:
        last: Evaluation | None = latest(request)
        return last if all(is_hub_id(ref.ref) for ref in away) else None
    with read_once():
        tasks, failed = _tasks(request, silent)
        work = _Work(request, tasks, failed, prepare(request, silent), silent)
        found: Evaluation | None = None if failed else recall(entry_key(request, work.hashes))
    return found


def _tasks(
    request: EvaluateRequest, progress: Progress
) -> tuple[dict[str, Task], dict[str, EmbtieError]]:
    """What can be asked, and why the rest cannot."""
    tasks: dict[str, Task] = {}
    failed: dict[str, EmbtieError] = {}
    for name in request.tasks:
        try:
            tasks[name] = _task(request, name, progress)
        except Interrupted:
            raise
        except EmbtieError as error:
            failed[name] = error
    if not tasks:
        raise failed[request.tasks[0]]
    return tasks, failed


def _task(request: EvaluateRequest, name: str, progress: Progress) -> Task:
    if name == PERPLEXITY:
        return TextTask(read_prose(request.corpus, request.text, request.letters, progress))
    needs_harness()
    progress(f"reading the items of {name}", 0, 1)
    return ChoiceTask(line_ends() if name == OWN_TASK else read_task(name, request.files))


class _Work:
    """The result as it grows."""

    def __init__(
        self,
        request: EvaluateRequest,
        tasks: dict[str, Task],
        failed: dict[str, EmbtieError],
        sides: list[Side],
        progress: Progress,
    ) -> None:
        self._request, self._tasks, self._sides = request, tasks, sides
        self._failed, self._progress = dict(failed), progress
        self._answers: dict[str, dict[str, Answers]] = {name: {} for name in tasks}
        self._models: dict[str, dict[str, Any]] = {}
        self._fresh = True

    @property
    def hashes(self) -> dict[str, str]:
        """Of all that the result depends on beside the request."""
        own = {name: sha for side in self._sides for name, sha in side.hashes.items()}
        return own | {f"items of {name}": task.sha256 for name, task in self._tasks.items()}

    def done(self) -> Evaluation:
        """Each model through all tasks, one model after the other."""
        started, steps = time.monotonic(), len(self._sides) * len(self._tasks)
        for side in self._sides:
            for name in list(self._tasks):
                self._take(side, name)
                done = sum(map(len, self._answers.values()))
                if done < steps:
                    hand_on(self._progress, self._so_far(f"{done} of {steps} parts"))
        if not any(self._answers.values()):
            raise next(iter(self._failed.values()))
        work = evaluate_cost.work_of(self._request)
        if self._fresh and work is not None and not self._failed:
            experience.took(work, time.monotonic() - started)
        return self._so_far("")

    def _take(self, side: Side, name: str) -> None:
        """One model's answers to one task; a task that fails for one model has no scores."""
        task = self._tasks[name]
        key = side.key(self._request, name, task.sha256, task.facts(self._request))
        kept = known_part(key)
        if kept is None:
            try:
                kept = self._made(side, task)
            except Interrupted:
                raise
            except EmbtieError as error:
                self._failed[name] = error
                del self._tasks[name], self._answers[name]
                return
            keep(key, Part(kept))
        else:
            self._fresh = False
        self._answers[name][side.side] = kept["answers"]
        self._models[side.side] = kept["model"]

    def _made(self, side: Side, task: Task) -> dict[str, Any]:
        request, progress = self._request, self._progress
        opened = open_model(
            side.ref, device=request.device, precision=request.precision, progress=progress
        )
        answers = task.answers(side, opened, request, progress)
        model = described(opened) | {"layers": side.layers}
        return {"answers": answers, "model": model}

    def _so_far(self, progress: str) -> Evaluation:
        asked = {name: one for name, one in self._answers.items() if one}
        whole = {name: one for name, one in asked.items() if len(one) == len(self._sides)}
        return Evaluation(
            scores={
                name: {side: self._tasks[name].scores(one) for side, one in by_side.items()}
                for name, by_side in asked.items()
            },
            items={name: self._tasks[name].items(one) for name, one in asked.items()},
            paired={
                name: self._tasks[name].paired(one["A"], one["B"]) for name, one in whole.items()
            },
            models=dict(self._models),
            notes=tuple(dict.fromkeys(self._notes())),
            settings={**self._request.to_dict(), "cached": not self._fresh and not progress},
            hashes=self.hashes,
            failed={name: str(error) for name, error in self._failed.items()},
            progress=progress,
        )

    def _notes(self) -> list[str]:
        found = [f"{name}: {note}" for name, task in self._tasks.items() for note in task.notes]
        for known in self._models.values():
            found += [f"{known['name']}: {note}" for note in known["notes"]]
        for name, by_side in self._answers.items():
            for side, one in by_side.items():
                found += [f"{name}, {self._models[side]['name']}: {n}" for n in one["notes"]]
        return found
