"""How a token is shown: as readable text that can never act as markup, layout or control."""

import unicodedata

_SPACE, _NEWLINE, _TAB, _RETURN = "␣", "⏎", "⇥", "␍"
_SIGNS = {" ": _SPACE, "\n": _NEWLINE, "\t": _TAB, "\r": _RETURN}
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def display_token(key: bytes | None, limit: int = 60) -> str:
    """The token's letters, with visible signs for what cannot be seen.

    Spaces, newlines and tabs become signs; bytes that are not UTF-8 become `\\xe4`; control,
    format and direction characters become `U+202E`; the empty token is `(empty)`, a row without
    token `(no token)`.  Longer texts are cut with an ellipsis at `limit`; 0 never cuts.
    """
    if key is None:
        return "(no token)"
    if not key:
        return "(empty)"
    text = key.decode("utf-8", errors="surrogateescape")
    shown = "".join(map(_sign, text))
    return shown if limit == 0 or len(shown) <= limit else shown[: limit - 1] + "…"


def _sign(character: str) -> str:
    if character in _SIGNS:
        return _SIGNS[character]
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    category = unicodedata.category(character)
    if category in _INVISIBLE or (category == "Zs"):
        return f"[U+{code:04X}]"
    return character
