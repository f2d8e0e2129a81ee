"""Pairing the rows of two vocabularies, every row accounted for."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.results import display_token
from embtie_widgets.sources.load import load
from embtie_widgets.sources.loaded import Loaded

if TYPE_CHECKING:
    import pandas as pd

Rows = np.ndarray[Any, np.dtype[np.int64]]
Keys = Sequence[bytes | None]
_STAGE, _STEPS = "matching", 4
_NONE: frozenset[int] = frozenset()
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

    def __repr__(self) -> str:
        counts = ", ".join(f"{name}={count}" for name, count in self.counts.items())
        return f"Match(by {self.policy}: {counts})"

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


def match(a: Any, b: Any, *, drop_copies: bool = False, progress: Progress = silent) -> Match:
    """Pair the rows of two models by the bytes of their tokens.

    `a` and `b` are what `load` gives, or references to load.  Rows without token are padding.
    Without token lists, rows of equally high matrices are paired by number, with a note; other
    heights are refused.  Rows that only one matrix of a model has take no part.  `drop_copies`
    leaves out near-identical rows of the input matrices and counts them as ambiguous.
    """
    a, b = (one if isinstance(one, Loaded) else load(one) for one in (a, b))
    left_out = [frozenset(one.near_copies.tolist()) if drop_copies else _NONE for one in (a, b)]
    if a.tokens is not None and b.tokens is not None:
        first, second = (_side(one, out) for one, out in zip((a, b), left_out, strict=True))
        matched = _match_sides(first, second, progress)
    else:
        matched = _match_rows(a, b, *left_out)
    notes = [*matched.notes, *_height_notes(a, "a"), *_height_notes(b, "b")]
    if dropped := matched.settings["dropped_copies"]:
        notes.append(f"{dropped} near-identical rows were left out; they count as ambiguous.")
    named = {"a": a.settings | {"tied": a.tied}, "b": b.settings | {"tied": b.tied}}
    return replace(matched, notes=notes, settings=matched.settings | named)


def match_keys(
    keys_a: Keys,
    keys_b: Keys,
    byte_rows_a: Collection[int] = _NONE,
    byte_rows_b: Collection[int] = _NONE,
) -> Match:
    """Pair rows with the same byte key; None entries are padding.  See `RULE` for duplicates."""
    return _match_sides(
        _Side(keys_a, frozenset(byte_rows_a), _NONE), _Side(keys_b, frozenset(byte_rows_b), _NONE)
    )


@dataclass(frozen=True)
class _Side:
    """One vocabulary: its keys, its raw-byte rows, and rows to leave out."""

    keys: Keys
    byte_rows: frozenset[int]
    left_out: frozenset[int]

    def choose(self) -> tuple[dict[bytes, int], int, int]:
        """One row for each key by `RULE`; how many rows that leaves over, how many left out."""
        chosen: dict[bytes, int] = {}
        owned = [(row, key) for row, key in enumerate(self.keys) if key is not None]
        for row, key in sorted(owned, key=lambda pair: (pair[0] in self.byte_rows, pair[0])):
            if row not in self.left_out:
                chosen.setdefault(key, row)
        dropped = sum(row in self.left_out for row, _ in owned)
        return chosen, len(owned) - len(chosen), dropped

    @property
    def padding(self) -> int:
        return sum(key is None for key in self.keys)


def _match_sides(a: _Side, b: _Side, progress: Progress = silent) -> Match:
    progress(_STAGE, 0, _STEPS)
    chosen_a, extra_a, dropped_a = a.choose()
    progress(_STAGE, 1, _STEPS)
    chosen_b, extra_b, dropped_b = b.choose()
    progress(_STAGE, 2, _STEPS)
    pairs = sorted((row, chosen_b[key]) for key, row in chosen_a.items() if key in chosen_b)
    progress(_STAGE, 3, _STEPS)
    n = len(pairs)
    rows = np.array(pairs, np.int64).reshape(n, 2)
    counts = {
        "matched": n,
        "only_a": len(chosen_a) - n,
        "only_b": len(chosen_b) - n,
        "padding_a": a.padding,
        "padding_b": b.padding,
        "ambiguous": extra_a + extra_b,
    }
    dropped = dropped_a + dropped_b
    return Match(
        rows_a=rows[:, 0].copy(),
        rows_b=rows[:, 1].copy(),
        counts=counts,
        keys=[a.keys[row] for row, _ in pairs],
        policy="bytes",
        ambiguous_a=extra_a,
        ambiguous_b=extra_b,
        notes=[RULE] if extra_a + extra_b > dropped else [],
        settings={"policy": "bytes", "rule": RULE, "dropped_copies": dropped},
        hashes={"tokens_a": keys_hash(a.keys), "tokens_b": keys_hash(b.keys)},
    )


def keys_hash(keys: Keys) -> str:
    """sha256 over the keys by row."""
    digest = hashlib.sha256()
    for key in keys:
        digest.update(b"-" if key is None else b"%d:%b" % (len(key), key))
    return digest.hexdigest()


def _side(model: Loaded, left_out: frozenset[int]) -> _Side:
    return _Side(_usable(model), model.byte_rows, left_out)


def _usable(model: Loaded) -> list[bytes | None]:
    """The keys by input row; rows that the other matrix lacks count as rows without token."""
    keys = model.tokens if model.tokens is not None else [b""] * len(model.input)
    padding = set(model.padding.tolist())
    last = model.common_rows
    return [k if row < last and row not in padding else None for row, k in enumerate(keys)]


def _match_rows(a: Loaded, b: Loaded, out_a: frozenset[int], out_b: frozenset[int]) -> Match:
    if len(a.input) != len(b.input):
        raise EmbtieError(
            f"{a.name} has {len(a.input)} rows and {b.name} {len(b.input)}, and "
            f"{'neither has' if a.tokens is None is b.tokens else 'only one has'} a token list.",
            "Give a token list with each model: rows of different vocabularies cannot be paired "
            "by their numbers.",
        )
    own_a, own_b = (np.array([k is not None for k in _usable(one)], bool) for one in (a, b))
    keep_a, keep_b = own_a & ~_mask(out_a, len(own_a)), own_b & ~_mask(out_b, len(own_b))
    rows = np.flatnonzero(keep_a & keep_b).astype(np.int64)
    dropped_a, dropped_b = int((own_a & ~keep_a).sum()), int((own_b & ~keep_b).sum())
    named = a.tokens if a.tokens is not None else b.tokens
    counts = {
        "matched": len(rows),
        "only_a": int((keep_a & ~keep_b).sum()),
        "only_b": int((keep_b & ~keep_a).sum()),
        "padding_a": int((~own_a).sum()),
        "padding_b": int((~own_b).sum()),
        "ambiguous": dropped_a + dropped_b,
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
        ambiguous_a=dropped_a,
        ambiguous_b=dropped_b,
        notes=[note],
        settings={"policy": "rows", "rule": RULE, "dropped_copies": dropped_a + dropped_b},
    )


def _mask(rows: frozenset[int], height: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
    mask = np.zeros(height, bool)
    mask[sorted(rows)] = True
    return mask


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
