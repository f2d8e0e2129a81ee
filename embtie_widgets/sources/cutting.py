"""Long texts in pieces whose tokens, put together, are those of the whole.

A tokenizer looks a little to both sides: at a space before a word, at the digits of a number.  So
a text is cut only where its tokens were seen to end whatever comes next, and each further piece
begins with some text before the cut, whose tokens are dropped.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from embtie_widgets.sources.texts import Chunk

Encode = Callable[[list[str]], list[list[int]]]

PIECE, WINDOW, FURTHEST = 2**14, 256, 2**20
_TRIES = 3
_PLACES = tuple(
    map(
        re.compile,
        (
            r"(?<=\S\n)(?=\S)",  # after a line
            r"(?<=\S)(?=\s\S)",  # before a space
            r"(?<=\w)(?=[^\w\s])|(?<=[^\w\s])(?=\w)",  # beside a sign
        ),
    )
)


@dataclass(frozen=True)
class Piece:
    """A part of a text to encode.

    skip  so many tokens at the beginning belong to the piece before
    last  whether a document ends with it
    """

    text: str
    skip: int
    last: bool
    at: int


def batches(pieces: Iterable[Piece], letters: int) -> Iterator[list[Piece]]:
    """The pieces in lists of at least so many letters, the last one apart: each encoded at once."""
    batch: list[Piece] = []
    held = 0
    for piece in pieces:
        batch.append(piece)
        held += len(piece.text)
        if held >= letters:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


class Cutter:
    """Cuts documents for one tokenizer; `forced` counts cuts that may have split a token.

    Those happen only where `furthest` characters have no safe place.
    """

    def __init__(
        self, encode: Encode, size: int = PIECE, window: int = WINDOW, furthest: int = FURTHEST
    ) -> None:
        self._encode, self._size, self._window, self._furthest = encode, size, window, furthest
        self._places = list(_PLACES)
        self.forced = 0
        self._barren = 0  # up to here the text at hand has no safe place that is not in use

    def pieces(self, chunks: Iterable[Chunk]) -> Iterator[Piece]:
        """The pieces of all documents, in order."""
        text, start, skip, before = "", 0, 0, 0
        for chunk in chunks:
            # What stands before `start` is the beginning of a piece whose tokens are dropped.
            self._barren -= start - before
            text, start = text[start - before :] + chunk.text, before
            while len(text) - start > 2 * self._size:
                found = self._cut(text, start, chunk.last)
                if found is None:
                    break
                yield Piece(text[start - before : found[0]], skip, False, chunk.at)
                start, skip = found
                before = min(self._window, start)
            if chunk.last:
                yield Piece(text[start - before :], skip, True, chunk.at)
                text, start, skip, before, self._barren = "", 0, 0, 0, 0

    def _cut(self, text: str, start: int, last: bool) -> tuple[int, int] | None:
        """A place at least a piece's size behind `start`, and the tokens of the window before it;
        None where more text must be seen first."""
        begin = max(start + self._size, self._barren)
        end = begin + self._size
        while True:
            found = self._safe_between(text, begin, min(end, len(text) - self._window))
            if found is not None:
                return found
            if end >= len(text) - self._window:
                break
            begin, end = end, end + (end - start)
        self._barren = max(self._barren, len(text) - self._window)
        if len(text) - start < self._furthest:
            return None
        self.forced += 1
        place = start + self._size
        return place, len(self._encode([text[place - self._window : place]])[0])

    def _safe_between(self, text: str, begin: int, end: int) -> tuple[int, int] | None:
        """A few places of each kind are tried, first those of the kind that was safe last."""
        for kind in self._places:
            for match in islice(kind.finditer(text, begin, end), _TRIES):
                skip = self._safe(text, match.start())
                if skip is not None:
                    self._places = [kind, *(other for other in self._places if other is not kind)]
                    return match.start(), skip
        return None

    def _safe(self, text: str, place: int) -> int | None:
        """How many tokens the window before the place has, where they end there in the text too."""
        begin = max(0, place - self._window)
        left, both = self._encode([text[begin:place], text[begin : place + self._window]])
        return len(left) if both[: len(left)] == left else None
