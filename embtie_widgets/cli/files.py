"""The files that `embtie run --out` leaves behind."""

import os
import tempfile
from pathlib import Path
from typing import Any

from embtie_widgets.charts.files import result_page
from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import Request
from embtie_widgets.requests.kinds import KINDS


def prepare(folder: Path) -> None:
    """Make the folder and see that it can be written, before any long work."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _unwritable(folder, error) from None


def write(folder: Path, request: Request, result: Any) -> list[str]:
    """Write every file whole or not at all; their names."""
    from embtie_widgets.jobs.exports import files, summary_json

    plots = KINDS[request.kind].part("plots")(result)
    page = result_page(plots, summary_json(request, result))
    written = files(request, result) | {"figure.html": page.encode()}
    for name, data in written.items():
        replace(folder / name, data)
    return list(written)


def replace(path: Path, data: bytes) -> None:
    """Write the file whole, or leave what was there."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(data)
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
