"""Records of a file: lines of JSON, one JSON list, CSV, Parquet or Arrow."""

import csv
import gzip
import io
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import spoken
from embtie_widgets.sources.reading import sentences

SUFFIXES = (".jsonl", ".json", ".csv", ".parquet", ".arrow")
MOST_BYTES = 2**28
# Those that tell of a saved data set, not its records.
_ABOUT = {"dataset_info.json", "state.json", "dataset_infos.json", "dataset_dict.json"}
_AGAIN = "Copy or download it again."


def is_table(path: Path) -> bool:
    """Whether a file may hold records."""
    name = path.name.casefold().removesuffix(".gz")
    return name.endswith(SUFFIXES) and path.name not in _ABOUT and not name.startswith("config")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """All records; an EmbtieError where the file is damaged, too large, or of another kind."""
    suffix = Path(path.name.casefold().removesuffix(".gz")).suffix
    data = _bytes(path)
    try:
        rows = _READERS[suffix](data)
    except EmbtieError:
        raise
    except Exception as error:  # damaged files make their readers raise almost anything
        raise EmbtieError(f"'{path.name}' cannot be read as {suffix}.", _AGAIN) from error
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise EmbtieError(
            f"'{path.name}' is no list of records.", "Give one JSON object a line, or a table."
        )
    return rows


def _bytes(path: Path) -> bytes:
    with sentences(path), path.open("rb") as file:
        try:
            source: Any = gzip.GzipFile(fileobj=file) if path.suffix == ".gz" else file
            data: bytes = source.read(MOST_BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise EmbtieError(f"'{path.name}' is cut short or damaged.", _AGAIN) from None
    if len(data) > MOST_BYTES:
        raise EmbtieError(
            f"'{path.name}' has more than {spoken(MOST_BYTES)}.", "Give a part of it."
        )
    return data


def _lines(data: bytes) -> Any:
    text = data.decode("utf-8-sig")
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def _json(data: bytes) -> Any:
    """A list of records; also lines of JSON by that name."""
    try:
        found = json.loads(data.decode("utf-8-sig"))
    except ValueError:
        return _lines(data)
    return [found] if isinstance(found, dict) else found


def _csv(data: bytes) -> Any:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def _parquet(data: bytes) -> Any:
    from pyarrow import BufferReader, parquet

    return parquet.read_table(BufferReader(data)).to_pylist()


def _arrow(data: bytes) -> Any:
    """As a stream, which is how `datasets` saves them, or as a file."""
    from pyarrow import ArrowInvalid, BufferReader, ipc

    try:
        return ipc.open_stream(BufferReader(data)).read_all().to_pylist()
    except ArrowInvalid:
        return ipc.open_file(BufferReader(data)).read_all().to_pylist()


_READERS: dict[str, Callable[[bytes], Any]] = {
    ".jsonl": _lines,
    ".json": _json,
    ".csv": _csv,
    ".parquet": _parquet,
    ".arrow": _arrow,
}
