"""Where a page is found: as it is said to people, opened for them, and free to be taken."""

import errno
import http.client
import socket
from dataclasses import replace
from urllib.parse import urlencode

from embtie_widgets.app.settings import ServeSettings
from embtie_widgets.errors import EmbtieError

_PLOTLY = "voila/static/plotly.min.js"
# What a server listens at for all the names of its machine, and where it is found from there.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound


def address(known: ServeSettings, *, with_token: bool = False) -> str:
    """The address of the page, for others too where they reach it; with the token, where one is
    asked for."""
    asked = known.sign_in == "token" and with_token
    query = f"?{urlencode({'token': known.token})}" if asked else ""
    host = _machine() if known.host in _EVERYWHERE else known.host
    host = f"[{host}]" if ":" in host else host
    return f"http://{host}:{known.port}{known.base_url}{query}"


def _machine() -> str:
    """The name that others have for this machine, as far as it knows it."""
    full = socket.getfqdn()
    return socket.gethostname() if full.startswith("localhost") else full


def local(known: ServeSettings) -> ServeSettings:
    """The page as it is reached from this machine itself."""
    return replace(known, host=_EVERYWHERE.get(known.host, known.host))


def check_port(port: int, host: str = "localhost", command: str = "embtie", base: str = "/") -> int:
    """The port if it is free, a free one for 0; else an error that says what to do.

    Voila itself would move to another port in silence, away from the address that was printed.
    """
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
            return int(probe.getsockname()[1])
    except OverflowError:
        raise EmbtieError(f"{port} is no port.", "Choose one from 1024 to 65535.") from None
    except OSError as error:
        page = ServeSettings(host=host, port=port, base_url=base)
        raise _port_error(error, page, command) from None


def _port_error(error: OSError, page: ServeSettings, command: str) -> EmbtieError:
    another = f"with `{command} --port 0`, which takes any free port."
    if error.errno == errno.EADDRINUSE and _is_embtie(page):
        return EmbtieError(
            f"embtie is already running at {address(page)}",
            f"Open that page, or start another {another}",
        )
    if error.errno == errno.EADDRINUSE:
        return EmbtieError(
            f"Port {page.port} is taken by another program.", f"Stop that one, or start {another}"
        )
    if error.errno == errno.EACCES:
        return EmbtieError(
            f"Port {page.port} is reserved on this machine.", "Choose one from 1024 up with --port."
        )
    return EmbtieError(
        f"'{page.host}' is no address of this machine.", "Choose another with --host."
    )


def _is_embtie(page: ServeSettings) -> bool:
    """Whether what listens there serves what only embtie does; its ready kernel is left alone."""
    host = _EVERYWHERE.get(page.host, page.host)
    asked = http.client.HTTPConnection(host, page.port, timeout=2)
    try:
        asked.request("HEAD", f"{page.base_url}{_PLOTLY}")
        return asked.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        asked.close()
