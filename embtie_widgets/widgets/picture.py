"""Pictures of a plotly figure made in the page, where it is drawn: no other program, no server."""

from collections.abc import Callable
from itertools import count
from typing import Any

import anywidget
import traitlets

from embtie_widgets.widgets.assets import safe_text, script


class FigurePicture(anywidget.AnyWidget):
    """Makes an SVG or PNG of the figure that stands in the same box; it shows nothing itself.

    within  a CSS selector of that box, such as ".card"
    """

    _esm = script("common.js", "picture.js")

    within = traitlets.Unicode("body").tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self._asked: dict[int, tuple[Callable[[bytes], None], Callable[[str], None]]] = {}
        self._requests = count()
        self.on_msg(self._receive)

    def ask(
        self,
        kind: str,
        caption: str,
        settings: str,
        done: Callable[[bytes], None],
        failed: Callable[[str], None],
    ) -> None:
        """Ask for a picture ("svg" or "png") with a caption line below it.

        An SVG carries `settings` in its metadata.  `done` gets the file, `failed` a sentence.
        """
        request = next(self._requests)
        self._asked[request] = (done, failed)
        words = {"caption": safe_text(caption), "settings": safe_text(settings)}
        self.send({"kind": kind, "request": request, "scale": 2, **words})

    def _receive(self, _widget: Any, content: dict[str, Any], buffers: list[Any]) -> None:
        done, failed = self._asked.pop(content.get("request", -1), (None, None))
        if done is None or failed is None:  # a second view of the same figure answers too
            return
        if content.get("kind") == "picture":
            done(bytes(buffers[0]))
        else:
            failed("The figure is not on the page.")
