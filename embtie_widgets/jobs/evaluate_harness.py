"""Models and items for the lm-eval harness, and its answers as plain values.

The harness words the questions and counts; items come from this machine, log-likelihoods from our
own reading of the model.  It is kept from the network and from its caches.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import datasets
import lm_eval
import numpy as np
from lm_eval.api import task as harness_task
from lm_eval.api.model import TemplateLM
from lm_eval.evaluator import evaluate
from lm_eval.tasks import TaskManager

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.evaluate_choices import Answers
from embtie_widgets.measures.likelihood import log_likelihoods
from embtie_widgets.measures.states import most_places
from embtie_widgets.progress import Progress
from embtie_widgets.requests.evaluate import OWN_TASK
from embtie_widgets.results.evaluate import ACCURACY, BY_LENGTH
from embtie_widgets.sources.quiet import replaced, told
from embtie_widgets.sources.task_files import TaskItemsFile
from embtie_widgets.sources.tokenizing import ModelTokenizer

_USUAL_MOST = 2_048  # tokens, for models that name no end
_GROUP = "embtie"
# The folder of a task among those of the harness, and its name there.
_HOMES = {
    "piqa": ("piqa", "piqa"),
    "hellaswag": ("hellaswag", "hellaswag"),
    "winogrande": ("winogrande", "winogrande"),
    "arc_easy": ("arc", "arc_easy"),
    "arc_challenge": ("arc", "arc_challenge"),
    "boolq": ("super_glue/boolq", "boolq"),
    "openbookqa": ("openbookqa", "openbookqa"),
    "blimp": ("blimp", "blimp_adjunct_island"),  # all its kinds of sentences are asked alike
}
_OWN = {
    "task": OWN_TASK,
    "output_type": "multiple_choice",
    "doc_to_text": "context",
    "doc_to_choice": "choices",
    "doc_to_target": "gold",
    "target_delimiter": " ",
    "metric_list": [{"metric": ACCURACY}, {"metric": BY_LENGTH}],
}


class Reader(TemplateLM):
    """A model for the harness; `start` are the ids before a text, `stage` is told to `progress`."""

    def __init__(
        self,
        model: Any,
        tokenizer: ModelTokenizer,
        start: list[int],
        stage: str,
        progress: Progress,
    ) -> None:
        super().__init__()
        self._model, self._words, self._start = model, tokenizer, start
        self._stage, self._progress = stage, progress
        self._most = most_places(model) or _USUAL_MOST
        self._habit = tokenizer.encode([""], special=True)[0]
        self.cut = 0

    def tell(self, done: int, total: int) -> None:
        """Say where the work is; may raise that it is called off."""
        self._progress(self._stage, done, total)

    @property
    def eot_token_id(self) -> int:
        """What stands before a text that nothing stands before."""
        if not self._start:
            raise EmbtieError(
                "The model has no sign that begins a text, and this task asks about whole "
                "sentences with nothing before them.",
                "Give the configuration of the model a bos_token_id or an eos_token_id.",
            )
        return self._start[-1]

    def tok_encode(
        self, string: str, add_special_tokens: bool | None = None, **_others: Any
    ) -> list[int]:
        """The ids of a text, with what the model is used to see before it, if that is wanted."""
        ids = self._words.encode([string])[0]
        return ids if add_special_tokens is False else [*self._usual(), *ids]

    def loglikelihood(self, requests: Any, disable_tqdm: bool = True) -> list[tuple[float, bool]]:
        """Without the harness's bar."""
        found: list[tuple[float, bool]] = super().loglikelihood(requests, disable_tqdm=True)
        return found

    def _usual(self) -> list[int]:
        return self._start if self._habit else []

    def _loglikelihood_tokens(
        self, requests: Sequence[Any], **_others: Any
    ) -> list[tuple[float, bool]]:
        """Of each continuation behind its context, which loses its beginning where both are more
        than the model takes."""
        runs, starts = [], []
        for _, context, continuation in requests:
            whole = [*context, *continuation]
            kept = whole[-self._most - 1 :]  # the last one is predicted, not read
            self.cut += len(whole) > len(kept)
            runs.append(kept)
            starts.append(max(1, len(kept) - len(continuation)))
        nats, top = log_likelihoods(
            self._model, runs, starts, progress=lambda _, done, total: self.tell(done, total)
        )
        pairs = zip(nats, top, strict=True)
        return [(float(values.sum()), bool(firsts.all())) for values, firsts in pairs]

    def loglikelihood_rolling(self, requests: Any, disable_tqdm: bool = False) -> list[float]:
        """Not asked for: perplexity has a way of its own."""
        raise NotImplementedError

    def generate_until(self, requests: Any, disable_tqdm: bool = False) -> list[str]:
        """Not asked for: no task here writes."""
        raise NotImplementedError


