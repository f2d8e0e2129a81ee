"""The text behind the signatures of language models: its tokens, anchors among them, statistics."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.training_rows import Rows, rows_of_corpus
from embtie_widgets.measures.text_signatures import MOST_CONTEXTS, beside, beside_with
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests.corpus import OWN
from embtie_widgets.requests.fields import short
from embtie_widgets.requests.signatures import SignaturesRequest
from embtie_widgets.results import display_token
from embtie_widgets.results.groups import CODES, groups_of
from embtie_widgets.training.corpus import Corpus
from embtie_widgets.training.texts import corpus_for

Vector = np.ndarray[Any, np.dtype[Any]]
LEAST_TIMES, LEAST_ANCHORS = 20, 3
RULE = f"tokens of the text that occur at least {LEAST_TIMES} times in it, special ones left out"
_LETTERS = 8  # of English that hold a token, whatever the tokenizer


@dataclass(frozen=True, eq=False)
class Text:
    """A running text in the tokens of a model.

    ids   (N,)
    rows  what is known of the model's rows; counts are those of this text
    """

    ids: Vector
    rows: Rows
    name: str
    sha256: str

    @classmethod
    def of(cls, corpus: Corpus, request: SignaturesRequest, rows: int) -> "Text":
        """The beginning of a corpus, as much as is asked for."""
        part = Corpus(corpus.ids[: request.statistics], corpus.tokenizer, corpus.name)
        if part.ids.max(initial=0) >= rows:
            raise EmbtieError(
                f"The text holds the token id {part.ids.max():,}, and the model has {rows:,} rows.",
                "Use the tokenizer that belongs to the model.",
            )
        return cls(part.ids, rows_of_corpus(part, rows), part.name, part.sha256)


def read_text(
    request: SignaturesRequest, tokenizer: str, rows: int, progress: Progress = silent
) -> Text:
    """The request's text by the tokenizer of this name; no more is read than is asked for."""
    corpus = request.corpus
    enough = 1 + _LETTERS * request.statistics // 10**6
    if corpus.ref != OWN and not 0 < corpus.limit_mb <= enough:
        corpus = replace(corpus, limit_mb=enough)
    found, _ = corpus_for(corpus, tokenizer, request.vocabulary, progress)
    return Text.of(found, request, rows)


@dataclass(frozen=True, eq=False)
class Anchors:
    """The tokens that are compared with each other.

    ids     (A,) rows of the model whose text they were chosen from
    keys    their bytes; None where tokens are not known
    notes   which were asked for and are not among them
    """

    ids: Vector
    keys: tuple[bytes | None, ...]
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """As they are shown; by number where tokens are not known."""
        pairs = zip(self.ids.tolist(), self.keys, strict=True)
        return tuple(f"#{row}" if key is None else display_token(key) for row, key in pairs)

    def within(self, text: Text) -> Vector:
        """(A,) their rows in another model, by their bytes."""
        row_of = {key: row for row, key in enumerate(text.rows.tokens) if key is not None}
        return np.array([row_of[key] for key in self.keys if key is not None], np.int64)


def anchors_of(request: SignaturesRequest, text: Text, others: list[Text]) -> Anchors:
    """Those that the request asks for, of the tokens that occur often enough in every text."""
    eligible = _eligible(text)
    for other in others:
        known = {other.rows.tokens[row] for row in np.flatnonzero(_eligible(other))}
        eligible &= np.array([key in known for key in text.rows.tokens])
    if request.kind_of:
        eligible &= _of_kind(request.kind_of, text)
    counts = np.asarray(text.rows.counts)
    if request.chosen:
        ids, notes = _chosen(request.chosen, text, eligible)
    else:
        order = np.argsort(-counts, kind="stable")
        ids, notes = order[eligible[order]][: request.anchors], []
    if len(ids) < LEAST_ANCHORS:
        raise EmbtieError(
            f"{len(ids)} tokens can be compared; at least {LEAST_ANCHORS} are needed. Taken are "
            f"{RULE}{f', of the kind {short(request.kind_of)}' if request.kind_of else ''}.",
            "Give a longer text, more tokens, or no kind.",
        )
    return Anchors(ids, tuple(text.rows.tokens[row] for row in ids), tuple(notes))


def _eligible(text: Text) -> Vector:
    kinds = text.rows.kinds
    often = np.asarray(text.rows.counts) >= LEAST_TIMES
    if kinds is None:
        return often
    owned = np.array([key is not None for key in text.rows.tokens])
    return np.asarray(often & owned & (kinds != CODES["special"]))


def _of_kind(kind: str, text: Text) -> Vector:
    groups = groups_of(SimpleNamespace(kinds=text.rows.kinds, token_counts=text.rows.counts))
    if kind not in groups:
        raise EmbtieError(
            f"No token of the text is of the kind {short(kind)}; there are {', '.join(groups)}.",
            "Choose one of these, or none.",
        )
    return np.asarray(groups[kind])


def _chosen(wanted: tuple[str, ...], text: Text, eligible: Vector) -> tuple[Vector, list[str]]:
    """By their text, as it is or as it is shown, else as a word after a space."""
    row_of: dict[str, int] = {}
    for row, key in enumerate(text.rows.tokens):
        if key is not None:
            row_of.setdefault(display_token(key, limit=0), row)
            row_of[key.decode(errors="replace")] = row
    found = {name: row_of.get(name, row_of.get(f" {name}")) for name in wanted}
    unknown = [name for name, row in found.items() if row is None]
    if unknown:
        raise EmbtieError(
            f"No token is {short(unknown[0])}.",
            "Give tokens as they are shown, a space before a word as '␣'.",
        )
    rows = list(dict.fromkeys(row for row in found.values() if row is not None))
    seldom = [row for row in rows if not eligible[row]]
    notes = [
        f"{display_token(text.rows.tokens[row])} is left out: compared are {RULE}."
        for row in seldom
    ]  # fmt: skip
    return np.array([row for row in rows if eligible[row]], np.int64), notes


@dataclass(frozen=True, eq=False)
class Statistics:
    """The signatures of anchors in a text, by name as `tracks` takes them.

    shares  of the signatures with context: how much of the labels their directions hold
    """

    signatures: Mapping[str, Any]
    shares: Mapping[str, float]

    @classmethod
    def of(
        cls, request: SignaturesRequest, text: Text, anchors: Vector, progress: Progress = silent
    ) -> "Statistics":
        """In each direction that is asked for."""
        rows = len(text.rows.tokens)
        found: dict[str, Any] = {}
        shares: dict[str, float] = {}
        for direction in request.directions:
            found[direction] = beside(text.ids, anchors, rows, direction)
            if request.context:
                made = beside_with(
                    text.ids, anchors, rows, request.context, direction, progress=progress
                )
                name = f"{direction}, order 1"
                found[name], shares[name] = made.signature, made.share
        return cls(found, shares)


def facts_of(request: SignaturesRequest, text: Text, anchors: Anchors) -> dict[str, Any]:
    """What a report says of the text, in words and numbers."""
    covered = np.asarray(text.rows.counts)[anchors.ids].sum() / len(text.ids)
    found = {
        "text": text.name,
        "tokens of text": len(text.ids),
        "compared": RULE,
        "share of the text that they are": float(covered),
        "rarest occurs": int(np.asarray(text.rows.counts)[anchors.ids].min()),
    }
    if request.context:
        found["context"] = (
            f"{request.context} tokens, in which the {MOST_CONTEXTS} most frequent ones are looked "
            "for"
        )
    return found
