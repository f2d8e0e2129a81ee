"""How the server is, for whoever watches it: asked without a kernel and without signing in."""

import os
import time
from http import HTTPStatus
from typing import Any

from tornado.web import RequestHandler

from embtie_widgets import __version__
from embtie_widgets.app.doors import Doors
from embtie_widgets.jobs import line


class Health(RequestHandler):
    """An object of JSON: `status` is "ok", "full" (who comes waits) or "failing"."""

    def initialize(self, doors: Doors, since: float) -> None:
        """The doors, and when the server started."""
        self._doors, self._since = doors, since

    def get(self) -> None:
        """How it is; a server whose kernels do not start answers 503."""
        told = health(self._doors)
        if told["status"] == "failing":
            self.set_status(HTTPStatus.SERVICE_UNAVAILABLE)
        self.set_header("Cache-Control", "no-store")
        uptime = round(time.monotonic() - self._since)
        told["jobs"] = line.counts(os.environ[line.LINE])
        self.finish({**told, "version": __version__, "uptime_seconds": uptime})

    head = get


def health(doors: Doors) -> dict[str, Any]:
    """The state of the doors in a few numbers."""
    inside = sum(bool(room.visitor) for room in doors.rooms.values())
    full = doors.full_memory or inside >= doors.known.visitors
    return {
        "status": "failing" if doors.failing else "full" if full else "ok",
        "visitors": inside,
        "places": doors.known.visitors,
        "waiting": len(doors.queue),
        "ready": doors.ready(),
    }
