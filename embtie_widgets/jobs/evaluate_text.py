"""How well a model predicts a text, passage by passage."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from embtie_widgets.jobs.evaluate_sides import Side, opening
from embtie_widgets.measures.likelihood import log_likelihoods, windows
from embtie_widgets.measures.scores import error_of, perplexity, rate
from embtie_widgets.measures.states import most_places
from embtie_widgets.progress import Progress
from embtie_widgets.requests.evaluate import EvaluateRequest
from embtie_widgets.results.evaluate import (
    BYTE_BITS,
    TOKEN_PERPLEXITY,
    WORD_PERPLEXITY,
    Difference,
    TaskItems,
    TaskScore,
    Vector,
)
from embtie_widgets.sources.models import OpenModel
from embtie_widgets.sources.prose import Prose, placed

Answers = dict[str, Any]


@dataclass(frozen=True)
class TextTask:
    """The perplexity of a text."""

    prose: Prose

    @property
    def sha256(self) -> str:
        """Of what is read."""
        return self.prose.sha256

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reading of it has left out."""
        return self.prose.notes

    def facts(self, request: EvaluateRequest) -> Any:
        """What of the request decides the answers."""
        return request.length, request.stride

    def answers(
        self, side: Side, opened: OpenModel, request: EvaluateRequest, progress: Progress
    ) -> Answers:
        """By passage, "nats" and how many "tokens" these are of; and "notes"."""
        most = most_places(opened.model) or request.length
        length = min(request.length, most)
        stride = min(request.stride, length)
        first = opening(opened, side.tokenizer)
        runs, starts, where = _cut(self.prose, side, first, length, stride)
        stage = f"perplexity, {opened.name}"
        nats, _ = log_likelihoods(
            opened.model, runs, starts, progress=lambda _, done, total: progress(stage, done, total)
        )
        count = len(self.prose.passages)
        sums, tokens = np.zeros(count), np.zeros(count, np.int64)
        for values, passages in zip(nats, where, strict=True):
            np.add.at(sums, passages, values)
            np.add.at(tokens, passages, 1)
        notes = (
            []
            if length == request.length
            else [
                f"It is read in windows of {length:,} tokens, the most that it takes, not of "
                f"{request.length:,}."
            ]
        )
        if not first:
            notes.append("It has no sign that begins a text: first tokens are not predicted.")
        return {"nats": sums, "tokens": tokens, "notes": notes}

    def scores(self, answers: Answers) -> dict[str, TaskScore]:
        """By metric: perplexity by word, by token of the model's own, and bits by byte."""
        nats, passages = answers["nats"], self.prose.passages
        words, letters = _words(passages), _bytes(passages)
        value, parts = rate(nats, letters)
        error = error_of(parts)
        bits = 1 / np.log(2)
        by_word, word_error, _ = perplexity(nats, words)
        by_token, token_error, _ = perplexity(nats, answers["tokens"])
        found = {
            WORD_PERPLEXITY: (by_word, word_error),
            TOKEN_PERPLEXITY: (by_token, token_error),
            BYTE_BITS: (float(bits * value), None if error is None else float(bits * error)),
        }
        return {name: TaskScore(name, *one, None, len(passages)) for name, one in found.items()}

    def items(self, answers: dict[str, Answers]) -> TaskItems:
        """The passages, and the nats of each by side."""
        passages = self.prose.passages
        scores: dict[str, tuple[tuple[float, ...], ...]] = {
            side: tuple((float(value),) for value in one["nats"]) for side, one in answers.items()
        }
        return TaskItems(passages, (), np.full(len(passages), -1), {}, scores)

    def paired(self, a: Answers, b: Answers) -> dict[str, Difference]:
        """B less A by metric; those of tokens only where both cut the text alike."""
        passages = self.prose.passages
        units = {WORD_PERPLEXITY: _words(passages), BYTE_BITS: _bytes(passages)}
        if np.array_equal(a["tokens"], b["tokens"]):
            units[TOKEN_PERPLEXITY] = a["tokens"]
        return {name: _difference(name, a, b, units[name]) for name in units}


def _difference(metric: str, a: Answers, b: Answers, units: Vector) -> Difference:
    if metric == BYTE_BITS:
        (low, parts_a), (high, parts_b) = rate(a["nats"], units), rate(b["nats"], units)
        value, parts = (high - low) / np.log(2), (parts_b - parts_a) / np.log(2)
    else:
        low, _, parts_a = perplexity(a["nats"], units)
        high, _, parts_b = perplexity(b["nats"], units)
        value, parts = high - low, parts_b - parts_a
    return Difference(float(value), error_of(parts))


def _words(passages: tuple[str, ...]) -> Vector:
    return np.array([len(passage.split()) for passage in passages])


def _bytes(passages: tuple[str, ...]) -> Vector:
    return np.array([len(passage.encode()) for passage in passages])


def _cut(
    prose: Prose, side: Side, first: list[int], length: int, stride: int
) -> tuple[list[Vector], list[int], list[Vector]]:
    """Windows as runs of ids, where what is new in each starts, and the passages of its tokens."""
    runs, starts, where = [], [], []
    for ids, passages in placed(prose, side.tokenizer):
        whole = np.concatenate([np.asarray(first, np.int64), ids])
        inside = np.concatenate([np.full(len(first), -1), passages])
        for begin, end, new in windows(len(whole), length, stride):
            new = max(new, len(first)) if begin == 0 else new
            if end - begin > 1 and new < end:
                runs.append(whole[begin:end])
                starts.append(new - begin)
                where.append(inside[new:end])
    return runs, starts, where
