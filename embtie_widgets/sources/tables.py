"""Tables that others made, whatever they are written as: with separators, as JSON, as parquet.

What can be read is read: a damaged line is left out and counted, and a note says so.
"""

import csv
import hashlib
import io
import json
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import spoken
from embtie_widgets.requests.fields import short

if TYPE_CHECKING:
    import pandas as pd

MOST_BYTES, MOST_COLUMNS, MOST_CELLS = 2**26, 2_000, 20_000_000
SUFFIXES = (".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet")
_LONGEST_HEADER = 500
_FORM = "Expected a table as .csv, .tsv, .json, .jsonl or .parquet, one row for each step."
_MARKS = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig"))


@dataclass(frozen=True)
class Table:
    """A table as it was found.

    frame   its columns by their headers, which are printable and each there once
    facts   what a JSON file says beside its columns, such as the name of a model
    notes   what of the file could not be used
    sha256  of the whole file
    """

    name: str
    frame: "pd.DataFrame"
    facts: dict[str, str]
    notes: tuple[str, ...]
    sha256: str


@dataclass
class _Found:
    frame: "pd.DataFrame"
    facts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def read_table(path: Path, *, typed: bool = True) -> Table:
    """The table in a file; an EmbtieError where there is none.

    Where not `typed`, cells are as they are written: text in a file with separators, and an empty
    cell is told from one that says NaN.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise EmbtieError(f"'{path.name}' is no table of a known form.", _FORM)
    raw = _content(path)
    if suffix == ".parquet":
        found = _from_parquet(raw, path.name)
    else:
        text, notes = _decoded(raw, path.name)
        read = _from_json if suffix in (".json", ".jsonl", ".ndjson") else _from_lines
        found = read(text, path.name, typed)
        found.notes[:0] = notes
    frame, notes = _usable(found.frame)
    if frame.empty:
        raise EmbtieError(f"'{path.name}' holds no rows.", _FORM)
    sha = hashlib.sha256(raw).hexdigest()
    return Table(path.name, frame, found.facts, (*found.notes, *notes), sha)


def counted(number: int, what: str, several: str = "") -> str:
    """1 line, 2 lines, 1,000 lines."""
    return f"{number:,} {what if number == 1 else several or what + 's'}"


def _content(path: Path) -> bytes:
    # A page that only offers to upload a table does without torch.
    from embtie_widgets.sources.reading import check_start, sentences

    check_start(path)
    with sentences(path):
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise EmbtieError(
                f"'{path.name}' has {spoken(size)}; a table of at most {spoken(MOST_BYTES)} is "
                "read.",
                "Keep the columns that are needed, or every tenth step.",
            )
        return path.read_bytes()


def _decoded(raw: bytes, name: str) -> tuple[str, list[str]]:
    coding = next((coding for mark, coding in _MARKS if raw.startswith(mark)), "utf-8")
    try:
        text = raw.decode(coding)
    except UnicodeDecodeError:
        if b"\0" in raw:
            raise EmbtieError(f"'{name}' holds no text.", _FORM) from None
        return raw.decode("cp1252", "replace"), ["The file is no UTF-8; read as Windows-1252."]
    if "\0" in text:
        raise EmbtieError(f"'{name}' holds no text.", _FORM)
    return text, []


def _from_lines(text: str, name: str, typed: bool) -> _Found:
    """A table with a separator; a first line of settings, as exports have it, is passed over."""
    import pandas as pd

    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.startswith("# "):
        text = text.partition("\n")[2]
    text, notes = _without_torn_line(text)
    line = text.partition("\n")[0]
    separator = max("\t;,", key=line.count)  # of equal counts the first; a lone column has none
    head = _fields(line, separator, name)
    numbered = bool(head) and all(map(_is_number, head))
    names = [f"column {i + 1}" for i in range(len(head))] if numbered else _unlike(head, notes)
    if numbered:
        notes.append("The file names no columns; they are numbered.")
    _check_size(len(names), text.count("\n") + 1, name)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.StringIO(text),
                sep=separator,
                names=names,
                header=None if numbered else 0,
                index_col=False,
                skipinitialspace=True,
                on_bad_lines="warn",
                low_memory=False,
                float_precision="round_trip",
                dtype=None if typed else str,
                keep_default_na=typed,
            )
    except (ValueError, OverflowError):  # pandas' own errors of parsing among them
        raise EmbtieError(f"'{name}' is cut short, or no table.", _FORM) from None
    left = sum(str(warning.message).count("Skipping line") for warning in caught)
    if left:
        notes.append(f"{counted(left, 'line')} with too many fields left out.")
    return _Found(frame if typed else frame.fillna(""), notes=notes)


def _fields(line: str, separator: str, name: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:
        raise EmbtieError(f"'{name}' is no table.", _FORM) from None


def _without_torn_line(text: str) -> tuple[str, list[str]]:
    """A log that was cut off while it was written ends in a line with too few fields, and no
    number in that can be trusted."""
    whole, newline, last = text.rpartition("\n")
    head = text.partition("\n")[0]
    marks = "\t;,"
    if newline and last.strip() and sum(map(last.count, marks)) < sum(map(head.count, marks)):
        return whole, ["The last line is cut off and was left out."]
    return text, []


def _unlike(head: list[str], notes: list[str]) -> list[str]:
    """The headers, such as stand twice told apart."""
    found: list[str] = []
    times = Counter[str]()
    for text in map(str.strip, head):
        times[text] += 1
        found.append(text if times[text] == 1 else f"{text} ({times[text]})")
    again = [short(text) for text, count in times.items() if count > 1]
    if again:
        notes.append(f"Several columns are called {', '.join(again[:4])}; they were numbered.")
    return found


def _from_json(text: str, name: str, typed: bool) -> _Found:
    """Columns as lists, rows as objects, one after the other or one a line."""
    value, notes = _parsed(text, name)
    if isinstance(value, dict) and isinstance(value.get("log_history"), list):
        value = value["log_history"]  # the state of a transformers Trainer
    if isinstance(value, list):
        return _Found(_of_rows(value, name, notes, typed), notes=notes)
    if isinstance(value, dict) and any(isinstance(part, list) for part in value.values()):
        facts = {str(k): v[:200] for k, v in value.items() if isinstance(v, str)}
        return _Found(_of_columns(value, name, notes, typed), facts, notes)
    raise EmbtieError(f"'{name}' holds no table.", _FORM)


def _parsed(text: str, name: str) -> tuple[Any, list[str]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list) or (isinstance(value, dict) and _has_list(value)):
        return value, []
    rows, left = [], 0
    for line in text.split("\n"):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict):
            rows.append(row)
        else:
            left += 1
    if not rows and value is not None:
        return value, []
    if not rows:
        raise EmbtieError(f"'{name}' is no valid JSON, or cut short.", _FORM)
    return rows, [f"{counted(left, 'line')} left out, being no JSON object."] if left else []


def _has_list(value: dict[str, Any]) -> bool:
    return any(isinstance(part, list) for part in value.values())


def _of_rows(rows: list[Any], name: str, notes: list[str], typed: bool) -> "pd.DataFrame":
    import pandas as pd

    good = [row for row in rows if isinstance(row, dict)]
    if len(good) < len(rows):
        notes.append(f"{counted(len(rows) - len(good), 'entry', 'entries')} left out.")
    headers = dict.fromkeys(key for row in good for key in row)
    _check_size(len(headers), len(good), name)
    plain = {key: [_plain(row.get(key)) for row in good] for key in headers}
    return pd.DataFrame(plain, dtype=None if typed else object)


def _of_columns(
    columns: dict[str, Any], name: str, notes: list[str], typed: bool
) -> "pd.DataFrame":
    """Lists of one length; of unequal ones as much as all have."""
    import pandas as pd

    lists = {key: value for key, value in columns.items() if isinstance(value, list)}
    lengths = {len(value) for value in lists.values()}
    if len(lengths) > 1:
        notes.append(
            f"The columns have {min(lengths):,} to {max(lengths):,} values; the first "
            f"{min(lengths):,} of each are used."
        )
    _check_size(len(lists), min(lengths), name)
    cut = {key: [_plain(cell) for cell in value[: min(lengths)]] for key, value in lists.items()}
    return pd.DataFrame(cut, dtype=None if typed else object)


def _plain(cell: Any) -> Any:
    """Numbers and texts; what is nested in a cell is no value."""
    if isinstance(cell, dict | list):
        return None
    return str(cell) if isinstance(cell, bool) else cell


def _from_parquet(raw: bytes, name: str) -> _Found:
    import pandas as pd

    try:
        height = len(pd.read_parquet(io.BytesIO(raw), columns=[]))
        _check_size(1, height, name)
        return _Found(pd.read_parquet(io.BytesIO(raw)))
    except ImportError:
        raise EmbtieError(
            f"'{name}' is a parquet file, and what reads those is not installed here.",
            "Install pyarrow, or save the table as .csv.",
        ) from None
    except EmbtieError:
        raise
    except Exception:  # pyarrow raises whatever its parsing stumbles over
        raise EmbtieError(f"'{name}' is cut short, or no parquet file.", _FORM) from None


def _usable(frame: "pd.DataFrame") -> tuple["pd.DataFrame", list[str]]:
    """Without columns that cannot be named in a request."""
    names = [str(header).strip() for header in frame.columns]
    good = [_is_header(name) for name in names]
    kept = frame.loc[:, good].set_axis(
        [name for name, is_good in zip(names, good, strict=True) if is_good], axis=1
    )
    kept = kept.loc[:, ~kept.columns.duplicated()]
    left = len(names) - kept.shape[1]
    return kept, [f"{counted(left, 'column')} without a usable name left out."] if left else []


def _is_header(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_HEADER and name.isprintable()


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_size(width: int, height: int, name: str) -> None:
    if width > MOST_COLUMNS or width * height > MOST_CELLS:
        raise EmbtieError(
            f"'{name}' has {width:,} columns and {height:,} rows; at most {MOST_COLUMNS:,} columns "
            f"and {MOST_CELLS:,} cells are read.",
            "Keep the columns that are needed, or every tenth step.",
        )


def shown_rows(frame: "pd.DataFrame", count: int = 3) -> tuple[tuple[str, ...], ...]:
    """The first rows as short texts."""
    head: Iterable[Iterable[Any]] = frame.head(count).itertuples(index=False, name=None)
    return tuple(tuple(_cell(cell) for cell in row) for row in head)


def _cell(cell: Any) -> str:
    text = f"{cell:.6g}" if isinstance(cell, float) else str(cell)
    return text if len(text) <= 40 else text[:37] + "..."
