"""The text that a `CorpusRef` names: how it is called, how large it is, and its documents.

The bundled one is English from books that are in the public domain everywhere: Shakespeare's
plays and poems, Milton's poems and the King James Bible, 10.4 million characters.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from embtie_widgets.requests import CorpusRef
from embtie_widgets.requests.corpus import BUNDLED, DATASETS
from embtie_widgets.sources import data_sets
from embtie_widgets.sources.paths import local_path
from embtie_widgets.sources.permission import corpus_path
from embtie_widgets.sources.reading import check_start, sentences
from embtie_widgets.sources.texts import Chunk, chunks_of, files_of, is_records, limited

BUNDLED_FILE = Path(__file__).parents[1] / "data" / "public_domain_english.txt.gz"
COUNT_FILES = (".npy", ".json", ".csv", ".tsv")
_PACKED = 2.8  # bytes of English in a byte of gzip
_MB = 10**6


@dataclass(frozen=True)
class Corpus:
    """A text that can be read.

    name    how it is called; of a path its last part alone
    stamp   what tells cheaply whether it changed; equal stamps, equal text
    stored  bytes of its files, compressed ones as they are; 0 where unknown
    text    bytes of text, where they can be guessed beforehand; 0 where unknown
    open    gives its documents in chunks
    local   whether reading it twice costs nothing but time
    """

    name: str
    stamp: tuple[Any, ...]
    stored: int
    text: int
    open: Callable[[], Iterator[Chunk]]
    local: bool = True
    notes: tuple[str, ...] = ()


def find_corpus(ref: CorpusRef) -> Corpus | Path:
    """The text of that name, or the file with ready counts; an EmbtieError where there is none."""
    if ref.ref == BUNDLED:
        return _of_files(ref, [BUNDLED_FILE], "bundled English in the public domain")
    if ref.ref.startswith(DATASETS):
        return _of_data_set(ref)
    path = corpus_path(ref.ref)
    with sentences(path):
        folder = path.is_dir()
    if folder:
        files, others = files_of(path)
        return _of_files(ref, files, path.resolve().name, _left_out(others))
    check_start(path)
    if path.name.lower().endswith(COUNT_FILES):
        return path
    return _of_files(ref, [path], path.name)


def _of_files(ref: CorpusRef, files: list[Path], name: str, notes: tuple[str, ...] = ()) -> Corpus:
    column = ref.column if any(map(is_records, files)) else ""
    facts: list[tuple[str, int, int]] = []
    for path in files:
        with sentences(path):
            known = path.stat()
        facts.append((str(path.resolve()), known.st_size, known.st_mtime_ns))
    stored = sum(size for _, size, _ in facts)
    text = sum(round(s * _PACKED) if p.endswith(".gz") else s for p, s, _ in facts)
    most = ref.limit_mb * _MB
    return Corpus(
        name=_with_limit(name, ref),
        stamp=(*facts, column, most),
        stored=round(stored * min(1.0, most / text)) if most and text else stored,
        text=min(text, most or text),
        open=lambda: limited(chunks_of(files, ref.column), most),
        notes=notes,
    )


def _left_out(others: int) -> tuple[str, ...]:
    if not others:
        return ()
    what = "file of the folder is no text and was" if others == 1 else "files are no texts and were"
    return (f"{others:,} other {what} left out.",)


def _of_data_set(ref: CorpusRef) -> Corpus:
    name, subset = data_sets.name_of(ref)
    folder = local_path(name)
    commit = "" if folder.is_dir() else data_sets.commit_of(name)
    shown = folder.resolve().name if folder.is_dir() else name
    most = ref.limit_mb * _MB
    # Without a commit nothing says that the text is still the same.
    stamp = (name, subset, ref.split, ref.column, most, commit) if commit else ()
    return Corpus(
        name=_with_limit(f"{shown}{f':{subset}' if subset else ''} ({ref.split})", ref),
        stamp=stamp,
        stored=most,
        text=most,
        open=lambda: limited(data_sets.stream(ref, commit), most),
        local=False,
    )


def _with_limit(name: str, ref: CorpusRef) -> str:
    return f"{name}, the first {ref.limit_mb:,} MB" if ref.limit_mb else name