def asked(given: TaskItemsFile, reader: Reader, limit: int, shots: int, seed: int) -> Answers:
    """All items of a task, or the first `limit`, put to a model.

    "contexts" and "choices" by item as the harness words them, "gold" (items,), "nats" by item and
    choice, "picked" by metric (items,), "metrics" by name as (value, standard error), "notes".
    """
    reader.tell(0, 1)
    with _kept_in(reader):
        # Examples are drawn from all items; without any, no more are prepared than are asked.
        most = limit if limit and not shots else len(given.docs)
        # Only here would it ask for a data set; others may be reading one meanwhile.
        try:
            with replaced(harness_task.datasets, "load_dataset", _refused):
                task = _made(given.task, given.docs[:most])
            task.set_config(key="num_fewshot", value=shots)
            task.set_fewshot_seed(seed=seed)
            # Of a mean the error is exact whatever `bootstrap_iters` is; 0 would leave it out.
            asked_of = {"tasks": {given.task: task}, "groups": {}}
            found = evaluate(reader, asked_of, limit=limit or None, bootstrap_iters=1)
        except (AssertionError, IndexError, KeyError, TypeError, ValueError) as error:
            raise EmbtieError(
                f"The harness cannot ask the items of {given.task}.",
                f"Look at what '{given.name}' holds: choices that are empty, for example, or items "
                "that are there twice and so are no worked examples for each other.",
            ) from error
    return _plain(given.task, found, reader)


def _made(name: str, docs: Sequence[Any]) -> Any:
    """The harness's own task, on our items."""

    def ours(**_named: Any) -> Any:
        return datasets.DatasetDict(validation=datasets.Dataset.from_list(list(docs)))

    splits = {"training_split": None, "validation_split": "validation", "test_split": None}
    changed = {**splits, "custom_dataset": ours, "dataset_path": None, "dataset_name": None}
    if name == OWN_TASK:
        loaded = TaskManager(include_defaults=False).load([{**_OWN, **changed}])
        return loaded["tasks"][OWN_TASK]
    folder, theirs = _HOMES[name]
    home = Path(lm_eval.__file__).parent / "tasks" / folder
    manager = TaskManager(include_path=str(home), include_defaults=False)
    # Of a group the harness takes a task of its own with changes.
    loaded = manager.load([{"group": _GROUP, "task": [{"task": theirs, **changed}]}])
    return next(iter(loaded["tasks"].values()))


def _plain(task: str, found: Any, reader: Reader) -> Answers:
    samples = sorted(found["samples"][task], key=lambda sample: sample["doc_id"])
    nats = [[float(answer[0][0]) for answer in sample["resps"]] for sample in samples]
    worded = [_worded(sample) for sample in samples]
    gold = np.array([_gold(sample) for sample in samples])
    scored = found["results"][task]
    metrics = {m: _value(scored, m) for m in (ACCURACY, BY_LENGTH) if f"{m},none" in scored}
    picks = {
        ACCURACY: [int(np.argmax(each)) for each in nats],
        BY_LENGTH: [
            int(np.argmax(np.array(each) / [max(1, len(c)) for c in choices]))
            for each, (_, choices) in zip(nats, worded, strict=True)
        ],
    }
    picked = {metric: np.array(picks[metric]) for metric in metrics}
    return {
        "contexts": [context for context, _ in worded],
        "choices": [list(choices) for _, choices in worded],
        "gold": gold,
        "nats": nats,
        "picked": picked,
        "metrics": metrics,
        "notes": _cut_notes(reader.cut),
    }


def _worded(sample: Any) -> tuple[str, tuple[str, ...]]:
    """The context and the choices behind it; where the contexts differ and the continuation is one,
    as of WinoGrande, these are what is chosen from."""
    contexts = [context for context, _ in sample["arguments"]]
    ends = [end.removeprefix(" ") for _, end in sample["arguments"]]
    if len(set(contexts)) == 1:
        return contexts[0], tuple(ends)
    return f"… {ends[0]}", tuple(contexts)


def _gold(sample: Any) -> int:
    """The right choice by number: WinoGrande says it in place of a context."""
    if len({context for context, _ in sample["arguments"]}) > 1:
        return int(sample["doc"]["answer"]) - 1
    return int(sample["target"])


def _value(scored: Any, metric: str) -> list[float | None]:
    error = scored.get(f"{metric}_stderr,none")
    known = isinstance(error, int | float) and np.isfinite(error)
    return [float(scored[f"{metric},none"]), float(error) if known else None]


def _cut_notes(count: int) -> list[str]:
    if not count:
        return []
    return [f"{count:,} choices were read behind a shortened context: they exceed what it takes."]


@contextmanager
def _kept_in(reader: Reader) -> Iterator[None]:
    """The harness without bars and logs; its bars tell our progress, which may stop the work."""
    logger = logging.getLogger("lm_eval")
    level = logger.level
    with ExitStack() as stack:
        stack.callback(logger.setLevel, level)
        logger.setLevel(logging.CRITICAL)
        if not datasets.are_progress_bars_disabled():
            datasets.disable_progress_bars()
            stack.callback(datasets.enable_progress_bars)
        bar = told(lambda _, done, total: reader.tell(0, 1), "")
        stack.enter_context(replaced(harness_task, "tqdm", bar))
        yield


def _refused(*_given: Any, **_named: Any) -> Any:
    raise EmbtieError(
        "The harness asked for a data set of the hub.", "Report this; none is needed."
    )
