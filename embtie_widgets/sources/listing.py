"""What the hub says about one revision of a model: its commit and its files."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources import tensor_cache
from embtie_widgets.sources.files import is_plain_name


@dataclass(frozen=True)
class Fact:
    """Of one file: bytes, and the hash where the hub keeps it as a large one."""

    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class Listing:
    """The files at the top of one commit; `fault` says why the hub cannot be asked for them."""

    ref: str
    revision: str | None
    commit: str
    files: Mapping[str, Fact] = field(default_factory=dict)
    fault: EmbtieError | None = None


def listing_of(ref: str, revision: str | None, info: Any) -> Listing:
    """From the hub library's own model information, with the metadata of files."""
    files = {
        file.rfilename: Fact(file.size, file.lfs.sha256 if file.lfs else None)
        for file in info.siblings or []
        if is_plain_name(file.rfilename)
    }
    return Listing(ref, revision, info.sha or revision or "main", files)


def remember(listing: Listing) -> None:
    """Keep it for a time without network."""
    known = {
        "commit": listing.commit,
        "files": {name: asdict(fact) for name, fact in listing.files.items()},
    }
    for name in {listing.revision or "main", listing.commit}:
        tensor_cache.remember(listing.ref, f"revision {name}", known)


def recall(ref: str, revision: str | None, fault: EmbtieError) -> Listing | None:
    """The listing as the hub told it last; it says why the hub cannot be asked now."""
    known = tensor_cache.remembered(ref, f"revision {revision or 'main'}")
    try:
        files = {name: Fact(**fact) for name, fact in known["files"].items()}
        return Listing(ref, revision, str(known["commit"]), files, fault)
    except (TypeError, LookupError, AttributeError):
        return None
