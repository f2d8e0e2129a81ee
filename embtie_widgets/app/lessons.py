"""The lessons as a book: a page for each chapter, and one that lists them at the address itself."""

from pathlib import Path
from typing import Any

from tornado.web import RedirectHandler
from voila.tornado.contentshandler import VoilaContentsHandler
from voila.tornado.treehandler import TornadoVoilaTreeHandler

from embtie_widgets.app.serve import notebook
from embtie_widgets.app.server import Server

INDEX = "index.ipynb"
_LISTS = (TornadoVoilaTreeHandler, VoilaContentsHandler)


class LessonServer(Server):
    """The server over the folder of lessons: lists of files give way to the page of chapters."""

    def shown(self) -> Path:
        """Where the lessons are."""
        return folder()

    def home(self) -> str:
        """The page of chapters."""
        return INDEX

    def init_handlers(self) -> list[Any]:
        """The handlers without those that list files, and the way to the first page."""
        handlers = [one for one in super().init_handlers() if one[1] not in _LISTS]
        index = {"url": f"{self.base_url}voila/render/{INDEX}", "permanent": False}
        return [*handlers, (self.server_url, RedirectHandler, index)]


def folder() -> Path:
    """Where the lessons are."""
    return notebook(f"lessons/{INDEX}").parent
