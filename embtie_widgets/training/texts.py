"""The text of a training request as token ids: what is learned from, and what is held out.

A long document is cut where its tokens are seen to end; one piece in fifty is held out, so that it
comes from all parts of the text.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import CorpusRef, ModelRef
from embtie_widgets.requests.corpus import OWN
from embtie_widgets.requests.training import OWN_TOKENIZER, TRAIN_TOKENIZER
from embtie_widgets.sources import cutting
from embtie_widgets.sources.corpora import find_corpus
from embtie_widgets.sources.texts import Chunk
from embtie_widgets.sources.tokenizing import ModelTokenizer, tokenizer_of
from embtie_widgets.training.corpus import (
    Corpus,
    Ids,
    end_of_text,
    read_text,
    split_documents,
    train_tokenizer,
)
from embtie_widgets.training.nano import BUNDLED, HELD_OUT, HELD_OUT_EVERY, SAMPLE

MOST_MB = 200  # of text that is read where the request sets no limit of its own
_TOKENIZER_LETTERS = 20_000_000  # of text that a tokenizer is trained on
_LETTERS = 2**18  # encoded at once
_TAIL = 20  # of a text of few pieces, one token in so many, at its end, is held out
_READING, _CUTTING = "reading the text", "cutting the text into tokens"
_PAIR = ModelRef("nano-tied")
_KEPT = 2

Both = tuple[Corpus, Corpus]
_made: OrderedDict[Any, Both] = OrderedDict()
_at_hand = Lock()


@dataclass(frozen=True)
class _Text:
    """A text that can be read: its documents in chunks, and its size as `Chunk.at` counts."""

    name: str
    stamp: Any
    chunks: Iterable[Chunk]
    size: int


def corpus_for(
    corpus: CorpusRef, tokenizer: str, vocabulary: int, progress: Progress = silent
) -> Both:
    """What a request trains on, and what it holds out.

    The corpus "" is the sample that ships with the bundled pair, whose held-out part no model that
    ships has seen.  `tokenizer` is "" for that pair's, "train" for one of `vocabulary` tokens that
    is learned from the text, or the reference of a model.  The last texts made are kept.
    """
    progress(_READING, 0, 1)
    text, held = _of_sample() if corpus.ref == OWN else (_named(corpus), None)
    made = None if tokenizer == TRAIN_TOKENIZER else _tokenizer(tokenizer, progress)
    key = (text.stamp, vocabulary if made is None else made.sha256)
    with _at_hand:
        if key in _made:
            _made.move_to_end(key)
            return _made[key]
    if made is None:  # the text is gone through twice
        text = replace(text, chunks=list(_told(text, progress)))
        made = _learned(text, vocabulary, progress)
    both = _encoded(text, held, made, progress)
    with _at_hand:
        _made[key] = both
        while len(_made) > _KEPT:
            _made.popitem(last=False)
    return both


def _tokenizer(name: str, progress: Progress) -> ModelTokenizer:
    return tokenizer_of(_PAIR if name == OWN_TOKENIZER else ModelRef(name), progress)


def _of_sample() -> tuple[_Text, _Text]:
    """In the documents that the bundled pair was trained on."""
    made = []
    for file, name in ((SAMPLE, "the bundled sample"), (HELD_OUT, "the sample held out")):
        documents = split_documents(read_text(BUNDLED / file))
        ends = np.cumsum([len(document) for document in documents])
        chunks = [Chunk(d, True, int(end)) for d, end in zip(documents, ends, strict=True)]
        made.append(_Text(name, name, chunks, int(ends[-1])))
    return made[0], made[1]


def _named(ref: CorpusRef) -> _Text:
    source = find_corpus(ref)
    if isinstance(source, Path):
        raise EmbtieError(
            f"'{source.name}' holds counts of tokens; a model learns from text.",
            "Name a text file, a .jsonl file or a folder of such files.",
        )
    most = MOST_MB * 10**6
    if not ref.limit_mb and not 0 < source.text <= most:
        return _named(replace(ref, limit_mb=MOST_MB))
    return _Text(source.name, source.stamp or ref, _clean(source.open()), source.stored)


def _clean(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """A lone surrogate is no text that could be encoded."""
    for chunk in chunks:
        yield replace(chunk, text=chunk.text.encode(errors="replace").decode())


def _told(text: _Text, progress: Progress) -> Iterator[Chunk]:
    for chunk in text.chunks:
        progress(_READING, chunk.at, max(text.size, chunk.at))
        yield chunk


def _learned(text: _Text, vocabulary: int, progress: Progress) -> ModelTokenizer:
    """On the beginning of a long text."""
    progress("training the tokenizer", 0, 1)
    documents, letters = [], 0
    for chunk in text.chunks:
        documents.append(chunk.text)
        letters += len(chunk.text)
        if letters > _TOKENIZER_LETTERS:
            break
    return ModelTokenizer(train_tokenizer(documents, vocabulary), text.name)


def _encoded(
    text: _Text, held: _Text | None, tokenizer: ModelTokenizer, progress: Progress
) -> Both:
    learned: list[Ids] = []
    spared: list[Ids] = []
    for number, ids in enumerate(_pieces(text, tokenizer, progress)):
        spare = held is None and number % HELD_OUT_EVERY == HELD_OUT_EVERY // 2
        (spared if spare else learned).append(ids)
    if held is not None:
        spared = list(_pieces(held, tokenizer, progress))
    rows, others = _joined(learned), _joined(spared)
    if not len(others):
        cut = len(rows) - max(2, len(rows) // _TAIL)
        rows, others = rows[: max(cut, 0)], rows[max(cut, 0) :]
    if not len(rows):
        raise EmbtieError(f"'{text.name}' holds no text to learn from.", "Give more text.")
    made: Tokenizer = tokenizer.tokenizer
    return Corpus(rows, made, text.name), Corpus(others, made, f"{text.name}, held out")


def _pieces(text: _Text, tokenizer: ModelTokenizer, progress: Progress) -> Iterator[Ids]:
    """The ids of pieces that follow each other, with a sign where a document ends."""
    cutter, end = cutting.Cutter(tokenizer.encode), end_of_text(tokenizer.tokenizer)
    for batch in cutting.batches(cutter.pieces(text.chunks), _LETTERS):
        encoded = tokenizer.encode([piece.text for piece in batch])
        for ids, piece in zip(encoded, batch, strict=True):
            close = [end] if piece.last and end is not None else []
            yield np.array(ids[piece.skip :] + close, np.int64)
        progress(_CUTTING, batch[-1].at, max(text.size, batch[-1].at, 1))


def _joined(parts: list[Ids]) -> Ids:
    return np.concatenate([np.zeros(0, np.int64), *parts])
