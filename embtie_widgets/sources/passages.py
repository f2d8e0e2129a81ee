"""Text as a model reads it: pieces of at most so many tokens, to measure on and to train on.

A document is cut into pieces that follow each other.  Each goes through the model alone, so each
begins with the special tokens that the model's own habit puts first; those that it puts last are
left out, since the document goes on.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import ceil
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import CorpusRef
from embtie_widgets.requests.corpus import OWN
from embtie_widgets.requests.fields import short
from embtie_widgets.sources import cutting
from embtie_widgets.sources.corpora import find_corpus
from embtie_widgets.sources.texts import Chunk, chunks_of

Ids = np.ndarray[Any, np.dtype[np.int64]]

SHORTEST = 2  # a single token says nothing of what layers do with a context
MEASURED_EVERY = 5  # of a text that serves for both, one piece in so many is measured on
_SAMPLE = Path(__file__).parents[1] / "data" / "nano"
_SEEN, UNSEEN = _SAMPLE / "corpus_sample.txt.gz", _SAMPLE / "heldout_sample.txt.gz"
_LETTERS = 2**17  # encoded at once
_AMPLE = 8  # letters that hold a token of English, whatever the tokenizer
_MORE = "Give more text, shorter pieces, or ask for fewer tokens."


class Encoder(Protocol):
    """What cuts texts into tokens; `special` adds those of the model's habit."""

    @property
    def specials(self) -> dict[int, str]:
        """Special tokens that a text may spell, by id."""

    def encode(self, texts: list[str], special: bool = False) -> list[list[int]]:
        """The ids of each text."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Runs of tokens, each read alone by a model, from place 0 on.

    ids        the token ids of each piece, (n,) int64, special ones included
    name       how the text is called
    sha256     of ids and cuts: equal ones give a model the same to read
    documents  how many documents the pieces come from
    notes      sentences about what was left out
    settings   how they were cut and chosen
    """

    ids: tuple[Ids, ...]
    name: str
    sha256: str
    documents: int
    notes: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def positions(self) -> int:
        """How many tokens they hold."""
        return sum(map(len, self.ids))


def pieces_of_texts(
    texts: Any,
    tokenizer: Encoder | None,
    *,
    length: int,
    limit: int | None = None,
    rows: int | None = None,
) -> Pieces:
    """Strings, or token ids (B, T) as they are, in pieces; each string or row is a document.

    At most `limit` positions are kept.  Where `rows` says how many rows the model has, an id
    beyond them is refused.
    """
    given = [texts] if isinstance(texts, str) else texts
    worded = isinstance(given, Sequence) and len(given) > 0 and isinstance(given[0], str)
    if worded:
        cut = _Cut(_needed(tokenizer), length)
        cut_pieces = cut.pieces(cut.runs(_as_documents(given)))
    else:
        cut = _Cut(None, length)
        cut_pieces = cut.pieces((row, True) for row in _rows_of(given))
    kept = _Kept(limit)
    for piece in cut_pieces:
        kept.add(piece)
        if kept.full:
            break
    if not kept.pieces:
        raise EmbtieError(f"The texts have no piece of at least {SHORTEST} tokens.", _MORE)
    _check_rows(kept, rows)
    return kept.made("texts" if worded else "token ids", cut, {"chosen": "from the beginning on"})


