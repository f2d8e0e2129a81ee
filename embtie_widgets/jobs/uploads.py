"""Files that a user uploads: kept for a while, and named in a request by "uploaded:" and a hash.

They lie beside the kept results, or, where nothing is kept, in a folder that goes with the kernel.
Each has a folder of its own, in which it keeps its name, as far as that is a harmless one: what is
wrong with it is then said of a file that its user knows.
"""

import hashlib
import re
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.cache import prune, write_whole
from embtie_widgets.progress import spoken
from embtie_widgets.sources.place import results_folder
from embtie_widgets.sources.tables import MOST_BYTES, SUFFIXES

UPLOADED = "uploaded:"
_NAME = re.compile(r"[0-9a-f]{64}")
_LONGEST = 80


@dataclass(frozen=True)
class UploadKind:
    """What is uploaded, where it is kept, how it is called, and how large it may be, alone and
    with all others."""

    what: str
    folder: str
    suffixes: tuple[str, ...]
    most: int
    most_in_all: int


LENS = UploadKind("a lens", "lenses", (".safetensors",), 2**28, 2**30)
TABLE = UploadKind("a recorded run", "recorded", SUFFIXES, MOST_BYTES, 2**28)


def keep_upload(kind: UploadKind, content: bytes, name: str) -> str:
    """Keep the bytes of a file, and give the name that a request knows them by."""
    suffix = Path(name).suffix.lower()
    if suffix not in kind.suffixes or not 0 < len(content) <= kind.most:
        raise EmbtieError(
            f"'{Path(name).name}' has {spoken(len(content))}; expected {kind.what} as "
            f"{' or '.join(kind.suffixes)}, of at most {spoken(kind.most)}.",
            "Upload such a file, or name a larger one by its path.",
        )
    sha = hashlib.sha256(content).hexdigest()
    folder = _folder(kind) / sha
    path = folder / _harmless(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)
        for other in folder.iterdir():  # the same file under another name
            if other != path and other.suffix != ".part":
                other.unlink(missing_ok=True)
    except OSError:
        raise EmbtieError(
            "The uploaded file cannot be kept here.", "Free some disk, or name it by its path."
        ) from None
    _prune(kind)
    return UPLOADED + sha


def uploaded_path(kind: UploadKind, named: str) -> Path:
    """The file of a name that `keep_upload` gave."""
    sha = named.removeprefix(UPLOADED)
    files = _files(_folder(kind) / sha) if _NAME.fullmatch(sha) else []
    if not files:
        raise EmbtieError("The uploaded file is not here any more.", "Upload it again.")
    return files[0]


def _files(folder: Path) -> list[Path]:
    with suppress(OSError):
        return sorted(path for path in folder.iterdir() if path.suffix != ".part")
    return []


def _harmless(name: str) -> str:
    """A file's own name without what could lead elsewhere or hide it."""
    path = Path(re.sub(r"[^\w.\- ]", "_", Path(name).name))
    stem = path.stem.lstrip(".")[:_LONGEST].encode(errors="replace")[:_LONGEST]
    return (stem.decode(errors="ignore") or "file") + path.suffix.lower()


def _prune(kind: UploadKind) -> None:
    prune(_folder(kind).glob("*/*"), kind.most_in_all)
    for folder in _folder(kind).iterdir():
        with suppress(OSError):  # not empty
            folder.rmdir()


def _folder(kind: UploadKind) -> Path:
    kept = results_folder()
    return (_passing() if kept is None else kept / "uploads") / kind.folder


@cache
def _passing() -> Path:
    return Path(_of_kernel().name)


@cache
def _of_kernel() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="embtie-uploads-")
