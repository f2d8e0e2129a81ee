"""What a page can do beside charts: copy, save a file, keep its address, miss its kernel."""

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import anywidget
import traitlets

from embtie_widgets.widgets.assets import safe_text, script, style


class File(NamedTuple):
    """A file for the user to save."""

    data: bytes
    filename: str
    mime: str = "application/octet-stream"


class CopyButton(anywidget.AnyWidget):
    """Copies `text` and says so; without clipboard rights it lays the text out to copy by hand.

    On a click the page first asks whether the text is still this one: it follows the page, and what
    was typed a moment ago may be on its way.
    """

    _esm = script("common.js", "copy.js")
    _css = style()

    text = traitlets.Unicode("").tag(sync=True)
    label = traitlets.Unicode("Copy").tag(sync=True)
    title = traitlets.Unicode("").tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)
    theme = traitlets.Enum(("auto", "light", "dark"), "auto").tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.on_msg(self._receive)

    def _receive(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("kind") == "ask":
            self.send({"kind": "there"})  # after the text, on the same line

    @traitlets.validate("text")
    def _check_text(self, proposal: dict[str, Any]) -> str:
        return safe_text(proposal["value"])


class DownloadButton(anywidget.AnyWidget):
    """Asks `make` for a file on a click and saves its bytes from the page; no file is served.

    `make` returns a File, or None where it calls `deliver` or `fail` later.
    """

    _esm = script("common.js", "download.js")
    _css = style()

    label = traitlets.Unicode("Download").tag(sync=True)
    title = traitlets.Unicode("").tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)
    theme = traitlets.Enum(("auto", "light", "dark"), "auto").tag(sync=True)

    def __init__(self, make: Callable[[], File | None], **traits: Any) -> None:
        super().__init__(**traits)
        self._make = make
        self.on_msg(self._receive)

    def deliver(self, file: File) -> None:
        """Hand the page the file that it waits for."""
        name = PurePosixPath(safe_text(file.filename).replace("\\", "/")).name or "file"
        self.send({"kind": "file", "filename": name, "mime": file.mime}, [file.data])

    def fail(self, message: str) -> None:
        """Tell the page, which waits, why there is no file."""
        self.send({"kind": "failed", "message": safe_text(message)})

    def _receive(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("kind") != "ask":
            return
        try:
            file = self._make()
        except Exception:
            self.fail("The file could not be made.")
            raise
        if file is not None:
            self.deliver(file)


class LinkState(anywidget.AnyWidget):
    """The page's address, both ways; it shows nothing, but works only where it is displayed.

    page    "query" (without host parameters and token), "origin", "path" and "host" ("voila",
            "lab" or "other"), set by the page when it shows it: with preheated kernels the only way
            to know the link; empty before
    query   what the address shall carry from now on, without "?"; JupyterLab's own address is left
            alone, and so is a query the page came with until this changes
    """

    _esm = script("link.js")

    page = traitlets.Dict().tag(sync=True)
    query = traitlets.Unicode("").tag(sync=True)

    @property
    def url(self) -> str:
        """The whole link, for copying; relative as long as no page has opened."""
        base = self.page.get("origin", "") + self.page.get("path", "")
        return f"{base}?{self.query}" if self.query else base


class KernelWatch(anywidget.AnyWidget):
    """Answers a served page that asks, when its reader does something, whether the kernel is there.

    A page that gets no answer, or has lost the connection, says so, tries again by itself, and
    offers to be loaded anew where the server says that the kernel is gone.
    """

    _esm = script("common.js", "area.js", "watch.js")
    _css = style()

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.on_msg(self._receive)

    def _receive(self, _widget: Any, content: dict[str, Any], _buffers: Any) -> None:
        if content.get("kind") == "there":
            self.send({"kind": "here", "number": content.get("number")})
