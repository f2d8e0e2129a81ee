"""The path that a user wrote."""

import os
from pathlib import Path

from embtie_widgets.errors import EmbtieError


def local_path(name: str | Path) -> Path:
    """The path that a user wrote, ~ expanded; an EmbtieError where no file can be called so."""
    try:
        usable = b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        usable = False
    if not usable:
        raise EmbtieError(
            "A file's name holds a NUL byte or a broken character.", "Write the name again."
        )
    # Unlike Path.expanduser this leaves an unknown user's ~name as it is.
    return Path(os.path.expanduser(name))
