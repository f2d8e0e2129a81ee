"""nginx before a server of ours, with the very lines of the guide."""

import base64
import http.client
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tornado.httpclient import HTTPRequest

from embtie_widgets.app.address import check_port
from tests.aside import awaited
from tests.browser.servers import voila, wait_until_open
from tests.guide.test_documents import HANDBOOK, blocks
from tests.load.visitor import Visitor

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed")

PASSWORD = {"Authorization": "Basic " + base64.b64encode(b"ann:a password").decode()}
HOUSE = {"Cookie": "house=ann"}
_PLACE = "    location /embtie/ {\n"
_WHOLE = """
{account}
daemon off;
pid nginx.pid;
error_log error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    {sites}
}}
"""


@dataclass(frozen=True)
class Front:
    """nginx: the address of each variant of the site, and the certificate to trust."""

    plain: str
    password: str
    house: str
    certificate: str

    def ask(self, address: str, **headers: str) -> http.client.HTTPResponse:
        """The answer, without what it holds."""
        trust = ssl.create_default_context(cafile=self.certificate)
        host, _, path = address.removeprefix("https://").partition("/")
        line = http.client.HTTPSConnection(host, timeout=60, context=trust)
        line.request("GET", f"/{path}", headers=headers)
        answer = line.getresponse()
        answer.read()
        line.close()
        return answer


class Guest(Visitor):
    """A visitor who says from which page the websocket is opened, as a browser does."""

    def __init__(self, address: str, **headers: str) -> None:
        super().__init__(address)
        self._said = {"Origin": address.removesuffix("/embtie/"), **headers}

    def _headers(self) -> dict[str, str]:
        own = super()._headers()
        cookies = "; ".join(said["Cookie"] for said in (self._said, own) if "Cookie" in said)
        return {**own, **self._said, **({"Cookie": cookies} if cookies else {})}


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    """The dashboard behind nginx: as it is, with a password, and with the sign-in of the house."""
    folder = tmp_path_factory.mktemp("nginx")
    certificate = _certify(folder)
    (folder / "users").write_text("ann:{PLAIN}a password\n")
    ports = [check_port(0) for _ in range(3)]
    with voila(folder, base="/embtie/", proxied=True) as served, _house() as house:
        told = {
            "http://127.0.0.1:8866": served.removesuffix("/embtie/"),
            "http://127.0.0.1:4180": house,
            "/etc/ssl/lab.example.org": str(folder / "site"),
            "/etc/nginx/embtie.users": str(folder / "users"),
            "lab.example.org": "localhost",
        }
        account = "user root;" if os.geteuid() == 0 else ""  # who may read the file of passwords
        whole = _WHOLE.format(account=account, sites=_sites(ports, told))
        (folder / "nginx.conf").write_text(whole)
        with _nginx(folder, ports[0]):
            yield Front(*(f"https://localhost:{port}/embtie/" for port in ports), certificate)


@pytest.fixture
def trusting(front: Front, monkeypatch: pytest.MonkeyPatch) -> None:
    """Visitors trust the certificate of the site."""
    monkeypatch.setitem(HTTPRequest._DEFAULTS, "ca_certs", front.certificate)


def test_a_page_below_a_path_of_nginx_is_whole_and_answers(front: Front, trusting: None) -> None:
    awaited(_use(Guest(front.plain)))


def test_a_password_holds_for_page_and_websocket(front: Front, trusting: None) -> None:
    _is_closed(front, front.password)
    awaited(_use(Guest(front.password, **PASSWORD)))


def test_the_sign_in_of_the_house_holds_for_page_and_websocket(
    front: Front, trusting: None
) -> None:
    _is_closed(front, front.house)
    awaited(_use(Guest(front.house, **HOUSE)))


def test_the_cookie_of_a_visitor_is_for_the_path_and_for_tls_alone(front: Front) -> None:
    [cookie] = _visitors(front.ask(front.plain))
    assert {"Path=/embtie/", "Secure", "HttpOnly", "SameSite=Lax"} <= set(cookie.split("; "))


def test_who_leaves_the_last_stroke_out_is_sent_on_without_losing_tls(front: Front) -> None:
    answer = front.ask(front.plain.removesuffix("/"))
    assert answer.status in (301, 302)
    assert answer.headers["Location"] in (front.plain, "/embtie/")


def test_what_a_visitor_says_of_the_connection_does_not_come_through(front: Front) -> None:
    lies = {
        "X-Scheme": "http",
        "X-Forwarded-Proto": "http",
        "X-Forwarded-Host": "evil.example",
        "X-Real-IP": "1.2.3.4",
    }
    answer = front.ask(front.plain, **lies)
    [cookie] = _visitors(answer)
    assert "Secure" in cookie.split("; ")
    assert "evil" not in str(answer.headers)


def test_scripts_travel_compressed(front: Front) -> None:
    script = f"{front.plain}voila/static/plotly.min.js"
    answer = front.ask(script, **{"Accept-Encoding": "gzip"})
    assert (answer.status, answer.headers["Content-Encoding"]) == (200, "gzip")


async def _use(guest: Guest) -> None:
    """Open the page, send what is larger than a proxy's buffers, and go."""
    await guest.open()
    assert "Computed" in guest.status()
    await guest.wire.ask("kernel_info_request", {"filler": "x" * 2**22})
    await guest.switch_map("Orthogonal")
    await guest.leave()


def _visitors(answer: http.client.HTTPResponse) -> list[str]:
    """The cookie by which a visitor is known again."""
    said = answer.headers.get_all("Set-Cookie") or []
    return [cookie for cookie in said if cookie.startswith("embtie-visitor=")]


def _is_closed(front: Front, address: str) -> None:
    kernel = "00000000-0000-0000-0000-000000000000"
    for what in ("", "voila/static/plotly.min.js", f"api/kernels/{kernel}/channels"):
        assert front.ask(address + what).status == 401


def _sites(ports: list[int], told: dict[str, str]) -> str:
    """The three variants that the guide shows, each on a port of its own."""
    whole, password, line, place = blocks(HANDBOOK / "serving.md", "nginx")
    head, _, site = whole.partition("server {")
    assert _PLACE in site
    variants = (
        site,
        site.replace(_PLACE, _PLACE + password),
        site.replace(_PLACE, place + _PLACE + line),
    )
    text = head
    for port, variant in zip(ports, variants, strict=True):
        text += "server {" + variant.replace("listen 443 ssl", f"listen {port} ssl")
    for example, real in told.items():
        assert example in text
        text = text.replace(example, real)
    return text


@contextmanager
def _nginx(folder: Path, port: int) -> Iterator[None]:
    process = subprocess.Popen([str(NGINX), "-p", folder, "-c", folder / "nginx.conf"])
    try:
        wait_until_open(port)
        yield
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def _house() -> Iterator[str]:
    """The address of a program that knows who has signed in."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Doorkeeper)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


class _Doorkeeper(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(202 if HOUSE["Cookie"] in self.headers.get("Cookie", "") else 401)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Keep still."""


def _certify(folder: Path) -> str:
    """The file of a certificate of the name "localhost", and its key beside it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    encoding, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    secret = key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, plain)
    (folder / "site.key").write_bytes(secret)
    (folder / "site.pem").write_bytes(certificate.public_bytes(encoding))
    return str(folder / "site.pem")
