"""A pasted text as the field of a request."""

import unicodedata
from typing import Any

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import fields

MOST_TEXT = 20_000
_WHITE = "\n\r\t"


def checked_text(text: Any) -> str:
    """A text of bounded length: any letters, lines and tabs, but no other control signs."""
    if not isinstance(text, str) or len(text) > MOST_TEXT:
        many = f"{len(text):,} characters long" if isinstance(text, str) else fields.short(text)
        raise EmbtieError(
            f"text is {many}; expected at most {MOST_TEXT:,} characters.",
            "Shorten it, or save it as a file and name that as the corpus.",
        )
    for letter in text:
        if letter not in _WHITE and unicodedata.category(letter) in ("Cc", "Cs"):
            raise EmbtieError(
                f"text holds the control sign {letter!r}; expected letters, lines and tabs.",
                "Remove it from the text.",
            )
    return text
