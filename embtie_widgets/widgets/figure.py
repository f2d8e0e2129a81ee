"""A plotly figure that the kernel tells and the page draws: it reports clicks, and nothing else.

Plotly's own FigureWidget carries its script, 5 MB, in each figure, and its page answers each change
with what it drew.  Here the script comes once a page: from the server of the page as a file, and
where that has none, over the kernel's channel.
"""

import importlib.util
from collections.abc import Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets

from embtie_widgets.widgets.assets import safe_text, script
from embtie_widgets.widgets.pictures import Pictures

_TYPED = {"f4", "f8", "i1", "i2", "i4", "u1", "u2", "u4"}  # what a page has arrays of


def plotly_script() -> Path:
    """Plotly's script in the installed package; nothing of plotly is imported for it."""
    found = importlib.util.find_spec("plotly")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("plotly is not installed")
    return Path(found.origin).parent / "package_data" / "plotly.min.js"


class PlotFigure(anywidget.AnyWidget):
    """Shows a figure in plotly's own terms, in the page's theme and as wide as its box.

    shown      the figure as `show` got it
    figure     the same as packed for the page; one message replaces all of it
    changes    parts of the layout that are others by now, as `adapt` got them
    templates  the plotly template of each theme, "light" and "dark"
    clicked    (trace, place) -> None, called with each point of the figure that is clicked: the
               number of its trace, and its place there, (row, column) in a heat map; None for
               figures in which a click means nothing
    """

    _esm = script("common.js", "words.js", "picture.js", "alt.js", "figure.js")

    figure = traitlets.Dict().tag(sync=True)
    changes = traitlets.Dict().tag(sync=True)
    templates = traitlets.Dict().tag(sync=True)

    shown: Mapping[str, Any]
    clicked: Callable[[int, tuple[int, ...]], None] | None = None

    def __init__(self, templates: Mapping[str, Any], figure: Mapping[str, Any]) -> None:
        super().__init__(templates=dict(templates))
        self._pictures = Pictures()
        self.add_class("ep-figure")
        self.on_msg(self._receive)
        self.show(figure)

    def show(self, figure: Mapping[str, Any]) -> None:
        """Show another figure: "data" and "layout" of plain values and arrays (n,), and "narrow"
        for what of the layout is another one in a narrow box.

        What the reader has zoomed or hidden stays while `layout.uirevision` does.
        """
        self.shown = figure
        with self.hold_sync():
            self.changes = {}
            self.figure = _packed(figure)

    def adapt(self, **layout: Any) -> None:
        """Change these parts of the layout; no data is sent or drawn again, which is quick."""
        changes = {**self.changes, **layout}
        self.shown = {**self.shown, "layout": {**self.shown["layout"], **changes}}
        self.changes = _packed(changes)

    def picture(
        self,
        kind: str,
        caption: str,
        settings: str,
        done: Callable[[bytes], None],
        failed: Callable[[str], None],
        patience: float = 15.0,
    ) -> None:
        """Ask the page for a picture ("svg" or "png") with a caption line below it.

        An SVG carries `settings` in its metadata.  `done` gets the file, or `failed` a sentence
        where the figure is hidden or no page answers within `patience` seconds.
        """
        request = self._pictures.ask(done, failed, patience)
        words = {"caption": safe_text(caption), "settings": safe_text(settings)}
        self.send({"kind": kind, "request": request, "scale": 2, **words})

    def _receive(self, _widget: Any, content: dict[str, Any], buffers: list[Any]) -> None:
        if content.get("kind") == "script":
            self.send({"kind": "script"}, [plotly_script().read_bytes()])
            return
        if content.get("kind") == "clicked":
            place = _place(content.get("curve"), content.get("point"))
            if self.clicked is not None and place is not None:
                self.clicked(*place)
            return
        request = content.get("request", -1)
        if content.get("kind") == "picture":
            self._pictures.take(request, bytes(buffers[0]))
        elif content.get("kind") == "hidden":
            self._pictures.hidden(request)
        else:
            self._pictures.fail(request, "The page could not make the picture.")


def _place(curve: Any, point: Any) -> tuple[int, tuple[int, ...]] | None:
    """Where a click was, as the page tells it; None for anything else."""
    numbers = [curve, *point] if isinstance(point, list) else []
    good = all(type(n) is int and n >= 0 for n in numbers)
    return (numbers[0], tuple(numbers[1:])) if good and 2 <= len(numbers) <= 3 else None


def _packed(value: Any) -> Any:
    """Plain values and arrays as a message takes them: arrays as bytes, no number as null."""
    if isinstance(value, Mapping):
        return {name: _packed(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_packed(part) for part in value]
    if isinstance(value, np.ndarray):
        kind = value.dtype.str[1:]
        known = np.ascontiguousarray(value, f"<{kind if kind in _TYPED else 'f8'}")
        return {"dtype": known.dtype.str[1:], "bytes": known.tobytes()}
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not isfinite(value) else value
