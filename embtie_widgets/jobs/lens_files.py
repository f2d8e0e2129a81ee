"""Lenses as files: those that a user uploads, and those that were trained here, to be saved.

An uploaded file is named "uploaded:" and its hash.  It lies beside the kept results, or, where
nothing is kept, in a folder that goes with the kernel.
"""

import hashlib
import re
import tempfile
from functools import cache
from pathlib import Path

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.cache import prune, write_whole
from embtie_widgets.progress import spoken
from embtie_widgets.requests import ModelRef
from embtie_widgets.results.lens import PairLens
from embtie_widgets.sources.place import results_folder

UPLOADED = "uploaded:"
MOST_BYTES = 2**28
_MOST_IN_ALL = 2**30
_NAME = re.compile(r"[0-9a-f]{64}")
_SUFFIX = ".safetensors"


def keep_upload(content: bytes, name: str) -> str:
    """Keep the bytes of a saved lens, and give the name that a request knows them by."""
    if not name.endswith(_SUFFIX) or not 8 < len(content) <= MOST_BYTES:
        raise EmbtieError(
            f"'{Path(name).name}' has {spoken(len(content))}; expected a {_SUFFIX} file of a lens, "
            f"of at most {spoken(MOST_BYTES)}.",
            "Upload what was saved here, or name a larger lens by its path.",
        )
    sha = hashlib.sha256(content).hexdigest()
    folder = _folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{sha}{_SUFFIX}", content)
    except OSError:
        raise EmbtieError(
            "The uploaded lens cannot be kept here.", "Free some disk, or name it by its path."
        ) from None
    prune(folder.iterdir(), _MOST_IN_ALL)
    return UPLOADED + sha


def uploaded_path(named: str) -> Path:
    """The file of a name that `keep_upload` gave."""
    sha = named.removeprefix(UPLOADED)
    path = _folder() / f"{sha}{_SUFFIX}"
    if not _NAME.fullmatch(sha) or not path.is_file():
        raise EmbtieError("The uploaded lens is not here any more.", "Upload it again.")
    return path


def trained_lens(result: PairLens, side: str) -> bytes:
    """The file of the translators that a result was made with, as `.save(path)` writes it; they
    may have been trained here or ship with the model."""
    from embtie_widgets.jobs.lens_sides import bundled_lens, hash_of
    from embtie_widgets.jobs.lens_store import recalled

    ships = bundled_lens(ModelRef.from_value(result.settings[side.lower()]))
    if ships is not None and result.hashes.get(f"translators {side}") == hash_of(ships):
        return ships.read_bytes()
    learned = recalled(result.hashes.get(f"translators {side}", ""))
    if learned is None:
        raise EmbtieError(
            "The translators of this result are not here any more, or were not trained here.",
            "Run it once more with translators that are trained here, then save them.",
        )
    return learned.to_bytes()


def _folder() -> Path:
    kept = results_folder()
    return _passing() if kept is None else kept / "lenses"


@cache
def _passing() -> Path:
    return Path(_of_kernel().name)


@cache
def _of_kernel() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="embtie-lenses-")
