"""Who may open the page where no hub says it: everyone, or who has the token."""

import hmac
import secrets
from dataclasses import replace
from hashlib import sha256
from http import HTTPStatus
from typing import Any

from jupyter_server.auth.decorator import allow_unauthenticated
from jupyter_server.auth.identity import IdentityProvider, User
from jupyter_server.auth.login import LoginFormHandler
from tornado.web import HTTPError, RequestHandler

from embtie_widgets.app.attempts import Attempts
from embtie_widgets.app.settings import ServeSettings

TOKEN = "token"  # noqa: S105 - the name of a way to sign in
_VISITOR = User("visitor")


def with_token(known: ServeSettings) -> ServeSettings:
    """The settings with a token of our own making, where one is asked for and none was said."""
    made = known.sign_in == TOKEN and not known.token
    return replace(known, token=secrets.token_urlsafe(24)) if made else known


def cookie_secret(known: ServeSettings) -> bytes:
    """What signs cookies: a new token ends them, a new start of the server does not."""
    if known.sign_in != TOKEN:
        return secrets.token_bytes(32)
    return hmac.digest(known.token.encode(), b"embtie cookies", sha256)


class SignIn(LoginFormHandler):
    """The page that asks for the token, in our looks."""

    def check_xsrf_cookie(self) -> None:
        """A form of another site is known by its origin; a cookie would not come along where the
        page is shown inside another."""
        known = hasattr(self, "_jupyter_current_user")  # else it is asked again when it is
        if known and not self.check_origin():
            raise HTTPError(HTTPStatus.FORBIDDEN)

    @allow_unauthenticated
    def post(self) -> None:
        """Look at the token that was typed, unless too many wrong ones came from there."""
        if self._wait():
            self._render()
        else:
            super().post()  # type: ignore[no-untyped-call]

    def _wait(self) -> int:
        provider: Any = self.identity_provider
        return int(provider.attempts.wait(self.request.remote_ip))

    def _render(self, message: dict[str, str] | None = None) -> None:
        wait = self._wait()
        if wait:
            self.set_status(HTTPStatus.TOO_MANY_REQUESTS)
            self.set_header("Retry-After", str(wait))
        template = self.settings["voila_jinja2_env"].get_template("sign_in.html")
        told = {"next": self.get_argument("next", self.base_url), "wrong": bool(message)}
        told["wait"] = wait
        self.set_header("Cache-Control", "no-store")
        self.write(template.render(**self.template_namespace, **told))


class _Visitors(IdentityProvider):
    """What the two ways share; Voila's words of a token and a page to sign in are not asked."""

    token = ""
    logout_available = False
    known: ServeSettings

    def __init__(self, **given: Any) -> None:
        super().__init__(**{name: given[name] for name in ("parent", "log") if name in given})


class Everyone(_Visitors):
    """Nobody is asked, and nobody gets a cookie for it."""

    auth_enabled = login_available = False

    def get_user(self, handler: RequestHandler) -> User:
        """One name for all."""
        return _VISITOR


class TokenHolders(_Visitors):
    """Who has the token, in the address, in a header or typed."""

    auth_enabled = login_available = True
    attempts: Attempts

    def get_token(self, handler: RequestHandler) -> str | None:
        """What the address or a header says; a form is for the page that asks."""
        said = self.auth_header_pat.match(handler.request.headers.get("Authorization", ""))
        return handler.get_query_argument("token", "") or (said[2] if said else None)

    async def get_user_token(self, handler: Any) -> User | None:
        """The visitor whose request carries the token."""
        if not hasattr(handler, "_embtie_fits"):  # a request is one attempt, however often asked
            handler._embtie_fits = self._fits(handler, self.get_token(handler))
        return _VISITOR if handler._embtie_fits else None

    def process_login_form(self, handler: RequestHandler) -> User | None:
        """The visitor who typed the token."""
        given = handler.get_body_argument("token", "")
        return _VISITOR if self._fits(handler, given) else None

    def get_cookie_name(self, handler: RequestHandler) -> str:
        """One name, by whatever name the server is called; each server of a machine its own."""
        return f"embtie-token-{self.known.port}"

    def get_handlers(self) -> list[Any]:
        """The page that asks, below our own path."""
        return [(f"{self.known.base_url}login", SignIn)]

    def set_login_cookie(self, handler: RequestHandler, user: User) -> None:
        """A cookie that no script reads and no other site sends, unless it may show the page."""
        secure = handler.request.protocol == "https"
        framed = secure and self.known.framed_by
        self.cookie_options = {"samesite": "None" if framed else "Lax"}
        super().set_login_cookie(handler, user)

    def _fits(self, handler: Any, given: str | None) -> bool:
        """Whether it is the token; of who has to wait none is, and nothing is not an attempt."""
        address = handler.request.remote_ip
        if not given or self.attempts.wait(address):
            return False
        fits = hmac.compare_digest(given.encode(), self.known.token.encode())
        if not fits:
            self.attempts.failed(address)
        return fits


def identity(known: ServeSettings) -> type[IdentityProvider]:
    """Who is who."""
    base = TokenHolders if known.sign_in == TOKEN else Everyone
    return type(base.__name__, (base,), {"known": known, "attempts": Attempts()})
