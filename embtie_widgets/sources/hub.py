"""Models on the Hugging Face hub: only the files that are needed, each refusal in its own words."""

import re
from pathlib import Path
from typing import Any

import huggingface_hub
from huggingface_hub import errors

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.files import FolderFiles

_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")
_CONNECTION = (errors.OfflineModeIsEnabled, ConnectionError, TimeoutError)


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


def open_hub(ref: str, revision: str | None) -> tuple[HubFiles | FolderFiles, str, list[str]]:
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


def _cached(ref: str, revision: str | None) -> Path | None:
    try:
        folder = huggingface_hub.snapshot_download(ref, revision=revision, local_files_only=True)
    except Exception:  # whatever keeps the cache from answering, the hub's own fault is told
        return None
    return Path(folder) if (Path(folder) / "config.json").exists() else None


def explain(error: Any, ref: str, revision: str | None, file: str = "") -> EmbtieError:
    """One message and one next step for each way the hub can fail; nothing secret in it."""
    at = f" at revision '{revision}'" if revision else ""
    if isinstance(error, errors.GatedRepoError):
        return EmbtieError(
            f"'{ref}' is gated: its owner lets only approved accounts read it.",
            "Ask for access on the model's page, then sign in with 'hf auth login'.",
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return EmbtieError(f"'{ref}' has no revision '{revision}'.", _revisions(ref))
    if isinstance(error, errors.EntryNotFoundError) and not isinstance(
        error, errors.LocalEntryNotFoundError
    ):
        return EmbtieError(
            f"'{ref}'{at} has no file {file or 'of that name'}.",
            "Choose a model that stores its weights as safetensors.",
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return EmbtieError(
            f"There is no public model '{ref}' on the hub.",
            "Check the spelling; if it is private, sign in with 'hf auth login'.",
        )
    if isinstance(error, errors.OfflineModeIsEnabled):
        return EmbtieError(
            f"The hub library is set to offline, and '{ref}' is not in its cache.",
            "Unset HF_HUB_OFFLINE, or name a local folder.",
        )
    if isinstance(error, errors.HfHubHTTPError) and _status(error) in (401, 403):
        return EmbtieError(
            f"The hub does not let this account read '{ref}'.",
            "Sign in with 'hf auth login', or ask the owner for access.",
        )
    if isinstance(error, OSError) and error.errno == 28:
        return EmbtieError(
            f"The disk is full, so '{ref}' could not be downloaded.", "Free some space, try again."
        )
    return EmbtieError(
        f"'{ref}' was taken for a model on the hub, which cannot be reached, and no copy is in "
        "the local cache.",
        "Check the connection; offline, name a bundled model, a folder or a file.",
    )


def _status(error: Any) -> int | None:
    return getattr(getattr(error, "response", None), "status_code", None)


def _revisions(ref: str) -> str:
    try:
        refs = huggingface_hub.HfApi().list_repo_refs(ref)
    except Exception:  # only a hint: it may fail like everything else
        return "Check the revision's name on the model's page."
    names = [branch.name for branch in [*refs.branches, *refs.tags]][:8]
    return f"Pick one of these: {', '.join(names)}." if names else "Leave the revision out."
