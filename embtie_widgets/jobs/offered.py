"""What a page of strangers offers to be named, since nothing else may be."""

import os

from embtie_widgets.jobs.catalogue import entries
from embtie_widgets.sources.permission import (
    DATASETS,
    FOLDER,
    LENSES,
    RUNS,
    TASKS,
    is_public,
    laid_out,
)

TEXT, SAVED_LENS, RECORDED, ITEMS, MODEL = "text", "lens", "recorded", "items", "model"
_FOLDERS = {TEXT: FOLDER, SAVED_LENS: LENSES, RECORDED: RUNS, ITEMS: TASKS}


def names_of(what: str) -> tuple[str, ...] | None:
    """The names that a visitor of this page may choose from; None where any may be typed."""
    if not is_public() or (what == TEXT and os.environ.get(DATASETS) == "on"):
        return None
    if what == MODEL:
        return tuple(entry.ref for entry in entries())
    return laid_out(_FOLDERS[what])
