"""Token lists in files of pieces: SentencePiece's tokenizer.model and the rank files of tiktoken.

Neither says which special tokens the model adds behind them; what stands beside them in the
checkpoint does, or else nothing that may be read does.
"""

import base64
import binascii
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.sources.spelling import SPACE_MARK, is_markup

_RANKED = re.compile(rb"([A-Za-z0-9+/]+=*) (\d+)")
_BYTE_PIECE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_VARINT, _FIXED64, _SIZED, _FIXED32 = 0, 1, 2, 5
_PIECES, _TEXT, _KIND = 1, 1, 3
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, RAW_BYTE = 1, 2, 3, 4, 6
_TRAINED, _NORMALISED, _SCORE = 2, 3, 2
_MODEL, _UNIGRAM, _MERGED = 3, 1, 2
_CHARSMAP, _PREFIX, _SQUEEZE, _MARKED = 2, 3, 4, 5


@dataclass(frozen=True)
class Pieces:
    """The pieces of a SentencePiece model by row, and how it treats a text.

    kinds      NORMAL, UNKNOWN, CONTROL, USER_DEFINED, RAW_BYTE, or 5 for unused, by row
    unigram    whether the most probable pieces are taken; else pieces are merged by score
    prefix     whether a space is put before the text
    squeeze    whether spaces at both ends go, and of several in a row one stays
    charsmap   its table of characters that are replaced, b"" for none
    """

    texts: Sequence[str]
    scores: Sequence[float]
    kinds: Sequence[int]
    unigram: bool = False
    prefix: bool = True
    squeeze: bool = False
    charsmap: bytes = b""


def is_ranked(data: bytes) -> bool:
    """Whether a file starts as tiktoken's do: a token in base64 and its rank, a line each."""
    return _RANKED.fullmatch(data.split(b"\n", 1)[0].rstrip(b"\r")) is not None


def ranked(data: bytes, name: str) -> Iterator[tuple[int, bytes]]:
    """Row and bytes of every token of such a file."""
    lines = [line for line in data.splitlines() if line]
    found = [match for line in lines if (match := _RANKED.fullmatch(line))]
    # A last line that is cut claims the row of another.
    if len({int(match[2]) for match in found}) != len(lines):
        raise _damaged(name)
    try:
        yield from ((int(match[2]), base64.b64decode(match[1], validate=True)) for match in found)
    except (binascii.Error, ValueError):
        raise _damaged(name) from None


def pieces(data: bytes, name: str) -> Iterator[tuple[bytes, int]]:
    """Bytes and kind of every piece of a SentencePiece model, in the order of rows."""
    ended = False
    try:
        for number, value in _fields(data):
            if number == _PIECES and isinstance(value, bytes):
                yield _piece(dict(_fields(value)))
            ended |= number != _PIECES
    except (IndexError, ValueError):
        raise _damaged(name) from None
    # The settings of the training come last, and are never left out.
    if not ended:
        raise _damaged(name)


def is_special(key: bytes, kind: int) -> bool:
    """Whether a piece of this kind is no text."""
    by_hand = kind == USER_DEFINED and is_markup(key.decode())
    return kind in (UNKNOWN, CONTROL) or by_hand


def scored_pieces(data: bytes, name: str) -> Pieces:
    """A SentencePiece model whole, to make its tokenizer of; an EmbtieError for rarer kinds."""
    texts, scores, kinds = [], [], []
    trained: dict[int, Any] = {}
    rules: dict[int, Any] = {}
    try:
        for number, value in _fields(data):
            held: dict[int, Any] = dict(_fields(value)) if isinstance(value, bytes) else {}
            if number == _PIECES:
                texts.append(bytes(held.get(_TEXT, b"")).decode())
                scores.append(struct.unpack("<f", held.get(_SCORE, bytes(4)))[0])
                kinds.append(int(held.get(_KIND, 1)))
            trained = held if number == _TRAINED else trained
            rules = held if number == _NORMALISED else rules
    except (IndexError, ValueError, TypeError, struct.error):
        raise _damaged(name) from None
    kind = trained.get(_MODEL, _UNIGRAM)
    if not trained:
        raise _damaged(name)
    if kind not in (_UNIGRAM, _MERGED) or not rules.get(_MARKED, 1):
        raise EmbtieError(
            f"{name} is of a rarer kind of SentencePiece model, which is not made here.",
            "Save the tokenizer with transformers to get a tokenizer.json.",
        )
    return Pieces(
        texts,
        scores,
        kinds,
        unigram=kind == _UNIGRAM,
        prefix=bool(rules.get(_PREFIX, 1)),
        squeeze=bool(rules.get(_SQUEEZE, 1)),
        charsmap=bytes(rules.get(_CHARSMAP, b"")),
    )


def _piece(held: dict[int, bytes | int]) -> tuple[bytes, int]:
    text = held[_TEXT] if isinstance(held.get(_TEXT), bytes) else b""
    spelled = bytes(text).decode()
    kind = int(held.get(_KIND, NORMAL))
    raw = _BYTE_PIECE.fullmatch(spelled) if kind == RAW_BYTE else None
    if raw:
        return bytes([int(raw[1], 16)]), RAW_BYTE
    return spelled.replace(SPACE_MARK, " ").encode(), NORMAL if kind == RAW_BYTE else kind


def _fields(data: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Number and value of every field of a message in Protocol Buffers' wire format."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if kind == _SIZED:
            size, at = _varint(data, at)
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError
        if at + size > len(data):
            raise ValueError
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for place in range(10):
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError


def _damaged(name: str) -> EmbtieError:
    return EmbtieError(
        f"{name} is cut short, or no token list of a known form.", "Download it again."
    )
