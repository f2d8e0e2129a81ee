"""What may be asked of the server at all: methods and paths, before any handler is found."""

import logging
import re
from http import HTTPStatus
from typing import Any

from tornado.escape import url_unescape
from tornado.httputil import HTTPMessageDelegate, HTTPServerRequest
from tornado.routing import Router
from tornado.web import Application, HTTPError
from voila.handler import BaseVoilaHandler

from embtie_widgets.app.extensions import EXTENSIONS
from embtie_widgets.app.settings import LOOPBACK, ServeSettings

_KERNEL = r"\w+-\w+-\w+-\w+-\w+"
# Of what Voila and Jupyter serve below these two, this much is ours to show.
_BELOW = re.compile(r"(?:voila|api)(?:/|$)")
_OURS = re.compile(
    rf"""
    voila/static/.+
    | voila/templates/embtie[\w-]*/static/.+
    | voila/labextensions/(?:{"|".join(map(re.escape, EXTENSIONS))})/.+
    | voila/api/shutdown/{_KERNEL}
    | voila/render/\w+\.ipynb
    | api/kernels/{_KERNEL}(?:/channels)?
    | api/embtie/[\w/-]+
    """,
    re.VERBOSE | re.ASCII,
)
_SAID = re.compile(r"login|voila/api/shutdown/.+|api/embtie/leave/.+")
# Signs that no path of ours has: control signs, backslashes, bytes that are no text, what was
# escaped twice, a segment that is empty or begins with a point.
_NASTY = re.compile(r"[\x00-\x1f\x7f\\%\ufffd]|//|(?:^|/)\.")
_LONGEST = 1024
_LOG = logging.getLogger("embtie")
_ADVICE = "but it is served to this machine alone; behind a proxy say --proxied, else name --host"


class Refused(BaseVoilaHandler):
    """What is not there, or not to be asked so; in our words and for everybody alike."""

    def initialize(self, status: int, **kwargs: Any) -> None:
        """With what it is refused."""
        super().initialize(**kwargs)
        self._refusal = status

    async def prepare(self) -> None:
        """Nothing is looked up for it, not even who asks."""
        self.current_user = self._jupyter_current_user = None
        raise HTTPError(self._refusal)

    def write_error(self, status_code: int, **_: Any) -> None:
        """In our looks."""
        if status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            self.set_header("Allow", "GET, HEAD")
        template = self.settings["voila_jinja2_env"].get_template("error.html")
        self.write(template.render(status_code=status_code, base_url=self.base_url))

    def check_xsrf_cookie(self) -> None:
        """It does nothing."""


class Fence(Router):
    """Before the handlers: who asks for something else than our own is refused."""

    def __init__(
        self, app: Application, inside: Router, known: ServeSettings, **shared: Any
    ) -> None:
        self._app, self._inside, self._known, self._shared = app, inside, known, shared
        self._told = False

    def find_handler(self, request: HTTPServerRequest, **kwargs: Any) -> HTTPMessageDelegate | None:
        """The handler of a request, or the refusal."""
        if self._known.proxied:
            _believe_host(request)
        base = url_unescape(self._known.base_url, plus=False)
        status = refusal(request.method or "", request.path, base)
        if self._known.is_own and not is_own_name(request.host_name):
            self._tell_stranger(request.host_name)
            status = HTTPStatus.FORBIDDEN
        if status:
            told = {"status": int(status), **self._shared}
            return self._app.get_handler_delegate(request, Refused, told)
        return self._inside.find_handler(request, **kwargs)

    def _tell_stranger(self, name: str) -> None:
        """Once: it is somebody's proxy, or a site that has its name lead here."""
        if not self._told:
            _LOG.warning("refused: this page is asked for as '%s', %s", name[:80], _ADVICE)
        self._told = True


def is_own_name(name: str) -> bool:
    """Whether it is a name by which a machine calls itself."""
    return name.strip("[]") in LOOPBACK or name.endswith(".localhost")


def refusal(method: str, path: str, base: str) -> HTTPStatus | None:
    """Why a request is refused, None if it is not; `base` is spelt plainly, `path` as it came."""
    plain = url_unescape(path, plus=False)
    plain = base if f"{plain}/" == base else plain  # who leaves the last stroke out is sent on
    if len(path) > _LONGEST or not plain.startswith(base):
        return HTTPStatus.NOT_FOUND
    below = plain.removeprefix(base)
    if _NASTY.search(below) or (_BELOW.match(below) and not _OURS.fullmatch(below)):
        return HTTPStatus.NOT_FOUND
    allowed = ("GET", "HEAD", *(["POST"] if _SAID.fullmatch(below) else []))
    return None if method in allowed else HTTPStatus.METHOD_NOT_ALLOWED


def _believe_host(request: HTTPServerRequest) -> None:
    """The name by which the reader knows the server, where a proxy has said it aside."""
    said = request.headers.get("X-Forwarded-Host", "").split(",")[0].strip()
    if re.fullmatch(r"[\w.:\[\]-]{1,255}", said, re.ASCII):
        request.host = request.headers["Host"] = said
