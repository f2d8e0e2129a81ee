"""A result as files that carry what they were made with: data, settings, versions, hashes.

A result of any kind will do: it has `to_frame()`, one row per token or whatever it lists, and
`facts()`, a mapping with all else.
"""

import json
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import Request
from embtie_widgets.requests.reading import envelope, to_json
from embtie_widgets.results import Counts

if TYPE_CHECKING:
    import pandas as pd

_FORMULA_SIGNS = ("=", "+", "-", "@")


def summary(request: Request, result: Any) -> dict[str, Any]:
    """Request and facts of a result as plain JSON values: all that is not a number per row."""
    from embtie_widgets import __version__

    value = {"embtie": __version__, "request": envelope(request), **result.facts()}
    return {name: plain(part) for name, part in value.items()}


def plain(value: Any) -> Any:
    """JSON has no NaN and no numpy: a number that is not there becomes null."""
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


def summary_json(request: Request, result: Any) -> str:
    """The summary as text."""
    return json.dumps(summary(request, result), indent=2, allow_nan=False)


def csv_bytes(request: Request, result: Any, positions: Collection[int] | None = None) -> bytes:
    """One line per row of the result, all or those at `positions`, under a line `# {settings}`.

    `pandas.read_csv(file, skiprows=1)` reads it.  A text that a spreadsheet would carry out as a
    formula has an apostrophe before it; the column "bytes" holds the token itself.
    """
    frame = result.to_frame()
    return table_bytes(request, result, frame.iloc[sorted(positions)] if positions else frame)


def table_bytes(request: Request, result: Any, frame: "pd.DataFrame") -> bytes:
    """Any table of a result as such a file."""
    frame = _inert(frame)
    return _table(summary(request, result), frame)


def counts_csv(counts: Counts) -> bytes:
    """Such a table of token counts, which may be named as a corpus again."""
    from embtie_widgets import __version__

    return _table(plain({"embtie": __version__, **counts.facts()}), _inert(counts.to_frame()))


def _table(head: Any, frame: "pd.DataFrame") -> bytes:
    first = "# " + json.dumps(head, allow_nan=False) + "\n"
    return first.encode() + str(frame.to_csv(index=False)).encode()


def _inert(frame: "pd.DataFrame") -> "pd.DataFrame":
    texts = {
        str(name): column.map(_text)
        for name, column in frame.items()
        if column.dtype.kind not in "biuf"
    }
    return frame.assign(**texts)


def _text(value: Any) -> Any:
    risky = isinstance(value, str) and len(value) > 1 and value.startswith(_FORMULA_SIGNS)
    return f"'{value}" if risky else value


def files(request: Request, result: Any) -> dict[str, bytes]:
    """Request, summary and rows by file name; what has rows of its own beside those of its tokens
    has two tables."""
    both = hasattr(result, "tokens") and hasattr(result, "token_frame")
    table = "tokens.csv" if hasattr(result, "tokens") and not both else "table.csv"
    tokens = {"tokens.csv": table_bytes(request, result, result.token_frame())} if both else {}
    return {
        "request.json": (to_json(request, indent=2) + "\n").encode(),
        "result.json": summary_json(request, result).encode(),
        table: csv_bytes(request, result),
        **tokens,
    }


def replace_file(path: Path, data: bytes) -> None:
    """Write the file whole, or leave what was there."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(data)
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise unwritable(path, error) from None


def unwritable(path: Path, error: OSError) -> EmbtieError:
    """What to say of a place that cannot be written."""
    reason = (error.strerror or "the system refused").lower()
    return EmbtieError(
        f"'{path.name or path}' cannot be written: {reason}.",
        "Name a place that you may write to, with room for about 20 MB.",
    )
