"""The browser side of the widgets, read from the files that ship in the package."""

from functools import cache
from pathlib import Path

_STATIC = Path(__file__).parent / "static"


@cache
def script(*names: str) -> str:
    """One ES module from its parts: plain concatenation, so that there is no build step.

    Each part sees the names of those before it; the last one holds the default export.
    """
    return "\n".join((_STATIC / name).read_text(encoding="utf-8") for name in names)


@cache
def style() -> str:
    """The style sheet that all widgets share."""
    return (_STATIC / "embtie.css").read_text(encoding="utf-8")


def safe_text(text: str) -> str:
    """The text as a message can carry it: a lone surrogate becomes its escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
