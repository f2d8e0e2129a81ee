"""Models on the Hugging Face hub: their files, revisions and hashes, and what reading one moves."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import huggingface_hub
import huggingface_hub.utils
from huggingface_hub import errors

from embtie_widgets.errors import EmbtieError, Interrupted
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources import architecture, tensor_cache
from embtie_widgets.sources import listing as listings
from embtie_widgets.sources.checkpoint import Checkpoint, lone_file
from embtie_widgets.sources.files import FolderFiles, optional_json
from embtie_widgets.sources.folder import layout_of
from embtie_widgets.sources.hub_faults import explain, why
from embtie_widgets.sources.hub_files import HubFiles
from embtie_widgets.sources.listing import listing_of
from embtie_widgets.sources.sourced import plain_config

# Exported, but not so that a type checker sees it.
_utils: Any = huggingface_hub.utils
_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_WEIGHTS = (".safetensors", ".bin")
_REVISIONS = "names of revisions"
_may_ask: ContextVar[bool] = ContextVar("the hub may be asked", default=True)


@contextmanager
def without_asking() -> Iterator[None]:
    """While this lasts, a model comes from the caches of this machine or not at all."""
    token = _may_ask.set(False)
    try:
        yield
    finally:
        _may_ask.reset(token)


def is_hub_id(ref: str) -> bool:
    """Whether the name could be a model on the hub: `owner/name` or an old plain `name`."""
    try:
        _utils.validate_repo_id(ref)
    except errors.HFValidationError:
        return False
    return _ID.fullmatch(ref) is not None


def open_hub(
    ref: str, revision: str | None, progress: Progress = silent
) -> tuple[HubFiles | FolderFiles, str, list[str]]:
    """The files, the commit that the revision stands for, and notes.

    Where the hub cannot be reached or refuses, what the local caches hold is used and said so.
    """
    if not _may_ask.get():
        return *_unasked(ref, revision, progress), []
    try:
        info = huggingface_hub.HfApi().model_info(ref, revision=revision, files_metadata=True)
        listing = listing_of(ref, revision, info)
        files = HubFiles(listing, progress)
        # Of a gated model everybody may see the list, but not the files.
        if "config.json" in files.names():
            files.path("config.json")
    except Exception as error:
        fault = explain(error, ref, revision)
        cached = _from_caches(ref, revision, fault, progress)
        if cached is None or isinstance(error, errors.RevisionNotFoundError):
            raise fault from None
        note = f"The copy in the local cache was used. {why(error, ref, revision)}"
        return *cached, [note]
    listings.remember(listing)
    return files, listing.commit, []


def _unasked(ref: str, revision: str | None, progress: Progress) -> tuple[Any, str]:
    """The files from the caches alone; what is not there is a fault, and nothing fetches it."""
    written = ModelRef(ref, revision).written
    fault = EmbtieError(
        f"'{written}' is not whole on this machine, and the hub was not to be asked.",
        f"Allow fetching, or bring it here with `embtie fetch {written}`.",
    )
    cached = _from_caches(ref, revision, fault, progress)
    if cached is None:
        raise fault
    return cached


def _from_caches(
    ref: str, revision: str | None, fault: EmbtieError, progress: Progress
) -> tuple[HubFiles | FolderFiles, str] | None:
    """The files as the hub told of them last, or else a copy in the hub library's cache."""
    listing = listings.recall(ref, revision, fault)
    copy = _snapshot(ref, revision)
    if copy is not None and (listing is None or listing.commit != copy.name):
        return FolderFiles(copy, name=ref), copy.name
    return None if listing is None else (HubFiles(listing, progress), listing.commit)


def _snapshot(ref: str, revision: str | None) -> Path | None:
    try:
        folder = huggingface_hub.snapshot_download(ref, revision=revision, local_files_only=True)
        names = [path.name for path in Path(folder).iterdir()]
    except Exception:  # whatever keeps the cache from answering, the hub's own fault is told
        return None
    whole = "config.json" in names and any(name.endswith(_WEIGHTS) for name in names)
    return Path(folder) if whole else None


