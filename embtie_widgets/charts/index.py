"""Finding the tokens that hold some letters, among a hundred thousand, while somebody types."""

import threading
from bisect import bisect_right
from functools import lru_cache
from typing import Any

import numpy as np

from embtie_widgets.results import display_token

Tokens = tuple[bytes | None, ...]
_BETWEEN = "\uffff"  # no letter, and nothing that a query holds
_building = threading.Lock()


class TokenIndex:
    """The texts of tokens and their visible forms, all in one long string."""

    def __init__(self, tokens: Tokens) -> None:
        self.shown = [display_token(key) for key in tokens]
        raw = (key.decode("utf-8", "replace") if key else "" for key in tokens)
        texts = [
            a.casefold() if a == b else f"{a}{_BETWEEN}{b}".casefold()
            for a, b in zip(raw, self.shown, strict=True)
        ]
        ends = np.cumsum([len(text) + 1 for text in texts])
        self._ends: list[int] = ends.tolist()
        self._texts = _BETWEEN.join(texts)

    def find(self, query: str) -> np.ndarray[Any, Any]:
        """The places (rising) of the tokens that hold the query in any case."""
        wanted, found = query.casefold(), []
        if not wanted:
            return np.arange(len(self._ends))
        start = -1 if _BETWEEN in wanted else self._texts.find(wanted)
        while start >= 0:
            place = bisect_right(self._ends, start)
            found.append(place)
            start = self._texts.find(wanted, self._ends[place])
        return np.array(found, dtype=int)


def index_of(tokens: Tokens) -> TokenIndex:
    """The index of these tokens, made once; who asks while it is made waits for it."""
    with _building:
        return _made(tokens)


# Kept from result to result: another map has the same tokens.
@lru_cache(maxsize=2)
def _made(tokens: Tokens) -> TokenIndex:
    return TokenIndex(tokens)
