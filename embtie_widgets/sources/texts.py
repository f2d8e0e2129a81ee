"""Reading texts in chunks of bounded size: plain, gzipped, as lines of JSON, a folder of them."""

import codecs
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests.fields import short
from embtie_widgets.sources.permission import is_inside
from embtie_widgets.sources.reading import sentences

CHUNK = 2**20
LONGEST_LINE = 2**26
SUFFIXES = (".txt", ".txt.gz", ".jsonl", ".jsonl.gz")
_RECORDS = (".jsonl", ".jsonl.gz")
_MARK = b"\xef\xbb\xbf"
_CONVERT = "Save it as UTF-8 text, or gzip that."


@dataclass(frozen=True)
class Chunk:
    """A part of a document.

    last  whether the document ends with it
    at    bytes of the files that had been read by then, compressed ones as they are stored
    """

    text: str
    last: bool
    at: int


def is_records(path: Path) -> bool:
    """Whether each line of the file is a document."""
    return path.name.lower().endswith(_RECORDS)


def files_of(folder: Path) -> tuple[list[Path], int]:
    """The texts of a folder in the order of their names, and how many other files it has."""
    with sentences(folder):
        entries = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    files = [path for path in entries if path.name.lower().endswith(SUFFIXES) and path.is_file()]
    for path in files:
        if path.is_symlink() and not is_inside(path, folder):
            raise EmbtieError(
                f"'{path.name}' is a link that leads out of its folder.",
                "Copy the file into the folder, or name it alone.",
            )
    if not files:
        raise EmbtieError(
            f"The folder '{folder.name}' holds no text.",
            f"Expected files that end in {', '.join(SUFFIXES)}.",
        )
    return files, len(entries) - len(files)


def chunks_of(files: Iterable[Path], column: str) -> Iterator[Chunk]:
    """All documents of the files, one after the other."""
    before = 0
    for path in files:
        chunks = _records(path, column) if is_records(path) else _plain(path)
        for chunk in chunks:
            yield Chunk(chunk.text, chunk.last, before + chunk.at)
        before += path.stat().st_size


def limited(chunks: Iterable[Chunk], most: int) -> Iterator[Chunk]:
    """The first `most` bytes of text, cut between two characters; all of it for 0."""
    left = most
    for chunk in chunks:
        size = len(chunk.text.encode())
        if most and size >= left:
            yield Chunk(chunk.text.encode()[:left].decode(errors="ignore"), True, chunk.at)
            return
        left -= size
        yield chunk


def _plain(path: Path) -> Iterator[Chunk]:
    """One document; each chunk is held back until it is known whether another follows."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    held, at = "", 0
    with _opened(path) as (stream, raw):
        block = stream.read(CHUNK).removeprefix(_MARK)
        _refuse_binary(block, path.name)
        while block:
            if held:
                yield Chunk(held, False, at)
            held, at = _decoded(decoder, block, path.name), raw.tell()
            block = stream.read(CHUNK)
        held += _decoded(decoder, b"", path.name)
    yield Chunk(held, True, at)


def _records(path: Path, column: str) -> Iterator[Chunk]:
    """A document for every line; a line whose text is null has none."""
    with _opened(path) as (stream, raw):
        for number in range(1, 2**62):
            line = stream.readline(LONGEST_LINE)
            if not line:
                return
            if number == 1:
                line = line.removeprefix(_MARK)
                _refuse_binary(line, path.name)
            if len(line) == LONGEST_LINE:
                raise EmbtieError(
                    f"Line {number:,} of '{path.name}' is longer than {LONGEST_LINE >> 20} MB.",
                    "Give one JSON object a line.",
                )
            text = None if line.isspace() else _text_of(line, column, f"'{path.name}', {number:,}")
            if text is not None:
                yield Chunk(text, True, raw.tell())


def _text_of(line: bytes, column: str, where: str) -> str | None:
    name, _, number = where.rpartition(", ")
    hint = "Give one JSON object a line, with the text in a column; `column` names it."
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise EmbtieError(f"Line {number} of {name} is no valid JSON.", hint) from None
    if not isinstance(record, dict):
        raise EmbtieError(f"Line {number} of {name} is no JSON object.", hint)
    return text_in(record, column, f"Line {number} of {name}")


def text_in(record: dict[Any, Any], column: str, where: str) -> str | None:
    """The text of a record; None where it is null."""
    if column not in record:
        known = ", ".join(short(str(name)) for name in list(record)[:8]) or "none"
        raise EmbtieError(f"{where} has no column {short(column)}.", f"It has: {known}.")
    text = record[column]
    if not isinstance(text, str | None):
        raise EmbtieError(
            f"{where} holds no text in the column {short(column)}, but {short(text)}.",
            "Name the column that holds the text.",
        )
    # A lone surrogate, which JSON can spell, is no text that could be encoded.
    return text if text is None else text.encode(errors="replace").decode()


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, IO[bytes]]]:
    """The file's bytes, unpacked, and the file itself, which tells how far it was read."""
    again = f"'{path.name}' is cut short or damaged: it cannot be unpacked."
    with sentences(path), path.open("rb") as raw:
        if not path.name.lower().endswith(".gz"):
            yield raw, raw
            return
        try:
            with gzip.GzipFile(fileobj=raw) as stream:
                yield stream, raw
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise EmbtieError(again, "Copy or download it again.") from None


def _decoded(decoder: codecs.IncrementalDecoder, block: bytes, name: str) -> str:
    try:
        return decoder.decode(block, final=not block)
    except UnicodeDecodeError as error:
        raise EmbtieError(
            f"'{name}' is no UTF-8 text: byte {error.object[error.start]:#04x} does not belong "
            "there.",
            _CONVERT,
        ) from None


def _refuse_binary(block: bytes, name: str) -> None:
    if block[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise EmbtieError(f"'{name}' is UTF-16 text; expected UTF-8.", _CONVERT)
    if b"\0" in block[:4096]:
        raise EmbtieError(f"'{name}' holds binary data and no text.", _CONVERT)
