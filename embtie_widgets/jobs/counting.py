"""From a text to how often each row's token occurs in it."""

import hashlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.cache import keep, recall
from embtie_widgets.jobs.estimate import Estimate
from embtie_widgets.progress import Progress, silent, spoken
from embtie_widgets.requests import CorpusRef, ModelRef
from embtie_widgets.requests.corpus import DATASETS, OWN
from embtie_widgets.results import Counts
from embtie_widgets.results.storage import storable
from embtie_widgets.sources.corpora import Corpus, find_corpus
from embtie_widgets.sources.count_files import Ready, hash_of_counts, read_counts
from embtie_widgets.sources.cutting import Cutter, Piece, batches
from embtie_widgets.sources.load import load
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.texts import Chunk
from embtie_widgets.sources.tokenizing import ModelTokenizer, tokenizer_of

# Raise it whenever the same text by the same tokenizer gives other counts than before.
VERSION = 1
# Letters that are encoded at once: a part of a second's work, so that it can be stopped.
BATCH = min(2**18 * (os.cpu_count() or 1), 2**22)
_BATCH_BYTES = 60  # for each of its letters, as measured


@storable
@dataclass(frozen=True)
class KnownText:
    """What was once read of a text: while its files are as they were, nothing need be read."""

    sha256: str
    settings: dict[str, Any]


def count_tokens(corpus: Any, model: ModelRef | Loaded, progress: Progress = silent) -> Counts:
    """How often each token of the model occurs in the corpus, by row of the model.

    `corpus` is a `CorpusRef` or the text that names one.  Counts of the same text by the same
    tokenizer are found again, whichever model they were made for.
    """
    corpus = CorpusRef.from_value(corpus)
    # What is named is looked at before a model is opened for it.
    source = None if corpus.ref == OWN else find_corpus(corpus)
    loaded = model if isinstance(model, Loaded) else load(model, progress=progress)
    if source is None:
        return _own(loaded, corpus)
    if isinstance(source, Path):
        return _of_ready(read_counts(source, loaded), loaded, corpus)
    tokenizer = tokenizer_of(loaded, progress)
    return _fitted(_by_id(source, tokenizer, progress), source, loaded, corpus)


def known_text(corpus: CorpusRef) -> str | None:
    """What the text hashes to today, where that is known without reading it; None elsewhere.

    No network is asked.  A count file is short enough to be read.
    """
    if corpus.ref == OWN or corpus.ref.startswith(DATASETS):
        return None
    source = find_corpus(corpus)
    if isinstance(source, Path):
        return hash_of_counts(source)
    known = recall(_stamp_key(source))
    return None if known is None else str(known.sha256)


def estimate_counting(corpus: Any) -> Estimate | None:
    """Seconds and bytes that counting will take at most; None where the size is not known.

    No network is asked: of a data set only its limit is known.
    """
    ref = CorpusRef.from_value(corpus)
    if ref.ref == OWN:
        return Estimate(0.0, 0)
    if ref.ref.startswith(DATASETS):
        return _estimate(ref.limit_mb * 10**6)
    source = find_corpus(ref)
    if isinstance(source, Path):
        return Estimate(1.0, 2 * source.stat().st_size)
    return _estimate(source.text)


def _estimate(size: int) -> Estimate | None:
    return Estimate(1.0 + size / speed.rate, _BATCH_BYTES * BATCH) if size else None


class _Speed:
    """Bytes of text counted a second, until the first text of this kernel has shown it."""

    rate = 3e6

    def took(self, size: int, seconds: float) -> None:
        if size > BATCH and seconds > 0:
            self.rate = size / seconds


speed = _Speed()


def _by_id(source: Corpus, tokenizer: ModelTokenizer, progress: Progress) -> Counts:
    """The counts by id, kept or made.  A text that can be read twice is first only hashed."""
    stamp = _stamp_key(source) if source.stamp else None
    known = recall(stamp) if stamp is not None else None
    if known is None and source.local:
        known = KnownText(_hash_of(source, progress), {})
    if known is not None:
        counts: Counts | None = recall(_counts_key(known.sha256, tokenizer))
        if counts is not None:
            _remember(stamp, counts.sha256)
            return counts
    counts = _counted(source, tokenizer, progress)
    keep(_counts_key(counts.sha256, tokenizer), counts)
    _remember(stamp, counts.sha256)
    return counts


def _stamp_key(source: Corpus) -> str:
    return _key("stamp", *map(str, source.stamp))


def _remember(stamp: str | None, sha256: str) -> None:
    if stamp is not None:
        keep(stamp, KnownText(sha256, {}))


def _counts_key(text: str, tokenizer: ModelTokenizer) -> str:
    return _key("counts", str(VERSION), text, tokenizer.sha256)


def _key(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode(errors="surrogatepass")).hexdigest()


