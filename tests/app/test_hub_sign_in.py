"""Sign-in by JupyterHub, against a hub of the tests' own that speaks its protocol."""

import base64
import hashlib
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.cookiejar import CookieJar
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from embtie_widgets.app.configuration import configured
from embtie_widgets.app.settings import ServeSettings
from embtie_widgets.app.sign_in import below_hub, hub_identity
from embtie_widgets.cli.arguments import parse
from embtie_widgets.errors import EmbtieError
from tests.aside import awaited
from tests.browser.servers import Running, running
from tests.guide.test_documents import HANDBOOK, blocks
from tests.load.visitor import Visitor

BASE = "/user/zo%C3%AB@lab.example/"  # a name that an address has to spell otherwise
API_TOKEN = "the-token-of-the-service"
MAY_ENTER = "access:services!service=embtie"
SCOPES = {"ann": [MAY_ENTER], "bob": [MAY_ENTER], "eve": ["self"]}


@dataclass
class Hub:
    """What a hub knows: the codes and tokens that it has given, and to whom."""

    server: ThreadingHTTPServer
    page: str = ""
    codes: dict[str, tuple[str, str]] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def environment(self) -> dict[str, str]:
        """What a service finds in its environment."""
        return {
            "JUPYTERHUB_API_TOKEN": API_TOKEN,
            "JUPYTERHUB_API_URL": f"{self.address}/hub/api",
            "JUPYTERHUB_HOST": self.address,
            "JUPYTERHUB_CLIENT_ID": "service-embtie",
            "JUPYTERHUB_SERVICE_NAME": "embtie",
            "JUPYTERHUB_SERVICE_PREFIX": BASE,
            "JUPYTERHUB_OAUTH_ACCESS_SCOPES": json.dumps([MAY_ENTER]),
        }

    def authorize(self, asked: dict[str, str], user: str) -> str:
        """Where the reader goes, who is signed in at the hub."""
        code = f"code-{user}-{len(self.tokens)}"
        self.codes[code] = (user, asked.get("code_challenge", ""))
        origin = self.page.removesuffix(BASE)
        told = {"code": code, "state": asked["state"]}
        return f"{origin}{asked['redirect_uri']}?{urlencode(told)}"

    def exchange(self, asked: dict[str, str]) -> dict[str, str] | None:
        """The token for a code, which is good once, for this service, and for who has begun."""
        user, challenge = self.codes.pop(asked["code"], ("", ""))
        proof = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
        proven = base64.urlsafe_b64encode(proof).decode().rstrip("=") == challenge
        if not user or asked["client_secret"] != API_TOKEN or (challenge and not proven):
            return None
        token = f"token-of-{user}-{len(self.tokens)}"
        self.tokens[token] = user
        return {"access_token": token, "token_type": "Bearer"}

    def user(self, token: str) -> dict[str, Any] | None:
        """Who has this token."""
        name = self.tokens.get(token)
        return name and {"kind": "user", "name": name, "groups": [], "scopes": SCOPES[name]}


class _Answers(BaseHTTPRequestHandler):
    hub: Hub

    def do_GET(self) -> None:
        at = urlsplit(self.path)
        if at.path == "/hub/api/oauth2/authorize":
            asked = {name: values[0] for name, values in parse_qs(at.query).items()}
            self.send_response(302)
            self.send_header("Location", self.hub.authorize(asked, self.headers["X-Signed-In"]))
            self.end_headers()
        elif at.path == "/hub/api/user":
            self._say(self.hub.user(self.headers["Authorization"].removeprefix("token ")))
        else:
            self._say({"at": at.path})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        asked = {name: values[0] for name, values in parse_qs(body).items()}
        self._say(self.hub.exchange(asked))

    def log_message(self, format: str, *args: object) -> None:
        """Keep still."""

    def _say(self, told: dict[str, Any] | None) -> None:
        self.send_response(200 if told else 403)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(told).encode())


