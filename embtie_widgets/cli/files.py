"""The four files that `embtie run --out` leaves behind."""

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from embtie_widgets import __version__
from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import Request
from embtie_widgets.requests.reading import envelope, to_json

if TYPE_CHECKING:
    from embtie_widgets.results import PairAlignment


def prepare(folder: Path) -> None:
    """Make the folder and see that it can be written, before any long work."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _unwritable(folder, error) from None


def write(folder: Path, request: Request, result: "PairAlignment") -> list[str]:
    """Write every file whole or not at all; their names."""
    makers: dict[str, Callable[[], str]] = {
        "request.json": lambda: to_json(request, indent=2) + "\n",
        "result.json": lambda: json.dumps(summary(request, result), indent=2, allow_nan=False),
        "tokens.csv": lambda: result.to_frame().to_csv(index=False),
        "figure.html": lambda: _page(result),
    }
    for name, make in makers.items():
        replace(folder / name, make())
    return list(makers)


def summary(request: Request, result: "PairAlignment") -> dict[str, Any]:
    """Everything about the result that is not a number per token, as plain JSON values."""
    value = {
        "embtie": __version__,
        "request": envelope(request),
        "summary": result.summary(),
        "maps": {name: one.description for name, one in result.comparisons.items()},
        "counts": result.counts,
        "bands": result.bands,
        "checks": result.checks,
        "models": result.models,
        "notes": result.notes,
        "settings": result.settings,
        "hashes": result.hashes,
    }
    return {name: plain(part) for name, part in value.items()}


def plain(value: Any) -> Any:
    """JSON has no NaN and no numpy: a number that is not there becomes null."""
    if isinstance(value, dict):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


def _page(result: "PairAlignment") -> str:
    from embtie_widgets.charts.alignment import figure

    page: str = figure(result).to_html(include_plotlyjs=True, full_html=True)
    return page


def replace(path: Path, text: str) -> None:
    """Write the file whole, or leave what was there."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(text.encode())
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _unwritable(path, error) from None


def _unwritable(path: Path, error: OSError) -> EmbtieError:
    reason = (error.strerror or "the system refused").lower()
    return EmbtieError(
        f"'{path.name or path}' cannot be written: {reason}.",
        "Give --out a folder that you may write to, with room for about 20 MB.",
    )
