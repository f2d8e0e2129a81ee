"""Which models a visitor of a public page cannot open, said before they are asked for.

What is known of a model's size are the facts that ship with embtie: numbers in a matrix and in all,
not the type they are stored in, so that the least they can take is held against the bound.  A model
of which nothing is known, as one of the owner's own catalogue, is offered and judged once it is
read.
"""

from collections.abc import Collection

from embtie_widgets.jobs.packaged import packaged_counts
from embtie_widgets.progress import spoken
from embtie_widgets.sources.bounds import FETCHED_BYTES, MATRIX_NUMBERS
from embtie_widgets.sources.permission import is_public

_BYTES = 2  # of a number, as narrow as weights of these models are stored
_TOO_LARGE = "too large for this page"


def unopened(refs: Collection[str], here: Collection[str], whole: bool) -> str:
    """Why this page's visitor cannot open these models together, each whole or its matrices alone;
    "" where they can, as far as is known.  `here`: those that need not be downloaded."""
    if not is_public():
        return ""
    away = [ref for ref in refs if ref not in here]
    if away and _is_offline():
        return "not on this machine, and this page downloads nothing"
    largest = max((_matrix(ref) for ref in refs), default=0)
    if largest > MATRIX_NUMBERS:
        return f"{_TOO_LARGE}: a matrix of {largest:,} numbers, at most {MATRIX_NUMBERS:,}"
    moved = sum(_BYTES * _read(ref, whole) for ref in away)
    if moved <= FETCHED_BYTES:
        return ""
    return f"{_TOO_LARGE}: {spoken(moved)} or more to download, at most {spoken(FETCHED_BYTES)}"


def _matrix(ref: str) -> int:
    """The numbers in one of its matrices; 0 where they are not known."""
    counted = packaged_counts().get(ref)
    return int(counted.settings["rows"] * counted.settings["width"]) if counted else 0


def _read(ref: str, whole: bool) -> int:
    """How many numbers are read of it; 0 where they are not known."""
    counted = packaged_counts().get(ref)
    if counted is None:
        return 0
    known = counted.settings
    return (
        int(known["stored"]) if whole else _matrix(ref) * (2 if known["matrices"] == "two" else 1)
    )


def _is_offline() -> bool:
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)
