"""A file of the visitor's, sent in pieces that any connection carries."""

from collections.abc import Callable
from typing import Any

import anywidget
import traitlets

from embtie_widgets.progress import spoken
from embtie_widgets.widgets.assets import safe_text, script, style


class UploadButton(anywidget.AnyWidget):
    """Hands the content and the name of a file to `take`; one of more than `most` bytes is refused
    before any of it is sent."""

    _esm = script("common.js", "upload.js")
    _css = style()

    label = traitlets.Unicode("Upload").tag(sync=True)
    title = traitlets.Unicode("").tag(sync=True)
    accept = traitlets.Unicode("").tag(sync=True)
    theme = traitlets.Enum(("auto", "light", "dark"), "auto").tag(sync=True)

    def __init__(self, take: Callable[[bytes, str], None], most: int, **traits: Any) -> None:
        super().__init__(**traits)
        self._take, self._most = take, most
        self._content, self._name, self._size = bytearray(), "", -1
        self.on_msg(self._receive)

    def _receive(self, _widget: Any, content: dict[str, Any], buffers: list[Any]) -> None:
        if content.get("kind") == "begin":
            self._begin(content.get("name"), content.get("size"))
        elif content.get("kind") == "piece" and self._size >= 0:
            self._add(buffers)

    def _begin(self, name: Any, size: Any) -> None:
        if not isinstance(name, str) or not isinstance(size, int) or not 0 < size <= self._most:
            told = spoken(size) if isinstance(size, int) and size >= 0 else "no size"
            self._end(f"The file has {told}; at most {spoken(self._most)} can be uploaded.")
            return
        self._content, self._name, self._size = bytearray(), safe_text(name), size
        self.send({"kind": "next", "at": 0})

    def _add(self, buffers: list[Any]) -> None:
        for piece in buffers:
            self._content += piece
        here = len(self._content)
        if not any(map(len, buffers)) or here > self._size:
            self._end("The file changed while it was sent; choose it again.")
        elif here < self._size:
            self.send({"kind": "next", "at": here})
        else:
            content, name = bytes(self._content), self._name
            self._end("")
            self._take(content, name)

    def _end(self, message: str) -> None:
        self._content, self._name, self._size = bytearray(), "", -1
        self.send({"kind": "done", "message": message})
