"""What went wrong between here and the hub, each in its own words, with nothing secret in it."""

import errno
from collections.abc import Callable
from typing import Any

import huggingface_hub
from huggingface_hub import errors

from embtie_widgets.errors import EmbtieError, Interrupted


def explain(error: Any, ref: str, revision: str | None, file: str = "") -> EmbtieError:
    """One message and one next step for each way the hub can fail; nothing secret in it."""
    if isinstance(error, EmbtieError):
        return error
    if isinstance(error, errors.RevisionNotFoundError):
        return EmbtieError(f"'{ref}' has no revision '{revision or 'main'}'.", _revisions(ref))
    error = _answer(error)
    what = _kind(error)
    message, hint = _WORDS[what]
    at = f" at revision '{revision}'" if revision else ""
    given = {"ref": ref, "at": at, "file": file or "of that name", "status": status_of(error)}
    kind = EmbtieError if what in _LASTING else Interrupted
    return kind(message.format(**given), hint)


def why(error: Any, ref: str, revision: str | None) -> str:
    """The fault alone, for a note on what was found in spite of it."""
    told = error.__context__ if isinstance(error, EmbtieError) else error
    return _REASONS.get(_kind(_answer(told)), explain(error, ref, revision).message)


def _kind(error: Any) -> str:
    return next((kind for kind, fits in _FAULTS.items() if fits(error)), "unreachable")


def _answer(error: Any) -> Any:
    """What the hub answered, where the hub library takes that for not being reached."""
    cause = getattr(error, "__cause__", None)
    hidden = isinstance(error, errors.LocalEntryNotFoundError) and status_of(cause) is not None
    return cause if hidden else error


# In this order: the first that fits is told.
_FAULTS: dict[str, Callable[[Any], bool]] = {
    "gated": lambda e: isinstance(e, errors.GatedRepoError),
    "uncached": lambda e: isinstance(e, errors.LocalEntryNotFoundError),
    "entry": lambda e: isinstance(e, errors.EntryNotFoundError),
    "unknown": lambda e: isinstance(e, errors.RepositoryNotFoundError),
    "offline": lambda e: isinstance(e, errors.OfflineModeIsEnabled),
    "refused": lambda e: status_of(e) in (401, 403),
    "answered": lambda e: status_of(e) is not None,
    "full": lambda e: isinstance(e, OSError) and e.errno in (errno.ENOSPC, errno.EDQUOT),
    "read-only": lambda e: isinstance(e, OSError) and e.errno in (errno.EACCES, errno.EROFS),
}
# These say something of the model; after the others another try may go through.
_LASTING = ("entry", "unknown")
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
    "read-only": (
        "{file} of '{ref}' is not in the hub library's cache, which may not be written.",
        "Let HF_HOME name a folder that you may write to.",
    ),
    "unreachable": (
        "'{ref}' was taken for a model on the hub, which cannot be reached, and no copy is in "
        "the local cache.",
        _OFFLINE,
    ),
}

_REASONS = {
    "uncached": "The hub cannot be reached.",
    "offline": "The hub library is set to offline.",
    "unreachable": "The hub cannot be reached.",
}


def status_of(error: Any) -> int | None:
    """The number that the hub answered with, None where it did not answer."""
    return getattr(getattr(error, "response", None), "status_code", None)


def _revisions(ref: str) -> str:
    try:
        refs = huggingface_hub.HfApi().list_repo_refs(ref)
    except Exception:  # only a hint: it may fail like everything else
        return "Check the revision's name on the model's page."
    names = [branch.name for branch in [*refs.branches, *refs.tags]][:8]
    return f"Pick one of these: {', '.join(names)}." if names else "Leave the revision out."
