"""Models on the Hugging Face hub: only the files that are needed, each refusal in its own words."""

import errno
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import huggingface_hub
from huggingface_hub import errors

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.sources.files import FolderFiles
from embtie_widgets.sources.reading import TensorFile

_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")


def is_hub_id(ref: str) -> bool:
    """Whether the name could be a model on the hub: `owner/name` or an old plain `name`."""
    return _ID.fullmatch(ref) is not None and ".." not in ref and "--" not in ref


class HubFiles:
    """The files of one revision, fetched into the hub library's own cache when asked for."""

    def __init__(self, ref: str, revision: str | None, commit: str, names: frozenset[str]) -> None:
        self.name = ref
        self.revision = revision
        self.commit = commit
        self._names = names

    def names(self) -> frozenset[str]:
        """All file names at the top of the repository."""
        return self._names

    def path(self, name: str) -> Path:
        """The file in the local cache, downloaded first where it is not there yet."""
        try:
            return Path(huggingface_hub.hf_hub_download(self.name, name, revision=self.commit))
        except Exception as error:
            raise explain(error, self.name, self.revision, name) from None

    def tensors(self, name: str) -> TensorFile:
        """The tensors of that weights file."""
        return TensorFile(self.path(name))


def open_hub(
    ref: str, revision: str | None, progress: Progress = silent
) -> tuple[HubFiles | FolderFiles, str, list[str]]:
    """The files, the commit that the revision stands for, and notes.

    Where the hub cannot be reached or refuses, a copy in the cache is used and named.
    """
    try:
        info = huggingface_hub.HfApi().model_info(ref, revision=revision)
    except Exception as error:
        fault = explain(error, ref, revision)
        cached = _cached(ref, revision)
        if cached is None or isinstance(error, errors.RevisionNotFoundError):
            raise fault from None
        note = f"The copy in the local cache was used. {fault.message}"
        return FolderFiles(cached, name=ref), cached.name, [note]
    names = frozenset(f.rfilename for f in info.siblings or [] if "/" not in f.rfilename)
    commit = info.sha or revision or "main"
    return HubFiles(ref, revision, commit, names), commit, []


def list_revisions(ref: str) -> list[str]:
    """The names of all branches and tags."""
    try:
        refs = huggingface_hub.HfApi().list_repo_refs(ref)
    except Exception as error:
        raise explain(error, ref, None) from None
    return [branch.name for branch in [*refs.branches, *refs.tags]]


def file_hashes(ref: str, revision: str | None = None) -> dict[str, str]:
    """sha256 by file name, of the files that the hub keeps as large ones: the weights.

    Equal files of two revisions are known by it before anything is downloaded.
    """
    try:
        info = huggingface_hub.HfApi().model_info(ref, revision=revision, files_metadata=True)
    except Exception as error:
        raise explain(error, ref, revision) from None
    return {file.rfilename: file.lfs.sha256 for file in info.siblings or [] if file.lfs}


def header_shapes(ref: str, commit: str | None) -> dict[str, tuple[int, ...]]:
    """Every tensor's shape, from the headers alone: no weights are downloaded."""
    try:
        metadata = huggingface_hub.HfApi().get_safetensors_metadata(ref, revision=commit)
    except errors.NotASafetensorsRepoError:
        raise EmbtieError(
            f"'{ref}' has no safetensors files, so its sizes cannot be read alone.",
            "Download it and name its folder.",
        ) from None
    except Exception as error:
        raise explain(error, ref, commit) from None
    files = metadata.files_metadata.values()
    return {name: tuple(t.shape) for file in files for name, t in file.tensors.items()}


def _cached(ref: str, revision: str | None) -> Path | None:
    try:
        folder = huggingface_hub.snapshot_download(ref, revision=revision, local_files_only=True)
    except Exception:  # whatever keeps the cache from answering, the hub's own fault is told
        return None
    return Path(folder) if (Path(folder) / "config.json").exists() else None


def explain(error: Any, ref: str, revision: str | None, file: str = "") -> EmbtieError:
    """One message and one next step for each way the hub can fail; nothing secret in it."""
    if isinstance(error, EmbtieError):
        return error
    if isinstance(error, errors.RevisionNotFoundError):
        return EmbtieError(f"'{ref}' has no revision '{revision}'.", _revisions(ref))
    what = next((kind for kind, fits in _FAULTS.items() if fits(error)), "unreachable")
    message, hint = _WORDS[what]
    at = f" at revision '{revision}'" if revision else ""
    given = {"ref": ref, "at": at, "file": file or "of that name", "status": _status(error)}
    return EmbtieError(message.format(**given), hint)


# In this order: the first that fits is told.
_FAULTS: dict[str, Callable[[Any], bool]] = {
    "gated": lambda e: isinstance(e, errors.GatedRepoError),
    "uncached": lambda e: isinstance(e, errors.LocalEntryNotFoundError),
    "entry": lambda e: isinstance(e, errors.EntryNotFoundError),
    "unknown": lambda e: isinstance(e, errors.RepositoryNotFoundError),
    "offline": lambda e: isinstance(e, errors.OfflineModeIsEnabled),
    "refused": lambda e: _status(e) in (401, 403),
    "answered": lambda e: _status(e) is not None,
    "full": lambda e: isinstance(e, OSError) and e.errno == errno.ENOSPC,
}
_OFFLINE = "Check the connection; offline, name a bundled model, a folder or a file."
_WORDS = {
    "gated": (
        "'{ref}' is gated: its owner lets only approved accounts read it.",
        "Ask for access on the model's page, then sign in with 'hf auth login'.",
    ),
    "uncached": (
        "The hub cannot be reached, and the file {file} of '{ref}'{at} is not in the local cache.",
        _OFFLINE,
    ),
    "entry": (
        "'{ref}'{at} has no file {file}.",
        "Choose a model that stores its weights as safetensors.",
    ),
    "unknown": (
        "There is no public model '{ref}' on the hub.",
        "Check the spelling; if it is private, sign in with 'hf auth login'.",
    ),
    "offline": (
        "The hub library is set to offline, and '{ref}' is not in its cache.",
        "Unset HF_HUB_OFFLINE, or name a local folder.",
    ),
    "refused": (
        "The hub does not let this account read '{ref}'.",
        "Sign in with 'hf auth login', or ask the owner for access.",
    ),
    "answered": (
        "The hub answered with an error ({status}) when asked for '{ref}'.",
        "Try again later.",
    ),
    "full": (
        "The disk is full, so '{ref}' could not be downloaded.",
        "Free some space and try again.",
    ),
    "unreachable": (
        "'{ref}' was taken for a model on the hub, which cannot be reached, and no copy is in "
        "the local cache.",
        _OFFLINE,
    ),
}


def _status(error: Any) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def _revisions(ref: str) -> str:
    try:
        refs = huggingface_hub.HfApi().list_repo_refs(ref)
    except Exception:  # only a hint: it may fail like everything else
        return "Check the revision's name on the model's page."
    names = [branch.name for branch in [*refs.branches, *refs.tags]][:8]
    return f"Pick one of these: {', '.join(names)}." if names else "Leave the revision out."
