"""The files of one revision on the hub, of which no more is fetched than is asked for.

Configuration, tokenizer and index come whole, through the hub library and into its cache.  Of
safetensors files only the tensors asked for come, into embtie's own cache; a file that the hub
library's cache holds whole is mapped from there.
"""

import hashlib
import logging
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import huggingface_hub
import huggingface_hub.utils
from huggingface_hub import constants

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.progress import Progress, elsewhere, silent, spoken
from embtie_widgets.sources.bounds import take_fetching
from embtie_widgets.sources.files import OneFile
from embtie_widgets.sources.hub_faults import explain
from embtie_widgets.sources.listing import Listing
from embtie_widgets.sources.reading import TensorFile
from embtie_widgets.sources.remote import RemoteTensors

_logger = logging.getLogger("embtie.hub")
_MOST_UNLISTED = 2**26  # bytes of a file whose size the hub does not tell


class HubFiles:
    """The files of one commit.  `notes` tell what was unusual about getting them."""

    def __init__(self, listing: Listing, progress: Progress = silent) -> None:
        self.name, self.revision, self.commit = listing.ref, listing.revision, listing.commit
        self.listing, self._progress = listing, progress
        self._remote: dict[str, RemoteTensors] = {}
        self._notes: list[str] = []

    @property
    def notes(self) -> list[str]:
        """In the order of the files."""
        return [*self._notes, *(note for file in self._remote.values() for note in file.notes)]

    def names(self) -> frozenset[str]:
        """All file names at the top of the repository."""
        return frozenset(self.listing.files)

    def path(self, name: str) -> Path:
        """The file in the hub library's cache, downloaded first where it is not there yet."""
        cached = self._cached(name)
        if cached is not None:
            return cached
        if self.listing.fault is not None:
            raise self.listing.fault
        size = self.listing.files[name].size if name in self.listing.files else None
        take_fetching(size or 0, f"{name} of {self.name}")
        with elsewhere(size or 0):
            return self._downloaded(name, _bar(self._progress, f"{name} of {self.name}", size))

    def _downloaded(self, name: str, bar: Any) -> Path:
        try:
            found = huggingface_hub.hf_hub_download(
                self.name, name, revision=self.commit, tqdm_class=bar
            )
            if not self._fits(Path(found), name):
                # The library takes a file that was cut in its cache for whole.
                found = huggingface_hub.hf_hub_download(
                    self.name, name, revision=self.commit, tqdm_class=bar, force_download=True
                )
        except Exception as error:
            raise explain(error, self.name, self.revision, name) from None
        return Path(found)

    def tensors(self, name: str) -> OneFile:
        """The tensors of that weights file; of a pickle, which has no parts, the whole comes."""
        if name not in self.listing.files:
            raise EmbtieError(
                f"'{self.name}' has no file {name}, though its index lists it.",
                "Choose another revision.",
            )
        cached = self._cached(name)
        if cached is not None:
            return TensorFile(cached)
        if not name.endswith(".safetensors"):
            return TensorFile(self._whole(name))
        return self._remote_tensors(name)

    def to_fetch(self, file: str, tensors: list[str]) -> int:
        """How many bytes reading these tensors of that file would move."""
        if file not in self.listing.files or self._cached(file) is not None:
            return 0
        if not file.endswith(".safetensors"):
            return self.listing.files[file].size or 0
        remote = self._remote_tensors(file)
        known = [remote.to_fetch(tensor) for tensor in tensors if tensor in remote.names()]
        return max(known, default=0) if not remote.in_parts else sum(known)

    def fetch_whole(self, names: list[str]) -> None:
        """Bring these files into the hub library's cache, if its disk has room for all of them."""
        _check_space(self.name, "all weights", self.whole_to_fetch(names))
        for name in names:
            if name.endswith(".safetensors"):
                self.path(name)
            else:
                self.tensors(name)  # whole, and its hash compared

    def whole_to_fetch(self, names: list[str]) -> int:
        """How many bytes bringing these files whole would move."""
        sizes = self.listing.files
        return sum(sizes[n].size or 0 for n in names if n in sizes and self._cached(n) is None)

    def _remote_tensors(self, name: str) -> RemoteTensors:
        if name not in self._remote:
            self._remote[name] = RemoteTensors(self.listing, name, self._progress)
        return self._remote[name]

    def _cached(self, name: str) -> Path | None:
        """The whole file where the hub library has it."""
        found = huggingface_hub.try_to_load_from_cache(self.name, name, revision=self.commit)
        if not isinstance(found, str):
            return None
        return Path(found) if self._fits(Path(found), name) else None

    def _fits(self, path: Path, name: str) -> bool:
        """Whether a file is as long as the hub says, where it says that."""
        size = self.listing.files[name].size if name in self.listing.files else None
        return size is None or path.stat().st_size == size

    def _whole(self, name: str) -> Path:
        """A file that cannot be read in parts, its hash compared with the hub's."""
        fact = self.listing.files[name]
        size = spoken(fact.size) if fact.size is not None else "of unknown size"
        self._progress(f"{name} whole ({size}): a pickle has no parts", 0, fact.size or 1)
        _check_space(self.name, name, fact.size or 0)
        if self._progress is silent:
            # Nobody is told where the work is, so this is the only place to say it before.
            _logger.warning(
                "%s of '%s' is a pickle, which cannot be read in parts: all of it comes (%s).",
                name, self.name, size,
            )  # fmt: skip
        path = self.path(name)
        self._notes.append(f"{name} was fetched whole ({size}): a pickle cannot be read in parts.")
        if fact.sha256 is None:
            return path
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest == fact.sha256:
            return path
        for wrong in (path.resolve(), path):
            with suppress(OSError):
                wrong.unlink()
        raise Interrupted(
            f"{name} of '{self.name}' came with other bytes than the hub lists; it was removed.",
            "Try again; if it stays so, a proxy or mirror on the way gives out another file.",
        )


def _check_space(ref: str, name: str, need: int) -> None:
    folder = Path(constants.HF_HUB_CACHE)
    there = next((path for path in (folder, *folder.parents) if path.exists()), None)
    free = shutil.disk_usage(there).free if there is not None else need
    if need > free:
        raise Interrupted(
            f"Fetching {name} of '{ref}' takes {spoken(need)}, and the disk of the hub library's "
            f"cache has {spoken(free)} free.",
            "Free some space, or let HF_HOME name a folder on another disk.",
        )


def _bar(progress: Progress, stage: str, size: int | None) -> Any:
    """A progress bar, as the hub library wants one, that draws nothing, tells `progress`, and ends
    a download that does not end where the hub's listing says."""
    most = _MOST_UNLISTED if size is None else size

    base: Any = huggingface_hub.utils

    class Bar(base.tqdm):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **{**more, "disable": True})

        def update(self, n: float | None = 1) -> None:
            self.n += n or 0
            if self.n > most:
                raise Interrupted(
                    f"{stage} is longer than the hub lists; nothing of it was used.",
                    "Try again; if it stays so, a proxy or mirror gives out another file.",
                )
            progress(stage, int(self.n), int(self.total or self.n))

    return Bar
