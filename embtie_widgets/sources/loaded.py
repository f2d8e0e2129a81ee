"""What a source gives: the two matrices of a model exactly as they are stored."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from embtie_widgets.hashing import tensor_hash
from embtie_widgets.progress import Progress, silent
from embtie_widgets.requests import ModelRef
from embtie_widgets.results import display_token
from embtie_widgets.sources.copies import near_copies

if TYPE_CHECKING:
    import pandas as pd

TIED, UNTIED, INPUT_ONLY, HEAD_UNAVAILABLE = "tied", "untied", "input only", "head unavailable"


@dataclass(frozen=True, eq=False)
class Loaded:
    """The embedding matrices of one model, memory-mapped where the file allows it.

    input          (V, d) as stored, dtype kept; one row per token
    output         (V, d) as stored; the very same tensor as `input` where tied; None where
                   there is none.  Its height may differ from the input's: see `common_rows`
    tied           "tied", "untied", "input only" or "head unavailable"
    tokens         V byte keys by row, None for rows without token; None without tokenizer
    notes          sentences that belong beside every number made from these matrices
    revision       what was asked for, resolved to a commit where the hub is the source
    scales         multipliers that the model applies around the matrices (shown, never applied)
    token_counts   (V,) int64, how often each token occurs in the corpus that comes with the
                   model; None where no corpus is known
    byte_rows      rows whose token is a raw byte of a tokenizer with byte fallback
    special        rows whose token is no text: control tokens, and signs that were put in by hand
    padding        row numbers that no token owns
    stored_copies  how many of the two matrices the files hold (2 also where they are equal)
    settings       everything needed to load the same again
    origin         the reference that was given; None for a model in memory and loose matrices

    Use the matrices as they are or copy them; they are never changed in place.
    """

    name: str
    input: torch.Tensor
    output: torch.Tensor | None
    tied: str
    tokens: list[bytes | None] | None = None
    notes: list[str] = field(default_factory=list)
    revision: str | None = None
    scales: dict[str, Any] = field(default_factory=dict)
    token_counts: np.ndarray[Any, np.dtype[np.int64]] | None = None
    byte_rows: frozenset[int] = frozenset()
    special: frozenset[int] = frozenset()
    padding: np.ndarray[Any, np.dtype[np.int64]] = field(
        default_factory=lambda: np.zeros(0, np.int64)
    )
    stored_copies: int = 1
    settings: dict[str, Any] = field(default_factory=dict)
    origin: ModelRef | None = None

    def __repr__(self) -> str:
        kind = str(self.input.dtype).removeprefix("torch.")
        size = f"{self.input.shape[0]} x {self.input.shape[1]}"
        owned = "no" if self.tokens is None else sum(key is not None for key in self.tokens)
        return f"Loaded({self.name!r}, {self.tied}, {size}, {kind}, {owned} tokens)"

    @cached_property
    def hashes(self) -> dict[str, str]:
        """sha256 of dtype, shape and bytes, by role; read on first use, then kept."""
        return self._hashed(silent)

    def read_hashes(self, progress: Progress) -> None:
        """Read them now if they are not known, and say how far it is: large matrices take long."""
        if "hashes" not in self.__dict__:
            self.__dict__["hashes"] = self._hashed(progress)

    def _hashed(self, progress: Progress) -> dict[str, str]:
        first = {"input": tensor_hash(self.input, progress)}
        if self.output is None:
            return first
        same = self.output is self.input
        return first | {"output": first["input"] if same else tensor_hash(self.output, progress)}

    @cached_property
    def near_copies(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Rows of the input matrix that are near-identical, as added and untrained ones are."""
        return near_copies(self.input)

    @property
    def common_rows(self) -> int:
        """How many rows every matrix of this model has."""
        return min(len(self.input), len(self.input if self.output is None else self.output))

    @property
    def unique_parameters(self) -> int:
        """Numbers in the matrices, a tied one counted once."""
        if self.output is None or self.output is self.input:
            return self.input.numel()
        return self.input.numel() + self.output.numel()

    @property
    def stored_parameters(self) -> int:
        """Numbers that the files hold for the matrices, a second equal copy included."""
        if self.output is self.input:
            return self.input.numel() * self.stored_copies
        return self.unique_parameters

    def to_frame(self) -> "pd.DataFrame":
        """One row per matrix row: its number, token text and bytes, and count where known."""
        import pandas as pd

        columns: dict[str, Any] = {"row": np.arange(len(self.input))}
        if self.tokens is not None:
            columns["token"] = [display_token(key, limit=0) for key in self.tokens]
            columns["bytes"] = ["" if key is None else key.hex() for key in self.tokens]
        if self.token_counts is not None:
            columns["count"] = self.token_counts
        return pd.DataFrame(columns)