class Reader:
    """A browser as far as signing in needs it: it follows, and keeps cookies."""

    def __init__(self, user: str) -> None:
        self.jar = CookieJar()
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))
        self._opener.addheaders = [("X-Signed-In", user)]

    def open(self, address: str) -> tuple[int, str, str]:
        """Status, address and text at the end of all redirects."""
        try:
            with self._opener.open(address, timeout=60) as answer:
                return answer.status, answer.url, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.url, error.read().decode()


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    """The hub."""
    handler = type("Answers", (_Answers,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    handler.hub = Hub(server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield handler.hub
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def served(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The dashboard as a service of that hub."""
    told = hub.environment()
    folder = tmp_path_factory.mktemp("service")
    with running(folder, base=BASE, told=told, sign_in="jupyterhub") as server:
        hub.page = server.address
        yield server


def test_nothing_but_files_is_given_to_who_is_not_signed_in(served: Running, hub: Hub) -> None:
    def asked(path: str) -> tuple[int, str]:
        request = urllib.request.Request(served.address + path)
        try:
            with urllib.request.build_opener(_Stay()).open(request, timeout=60) as answer:
                return answer.status, ""
        except urllib.error.HTTPError as error:
            return error.code, error.headers.get("Location", "")

    status, there = asked("?embtie=1")
    assert (status, there.split("?")[0]) == (302, f"{hub.address}/hub/api/oauth2/authorize")
    kernel = "00000000-0000-0000-0000-000000000000"
    for path in (f"api/kernels/{kernel}", f"api/kernels/{kernel}/channels", "api/embtie/door"):
        assert asked(path)[0] == 403, path
    assert asked("voila/static/plotly.min.js")[0] == 200


def test_a_user_of_the_hub_comes_to_the_link_and_its_kernel_and_no_token_shows(
    served: Running, hub: Hub
) -> None:
    reader = Reader("ann")
    status, address, text = reader.open(f"{served.address}?embtie=1&kind=norm-frequency")
    assert (status, address) == (200, f"{served.address}?embtie=1&kind=norm-frequency")
    visitor = Visitor(served.address)
    for cookie in reader.jar:
        visitor.cookies[cookie.name] = cookie.value
    awaited(visitor.open())
    kernels = served.kernels()
    assert kernels
    shown = text + "".join(map(str, visitor.states.values())) + "".join(served.said)
    shown += "".join(str(kernel.environ()) for kernel in kernels)
    assert [token for token in (API_TOKEN, *hub.tokens) if token in shown] == []
    assert visitor.kernel not in "".join(served.said)


def test_who_may_not_use_the_service_stays_outside(served: Running) -> None:
    status, _address, text = Reader("eve").open(served.address)
    assert status == 403
    assert "kernelId" not in text


def test_a_code_that_somebody_else_has_begun_is_of_no_use(served: Running, hub: Hub) -> None:
    stolen = hub.authorize({"state": "made-up", "redirect_uri": f"{BASE}oauth_callback"}, "bob")
    status, _address, _text = Reader("eve").open(stolen)
    assert status == 403


def test_who_signs_out_is_asked_again(served: Running, hub: Hub) -> None:
    reader = Reader("bob")
    assert reader.open(f"{served.address}?embtie=1")[0] == 200
    assert reader.open(f"{served.address}logout")[1] == f"{hub.address}/hub/logout"
    given = len(hub.tokens)
    assert reader.open(f"{served.address}?embtie=1")[0] == 200
    assert len(hub.tokens) == given + 1


def test_the_hub_says_where_the_page_is() -> None:
    said = {
        "JUPYTERHUB_API_TOKEN": API_TOKEN,
        "JUPYTERHUB_SERVICE_PREFIX": "/user/ann/",
        "JUPYTERHUB_SERVICE_URL": "http://127.0.0.1:4711",
    }
    known = below_hub(ServeSettings(sign_in="jupyterhub", port=1, base_url="/other/"), said)
    assert (known.host, known.port, known.base_url) == ("127.0.0.1", 4711, "/user/ann/")
    assert known.proxied
    assert not known.open_browser
    assert not known.is_public
    assert below_hub(ServeSettings(), said) == ServeSettings()
    said["JUPYTERHUB_SERVICE_URL"] = "http://:8888/user/ann/"
    known = below_hub(ServeSettings(sign_in="jupyterhub"), said)
    assert (known.host, known.port) == ("0.0.0.0", 8888)


def test_without_a_hub_it_is_told_what_to_do() -> None:
    with pytest.raises(EmbtieError, match="has started embtie"):
        below_hub(ServeSettings(sign_in="jupyterhub"), {})


def test_without_the_package_it_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jupyterhub.services.auth", None)
    with pytest.raises(EmbtieError) as caught:
        hub_identity(ServeSettings(sign_in="jupyterhub"), {})
    assert "embtie[hub]" in caught.value.hint


def test_the_configurations_of_the_guide_start_what_they_say(tmp_path: Path) -> None:
    service, proxy, spawner = (_told(text) for text in blocks(HANDBOOK / "serving.md", "python"))
    [one] = service.JupyterHub.services
    [role] = service.JupyterHub.load_roles
    assert role["scopes"] == [f"access:services!service={one['name']}"]
    assert set(role["groups"]) == set(service.JupyterHub.load_groups)
    assert set(one["environment"]) == {"EMBTIE_MODELS"}
    known = _settings(one["command"], {"EMBTIE_MODELS": str(tmp_path)})
    assert (known.sign_in, known.public) == ("jupyterhub", True)
    assert known.port == urlsplit(one["url"]).port
    command = proxy.ServerProxy.servers["embtie"]["command"]
    filled = [word.format(port=4711, base_url="/user/ann/") for word in command]
    known = _settings(filled, {})
    assert (known.port, known.base_url, known.proxied) == (4711, "/user/ann/embtie/", True)
    assert _settings(spawner.Spawner.cmd, {}).sign_in == "jupyterhub"


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: Any) -> None:
        """Follow nothing."""


def _settings(command: list[str], environment: dict[str, str]) -> ServeSettings:
    """What a command line would serve with."""
    assert command[0] == "embtie"
    typed = vars(parse(command[1:]))
    names = ServeSettings.__dataclass_fields__
    said = {name: value for name, value in typed.items() if name in names}
    return configured(said, environment=environment).check()


def _told(text: str) -> Any:
    """What a configuration file sets."""
    from traitlets.config import Config

    config = Config()
    exec(text, {"c": config})
    return config
