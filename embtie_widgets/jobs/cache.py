"""Results on disk, so that a second visitor or a restart gets them at once.

An entry is named by the request, the hashes of the matrices and the version of the measures.  It
is written beside its place and moved there whole; a damaged one is removed and made anew.  Where
nothing can be written, nothing is kept, and the work goes on.

Beside it a small file, named by the request alone, says which entry answered it last: where the
matrices are not at hand to be hashed, that one is shown, with its hashes on it.
"""

import hashlib
import logging
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import Request
from embtie_widgets.requests.reading import to_json
from embtie_widgets.results.storage import from_bytes, to_bytes
from embtie_widgets.sources.place import results_folder

logger = logging.getLogger("embtie.cache")

# Raise it whenever a measure gives other numbers than before.
MEASURES = 3
SIZE_LIMIT = 2**30
_KEY = re.compile(r"[0-9a-z]{1,64}")


def cache_folder() -> Path | None:
    """Where results are kept; None for "off"."""
    return results_folder()


def entry_key(request: Request, hashes: Mapping[str, str]) -> str:
    """The name of an entry."""
    parts = [to_json(request), str(MEASURES), *(f"{k} {hashes[k]}" for k in sorted(hashes))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def kept_or_made(
    request: Request,
    hashes: Mapping[str, str],
    make: Callable[[], Any],
    is_whole: Callable[[Any], bool] = lambda result: True,
) -> Any:
    """The result kept for this request on these matrices, else the one that `make` gives, which is
    kept where it `is_whole`."""
    key = entry_key(request, hashes)
    result = recall(key)
    if result is None:
        result = make()
        if not is_whole(result):
            return result
        keep(key, result)
    note(request, key)
    return result


def note(request: Request, key: str, stamp: Mapping[str, str] = MappingProxyType({})) -> None:
    """Say that this entry answered the request last, while its models were as `stamp` says."""
    _write(_latest(request, stamp), key.encode())


def latest(request: Request, stamp: Mapping[str, str] = MappingProxyType({})) -> Any | None:
    """The result that answered this request last, or None; whatever its models hold today, unless
    a `stamp` says how they have to be."""
    path = _latest(request, stamp)
    try:
        return None if path is None else recall(path.read_text("ascii"))
    except (OSError, ValueError):
        return None


def recall(key: str) -> Any | None:
    """The result kept under this name, marked as such, or None."""
    path = _path(key)
    if path is None:
        return None
    try:
        result = from_bytes(path.read_bytes())
    except OSError:
        return None
    except EmbtieError:
        logger.warning("a damaged cache entry was removed")
        _remove(path)
        return None
    _touch(path)
    return replace(result, settings=result.settings | {"cached": True})


def keep(key: str, result: Any) -> None:
    """Keep a result, whole or not at all."""
    path = _path(key)
    if path is not None:
        _write(path, to_bytes(result))
        folder = path.parent
        prune([*folder.glob("*.npz"), *folder.glob("*.latest"), *folder.glob("*.part")], SIZE_LIMIT)


def _path(key: str) -> Path | None:
    folder = cache_folder()
    return folder / f"{key}.npz" if folder is not None and _KEY.fullmatch(key) else None


def _latest(request: Request, stamp: Mapping[str, str]) -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / f"{entry_key(request, stamp)}.latest"


def _write(path: Path | None, data: bytes) -> None:
    if path is None:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)
    except OSError as error:
        logger.info("a result was not kept: %s", error.strerror)


def _touch(path: Path) -> None:
    """Mark an entry as used; in a folder that is only to be read it stays as it is."""
    try:
        os.utime(path)
    except OSError:
        logger.info("the use of a cache entry could not be noted")


def write_whole(path: Path, data: bytes) -> None:
    """Write beside the place and move there: the file is whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        _remove(Path(name))
        raise


def prune(paths: Iterable[Path], limit: int) -> None:
    """Remove the files that were not used for longest, down to so many bytes."""
    entries = []
    for path in paths:
        try:
            known = path.stat()
        except OSError:
            continue
        entries.append((known.st_mtime, known.st_size, path))
    excess = sum(size for _, size, _ in entries) - limit
    for _, size, path in sorted(entries):
        if excess <= 0:
            return
        _remove(path)
        excess -= size


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError:
        logger.info("a cache entry could not be removed")
