"""All weights of a checkpoint: how large they are, by headers alone, and their values."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.sources.checkpoint import Checkpoint
from embtie_widgets.sources.counting import packed
from embtie_widgets.sources.files import Files
from embtie_widgets.sources.hub_files import HubFiles
from embtie_widgets.sources.language_model import quantised
from embtie_widgets.sources.reading import sentences

PRECISIONS = ("float32", "bfloat16", "float16")
_PLAIN = (*PRECISIONS, "float64")
_CHUNK = 1 << 22


@dataclass(frozen=True)
class Size:
    """How many numbers a checkpoint holds, in how many tensors, and what most of them are."""

    numbers: int
    tensors: int
    dtype: str

    def bytes_in(self, precision: str) -> int:
        """What they take as that: "float32", "bfloat16", "float16"."""
        return self.numbers * int(getattr(torch, precision).itemsize)


def size_of(checkpoint: Checkpoint, name: str) -> Size:
    """By the headers; an EmbtieError where a listed file is missing, or its numbers are packed."""
    numbers: Counter[str] = Counter()
    for tensor in checkpoint:
        shape = checkpoint[tensor]
        if shape is None:
            raise EmbtieError(
                f"{checkpoint.file_of(tensor)} of '{name}' is missing or broken, and holds weights "
                "that the model needs.",
                "Download it again: the download was probably interrupted.",
            )
        numbers[checkpoint.dtype(tensor)] += math.prod(shape)
    dtype = max(numbers, key=lambda kind: numbers[kind], default="float32")
    if dtype not in _PLAIN or packed(checkpoint):
        raise quantised(name)
    return Size(numbers.total(), len(checkpoint), dtype)


def read_all(
    checkpoint: Checkpoint, *, kept: torch.dtype | None, progress: Progress, stage: str
) -> dict[str, torch.Tensor]:
    """Every tensor that the files hold, mapped from them.

    Those that would stay as they are, since they are `kept` or no fractions, are copied: a mapped
    one would change, or end the process, with the file under an open model.  None copies nothing.
    """
    found, done = {}, 0
    first = {checkpoint.file_of(name): name for name in checkpoint}
    for name in first.values():
        checkpoint.take_unlisted(name)
    total = sum(math.prod(checkpoint[name] or ()) for name in checkpoint)
    for name in checkpoint:
        progress(stage, done, total)
        tensor = checkpoint.read(name)
        stays = kept is not None and (tensor.dtype == kept or not tensor.is_floating_point())
        found[name] = tensor.clone() if stays else tensor
        done += tensor.numel()
    return found


def fetch_whole(files: Files, checkpoint: Checkpoint) -> Checkpoint:
    """The same with every weights file on this machine."""
    if not isinstance(files, HubFiles):
        return checkpoint
    files.fetch_whole(checkpoint.files())
    return Checkpoint(files)


def files_hash(files: Files, checkpoint: Checkpoint, progress: Progress = silent) -> str:
    """sha256 over configuration and weights files, the same wherever they lie."""
    known = files.listing.files if isinstance(files, HubFiles) else {}
    config = ["config.json"] if "config.json" in files.names() else []
    hashes = {}
    for name in (*config, *checkpoint.files()):
        fact = known.get(name)
        told = fact.sha256 if fact is not None else None
        hashes[name] = told or file_hash(files.path(name), progress)
    return hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()


def stamp(paths: list[Path]) -> tuple[tuple[str, int, int], ...]:
    """What changes when one of the files does."""
    found = []
    for path in paths:
        with sentences(path):
            known = path.stat()
        found.append((str(path), known.st_size, known.st_mtime_ns))
    return tuple(found)


def file_hash(path: Path, progress: Progress = silent) -> str:
    """sha256 of a file's bytes, read once for as long as the file stays as it is."""
    ((known, size, time),) = stamp([path])
    kept = _kept_hash(known, size, time)
    return kept.value or kept.read(path, size, progress)


class _Hash:
    """Of one state of a file; empty until it is read to the end."""

    value = ""

    def read(self, path: Path, size: int, progress: Progress) -> str:
        digest, done = hashlib.sha256(), 0
        for chunk in _chunks(path):
            digest.update(chunk)
            done += len(chunk)
            progress(f"hashing {path.name}", done, max(size, done))
        self.value = digest.hexdigest()
        return self.value


@lru_cache(maxsize=256)
def _kept_hash(_path: str, _size: int, _time: int) -> _Hash:
    return _Hash()


def _chunks(path: Path) -> Iterator[bytes]:
    with sentences(path), path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
