"""The lessons as a book: a page for each chapter, and one that lists them at the address itself."""

from pathlib import Path
from typing import Any

from tornado.web import RedirectHandler
from voila.app import Voila
from voila.shutdown_kernel_handler import VoilaShutdownKernelHandler
from voila.tornado.contentshandler import VoilaContentsHandler
from voila.tornado.treehandler import TornadoVoilaTreeHandler

from embtie_widgets.app.serve import notebook

INDEX = "index.ipynb"
_LISTS = (TornadoVoilaTreeHandler, VoilaContentsHandler)


class Leave(VoilaShutdownKernelHandler):
    """Ends the kernel of a page that its reader leaves: a class turns many pages."""

    def check_xsrf_cookie(self) -> None:
        """Ask for no token, which a page cannot send while it closes: the kernel's name, which
        nobody else knows, is one."""


class LessonServer(Voila):
    """Voila over the folder of lessons: its lists of files give way to the page of chapters."""

    def init_handlers(self) -> list[Any]:
        """Voila's handlers without those that list files, and the way to the first page."""
        handlers = [
            (one[0], Leave, *one[2:]) if one[1] is VoilaShutdownKernelHandler else one
            for one in super().init_handlers()
            if one[1] not in _LISTS
        ]
        index = {"url": f"{self.base_url}voila/render/{INDEX}", "permanent": False}
        return [*handlers, (self.server_url, RedirectHandler, index)]


def folder() -> Path:
    """Where the lessons are."""
    return notebook(f"lessons/{INDEX}").parent
