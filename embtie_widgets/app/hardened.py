"""Voila held to what a page for strangers needs: limits of requests, headers of every answer."""

import logging
import tempfile
import threading
import webbrowser
from functools import partial
from html import escape
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tornado.web import RedirectHandler, RequestHandler
from voila.app import Voila
from voila.tornado.kernel_websocket_handler import VoilaKernelWebsocketHandler

from embtie_widgets.app.address import address, local
from embtie_widgets.app.channels import Channels
from embtie_widgets.app.fence import Fence, Refused
from embtie_widgets.app.headers import headers
from embtie_widgets.app.lines import Line
from embtie_widgets.app.settings import ServeSettings

_LOG = logging.getLogger("embtie")
# Files come to the kernel in pieces of 4 MiB; a selection of all tokens is smaller.
_LARGEST_MESSAGE = 2**24
_LARGEST_BODY = 2**16  # a token, or the address of a page that is left
_IDLE_SECONDS, _BODY_SECONDS = 300, 30


class Hardened(Voila):
    """Voila behind a fence; `known` is what was set."""

    known: ServeSettings

    def init_settings(self) -> dict[str, Any]:
        """Tornado's settings, with ours."""
        shared = {"voila_configuration": self.voila_configuration}
        known = super().init_settings()
        return {
            **known,
            "jinja2_env": known["voila_jinja2_env"],  # an error is told in our looks by all
            "transforms": [headers(self.known.framed_by)],
            "default_handler_class": Refused,
            "default_handler_args": {"status": 404, **shared},
            "log_function": _log_request,
            "websocket_max_message_size": _LARGEST_MESSAGE,
            "xsrf_cookies": True,
            "kernel_websocket_connection_class": Line,
            "xsrf_cookie_kwargs": {"path": self.base_url, "samesite": "Lax"},
        }

    def init_handlers(self) -> list[Any]:
        """Voila's handlers, with our line to the kernels, and the way to the page for who leaves
        the last stroke out."""
        handlers: list[Any] = [_with_our_line(one) for one in super().init_handlers()]
        if self.base_url != "/":
            there = {"url": self.base_url, "permanent": False}
            handlers.append((self.base_url.rstrip("/"), RedirectHandler, there))
        return handlers

    def listen(self) -> None:
        """Serve, with the fence before all handlers and within limits."""
        shared = {"voila_configuration": self.voila_configuration}
        inside = self.app.default_router
        self.app.default_router = Fence(self.app, inside, self.known, **shared)
        self.app.listen = partial(
            self.app.listen,
            xheaders=self.known.proxied,
            max_body_size=_LARGEST_BODY,
            idle_connection_timeout=_IDLE_SECONDS,
            body_timeout=_BODY_SECONDS,
        )
        super().listen()

    def launch_browser(self) -> None:
        """Open the page by a file of ours alone, so that no list of processes shows a token."""
        handle, name = tempfile.mkstemp(suffix=".html")
        there = escape(address(local(self.known), with_token=True))
        with open(handle, "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={there}">')
        threading.Thread(target=webbrowser.open, args=(Path(name).as_uri(),), daemon=True).start()


def _with_our_line(handler: Any) -> Any:
    is_line = handler[1] is VoilaKernelWebsocketHandler
    return (handler[0], Channels, *handler[2:]) if is_line else handler


def _log_request(handler: RequestHandler) -> None:
    """What was refused, and what failed; never the query, which holds what somebody looks at."""
    status, request = handler.get_status(), handler.request
    if status < HTTPStatus.BAD_REQUEST:
        return
    level = logging.ERROR if status >= HTTPStatus.INTERNAL_SERVER_ERROR else logging.INFO
    path = request.path.lstrip("/")
    told = {"event": "request", "method": request.method, "path": path, "status": status}
    told["seconds"] = round(request.request_time(), 3)
    _LOG.log(level, "%s %s: %d", request.method, path, status, extra=told)