def read_pieces(
    corpus: CorpusRef,
    text: str,
    tokenizer: Encoder | None,
    *,
    length: int,
    tokens: int,
    train_tokens: int,
    rows: int | None = None,
    progress: Progress = silent,
) -> tuple[Pieces, Pieces]:
    """Pieces to measure on, at most `tokens` positions, and others to train on, `train_tokens`.

    `text`, which somebody pasted, goes before `corpus`.  The corpus "" is the sample that ships
    with embtie: measured is what the bundled models never saw, trained on what they learned from,
    both from all parts of it.  Of any other text one piece in five is measured on, the rest
    trained on; where nothing is trained and the text is short, the rest is measured too.
    """
    if not text and corpus.ref == OWN:
        made = tuple(
            _of_sample(path, name, _Cut(_needed(tokenizer), length), most, progress)
            for path, name, most in (
                (UNSEEN, "the bundled sample, held out", tokens),
                (_SEEN, "the bundled sample, learned from", train_tokens),
            )
        )
        return made[0], made[1]
    chunks, name, notes = named_text(corpus, text)
    cut = _Cut(_needed(tokenizer), length)
    measured, others = _divided(cut, chunks, tokens, train_tokens, progress)
    if not measured.pieces or (train_tokens and not others.pieces):
        raise _too_little(name, cut, len(measured.pieces), train_tokens)
    for kept in (measured, others):
        _check_rows(kept, rows)
    source = {"text": "pasted"} if text else {"corpus": corpus.to_dict()}
    chosen = f"one piece in {MEASURED_EVERY}"
    if not train_tokens and measured.size < tokens:
        measured, chosen = _Kept.of([*measured.pieces, *others.pieces], tokens), "every piece"
    rest = others if train_tokens else _Kept(0)
    return (
        measured.made(name, cut, source | {"chosen": chosen}, notes),
        rest.made(name, cut, source | {"chosen": "the others"}, notes),
    )


