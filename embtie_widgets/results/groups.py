"""Groups of tokens: by kind, of which every token has exactly one, and by frequency."""

from typing import Any

import numpy as np

Vector = np.ndarray[Any, np.dtype[Any]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

KINDS = {
    "word start": "letters after a space",
    "continuation": "letters without a space before",
    "number": "digits, no letters",
    "punctuation": "any other sign that can be seen",
    "other script": "letters that are not Latin",
    "whitespace": "whitespace and control signs",
    "byte": "single bytes and parts of letters",
    "special": "control tokens and added markup",
}
"""What each kind holds, in few words; its code is its place here."""
NO_KIND = 255
BY_KIND, BY_FREQUENCY = "kind of token", "times in the corpus"
# By powers of ten: the first count that is in, the first that is not.
BANDS = {
    "0 times": (0, 1),
    "1 to 9 times": (1, 10),
    "10 to 99 times": (10, 100),
    "100 to 999 times": (100, 1_000),
    "1,000 to 9,999 times": (1_000, 10_000),
    "10,000 times and more": (10_000, float("inf")),
}
CODES = {name: code for code, name in enumerate(KINDS)}


def kind_names(kinds: Vector) -> list[str]:
    """The name of each code; empty for a row without token."""
    names = dict(enumerate(KINDS))
    return [names.get(code, "") for code in kinds.tolist()]


def groups_of(result: Any) -> dict[str, Mask]:
    """The groups of a per-token result that hold a token, by name, as (n,) masks.

    Kinds come first, then bands of `result.token_counts`; each is left out where it is not known.
    """
    kinds, counts = result.kinds, result.token_counts
    found = {} if kinds is None else {name: kinds == code for name, code in CODES.items()}
    found |= {} if counts is None else _bands(counts)
    return {name: mask for name, mask in found.items() if mask.any()}


def band_places(counts: Vector) -> Vector:
    """(n,) int64: in which of BANDS each count lies."""
    starts = [low for low, _ in BANDS.values()]
    return np.searchsorted(starts, counts, side="right") - 1


def heading_of(group: str) -> str:
    """What the groups like this one are told apart by: BY_KIND or BY_FREQUENCY."""
    return BY_KIND if group in KINDS else BY_FREQUENCY


def _bands(counts: Vector) -> dict[str, Mask]:
    return {name: (counts >= low) & (counts < high) for name, (low, high) in BANDS.items()}
