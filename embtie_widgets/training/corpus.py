"""Text in, token ids out: reading, splitting, a tokenizer of one's own, and the batch order."""

import gzip
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from embtie_widgets.errors import EmbtieError

END_OF_TEXT = "<|endoftext|>"
_ENDS = (END_OF_TEXT, "<|end_of_text|>", "</s>", "<eos>")
DOCUMENT_CHARACTERS = 20_000
Ids = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, eq=False)
class Corpus:
    """Token ids (N,) of the training text, with the tokenizer that made them where one did."""

    ids: Ids
    tokenizer: Tokenizer | None = None
    name: str = "token ids"

    @cached_property
    def sha256(self) -> str:
        """Of the ids: two runs on the same hash saw the same text."""
        return hashlib.sha256(np.ascontiguousarray(self.ids).tobytes()).hexdigest()

    def counts(self, rows: int) -> Ids:
        """(rows,) how often each id occurs."""
        return np.bincount(self.ids, minlength=rows).astype(np.int64)

    def batches(self, batch: int, length: int, seed: int) -> "Batches":
        """What each step of a run learns from."""
        return BatchOrder(self.ids, batch, length, seed)


def as_corpus(source: Any, vocab_size: int) -> Corpus:
    """From a corpus, a file (`pathlib.Path`), text, several texts, or token ids of any shape."""
    if isinstance(source, Corpus):
        return source
    if isinstance(source, Path):
        return corpus_from_text(read_text(source), vocab_size, name=source.name)
    if isinstance(source, str):
        return corpus_from_text(source, vocab_size)
    if isinstance(source, Sequence) and source and isinstance(source[0], str):
        return corpus_from_documents(source, train_tokenizer(source, vocab_size), "text")
    try:
        ids = np.asarray(source)
    except (ValueError, TypeError):
        raise EmbtieError(
            "The corpus is no regular array of token ids: its rows differ in length.",
            "Join the rows into one list of whole numbers.",
        ) from None
    if ids.dtype.kind not in "iu":
        raise EmbtieError(
            f"A corpus cannot be made from a {type(source).__name__}.",
            "Give text, a pathlib.Path of a text file, or token ids as whole numbers.",
        )
    return Corpus(ids.reshape(-1).astype(np.int64))


def read_text(path: Path) -> str:
    """The text of a UTF-8 file, `.gz` or plain."""
    try:
        raw = path.read_bytes()
        return (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
    except FileNotFoundError:
        raise EmbtieError(f"There is no file '{path.name}' there.", "Check its path.") from None
    except (OSError, EOFError, zlib.error, UnicodeDecodeError):
        raise EmbtieError(
            f"'{path.name}' cannot be read as UTF-8 text.", "Give a .txt file or a gzipped one."
        ) from None


def split_documents(text: str, size: int = DOCUMENT_CHARACTERS) -> list[str]:
    """Cut at blank lines into pieces of at least `size` characters; joined they give the text."""
    pieces, start = [], 0
    while start < len(text):
        blank = text.find("\n\n", start + size)
        end = len(text) if blank < 0 else blank + 2
        pieces.append(text[start:end])
        start = end
    return pieces


def train_tokenizer(documents: Sequence[str], vocab_size: int) -> Tokenizer:
    """Byte-level BPE with the end-of-text token as id 0; the same text gives the same tokens."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[END_OF_TEXT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(documents, trainer)
    return tokenizer


def corpus_from_text(text: str, vocab_size: int, name: str = "text") -> Corpus:
    """Split, train a tokenizer on it, and encode."""
    documents = split_documents(text)
    return corpus_from_documents(documents, train_tokenizer(documents, vocab_size), name)


def corpus_from_documents(documents: Sequence[str], tokenizer: Tokenizer, name: str) -> Corpus:
    """Encode, with the end-of-text token after each document where the tokenizer has one."""
    end = end_of_text(tokenizer)
    ids: list[int] = []
    for encoding in tokenizer.encode_batch(list(documents), add_special_tokens=False):
        ids += encoding.ids if end is None else [*encoding.ids, end]
    return Corpus(np.array(ids, dtype=np.int64), tokenizer, name)


def end_of_text(tokenizer: Tokenizer) -> int | None:
    """The id of the sign that a document ends with, by its usual names."""
    ids = (tokenizer.token_to_id(name) for name in _ENDS)
    return next((row for row in ids if row is not None), None)


class Batches(Protocol):
    """The ids (batch, length + 1) of each step, counted from 1: a function of seed and step."""

    def __getitem__(self, step: int) -> torch.Tensor: ...


class BatchOrder:
    """Which windows make up each batch: a function of the seed and the step, nothing else.

    The text is cut into windows of `length` + 1 ids that overlap in one; every epoch goes
    through all of them in a new random order.
    """

    def __init__(self, ids: Ids, batch: int, length: int, seed: int) -> None:
        self.windows = (len(ids) - 1) // length
        if self.windows < 1:
            raise EmbtieError(
                f"The corpus has {len(ids)} tokens; one window of length {length} needs "
                f"{length + 1}.",
                "Give more text (a file as a pathlib.Path), or a smaller length.",
            )
        self._ids, self._batch, self._length, self._seed = ids, batch, length, seed
        self._shuffled = lru_cache(maxsize=2)(self._shuffle)

    def __getitem__(self, step: int) -> torch.Tensor:
        """(batch, length + 1) ids of step `step`, counted from 1."""
        first = (step - 1) * self._batch
        places = (divmod(first + i, self.windows) for i in range(self._batch))
        starts = [int(self._shuffled(epoch)[place]) * self._length for epoch, place in places]
        return torch.from_numpy(np.stack([self._ids[s : s + self._length + 1] for s in starts]))

    def _shuffle(self, epoch: int) -> Ids:
        return np.random.default_rng([self._seed, epoch]).permutation(self.windows)


def all_windows(ids: Ids, batch: int, length: int) -> Iterator[torch.Tensor]:
    """Every window once, in the order of the text, in batches: for a loss on held-out text."""
    starts = range(0, len(ids) - length, length)
    for i in range(0, len(starts), batch):
        rows = [ids[s : s + length + 1] for s in starts[i : i + batch]]
        yield torch.from_numpy(np.stack(rows))
