"""Counts that somebody made before: by row, by id, by token; brought to the rows of a model."""

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests.fields import short
from embtie_widgets.sources import spelling
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.reading import check_start, sentences

Vector = np.ndarray[Any, np.dtype[np.int64]]

LARGEST, LONGEST = 2**53, 2**28
_COLUMNS = "bytes (hexadecimal), row, id or token, and count"
_FORM = (
    "Expected .npy with one whole number per row, .json that gives a number by token or by id, or "
    f".csv or .tsv with the columns {_COLUMNS}."
)


@dataclass(frozen=True)
class Ready:
    """Counts (V,) by row of a model, and the sum of those that found no row there.

    by_row  they were taken by row, and no bytes beside them say for which model they were made
    """

    counts: Vector
    unknown: int
    name: str
    sha256: str
    notes: tuple[str, ...]
    by_row: bool = False


@dataclass(frozen=True)
class _Entries:
    """What a file says: a count for each entry, and the entries by row, by bytes or by spelling.

    listed  whether they are a list of all rows, so that its length says something
    """

    counts: Vector
    rows: list[int] | None = None
    keys: list[bytes] | None = None
    texts: list[str] | None = None
    listed: bool = False


def read_counts(path: Path, loaded: Loaded) -> Ready:
    """The counts of a file for this model; an EmbtieError for what cannot be counts of tokens."""
    raw = _content(path)
    entries = _READERS[path.suffix.lower()](raw, path.name)
    counts, unknown, notes = _laid_out(entries, loaded, path.name)
    if not counts.any():
        raise EmbtieError(
            f"'{path.name}' counts no token of {loaded.name}.",
            "Check that it was made for this model, or for one with related tokens.",
        )
    by_row = entries.rows is not None and entries.keys is None
    return Ready(counts, unknown, path.name, hashlib.sha256(raw).hexdigest(), notes, by_row)


def hash_of_counts(path: Path) -> str:
    """What names a count file's content; that of the counts that `read_counts` gives."""
    return hashlib.sha256(_content(path)).hexdigest()


def _content(path: Path) -> bytes:
    check_start(path)
    with sentences(path):
        if path.stat().st_size > LONGEST:
            raise EmbtieError(f"'{path.name}' is too large for a table of counts.", _FORM)
        return path.read_bytes()


def _laid_out(entries: _Entries, loaded: Loaded, name: str) -> tuple[Vector, int, tuple[str, ...]]:
    rows = entries.rows
    if rows is not None and _are_of(entries, loaded):
        if entries.listed:
            _check_length(len(rows), loaded, name)
        _check_rows(rows, loaded, name)
        return _by_row(rows, entries.counts, len(loaded.input))
    if loaded.tokens is None:
        raise EmbtieError(
            f"The tokens of {loaded.name} are not known, so counts by token cannot be used.",
            "Give counts by row, or name a token list for the model.",
        )
    places = _places(loaded)
    if entries.keys is not None:
        found = [places.get(key) for key in entries.keys]
    else:
        found = _spelt(entries.texts or [], places)
    return _matched(found, entries.counts, len(loaded.input), loaded.name)


def _are_of(entries: _Entries, loaded: Loaded) -> bool:
    """Whether the rows are those of this model: the bytes beside them, if any, say so."""
    if entries.keys is None or entries.rows is None:
        return True
    own, pairs = loaded.tokens, zip(entries.rows, entries.keys, strict=True)
    return own is None or all(row < len(own) and (own[row] or b"") == key for row, key in pairs)


def _check_length(given: int, loaded: Loaded, name: str) -> None:
    """A list may leave out rows at the end that no token owns."""
    height, tokens = len(loaded.input), loaded.tokens
    rest = [None] * (height - given) if tokens is None else tokens[given:]
    if given > height or any(key is not None for key in rest) or (tokens is None and rest):
        raise EmbtieError(
            f"'{name}' holds {given:,} counts, but {loaded.name} has {height:,} rows.",
            "Give one count for each row of this model, or counts by token.",
        )


def _check_rows(rows: list[int], loaded: Loaded, name: str) -> None:
    if rows and max(rows) >= len(loaded.input):
        raise EmbtieError(
            f"'{name}' has a row {max(rows):,}, but {loaded.name} has {len(loaded.input):,} rows.",
            "Give counts for this model, with the tokens or their bytes beside them.",
        )
    if len(set(rows)) < len(rows):
        raise EmbtieError(f"'{name}' names a row twice.", "Give one count for each row.")


def _by_row(rows: list[int], given: Vector, height: int) -> tuple[Vector, int, tuple[str, ...]]:
    counts = np.zeros(height, np.int64)
    counts[rows] = given
    return counts, 0, ()


def _places(loaded: Loaded) -> dict[bytes, int]:
    """Row by bytes; of two rows with the same the one that is text, then the lower."""
    found: dict[bytes, int] = {}
    raw = loaded.byte_rows
    keys = [(row, key) for row, key in enumerate(loaded.tokens or []) if key is not None]
    for row, key in sorted(keys, key=lambda pair: (pair[0] in raw, pair[0])):
        found.setdefault(key, row)
    return found


