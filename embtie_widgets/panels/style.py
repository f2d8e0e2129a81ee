"""The style sheet of the panels."""

from functools import cache
from pathlib import Path

import ipywidgets as w


@cache
def sheet() -> str:
    """The style sheet itself: what goes for a narrow page comes last."""
    parts = (Path(__file__).parent / f"{name}.css" for name in ("panels", "narrow"))
    return "\n".join(part.read_text(encoding="utf-8") for part in parts)


def style() -> w.HTML:
    """The style sheet as a part of the page, wherever a panel is shown."""
    return w.HTML(f"<style>{sheet()}</style>").add_class("ep-style")