def _of_sample(path: Path, name: str, cut: "_Cut", most: int, progress: Progress) -> Pieces:
    """Evenly from all parts of the text, so that no one book speaks for all."""
    progress("reading the sample", 0, 1)
    text = "".join(chunk.text for chunk in chunks_of([path], ""))
    count = ceil(most / cut.length)
    if count * _AMPLE * cut.length <= len(text):
        found = list(cut.beginnings(stretches(text, count, _AMPLE * cut.length)))
    else:
        found = list(cut.pieces(cut.runs(_as_documents([text]))))
        count = min(count, len(found))
    kept = _Kept.of([found[i * len(found) // count] for i in range(count)], most)
    return kept.made(name, cut, {"corpus": CorpusRef().to_dict(), "chosen": "evenly"})


def stretches(text: str, count: int, size: int) -> list[str]:
    """So many parts of that size, at even distances, each from the beginning of a line."""
    places = (text.find("\n", i * (len(text) - size) // count) + 1 for i in range(count))
    return [text[place : place + size] for place in places]


def _divided(
    cut: "_Cut", chunks: Iterable[Chunk], tokens: int, train_tokens: int, progress: Progress
) -> tuple["_Kept", "_Kept"]:
    """One piece in five, and the rest, until there is enough of both."""
    measured, others = _Kept(tokens), _Kept(train_tokens or tokens)
    wanted = tokens + (train_tokens or tokens)
    for piece in cut.pieces(cut.runs(chunks)):
        (others if piece.number % MEASURED_EVERY else measured).add(piece)
        progress("reading the text", measured.size + others.size, wanted)
        if measured.full and others.full:
            break
    return measured, others


def named_text(corpus: CorpusRef, text: str) -> tuple[Iterable[Chunk], str, tuple[str, ...]]:
    """The documents of a text, what it is called, and sentences about what was left out."""
    if text:
        return _as_documents([text]), "pasted text", ()
    source = find_corpus(corpus)
    if isinstance(source, Path):
        raise EmbtieError(
            f"'{source.name}' holds counts of tokens; models read text.",
            "Name a text file, a .jsonl file or a folder of such files.",
        )
    return source.open(), source.name, source.notes


def _as_documents(texts: Iterable[Any]) -> Iterator[Chunk]:
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise EmbtieError(
                f"Text {number} is a {type(text).__name__}; expected strings, or token ids only.",
                "Give a list of strings, or an array (B, T) of whole numbers.",
            )
        # A lone surrogate is no text that could be encoded.
        yield Chunk(text.encode(errors="replace").decode(), True, 0)


def _rows_of(given: Any) -> Iterator[list[int]]:
    """The rows of an array (B, T), or of a list of lists that may differ in length."""
    hint = "Give a list of strings, or an array (B, T) of whole numbers."
    if isinstance(given, bytes | bytearray | memoryview):  # rows of numbers by accident
        raise EmbtieError("The text is bytes, neither a string nor token ids.", hint)
    try:
        rows = [np.atleast_1d(np.asarray(row)) for row in given]
        rows = [row if row.size else row.astype(np.int64) for row in rows]
    except (TypeError, ValueError):
        raise EmbtieError(f"A {type(given).__name__} is no text and no ids.", hint) from None
    if not rows:
        raise EmbtieError("There is no text: the list is empty.", hint)
    if any(row.dtype.kind not in "iu" or row.ndim != 1 for row in rows):
        raise EmbtieError("The token ids are no whole numbers in rows (B, T).", hint)
    if rows[0].shape == (1,) and np.ndim(given[0]) == 0:  # a single row
        rows = [np.concatenate(rows)]
    for row in rows:
        if len(row) and row.min() < 0:
            raise EmbtieError(
                f"The token ids hold {row.min()}; expected row numbers from 0 on.",
                "Leave padding out: give a list of lists that differ in length.",
            )
        yield row.tolist()


def _needed(tokenizer: Encoder | None) -> Encoder:
    if tokenizer is None:
        raise EmbtieError(
            "The model brings no tokenizer, so that text cannot be read by it.",
            "Give token ids (B, T) instead of text.",
        )
    return tokenizer


def _check_rows(kept: "_Kept", rows: int | None) -> None:
    most = max((int(piece.ids.max()) for piece in kept.pieces), default=0)
    if rows is not None and most >= rows:
        raise EmbtieError(
            f"The text holds the token id {most:,}, and the model has {rows:,} rows.",
            "Use the tokenizer that belongs to the model.",
        )


def _too_little(name: str, cut: "_Cut", measured: int, train_tokens: int) -> EmbtieError:
    if not measured:
        return EmbtieError(f"'{name}' has no piece of at least {SHORTEST} tokens.", _MORE)
    return EmbtieError(
        f"'{name}' is one piece of {cut.length} tokens or less: that is measured on, and none is "
        f"left to train on; {train_tokens:,} tokens were asked for.",
        "Give more text or shorter pieces, load a lens that was trained before, or use the logit "
        "lens, which needs no training.",
    )


@dataclass(frozen=True, eq=False)
class _Piece:
    number: int
    document: int
    ids: Ids


class _Cut:
    """Cuts documents into pieces; `dropped` counts ends too short to be one.

    Without a tokenizer, documents are token ids already and get no special ones.
    """

    def __init__(self, tokenizer: Encoder | None, length: int) -> None:
        self._tokenizer, self.length = tokenizer, length
        self.special = [] if tokenizer is None else habit(tokenizer)
        self.spelt = {} if tokenizer is None else tokenizer.specials
        self.dropped = self.forced = 0
        if length < max(SHORTEST, len(self.special) + 1):
            raise EmbtieError(
                f"Pieces of {length} tokens are too short; the special tokens of this model take "
                f"{len(self.special)}.",
                f"Choose at least {max(SHORTEST, len(self.special) + 1)}.",
            )

    def runs(self, chunks: Iterable[Chunk]) -> Iterator[tuple[list[int], bool]]:
        """The token ids of the documents, part by part, and whether a document ends there."""
        tokenizer = _needed(self._tokenizer)
        cutter = cutting.Cutter(tokenizer.encode)
        for batch in cutting.batches(cutter.pieces(chunks), _LETTERS):
            encoded = tokenizer.encode([piece.text for piece in batch])
            self.forced = cutter.forced
            for ids, piece in zip(encoded, batch, strict=True):
                yield ids[piece.skip :], piece.last

    def beginnings(self, texts: list[str]) -> Iterator[_Piece]:
        """The first piece of each text, which is a part of one document."""
        room = self.length - len(self.special)
        for number, ids in enumerate(_needed(self._tokenizer).encode(texts)):
            yield _Piece(number, 0, np.fromiter(chain(self.special, ids[:room]), np.int64))

    def pieces(self, runs: Iterable[tuple[list[int], bool]]) -> Iterator[_Piece]:
        """Of each document, one after the other, numbered through."""
        held: list[int] = []
        room, number, document = self.length - len(self.special), 0, 0
        for run, last in runs:
            held += run
            whole = len(held) // room * room
            parts = [held[i : i + room] for i in range(0, whole, room)]
            held = held[whole:]
            if last and held:
                parts.append(held)
                held = []
            for part in parts:
                if len(self.special) + len(part) < SHORTEST:
                    self.dropped += 1
                    continue
                ids = np.fromiter(chain(self.special, part), np.int64)
                yield _Piece(number, document, ids)
                number += 1
            document += last


def habit(tokenizer: Encoder) -> list[int]:
    """The special tokens that the model's own habit puts before a text."""
    word = "a"
    plain, whole = tokenizer.encode([word])[0], tokenizer.encode([word], special=True)[0]
    starts = range(len(whole) - len(plain) + 1)
    at = next((i for i in starts if whole[i : i + len(plain)] == plain), 0)
    return whole[:at]


class _Kept:
    """Pieces up to a number of positions; the last one is cut to fit."""

    def __init__(self, most: int | None) -> None:
        self.most, self.size = most, 0
        self.pieces: list[_Piece] = []

    @classmethod
    def of(cls, pieces: Iterable[_Piece], most: int) -> "_Kept":
        """In the order of the text."""
        kept = cls(most)
        for piece in sorted(pieces, key=lambda piece: piece.number):
            kept.add(piece)
        return kept

    @property
    def full(self) -> bool:
        return self.most is not None and self.most - self.size < SHORTEST

    def add(self, piece: _Piece) -> None:
        if self.full:
            return
        room = None if self.most is None else self.most - self.size
        piece = _Piece(piece.number, piece.document, piece.ids[:room])
        self.pieces.append(piece)
        self.size += len(piece.ids)

    def made(
        self, name: str, cut: _Cut, settings: dict[str, Any], notes: tuple[str, ...] = ()
    ) -> Pieces:
        ids = tuple(piece.ids for piece in self.pieces)
        digest = hashlib.sha256(np.array([len(each) for each in ids], np.int64).tobytes())
        for each in ids:
            digest.update(each.tobytes())
        return Pieces(
            ids=ids,
            name=name,
            sha256=digest.hexdigest(),
            documents=len({piece.document for piece in self.pieces}),
            notes=(*notes, *self._notes(cut)),
            settings={
                **settings,
                "length": cut.length,
                "most": self.most,
                "pieces": len(ids),
                "positions": self.size,
                "special tokens": list(cut.special),
                "ends dropped": cut.dropped,
            },
        )

    def _spelt(self, cut: _Cut) -> Iterator[str]:
        """Where the text itself spells special tokens, which the model takes for such."""
        texts = [piece.ids[len(cut.special) :] for piece in self.pieces if cut.spelt]
        inside = np.concatenate(texts) if texts else np.zeros(0, np.int64)
        count = int(np.isin(inside, list(cut.spelt)).sum())
        if count:
            names = [short(name) for i, name in cut.spelt.items() if (inside == i).any()]
            times = "once" if count == 1 else f"{count:,} times"
            yield (
                f"The text itself spells a special token {times} ({', '.join(names[:4])}); the "
                "model reads it as that token, not as letters."
            )

    def _notes(self, cut: _Cut) -> Iterator[str]:
        if self.most and not self.full:
            yield f"The text has only {self.size:,} of the {self.most:,} tokens asked for."
        yield from self._spelt(cut)
        if cut.dropped:
            ends = "end was" if cut.dropped == 1 else "ends were"
            yield f"{cut.dropped:,} {ends} left out: shorter than {SHORTEST} tokens."
        if cut.forced:
            yield f"{cut.forced} cuts may split a token: they had to be where no safe place was."
