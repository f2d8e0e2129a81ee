"""Pairing the rows of two vocabularies, every row accounted for."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.results import display_token
from embtie_widgets.sources.load import load
from embtie_widgets.sources.loaded import Loaded

if TYPE_CHECKING:
    import pandas as pd

Rows = np.ndarray[Any, np.dtype[np.int64]]
Keys = Sequence[bytes | None]
RULE = (
    "Where two rows of one vocabulary stand for the same bytes, a text token goes before a raw "
    "byte of a byte fallback, then the lower row; the others are counted as ambiguous."
)


@dataclass(frozen=True, eq=False)
class Match:
    """The tokens that two vocabularies have in common, each row used at most once.

    rows_a, rows_b  (n,) int64, the rows of each common token, ordered by rows_a
    counts          matched, only_a, only_b, padding_a, padding_b, ambiguous; 2 x matched and
                    the others add up to the rows of both vocabularies
    ambiguous_a, ambiguous_b  of each vocabulary; they add up to counts["ambiguous"]
    keys            n byte keys (None where rows were paired without token lists)
    policy          "bytes" (same bytes) or "rows" (same row number)
    notes           sentences about what was decided
    settings        policy and rule
    hashes          of the two token lists, where there are any
    """

    rows_a: Rows
    rows_b: Rows
    counts: dict[str, int]
    keys: list[bytes | None]
    policy: str
    ambiguous_a: int = 0
    ambiguous_b: int = 0
    notes: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    def to_frame(self) -> "pd.DataFrame":
        """One row per common token: text, bytes and the two row numbers."""
        import pandas as pd

        return pd.DataFrame(
            {
                "token": [display_token(key, limit=0) for key in self.keys],
                "bytes": ["" if key is None else key.hex() for key in self.keys],
                "row_a": self.rows_a,
                "row_b": self.rows_b,
            }
        )


def match(a: Any, b: Any) -> Match:
    """Pair the rows of two models by the bytes of their tokens.

    `a` and `b` are what `load` gives, or references to load.  Rows without token are padding.
    Without token lists, rows of equally high matrices are paired by number, with a note; other
    heights are refused.  Rows that only one matrix of a model has take no part.
    """
    a, b = (one if isinstance(one, Loaded) else load(one) for one in (a, b))
    if a.tokens is not None and b.tokens is not None:
        matched = match_keys(_usable(a), _usable(b), a.byte_rows, b.byte_rows)
        notes = [*matched.notes, *_height_notes(a, "a"), *_height_notes(b, "b")]
        return _with_notes(matched, notes)
    return _match_rows(a, b)


def match_keys(
    keys_a: Keys,
    keys_b: Keys,
    byte_rows_a: Collection[int] = frozenset(),
    byte_rows_b: Collection[int] = frozenset(),
) -> Match:
    """Pair rows with the same byte key; None entries are padding.  See `RULE` for duplicates."""
    chosen_a, extra_a = _choose(keys_a, byte_rows_a)
    chosen_b, extra_b = _choose(keys_b, byte_rows_b)
    pairs = sorted((row, chosen_b[key]) for key, row in chosen_a.items() if key in chosen_b)
    n = len(pairs)
    rows = np.array(pairs, np.int64).reshape(n, 2)
    counts = {
        "matched": n,
        "only_a": len(chosen_a) - n,
        "only_b": len(chosen_b) - n,
        "padding_a": sum(key is None for key in keys_a),
        "padding_b": sum(key is None for key in keys_b),
        "ambiguous": extra_a + extra_b,
    }
    return Match(
        rows_a=rows[:, 0].copy(),
        rows_b=rows[:, 1].copy(),
        counts=counts,
        keys=[keys_a[row] for row, _ in pairs],
        policy="bytes",
        ambiguous_a=extra_a,
        ambiguous_b=extra_b,
        notes=[RULE] if extra_a + extra_b else [],
        settings={"policy": "bytes", "rule": RULE},
        hashes={"tokens_a": keys_hash(keys_a), "tokens_b": keys_hash(keys_b)},
    )


def keys_hash(keys: Keys) -> str:
    """sha256 over the keys by row."""
    digest = hashlib.sha256()
    for key in keys:
        digest.update(b"-" if key is None else b"%d:%b" % (len(key), key))
    return digest.hexdigest()


def _choose(keys: Keys, byte_rows: Collection[int]) -> tuple[dict[bytes, int], int]:
    """One row for each key by `RULE`, and how many rows that leaves over."""
    chosen: dict[bytes, int] = {}
    raw = set(byte_rows)
    owned = [row for row, key in enumerate(keys) if key is not None]
    for row in sorted(owned, key=lambda row: (row in raw, row)):
        key = keys[row]
        if key is not None:
            chosen.setdefault(key, row)
    return chosen, len(owned) - len(chosen)


def _usable(model: Loaded) -> list[bytes | None]:
    """The keys by input row; rows that the other matrix lacks count as rows without token."""
    keys = model.tokens if model.tokens is not None else [b""] * len(model.input)
    padding = set(model.padding.tolist())
    last = model.common_rows
    return [k if row < last and row not in padding else None for row, k in enumerate(keys)]


def _match_rows(a: Loaded, b: Loaded) -> Match:
    if len(a.input) != len(b.input):
        raise EmbtieError(
            f"{a.name} has {len(a.input)} rows and {b.name} {len(b.input)}, and "
            f"{'neither has' if a.tokens is None is b.tokens else 'only one has'} a token list.",
            "Give a token list with each model: rows of different vocabularies cannot be paired "
            "by their numbers.",
        )
    free_a = np.array([key is not None for key in _usable(a)], bool)
    free_b = np.array([key is not None for key in _usable(b)], bool)
    rows = np.flatnonzero(free_a & free_b).astype(np.int64)
    named = a.tokens if a.tokens is not None else b.tokens
    counts = {
        "matched": len(rows),
        "only_a": int((free_a & ~free_b).sum()),
        "only_b": int((free_b & ~free_a).sum()),
        "padding_a": int((~free_a).sum()),
        "padding_b": int((~free_b).sum()),
        "ambiguous": 0,
    }
    note = (
        f"Rows were paired by number, because {_lacking(a, b)} no token list; this is right only "
        "if both use the same tokenizer."
    )
    return Match(
        rows_a=rows,
        rows_b=rows.copy(),
        counts=counts,
        keys=[None if named is None else named[row] for row in rows.tolist()],
        policy="rows",
        notes=[note, *_height_notes(a, "a"), *_height_notes(b, "b")],
        settings={"policy": "rows", "rule": RULE},
    )


def _lacking(a: Loaded, b: Loaded) -> str:
    without = [one.name for one in (a, b) if one.tokens is None]
    return f"{' and '.join(without)} {'have' if len(without) > 1 else 'has'}"


def _height_notes(model: Loaded, side: str) -> list[str]:
    if model.common_rows == len(model.input):
        return []
    return [
        f"Only the first {model.common_rows} rows of {side} ({model.name}) exist in both of its "
        "matrices; the others are counted as padding."
    ]


def _with_notes(matched: Match, notes: list[str]) -> Match:
    return Match(**{**vars(matched), "notes": notes})