class _Reading:
    """Chunks on their way: hashed, measured and told to `progress`.

    The hash is that of the text's UTF-8 bytes, and of where each document ends if they are several.
    """

    def __init__(self, source: Corpus, stage: str, progress: Progress) -> None:
        self._source, self._stage, self._progress = source, stage, progress
        self._digest, self._ends = hashlib.sha256(), hashlib.sha256()
        self.documents = self.bytes = 0

    def __iter__(self) -> Iterator[Chunk]:
        for chunk in self._source.open():
            raw = chunk.text.encode()
            self._digest.update(raw)
            self.bytes += len(raw)
            if chunk.last:
                self.documents += 1
                self._ends.update(self.bytes.to_bytes(8, "little"))
            yield chunk

    @property
    def sha256(self) -> str:
        if self.documents < 2:
            return self._digest.hexdigest()
        return _key(self._digest.hexdigest(), self._ends.hexdigest())

    def tell(self, at: int) -> None:
        """Say how far it is; whoever listens may stop it here."""
        if self._source.stored:
            self._progress(self._stage, at, max(at, self._source.stored))
        else:  # nobody knows how much is to come
            self._progress(f"{self._stage}, {spoken(self.bytes)} read", 0, 1)


def _hash_of(source: Corpus, progress: Progress) -> str:
    reading = _Reading(source, "reading the text", progress)
    for chunk in reading:
        reading.tell(chunk.at)
    return reading.sha256


def _counted(source: Corpus, tokenizer: ModelTokenizer, progress: Progress) -> Counts:
    started = time.monotonic()
    reading = _Reading(source, "counting tokens", progress)
    cutter = Cutter(tokenizer.encode)
    found = np.zeros(tokenizer.tokenizer.get_vocab_size(), np.int64)
    reading.tell(0)
    for batch in batches(cutter.pieces(reading), BATCH):
        found = _added(found, tokenizer.encode([piece.text for piece in batch]), batch)
        reading.tell(batch[-1].at)
    if not reading.bytes:
        raise EmbtieError(f"The corpus '{source.name}' is empty.", "Name another text.")
    speed.took(reading.bytes, time.monotonic() - started)
    return Counts(
        counts=found,
        total=int(found.sum()),
        unknown=0,
        documents=reading.documents,
        bytes=reading.bytes,
        name=source.name,
        sha256=reading.sha256,
        tokenizer=tokenizer.sha256,
        tokens=None,
        notes=_forced_notes(cutter.forced),
        settings={},
    )


def _added(counts: Any, encoded: list[list[int]], batch: list[Piece]) -> Any:
    own = (ids[piece.skip :] for ids, piece in zip(encoded, batch, strict=True))
    ids = np.fromiter(chain.from_iterable(own), np.int64)
    new = np.bincount(ids, minlength=len(counts))
    new[: len(counts)] += counts
    return new


def _forced_notes(forced: int) -> tuple[str, ...]:
    if not forced:
        return ()
    return (f"The text has stretches without a place to cut; {forced} cuts may split a token.",)


def _fitted(by_id: Counts, source: Corpus, loaded: Loaded, corpus: CorpusRef) -> Counts:
    """The same counts by the rows of this model; what has no row is told apart."""
    rows = len(loaded.input)
    counts = np.zeros(rows, np.int64)
    held = by_id.counts[:rows]
    counts[: len(held)] = held
    unknown = int(by_id.counts[rows:].sum())
    notes = (f"{unknown:,} tokens of the text have no row in {loaded.name}.",) if unknown else ()
    return replace(
        by_id,
        counts=counts,
        unknown=unknown,
        name=source.name,
        tokens=None if loaded.tokens is None else tuple(loaded.tokens),
        notes=(*source.notes, *by_id.notes, *notes),
        settings={
            "corpus": corpus.to_dict(),
            "model": loaded.name,
            "revision": loaded.revision,
            "special tokens": "not added",
            "cached": by_id.settings.get("cached", False),
        },
    )


def _own(loaded: Loaded, corpus: CorpusRef) -> Counts:
    """The counts that come with the model."""
    if loaded.token_counts is None:
        raise EmbtieError(
            f"{loaded.name} brings no token counts of its own.",
            "Name a corpus: 'bundled', a text file or folder, or a ready count file.",
        )
    ready = Ready(loaded.token_counts, 0, f"the training text of {loaded.name}", "", ())
    return _of_ready(ready, loaded, corpus)


def _of_ready(ready: Ready, loaded: Loaded, corpus: CorpusRef) -> Counts:
    return Counts(
        counts=ready.counts,
        total=int(ready.counts.sum()) + ready.unknown,
        unknown=ready.unknown,
        documents=0,
        bytes=0,
        name=ready.name,
        sha256=ready.sha256,
        tokenizer="",
        tokens=None if loaded.tokens is None else tuple(loaded.tokens),
        notes=ready.notes,
        settings={
            "corpus": corpus.to_dict(),
            "model": loaded.name,
            "revision": loaded.revision,
            "by row": ready.by_row,
            "cached": False,
        },
    )
