"""The files that `embtie run --out` leaves behind."""

import tempfile
from pathlib import Path
from typing import Any

from embtie_widgets.charts.files import result_page
from embtie_widgets.jobs.exports import replace_file, unwritable
from embtie_widgets.requests import Request
from embtie_widgets.requests.kinds import KINDS


def prepare(folder: Path) -> None:
    """Make the folder and see that it can be written, before any long work."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise unwritable(folder, error) from None


def write(folder: Path, request: Request, result: Any) -> list[str]:
    """Write every file whole or not at all; their names."""
    from embtie_widgets.jobs.exports import files, summary_json

    plots = KINDS[request.kind].part("plots")(result)
    page = result_page(plots, summary_json(request, result))
    written = files(request, result) | {"figure.html": page.encode()}
    for name, data in written.items():
        replace_file(folder / name, data)
    return list(written)
