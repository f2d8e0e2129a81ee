"""How often each token of a model occurs in a text."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.storage import storable
from embtie_widgets.results.tokens import display_token

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]
Tokens = tuple[bytes | None, ...]


@storable
@dataclass(frozen=True)
class Counts:
    """How often each row's token occurs in a corpus.

    counts      (V,) int64, by row of the model
    total       occurrences of all tokens, those without a row included
    unknown     occurrences of tokens that have no row in the model
    documents   how many texts were read; 0 where ready counts were
    bytes       UTF-8 bytes of text that were read; 0 where ready counts were
    name        what the corpus is called
    sha256      of the text that was read, or of the count file; "" for counts of the model
    tokenizer   sha256 of the tokenizer; "" where ready counts were read
    tokens      byte keys by row, None for rows without token; None where they are not known
    notes       sentences that belong beside every number made from these counts
    """

    counts: Vector
    total: int
    unknown: int
    documents: int
    bytes: int
    name: str
    sha256: str
    tokenizer: str
    tokens: Tokens | None
    notes: tuple[str, ...]
    settings: dict[str, Any]

    def __repr__(self) -> str:
        seen = int((self.counts > 0).sum())
        return (
            f"Counts({self.name!r}, {self.total:,} tokens, {seen:,} of {len(self.counts):,} rows)"
        )

    def to_frame(self) -> "pd.DataFrame":
        """One row per matrix row: its number, token text and bytes where known, and count."""
        import pandas as pd

        columns: dict[str, Any] = {"row": np.arange(len(self.counts))}
        if self.tokens is not None:
            columns["token"] = [display_token(key, limit=0) for key in self.tokens]
            columns["bytes"] = ["" if key is None else key.hex() for key in self.tokens]
        return pd.DataFrame(columns | {"count": self.counts})

    def facts(self) -> dict[str, Any]:
        """All that is not a number per row: what every export carries."""
        return {
            "corpus": self.name,
            "total": self.total,
            "unknown": self.unknown,
            "documents": self.documents,
            "bytes": self.bytes,
            "notes": self.notes,
            "settings": self.settings,
            "hashes": {"text": self.sha256, "tokenizer": self.tokenizer},
        }
