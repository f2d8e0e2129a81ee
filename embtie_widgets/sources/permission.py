"""Which texts and saved lenses of this machine may be named: all of them by its user, few by a
visitor of a page.

A list of tokens is a text too: its lines are shown.

On a page served by Voila a visitor may name the bundled text, what lies in the folder that the
variable EMBTIE_CORPORA names, and, with EMBTIE_DATASETS=on, data sets of the hub; else nothing.
Saved lenses are those in the folder that EMBTIE_LENSES names, recorded runs those in EMBTIE_RUNS,
items of tasks those in EMBTIE_TASKS.
"""

import os
from pathlib import Path

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.paths import local_path

FOLDER, DATASETS, SERVED = "EMBTIE_CORPORA", "EMBTIE_DATASETS", "EMBTIE_SERVED"
LENSES, RUNS, TASKS = "EMBTIE_LENSES", "EMBTIE_RUNS", "EMBTIE_TASKS"
# Said by the server to every kernel of a page that strangers may open.
PUBLIC, MODELS = "EMBTIE_PUBLIC", "EMBTIE_MODELS"
# Voila sets these two for every kernel, those that it starts in advance included.
_VOILA = ("VOILA_BASE_URL", "VOILA_PREHEAT")


def is_served() -> bool:
    """Whether this kernel works for a visitor of a page."""
    return os.environ.get(SERVED) == "1" or any(name in os.environ for name in _VOILA)


def is_public() -> bool:
    """Whether that visitor is a stranger, held within bounds."""
    return os.environ.get(PUBLIC) == "1"


def corpus_path(name: str) -> Path:
    """The file or folder that a user or visitor named; in the owner's folder by its bare name."""
    refusal = EmbtieError(
        "On a shared page only texts that its owner has laid out can be counted, and there is "
        f"none called '{Path(name).name}'.",
        f"Name the corpus 'bundled', or ask the owner to put the text into the {FOLDER} folder.",
    )
    return _opened(name, FOLDER, refusal)


def lens_path(name: str) -> Path:
    """The saved lens that a user or visitor named; in the owner's folder by its bare name."""
    refusal = EmbtieError(
        "On a shared page only lenses that its owner has laid out can be loaded, and there is "
        f"none called '{Path(name).name}'.",
        f"Train one here, or ask the owner to put it into the {LENSES} folder.",
    )
    return _opened(name, LENSES, refusal)


def run_path(name: str) -> Path:
    """The recorded file or the folder of a run that a user or visitor named; in the owner's folder
    by its bare name."""
    refusal = EmbtieError(
        "On a shared page only runs that its owner has laid out can be opened, and there is none "
        f"called '{Path(name).name}'.",
        f"Upload a recorded file, or ask the owner to put the run into the {RUNS} folder.",
    )
    return _opened(name, RUNS, refusal)


def tasks_folder(name: str) -> Path:
    """The folder of items that a user or visitor named; in the owner's folder by its bare name, and
    that folder itself for ""."""
    opened = os.environ.get(TASKS, "")
    if not name and opened:
        return Path(opened)
    if not name:
        raise EmbtieError(
            "Items of this task lie in a folder, and none is named.",
            f"Name the folder, or set {TASKS} to it; only 'line-end' comes with embtie.",
        )
    refusal = EmbtieError(
        "On a shared page only items that its owner has laid out are asked, and there is no folder "
        f"of them called '{Path(name).name}'.",
        f"Choose 'line-end', or ask the owner to put the items into the {TASKS} folder.",
    )
    return _opened(name, TASKS, refusal)


def _opened(name: str, variable: str, refusal: EmbtieError) -> Path:
    """What was named, or lies by that name in the folder of the variable; a visitor gets the
    latter or the refusal."""
    given, opened = local_path(name), os.environ.get(variable, "")
    if not is_served():
        inside = Path(opened) / given
        return inside if opened and not given.exists() and inside.exists() else given
    typed = Path(name)  # what ~ stands for is nothing to tell a visitor
    inside = Path(opened) / typed
    try:
        if opened and is_laid_out(inside, Path(opened)):
            return inside
    except (OSError, RuntimeError):  # a name too long, a circle of links
        pass
    # The same words for what is there and what is not: a visitor learns nothing of the server.
    raise refusal


def laid_out(variable: str) -> tuple[str, ...]:
    """The names of what the owner has put into the folder of the variable, and not hidden."""
    folder = os.environ.get(variable, "")
    try:
        inside = sorted(Path(folder).iterdir()) if folder else []
        return tuple(path.name for path in inside if is_laid_out(path, Path(folder)))
    except (OSError, RuntimeError):
        return ()


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path, all links followed, stays in the folder."""
    return path.resolve().is_relative_to(folder.resolve())


def is_laid_out(path: Path, folder: Path) -> bool:
    """Whether it is in the owner's folder, and neither hidden there nor in a hidden folder."""
    if not is_inside(path, folder) or not path.exists():
        return False
    parts = Path(os.path.relpath(path, folder)).parts
    return not any(part.startswith(".") and part != ".." for part in parts)


def check_dataset(name: str = "") -> None:
    """An EmbtieError where a visitor may not name data sets of the hub, or this one, since a folder
    of the server is called so."""
    here = name != "" and is_served() and local_path(name).exists()
    if is_served() and (os.environ.get(DATASETS) != "on" or here):
        raise EmbtieError(
            "On this shared page data sets of the hub are not opened.",
            f"Name the corpus 'bundled', or ask the page's owner to set {DATASETS}=on.",
        )
