"""What travels between this machine and the workers of a cluster: texts out, finished runs back.

A text is packed once, without anything that would have to be trusted on opening; a run is its
folder, packed whole and unpacked under its own name in this machine's store of runs.
"""

import io
import re
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from embtie_widgets.errors import EmbtieError
from embtie_widgets.jobs.training_runs import take_in
from embtie_widgets.progress import Progress
from embtie_widgets.training.corpus import Corpus, Ids
from embtie_widgets.training.run_store import RESUME, RunStore
from embtie_widgets.training.runs import RunSpec
from embtie_widgets.training.spamlang import SpamLang

_KEY = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Parcel:
    """A finished run: the name that it has in a store of runs, and its packed folder."""

    key: str
    folder: bytes


@dataclass(frozen=True)
class Refusal:
    """What an EmbtieError said on a worker; another try would end the same."""

    message: str
    hint: str


def pack_texts(corpus: Corpus, held: Corpus) -> bytes:
    """The text to learn from and that held out; equal texts give equal bytes."""
    arrays = {}
    for name, text in (("corpus", corpus), ("held", held)):
        arrays[f"{name}/ids"] = _narrow(text.ids)
        arrays[f"{name}/name"] = np.array(text.name)
        if isinstance(text, SpamLang):
            arrays[f"{name}/symbols"] = np.array(text.symbols)
        if text.tokenizer is not None:
            arrays[f"{name}/tokenizer"] = np.array(text.tokenizer.to_str())
    packed = io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **arrays)
    return packed.getvalue()


@lru_cache(maxsize=1)
def open_texts(packed: bytes) -> tuple[Corpus, Corpus]:
    """What `pack_texts` packed; those opened last are at hand."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    return _opened("corpus", arrays), _opened("held", arrays)


def _opened(name: str, arrays: dict[str, Any]) -> Corpus:
    if f"{name}/symbols" in arrays:
        return SpamLang(int(arrays[f"{name}/symbols"]))
    known = arrays.get(f"{name}/tokenizer")
    tokenizer = None if known is None else Tokenizer.from_str(str(known))
    ids = arrays[f"{name}/ids"].astype(np.int64)
    return Corpus(ids, tokenizer, str(arrays[f"{name}/name"]))


def pack_run(key: str, store: RunStore) -> Parcel:
    """A finished run, to be sent."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:  # weights do not get smaller
        for path in sorted(store.folder.rglob("*")):
            if path.is_file() and path.name != RESUME:
                archive.write(path, path.relative_to(store.folder).as_posix())
    return Parcel(key, packed.getvalue())


def unpack_run(parcel: Parcel, spec: RunSpec, progress: Progress) -> RunStore:
    """The run in this machine's store, whole or not at all; one that lies there already stays."""
    if not _KEY.fullmatch(parcel.key):
        raise EmbtieError(
            f"The cluster sent the run '{spec.name}' under no name of a run.",
            "Start its workers anew, with the same embtie as here.",
        )

    def unpack(folder: Path) -> None:
        with zipfile.ZipFile(io.BytesIO(parcel.folder)) as archive:
            archive.extractall(folder)

    try:
        return take_in(parcel.key, spec, unpack, progress)
    except zipfile.BadZipFile:
        raise EmbtieError(
            f"The run '{spec.name}' has come from the cluster damaged.", "Run it again."
        ) from None


def _narrow(ids: Ids) -> np.ndarray:
    """In the narrowest whole numbers that hold them."""
    largest = int(ids.max()) if len(ids) else 0
    return ids.astype(np.min_scalar_type(largest))