def _spelt(texts: list[str], places: Mapping[bytes, int]) -> list[int | None]:
    """Tokens by their tokenizer's spelling, as the list gives it away, else as plain text."""
    spelled = spelling.guess(texts)
    return [places.get(spelled(text)[0], places.get(spelling.utf8(text))) for text in texts]


def _matched(
    found: list[int | None], given: Vector, height: int, name: str
) -> tuple[Vector, int, tuple[str, ...]]:
    """Counts of tokens that fall on one row are added up."""
    has_row = np.array([row is not None for row in found], bool)
    rows = np.array([row for row in found if row is not None], np.int64)
    counts = np.zeros(height, np.int64)
    np.add.at(counts, rows, given[has_row])
    left = given[~has_row]
    unknown, tokens = int(left.sum()), int((left > 0).sum())
    which = "1 token" if tokens == 1 else f"{tokens:,} tokens"
    note = (
        f"The counts were matched by the tokens' bytes. Not in {name}: {which} of the file, "
        f"counted {unknown:,} times."
    )
    return counts, unknown, (note,)


def _from_npy(raw: bytes, name: str) -> _Entries:
    try:
        array: Any = np.load(io.BytesIO(raw), allow_pickle=False)
    except Exception:  # numpy raises whatever its parsing stumbles over
        raise EmbtieError(f"'{name}' is cut short, or holds no plain numbers.", _FORM) from None
    if array.ndim != 1 or array.dtype.kind not in "iu":
        shape = " x ".join(map(str, array.shape))
        raise EmbtieError(f"'{name}' holds {array.dtype} of the shape {shape}.", _FORM)
    return _Entries(_checked(array.tolist(), name), rows=list(range(len(array))), listed=True)


def _from_json(raw: bytes, name: str) -> _Entries:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        raise EmbtieError(f"'{name}' is no valid JSON.", _FORM) from None
    if isinstance(value, list):
        return _Entries(_checked(value, name), rows=list(range(len(value))), listed=True)
    if not isinstance(value, dict) or not value:
        raise EmbtieError(f"'{name}' holds no counts.", _FORM)
    counts = _checked(value.values(), name)
    if all(_is_whole(key) for key in value):
        return _Entries(counts, rows=[int(key) for key in value])
    return _Entries(counts, texts=list(value))


def _from_table(separator: str) -> Callable[[bytes, str], _Entries]:
    def read(raw: bytes, name: str) -> _Entries:
        columns = _columns(raw, name, separator)
        given = columns.get("count", columns.get("counts"))
        rows = next((columns[key] for key in ("row", "id") if key in columns), None)
        keys, texts = columns.get("bytes"), columns.get("token")
        if given is None or (rows, keys, texts) == (None, None, None):
            named = ", ".join(short(column) for column in list(columns)[:8]) or "none"
            raise EmbtieError(f"'{name}' has these columns: {named}.", _FORM)
        return _Entries(
            _checked([_number(text) for text in given], name),
            rows=None if rows is None else [_row(text, name) for text in rows],
            keys=None if keys is None else [_bytes(text, name) for text in keys],
            texts=texts,
        )

    return read


def _columns(raw: bytes, name: str, separator: str) -> dict[str, list[str]]:
    """The table by column; a first line of settings is passed over."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise EmbtieError(f"'{name}' is no UTF-8 text.", _FORM) from None
    lines = io.StringIO(text, newline="")
    if text.startswith("# "):
        lines.readline()
    try:
        table = list(csv.reader(lines, delimiter=separator))
    except csv.Error:
        raise EmbtieError(f"'{name}' is no table.", _FORM) from None
    head, *body = table or [[]]
    body = [line for line in body if line]
    if not body or any(len(line) != len(head) for line in body):
        raise EmbtieError(f"'{name}' is cut short, or no table with a head.", _FORM)
    titles = [title.strip().lower() for title in head]
    if len(set(titles)) < len(titles):
        raise EmbtieError(f"'{name}' has two columns of one name.", _FORM)
    return {
        title: list(cells) for title, cells in zip(titles, zip(*body, strict=True), strict=True)
    }


_READERS: dict[str, Callable[[bytes, str], _Entries]] = {
    ".npy": _from_npy,
    ".json": _from_json,
    ".csv": _from_table(","),
    ".tsv": _from_table("\t"),
}


def _checked(values: Iterable[Any], name: str) -> Vector:
    listed = list(values)
    for value in listed:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= LARGEST:
            raise EmbtieError(
                f"'{name}' gives {short(value)} as a count; expected whole numbers from 0 on.",
                "Give how often each token occurs, not its share or its logarithm.",
            )
    if sum(listed) > 2**62:
        raise EmbtieError(f"The counts of '{name}' are too large to be added up.", _FORM)
    return np.array(listed, np.int64)


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 12


def _number(text: str) -> int | str:
    bare = text.strip().removesuffix(".0")  # how pandas writes whole numbers beside gaps
    return int(bare) if bare.isascii() and bare.isdigit() and len(bare) <= 20 else text


def _row(text: str, name: str) -> int:
    if not _is_whole(text.strip()):
        raise EmbtieError(f"'{name}' gives {short(text)} as a row.", _FORM)
    return int(text)


def _bytes(text: str, name: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise EmbtieError(
            f"'{name}' gives {short(text)} as bytes; expected hexadecimal digits.", _FORM
        ) from None
