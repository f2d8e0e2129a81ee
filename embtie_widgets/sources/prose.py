"""A text to be predicted: documents, and in each the passages that numbers are told by.

Passages lie where the letters are, not where some tokenizer cuts: two models are compared on the
same ones.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import CorpusRef
from embtie_widgets.requests.corpus import OWN
from embtie_widgets.sources.passages import UNSEEN, Ids, named_text, stretches
from embtie_widgets.sources.texts import Chunk, chunks_of
from embtie_widgets.sources.tokenizing import ModelTokenizer

PASSAGE = 400  # letters, at least, but for a document's last one
_PARTS = 8  # of the bundled text, from all over it


@dataclass(frozen=True, eq=False)
class Prose:
    """Documents, each as its passages: joined they are the document.

    name   how the text is called
    notes  sentences about what was left out
    """

    documents: tuple[tuple[str, ...], ...]
    name: str
    notes: tuple[str, ...] = ()

    @cached_property
    def passages(self) -> tuple[str, ...]:
        """Of all documents, one after the other."""
        return tuple(passage for document in self.documents for passage in document)

    @cached_property
    def sha256(self) -> str:
        """Of texts and cuts."""
        return hashlib.sha256(json.dumps(self.documents).encode()).hexdigest()


def read_prose(corpus: CorpusRef, text: str, letters: int, progress: Progress = silent) -> Prose:
    """At most so many `letters` of a text: of what is pasted, else of the corpus from its beginning
    on; of the bundled text as much from each part of what the bundled models never saw."""
    progress("reading the text", 0, 1)
    if not text and corpus.ref == OWN:
        whole = "".join(chunk.text for chunk in chunks_of([UNSEEN], ""))
        size = min(letters // _PARTS, len(whole) // _PARTS)
        documents, name = _ended(stretches(whole, _PARTS, size)), "the bundled sample, held out"
        return Prose(tuple(map(_passages, documents)), name)
    chunks, name, notes = named_text(corpus, text)
    found = tuple(_passages(each) for each in _documents(chunks, letters) if each.strip())
    if not found:
        raise EmbtieError(f"'{name}' holds no text.", "Name another text, or paste one.")
    return Prose(found, name, notes)


def placed(prose: Prose, tokenizer: ModelTokenizer) -> list[tuple[Ids, Ids]]:
    """For each document its token ids (n,), and the number of the passage, among all, in which each
    begins (n,)."""
    found, before = [], 0
    for document in prose.documents:
        ids, starts = tokenizer.placed("".join(document))
        ends = np.cumsum([len(passage) for passage in document])
        inside = np.minimum(np.searchsorted(ends, starts, side="right"), len(document) - 1)
        found.append((np.asarray(ids, np.int64), inside.astype(np.int64) + before))
        before += len(document)
    return found


def _documents(chunks: Iterable[Chunk], letters: int) -> Iterator[str]:
    held: list[str] = []
    for chunk in chunks:
        held.append(chunk.text[:letters])
        letters -= len(held[-1])
        if chunk.last or letters <= 0:
            yield "".join(held)
            held = []
        if letters <= 0:
            return
    if held:
        yield "".join(held)


def _ended(texts: list[str]) -> list[str]:
    """Each up to the end of its last whole line."""
    return [text[: text.rfind("\n") + 1] or text for text in texts]


def _passages(document: str) -> tuple[str, ...]:
    """Whole lines together until they are long enough."""
    found, held = [], ""
    for line in document.splitlines(keepends=True):
        held += line
        if len(held) >= PASSAGE:
            found.append(held)
            held = ""
    if (held.strip() and len(held) >= PASSAGE // 4) or not found:
        return (*found, held)
    return (*found[:-1], found[-1] + held)
