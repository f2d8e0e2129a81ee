"""The style sheet of the panels."""

from functools import cache
from pathlib import Path

import ipywidgets as w


@cache
def sheet() -> str:
    """The style sheet itself."""
    return (Path(__file__).parent / "panels.css").read_text(encoding="utf-8")


def style() -> w.HTML:
    """The style sheet as a part of the page, wherever a panel is shown."""
    return w.HTML(f"<style>{sheet()}</style>").add_class("ep-style")
