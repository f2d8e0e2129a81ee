"""What every result about the common tokens of two models has, whatever it measures."""

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from embtie_widgets.results.tables import token_columns

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]


class TokenResult(Protocol):
    """A result with numbers per token, whatever it is about: what the views of tokens ask of it."""

    @property
    def tokens(self) -> tuple[bytes | None, ...]:
        """The n byte keys, None where they are not known; a token's id is its place here."""

    @property
    def token_counts(self) -> Vector | None:
        """(n,) how often each token occurs in a corpus; None where none is known."""

    @property
    def kinds(self) -> Vector | None:
        """(n,) the kind of each token, by its code in `results.groups`; None without tokens."""

    @property
    def groups(self) -> tuple[dict[str, Any], ...]:
        """What each kind of token and each band of counts holds and scores on average."""


class PairResult(TokenResult, Protocol):
    """A per-token result of a pair: what the views of models ask of it too."""

    @property
    def rows_a(self) -> Vector:
        """(n,) the row of each token in model A."""

    @property
    def rows_b(self) -> Vector:
        """(n,) the row of each token in model B."""

    @property
    def counts(self) -> dict[str, int]:
        """Of the vocabulary match; its kinds add up to the rows of both matrices."""

    @property
    def models(self) -> dict[str, dict[str, Any]]:
        """What is known of A and B: name, revision, tied, shape, dtype, notes."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was decided on the way, as sentences."""

    @property
    def settings(self) -> dict[str, Any]:
        """Everything needed to repeat it."""

    @property
    def hashes(self) -> dict[str, str]:
        """Of the matrices by name: "In", "Out", "Tied"."""

    def to_frame(self) -> "pd.DataFrame":
        """One row per token: what a CSV holds."""

    def facts(self) -> dict[str, Any]:
        """All that is not a number per token: what every export carries."""


def pair_columns(result: PairResult) -> dict[str, Any]:
    """What a table of such a result begins with: text, bytes, kind, rows and count."""
    rows = {"row_a": result.rows_a, "row_b": result.rows_b}
    return token_columns(result.tokens, result.kinds, result.token_counts, rows)
