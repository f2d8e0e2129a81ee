"""How a token is shown: as readable text that can never act as markup, layout or control."""

import unicodedata
from collections.abc import Collection, Sequence

_SPACE, _NEWLINE, _TAB, _RETURN = "␣", "⏎", "⇥", "␍"
_SIGNS = {" ": _SPACE, "\n": _NEWLINE, "\t": _TAB, "\r": _RETURN}
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"}
# Letters, marks and symbols by category that draw nothing: fillers, joiners, variation selectors.
_BLANK = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0}
_BLANK |= {*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)}

_BLANK_LETTERS = {chr(code) for code in _BLANK}


def display_token(key: bytes | None, limit: int = 60) -> str:
    """The token's letters, with visible signs for what cannot be seen.

    Spaces, newlines and tabs become signs; bytes that are not UTF-8 become `\\xe4`; control,
    format and direction characters become `[U+202E]`; a combining mark at the start sits on a
    dotted circle; the empty token is `(empty)`, a row without token `(no token)`.  Longer texts
    are cut with an ellipsis at `limit`; 0 never cuts.
    """
    if key is None:
        return "(no token)"
    if not key:
        return "(empty)"
    text = key.decode("utf-8", errors="surrogateescape")
    plain = text.isprintable() and _BLANK_LETTERS.isdisjoint(text)
    shown = text.replace(" ", _SPACE) if plain else "".join(map(_sign, text))
    if unicodedata.category(shown[0]).startswith("M"):
        shown = "◌" + shown
    return shown if limit == 0 or len(shown) <= limit else shown[: limit - 1] + "…"


def draws_nothing(character: str) -> bool:
    """Whether nothing of it can be seen: spaces, control and format signs, blank letters."""
    return unicodedata.category(character) in _INVISIBLE or character in _BLANK_LETTERS


def _sign(character: str) -> str:
    if character in _SIGNS:
        return _SIGNS[character]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"[U+{code:04X}]" if draws_nothing(character) else character


def carried(
    before: Sequence[bytes | None], after: Sequence[bytes | None], chosen: Collection[int]
) -> frozenset[int]:
    """The places in `after` of the tokens that stand at `chosen` in `before`, by their bytes.

    Those that are not there any more are left out.
    """
    kept = [i for i in chosen if 0 <= i < len(before)]
    if before == after or not kept:
        return frozenset(kept)
    wanted = {before[i] for i in kept} - {None}
    return frozenset(i for i, key in enumerate(after) if key in wanted)
