"""From what a source found to what the user gets."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from embtie_widgets.errors import EmbtieError
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import ModelRef
from embtie_widgets.sources.bounds import check_matrix
from embtie_widgets.sources.loaded import Loaded
from embtie_widgets.sources.status import Found, judge, treat_as_tied
from embtie_widgets.sources.tokens import Vocabulary

Counts = np.ndarray[Any, np.dtype[np.int64]]


@dataclass
class Sourced:
    """One checkpoint as its source read it, before the status is decided."""

    kind: str
    name: str
    found: Found
    names: dict[str, str] = field(default_factory=dict)
    vocabulary: Vocabulary | None = None
    vocab_size: int | None = None
    scales: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    revision: str | None = None
    token_counts: Counts | None = None
    origin: ModelRef | None = None
    trained: str = ""


def finish(sourced: Sourced, as_tied: bool = False, progress: Progress = silent) -> Loaded:
    """Decide the status, lay the tokens along the rows, write down where all came from."""
    judged = judge(sourced.found, progress)
    if as_tied:
        judged = treat_as_tied(judged)
    E = judged.input
    tokens, token_notes = _tokens_by_row(sourced.vocabulary, len(E))
    stored = [m for m in (sourced.found.input, sourced.found.output) if m is not None]
    return Loaded(
        name=sourced.name,
        input=E,
        output=judged.output,
        tied=judged.tied,
        tokens=tokens,
        notes=[*judged.notes, *sourced.notes, *_size_notes(sourced, len(E)), *token_notes],
        revision=sourced.revision,
        scales=sourced.scales,
        token_counts=_fitting(sourced.token_counts, len(E)),
        byte_rows=frozenset(sourced.vocabulary.byte_rows) if sourced.vocabulary else frozenset(),
        special=sourced.vocabulary.special_rows if sourced.vocabulary else frozenset(),
        padding=_padding(tokens, sourced.vocab_size, len(E)),
        stored_copies=len(stored),
        settings=_settings(sourced, judged.output, as_tied)
        | {"tied": judged.tied, "tied by choice": judged.chosen},
        origin=sourced.origin,
    )


def _tokens_by_row(
    vocabulary: Vocabulary | None, rows: int
) -> tuple[list[bytes | None] | None, list[str]]:
    if vocabulary is None:
        return None, []
    if not vocabulary.keys:
        return None, vocabulary.notes
    surplus = sum(row >= rows for row in vocabulary.keys)
    notes = [f"{surplus} tokens of the tokenizer have no row in the matrix."] if surplus else []
    return vocabulary.by_row(rows), [*vocabulary.notes, *notes]


def _size_notes(sourced: Sourced, rows: int) -> list[str]:
    size = sourced.vocab_size
    if size is None or size <= rows:
        return []
    return [
        f"The configuration names {size:,} tokens, but the matrix has {rows:,} rows: it may be "
        "one part of a matrix that was split over several files."
    ]


def _padding(
    tokens: list[bytes | None] | None, size: int | None, rows: int
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Rows without token; without tokenizer, rows past the configured vocabulary."""
    if tokens is not None:
        return np.array([row for row, key in enumerate(tokens) if key is None], np.int64)
    return np.arange(min(size or rows, rows), rows, dtype=np.int64)


def _fitting(counts: Counts | None, rows: int) -> Counts | None:
    return counts if counts is not None and counts.shape == (rows,) else None


def _settings(sourced: Sourced, U: torch.Tensor | None, as_tied: bool) -> dict[str, Any]:
    E = sourced.found.input if sourced.found.input is not None else sourced.found.output
    settings: dict[str, Any] = {
        "source": sourced.kind,
        "name": sourced.name,
        "revision": sourced.revision,
        "tensors": dict(sourced.names),
        "shape": {"input": list(E.shape) if E is not None else None},
        "dtype": {"input": _dtype(E)},
        "config says": sourced.found.config_says,
        "treat_as_tied": as_tied,
    }
    if sourced.trained:
        settings["training"] = sourced.trained
    if U is not None:
        settings["shape"]["output"] = list(U.shape)
        settings["dtype"]["output"] = _dtype(U)
    return settings


def _dtype(matrix: torch.Tensor | None) -> str:
    return "" if matrix is None else str(matrix.dtype).removeprefix("torch.")


_PLAIN = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
"""Eight and four bits count for little without the scales that belong to them."""


def checked(matrix: torch.Tensor, name: str, role: str) -> torch.Tensor:
    """The matrix, if it is one: two-dimensional, not empty, of plain real numbers."""
    if matrix.is_meta:
        raise EmbtieError(
            f"The weights are not loaded: {name} is a placeholder without values.",
            "Load the weights into the model, or give its folder instead.",
        )
    dense = matrix.layout is torch.strided
    if matrix.dtype not in _PLAIN or not dense:
        kind = str(matrix.dtype if dense else matrix.layout).removeprefix("torch.")
        raise EmbtieError(
            f"The {role} matrix {name} is stored as {kind}, a quantised or foreign form that is "
            "not read.",
            "Choose the checkpoint in float32, bfloat16 or float16.",
        )
    if matrix.ndim != 2 or 0 in matrix.shape:
        shape = " x ".join(map(str, matrix.shape)) or "a single number"
        raise EmbtieError(
            f"The {role} matrix {name} has the shape {shape}; expected rows x width.",
            "Choose a file with one row per token.",
        )
    check_matrix(tuple(matrix.shape), name)
    return matrix


def plain_config(value: Any) -> Mapping[str, Any]:
    """A configuration, empty where there is none or it is no object."""
    return value if isinstance(value, Mapping) else {}
