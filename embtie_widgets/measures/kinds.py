"""The kind of every token, from its bytes and from what its tokenizer says of it.

The first that holds decides:

1. special         the tokenizer's own list says so: control, unknown, added markup
2. byte            a raw byte of a byte fallback, or bytes that are no UTF-8 by themselves
3. other script    a letter that is not Latin; letters that all scripts share (µ) count as Latin
4. word start      a letter, and whitespace first; the words of WordPiece, whose other tokens are
                   written ##ing, have a space there, those of a tokenizer that marks where words
                   end have none
5. continuation    a letter: so `'s`, `.com` and `x86` are no punctuation and no number
6. number          a digit
7. punctuation     anything else that can be seen
8. whitespace      the rest: spaces, newlines, control signs, the empty token
"""

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import regex

from embtie_widgets.results import draws_nothing
from embtie_widgets.results.groups import CODES, NO_KIND

Vector = np.ndarray[Any, np.dtype[Any]]
Mask = np.ndarray[Any, np.dtype[np.bool_]]

_OTHER, _LETTER, _DIGIT, _VISIBLE, _SPACE = 1, 2, 4, 8, 16
_NOT_LATIN = regex.compile(
    r"[[\p{L}\p{M}]--[\p{scx=Latin}\p{scx=Common}\p{scx=Inherited}]]", regex.V1
)


def kinds_of(
    tokens: Sequence[bytes | None],
    special: Mask | None = None,
    raw: Mask | None = None,
) -> Vector:
    """(n,) uint8, the kind of each token as its place in `results.groups.KINDS`; NO_KIND for None.

    `special` and `raw` (n,) are the control tokens and the raw bytes that the tokenizer tells of.
    """
    texts = [_text(key) for key in tokens]
    held, spaced = _signs([text or "" for text in texts])
    cut, none = _are_none(texts), np.zeros(len(texts), bool)
    letter = held & _LETTER > 0
    rules = {
        "special": none if special is None else special,
        "byte": cut if raw is None else cut | raw,
        "other script": held & _OTHER > 0,
        "word start": letter & spaced,
        "continuation": letter,
        "number": held & _DIGIT > 0,
        "punctuation": held & _VISIBLE > 0,
    }
    codes = [CODES[name] for name in rules]
    found = np.select(list(rules.values()), codes, CODES["whitespace"]).astype(np.uint8)
    found[_are_none(tokens)] = NO_KIND
    return found


def _text(key: bytes | None) -> str | None:
    """The token's text; None where its bytes are none."""
    try:
        return key.decode() if key else ""
    except UnicodeDecodeError:
        return None


def _signs(texts: Sequence[str]) -> tuple[Vector, Mask]:
    """What the signs of each text are, all of them or-ed, and whether the first is a space."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32)
    known, places = np.unique(codes, return_inverse=True)
    each = np.array([_sign(chr(code)) for code in known], np.uint8)[places]
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    some, starts = lengths > 0, np.cumsum(lengths) - lengths
    held, spaced = np.zeros(len(texts), np.uint8), np.zeros(len(texts), bool)
    if some.any():
        held[some] = np.bitwise_or.reduceat(each, starts[some])
        spaced[some] = each[starts[some]] & _SPACE > 0
    return held, spaced


def _sign(sign: str) -> int:
    if draws_nothing(sign):
        return _SPACE if sign.isspace() else 0
    family = unicodedata.category(sign)[0]
    if _NOT_LATIN.match(sign):
        return _OTHER | _VISIBLE
    return _VISIBLE | {"L": _LETTER, "N": _DIGIT}.get(family, 0)


def _are_none(values: Sequence[Any]) -> Mask:
    return np.fromiter((value is None for value in values), bool, len(values))
