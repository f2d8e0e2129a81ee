"""What every answer says to the browser: what it may load and run, and who may show it."""

import secrets
from collections.abc import Iterable

from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import OutputTransform

# A widget is a module that the page makes of text, hence blob:.  No other text becomes a script:
# none of the markup runs without the number that each answer draws anew, and no attribute ever.
_PAGE = (
    "default-src 'none'",
    "script-src 'self' 'nonce-{number}' blob:",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data: blob:",
    "font-src 'self' data:",
    "connect-src 'self'",
    "worker-src 'self' blob:",
    "base-uri 'none'",
    "form-action 'self'",
)
_ELSE = ("default-src 'none'", "style-src 'unsafe-inline'", "sandbox")
_ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # an address holds what is looked at
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
_SCRIPT = b"<script"


def headers(framed_by: Iterable[str] = ()) -> type[OutputTransform]:
    """What tornado applies to every answer; `framed_by` may show the page inside theirs."""
    ancestors = " ".join(["frame-ancestors 'self'", *framed_by])

    class Headers(OutputTransform):
        """The headers, and the number of each script that we wrote."""

        def __init__(self, request: HTTPServerRequest) -> None:
            self._number = ""

        def transform_first_chunk(
            self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool
        ) -> tuple[int, HTTPHeaders, bytes]:
            """Before anything is sent."""
            headers.pop("Server", None)
            for name, value in _ALWAYS.items():
                headers[name] = value
            if headers.get("Content-Type", "").startswith("text/html"):
                headers.pop("Etag", None)  # else a page of the cache meets a new number
                self._number = secrets.token_urlsafe(16)
            policy = _PAGE if self._number else _ELSE
            told = "; ".join((*policy, ancestors)).format(number=self._number)
            headers["Content-Security-Policy"] = told
            chunk = self.transform_chunk(chunk, finishing)
            if "Content-Length" in headers and finishing and self._number:
                headers["Content-Length"] = str(len(chunk))
            return status_code, headers, chunk

        def transform_chunk(self, chunk: bytes, finishing: bool) -> bytes:
            """A piece of the answer; no template breaks a tag in two."""
            if not self._number:
                return chunk
            return chunk.replace(_SCRIPT, f'<script nonce="{self._number}"'.encode())

    return Headers