def list_revisions(ref: str) -> list[str]:
    """The names of all branches and tags; those that the hub told last, where it is not asked."""
    if not _may_ask.get():
        return _known_revisions(ref)
    try:
        refs = huggingface_hub.HfApi().list_repo_refs(ref)
    except Exception as error:
        raise explain(error, ref, None) from None
    names = [branch.name for branch in [*refs.branches, *refs.tags]]
    tensor_cache.remember(ref, _REVISIONS, names)
    return names


def _known_revisions(ref: str) -> list[str]:
    known = tensor_cache.remembered(ref, _REVISIONS)
    if isinstance(known, list) and all(isinstance(name, str) for name in known):
        return known
    raise EmbtieError(
        f"Which checkpoints '{ref}' has is not known on this machine, and the hub was not to be "
        "asked.",
        "Allow fetching.",
    )


def file_hashes(ref: str, revision: str | None = None) -> dict[str, str]:
    """sha256 by file name, of the files that the hub keeps as large ones: the weights.

    Equal files of two revisions are known by it before anything is downloaded.
    """
    try:
        info = huggingface_hub.HfApi().model_info(ref, revision=revision, files_metadata=True)
    except Exception as error:
        raise explain(error, ref, revision) from None
    facts = listing_of(ref, revision, info).files
    return {name: fact.sha256 for name, fact in facts.items() if fact.sha256}


@dataclass(frozen=True)
class Cost:
    """What reading the matrices of a model from the hub takes.

    files   bytes of each weights file of the revision
    moved   bytes that will be fetched, by file; nothing for those that are here already.
            Configuration and tokenizer, some megabytes, are not counted
    notes   sentences to show with it
    """

    ref: str
    commit: str
    files: dict[str, int]
    moved: dict[str, int]
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Bytes that will be fetched."""
        return sum(self.moved.values())


def cost(ref: str, revision: str | None = None, progress: Progress = silent) -> Cost:
    """What `load` would fetch; only headers are read for it."""
    files, commit, notes = open_hub(ref, revision, progress)
    if isinstance(files, FolderFiles):
        return Cost(ref, commit, {}, {}, tuple(notes))
    moved: dict[str, int] = {}
    for file, names in _holders(files).items():
        try:
            moved[file] = files.to_fetch(file, names)
        except Interrupted:
            raise
        except EmbtieError as error:
            # The first is the input's; without the others there is still something to load.
            if not moved:
                raise
            notes.append(f"The output matrix cannot be used: {error.message}")
    pickles = [file for file, size in moved.items() if size and file.endswith(".bin")]
    if pickles:
        notes.append(f"{', '.join(pickles)} must come whole: a pickle cannot be read in parts.")
    sizes = {name: fact.size or 0 for name, fact in files.listing.files.items()}
    weights = {name: size for name, size in sizes.items() if name.endswith(_WEIGHTS)}
    return Cost(ref, commit, weights, moved, (*notes, *files.notes))


def _holders(files: HubFiles) -> dict[str, list[str]]:
    """The tensors to read, by the file that holds them; a pickle is not opened to find out."""
    single = lone_file(files)
    if single is not None and single.endswith(".bin"):
        return {single: []}
    checkpoint = Checkpoint(files)
    config = plain_config(optional_json(files, "config.json"))
    pickled = all(checkpoint.file_of(name).endswith(".bin") for name in checkpoint)
    if pickled:
        layout = architecture.resolve(config, dict.fromkeys(checkpoint))
    else:
        layout = layout_of(config, checkpoint)
    found: dict[str, list[str]] = {}
    for name in (layout.input, layout.output):
        if name is not None:
            found.setdefault(checkpoint.file_of(name), []).append(name)
    return found
