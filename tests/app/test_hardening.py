"""What a stranger may ask of a served page, tried on a live server below a proxy's path, with a
token: the answers, their headers, the files, the kernel and the log."""

import asyncio
import http.client
import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

import pytest
from jupyter_server.services.kernels.connection.base import (
    deserialize_msg_from_ws_v1,
    serialize_msg_to_ws_v1,
)
from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import WebSocketClosedError, websocket_connect

from embtie_widgets.app.attempts import AT_ONCE
from embtie_widgets.app.channels import PROTOCOL
from embtie_widgets.app.fence import is_own_name, refusal
from tests.aside import awaited
from tests.browser.servers import Running, running

BASE, TOKEN, SITE = "/embtie/", "a-token-of-this-test", "https://moodle.example.org"
PLOTLY = "voila/static/plotly.min.js"


class Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    text: str

    @property
    def cookies(self) -> list[str]:
        return self.headers.get_all("Set-Cookie", [])


class Client:
    """Asks for paths as they stand, below the base; with a cookie where it has one."""

    def __init__(self, address: str) -> None:
        self.host = urlsplit(address).netloc
        self.cookie = ""

    def ask(self, path: str, method: str = "GET", body: Any = None, **headers: str) -> Answer:
        known = {"Cookie": self.cookie} if self.cookie else {}
        known |= {name.replace("_", "-"): value for name, value in headers.items()}
        line = http.client.HTTPConnection(self.host, timeout=60)
        try:
            line.putrequest(method, BASE + path if path[:1] != "/" else path)
            for name, value in known.items():
                line.putheader(name, value)
            if body is not None:
                line.putheader("Content-Length", str(len(body)))
                line.putheader("Content-Type", "application/x-www-form-urlencoded")
            line.endheaders(body)
            answer = line.getresponse()
            return Answer(answer.status, answer.headers, answer.read().decode("utf-8", "replace"))
        finally:
            line.close()

    def sign_in(self, token: str, goal: str = BASE, **headers: str) -> Answer:
        said = urlencode({"token": token}).encode()
        known = {"Origin": f"http://{self.host}", **headers}
        return self.ask(f"login?{urlencode({'next': goal})}", "POST", said, **known)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    told = {"sign_in": "token", "token": TOKEN, "proxied": True, "framed_by": (SITE,)}
    folder = tmp_path_factory.mktemp("served")
    (folder / "near.txt").write_text("beside the server")
    with running(folder, base=BASE, log="json", ready=0, **told) as found:
        yield found


@pytest.fixture
def stranger(server: Running) -> Client:
    return Client(server.address)


@pytest.fixture(scope="module")
def visitor(server: Running) -> Client:
    client = Client(server.address)
    signed = client.sign_in(TOKEN)
    assert signed.status == 302
    client.cookie = signed.cookies[0].split(";")[0]
    return client


@pytest.fixture(scope="module")
def page(visitor: Client) -> Answer:
    return visitor.ask("")


@pytest.fixture(scope="module")
def kernel(page: Answer) -> str:
    found = re.search(r'"kernelId": "([^"]+)"', page.text)
    assert found is not None
    return found[1]


def test_every_answer_says_what_a_browser_may_do_with_it(
    stranger: Client, visitor: Client, page: Answer
) -> None:
    answers = {
        "page": page,
        "sign-in": stranger.ask("login"),
        "to the sign-in": stranger.ask(""),
        "script": visitor.ask(PLOTLY),
        "nothing": visitor.ask("nothing"),
        "outside": visitor.ask("/"),
        "method": visitor.ask("", "DELETE"),
        "health": stranger.ask("health"),
        "door": visitor.ask("api/embtie/door"),
    }
    assert [answer.status for answer in answers.values()] == [
        200, 200, 302, 200, 404, 404, 405, 200, 200,
    ]  # fmt: skip
    for name, (_, headers, _) in answers.items():
        assert headers["X-Content-Type-Options"] == "nosniff", name
        assert headers["Referrer-Policy"] == "same-origin", name
        assert headers.get_all("Server") is None, name
        policy = headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'"), name
        assert f"frame-ancestors 'self' {SITE}" in policy, name
        for loose in ("unsafe-eval", "script-src 'self' 'unsafe-inline'", "http:", " *"):
            assert loose not in policy, name


def test_only_scripts_of_our_templates_run(page: Answer, visitor: Client) -> None:
    number = re.search(r"'nonce-([^']+)'", page.headers["Content-Security-Policy"])
    assert number is not None
    tags = re.findall(r"<script[^>]*>", page.text)
    assert len(tags) > 5
    assert all(f'nonce="{number[1]}"' in tag for tag in tags)
    assert not re.search(r"<[^>]+\son\w+=", re.sub(r"(?s)<script.*?</script>", "", page.text))
    assert number[1] not in visitor.ask("login").headers["Content-Security-Policy"]
    assert "Etag" not in page.headers


NASTY = [
    "nothing", ".", "..", "../", "%2e%2e/", "%2e%2e%2fetc/passwd", "..%2f..%2fetc%2fpasswd",
    "%252e%252e%252fetc%252fpasswd", "%00", "a%00.ipynb", "%ff", "%5c..%5c", "a%0ab",
    ".git/config", ".env", "dashboard.ipynb", "serve.py", "embtie_widgets/app/serve.py",
    "near.txt", "etc/passwd", "x" * 5000, "//etc/passwd", "favicon.ico", "robots.txt",
    "voila", "voila/", "voila/files/dashboard.ipynb", "voila/files/near.txt", "voila/files/",
    "voila/files/../serve.py", "voila/files/.git/config", "voila/files/%00",
    "voila/files//etc/passwd", "voila/files/images/../dashboard.ipynb",
    "voila/files/images/%2e%2e%2fdashboard.ipynb", "voila/files/images/none.svg",
    "voila/render/dashboard.ipynb", "voila/render/%00", "voila/render/none.ipynb",
    "voila/render/..%2f..%2fsetup.ipynb", "voila/render/" + "x" * 300 + ".ipynb",
    "voila/render/lessons/index.ipynb", "voila/tree", "voila/tree/", "voila/tree/images",
    "voila/api/contents", "voila/api/contents/", "voila/api/themes/", "voila/api/themes/x/y.css",
    "voila/static", "voila/static/", "voila/static/../app.py", "voila/static/none.js",
    "voila/static/%2e%2e/app.py", "voila/static/%00", "voila/static/../../../../etc/passwd",
    "voila/templates/", "voila/templates/embtie", "voila/templates/embtie/static",
    "voila/templates/embtie/static/", "voila/templates/embtie/static/../index.html.j2",
    "voila/templates/embtie/index.html.j2", "voila/templates/embtie/conf.json",
    "voila/templates/..%2f/static/x", "voila/templates/lab/static/voila.js",
    "voila/templates/embtie/static/none.js", "voila/templates/embtie/static/%00",
    "voila/labextensions/", "voila/labextensions/anywidget/package.json%00",
    "voila/labextensions/@jupyterlab/git/package.json",
    "voila/labextensions/anywidget/../../etc", "voila/labextensions/anywidget/none.js",
    "api", "api/", "api/kernels", "api/kernels/", "api/kernels/x", "api/kernelspecs",
    "api/contents", "api/sessions", "api/terminals", "api/status", "api/security/csp-report",
    "api/kernels/00000000-0000-0000-0000-000000000000", "api/embtie/none", "api/embtie/leave/x",
    "static/style/bootstrap.min.css", "logout", "hub/login", "metrics", "login/", "login/x",
]  # fmt: skip


def test_nothing_but_the_page_and_its_parts_is_reached(visitor: Client, server: Running) -> None:
    """Every one is not there, in few words of ours, and none takes a kernel."""
    before = len(server.kernels())
    for path in NASTY:
        status, headers, text = visitor.ask(path)
        assert status in (403, 404), (path, status)
        for word in ("Traceback", "root:", "beside the server", str(Path.cwd()), "site-packages"):
            assert word not in text, path
        assert "location" not in headers, path
    assert len(server.kernels()) == before


def test_what_is_not_there_is_said_in_our_looks(stranger: Client, visitor: Client) -> None:
    for who, path in ((visitor, "nothing"), (stranger, "%00"), (stranger, "voila/tree")):
        said = who.ask(path).text
        assert "That page is not here" in said
        assert f'href="{BASE}"' in said


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "POST", "TRACE", "FOO"])
def test_a_page_is_asked_for_and_nothing_else(method: str, visitor: Client, kernel: str) -> None:
    for path in ("", f"api/kernels/{kernel}", PLOTLY, "health", "api/embtie/door"):
        answer = visitor.ask(path, method)
        assert answer.status == 405, path
        assert answer.headers["Allow"] == "GET, HEAD", path
    assert json.loads(visitor.ask(f"api/embtie/kernel/{kernel}").text)["there"] is True


def test_who_leaves_the_last_stroke_out_is_sent_on(visitor: Client) -> None:
    answer = visitor.ask(BASE.rstrip("/"))
    assert (answer.status, answer.headers["Location"]) == (302, BASE)


def test_without_the_token_there_is_no_page_and_no_kernel(stranger: Client, kernel: str) -> None:
    first = stranger.ask("?embtie=x")
    assert first.status == 302
    assert first.headers["Location"].startswith(f"{BASE}login?next=")
    assert stranger.ask(f"?token={TOKEN[:-1]}").status == 302
    for path in (f"api/kernels/{kernel}", f"api/embtie/kernel/{kernel}", "api/embtie/door"):
        assert stranger.ask(path).status == 403, path
    assert stranger.ask(f"api/embtie/leave/{kernel}", "POST", b"").status == 403


def test_a_link_with_the_token_opens_the_page_and_does_not_keep_it(stranger: Client) -> None:
    first = stranger.ask(f"?embtie=a%26b&token={TOKEN}&theme=dark")
    assert (first.status, first.headers["Location"]) == (302, f"{BASE}?embtie=a%26b&theme=dark")
    stranger.cookie = first.cookies[0].split(";")[0]
    assert stranger.ask("api/embtie/door").status == 200


def test_a_wrong_token_is_refused_in_words(stranger: Client) -> None:
    for typed in ("", "x", TOKEN + "x", "é"):
        refused = stranger.sign_in(typed)
        assert refused.status == 401
        assert "That is not the token of this page." in refused.text


def test_who_guesses_has_to_wait_and_nobody_else(stranger: Client, visitor: Client) -> None:
    guesser = {"X_Real_IP": "192.0.2.7"}
    answers = [stranger.sign_in(f"guess {n}", **guesser).status for n in range(2 * AT_ONCE)]
    assert answers[: AT_ONCE - 1] == [401] * (AT_ONCE - 1)
    right = stranger.sign_in(TOKEN, **guesser)  # not looked at, else there were no bound
    assert right.status == 429
    assert not any("embtie-token" in cookie for cookie in right.cookies)
    assert "Too many wrong tokens came from your network." in right.text
    assert stranger.ask(f"?token={TOKEN}", **guesser).headers["Location"].startswith(f"{BASE}login")
    assert stranger.ask("api/embtie/door", Authorization=f"token {TOKEN}", **guesser).status == 403
    assert visitor.ask("api/embtie/door", **guesser).status == 200  # signed in before
    assert stranger.sign_in(TOKEN, X_Real_IP="192.0.2.8").status == 302
    time.sleep(int(right.headers["Retry-After"]))
    assert stranger.sign_in(TOKEN, **guesser).status == 302


@pytest.mark.parametrize("way", ["address", "header"])
def test_guesses_by_any_way_count(way: str, stranger: Client) -> None:
    guesser = {"X_Real_IP": f"192.0.2.{1 if way == 'address' else 2}"}
    for n in range(2 * AT_ONCE):
        if way == "address":
            stranger.ask(f"?token=guess-{n}", **guesser)
        else:
            stranger.ask("api/embtie/door", Authorization=f"token guess-{n}", **guesser)
    assert stranger.sign_in(TOKEN, **guesser).status == 429


def test_the_token_is_kept_in_a_cookie_that_no_script_reads(stranger: Client) -> None:
    cookie = stranger.sign_in(TOKEN).cookies[0]
    for part in ("HttpOnly", "SameSite=Lax", f"Path={BASE}"):
        assert part in cookie
    assert "Secure" not in cookie
    assert TOKEN not in cookie
    secure = stranger.sign_in(TOKEN, X_Forwarded_Proto="https").cookies[0]
    assert "Secure" in secure
    assert "SameSite=None" in secure  # SITE may show the page inside its own
    opened = stranger.ask("health", Authorization=f"token {TOKEN}")
    assert opened.status == 200
    assert stranger.ask("api/embtie/door", Authorization=f"token {TOKEN}").status == 200


@pytest.mark.parametrize(
    "goal", ["//evil.example/", "https://evil.example/", "/other/", r"\\evil.example", "///evil"]
)
def test_signing_in_leads_nowhere_else(goal: str, stranger: Client) -> None:
    answer = stranger.sign_in(TOKEN, goal)
    assert (answer.status, answer.headers["Location"]) == (302, BASE)


def test_a_form_of_another_site_signs_nobody_in(stranger: Client) -> None:
    """Neither does what Jupyter's own form takes, which writes a password down."""
    for origin in ("https://evil.example", "null"):
        assert stranger.sign_in(TOKEN, Origin=origin).status == 403
    said = urlencode({"password": TOKEN, "new_password": "mine"}).encode()
    assert stranger.ask("login", "POST", said).status == 401


def test_a_request_is_bounded(visitor: Client) -> None:
    body = urlencode({"token": "x" * 100_000}).encode()
    assert _refused(visitor, "login", "POST", body)
    assert not _refused(visitor, "health", X_Long="x" * 60_000)
    assert _refused(visitor, "health", X_Long="x" * 100_000)


def _refused(client: Client, *asked: Any, **headers: str) -> bool:
    """Whether it is answered with a refusal, or the line is hung up."""
    try:
        return client.ask(*asked, **headers).status in (400, 413, 431)
    except (ConnectionError, http.client.HTTPException):
        return True


def test_rubbish_on_the_line_ends_nothing(server: Running, stranger: Client) -> None:
    host, port = urlsplit(server.address).netloc.split(":")
    for words in (b"\x00\xff\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\nHost: a\r\n\r\n"):
        with socket.create_connection((host, int(port)), 30) as line:
            line.sendall(words)
            assert b"Traceback" not in line.recv(4096)
    assert stranger.ask("health").status == 200


def test_health_is_told_to_everyone_and_takes_no_kernel(stranger: Client, server: Running) -> None:
    before = len(server.kernels())
    told = json.loads(stranger.ask("health").text)
    assert set(told) == {
        "status", "visitors", "places", "waiting", "ready", "jobs", "version", "uptime_seconds",
    }  # fmt: skip
    assert (told["status"], told["places"]) == ("ok", 40)
    assert told["jobs"] == {"running": 0, "waiting": 0}
    assert stranger.ask("health", "HEAD").status == 200
    assert len(server.kernels()) == before


def _open(client: Client, kernel: str, **headers: str) -> Any:
    known = {"Cookie": client.cookie, "Origin": f"http://{client.host}", **headers}
    address = f"ws://{client.host}{BASE}api/kernels/{kernel}/channels?session_id={uuid4().hex}"
    asked = HTTPRequest(address, headers={k: v for k, v in known.items() if v})
    return websocket_connect(asked, subprotocols=[PROTOCOL])


@pytest.mark.parametrize(
    ("cookie", "headers", "opens"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"Origin": "https://evil.example"}, False),
        (True, {"Origin": "null"}, False),
        (True, {"Origin": "https://lab.example", "X-Forwarded-Host": "lab.example"}, True),
        (True, {"Origin": "https://lab.example", "X-Forwarded-Host": "evil example"}, False),
    ],
)
def test_a_kernel_is_reached_by_its_own_page_alone(
    cookie: bool, headers: dict[str, str], opens: bool, visitor: Client, kernel: str
) -> None:
    async def meet() -> bool:
        line = await _open(
            visitor if cookie else Client(f"http://{visitor.host}"), kernel, **headers
        )
        line.close()
        return True

    if opens:
        assert awaited(meet())
    else:
        with pytest.raises(HTTPClientError, match="403"):
            awaited(meet())


def _message(kind: str, content: dict[str, Any], channel: str = "shell") -> bytes:
    header = {
        "msg_id": uuid4().hex, "msg_type": kind, "session": "s", "username": "", "version": "5.3",
        "date": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    parts = [json.dumps(part).encode() for part in (header, {}, {}, content)]
    return bytes(serialize_msg_to_ws_v1(parts, channel))


async def _kinds_until(line: Any, last: str) -> list[str]:
    """The kinds of messages that come until one of a kind; all of them, if it never does."""
    heard: list[str] = []
    while last not in heard:
        told = await asyncio.wait_for(line.read_message(), 60)
        if told is None:
            break
        heard.append(json.loads(deserialize_msg_from_ws_v1(told)[1][0])["msg_type"])
    return heard


def test_a_visitor_speaks_to_widgets_and_runs_no_code(
    visitor: Client, kernel: str, tmp_path: Path
) -> None:
    """What came before the answer to the last question has been read by then."""
    mark = tmp_path / "ran"
    code = {"code": f"open({str(mark)!r}, 'w').close()", "silent": False, "allow_stdin": False}
    asked = [
        _message("execute_request", code),
        _message("execute_request", code, "control"),
        _message("inspect_request", {"code": "app", "cursor_pos": 3, "detail_level": 0}),
        _message("complete_request", {"code": "app.", "cursor_pos": 4}),
        _message(
            "history_request", {"output": True, "raw": True, "hist_access_type": "tail", "n": 5}
        ),
        _message("debug_request", {"command": "initialize"}, "control"),
    ]

    async def talk() -> list[str]:
        line = await _open(visitor, kernel)
        for words in asked:
            await line.write_message(words, binary=True)
        last = _message("comm_info_request", {"target_name": "jupyter.widget"})
        await line.write_message(last, binary=True)
        heard = await _kinds_until(line, "comm_info_reply")
        line.close()
        return heard

    heard = awaited(talk())
    refused = ("execute", "inspect", "complete", "history", "debug")
    assert "comm_info_reply" in heard
    assert not [kind for kind in heard if kind.startswith(refused)]
    assert not mark.exists()


def test_a_message_is_bounded_and_a_piece_of_a_file_is_not_too_long(
    visitor: Client, kernel: str
) -> None:
    async def send(size: int) -> bool:
        line = await _open(visitor, kernel)
        words = _message("comm_msg", {"comm_id": "none", "data": {"x": "x" * size}})
        try:
            await line.write_message(words, binary=True)
            await line.write_message(_message("comm_info_request", {}), binary=True)
            return "comm_info_reply" in await _kinds_until(line, "comm_info_reply")
        except WebSocketClosedError:
            return False
        finally:
            line.close()

    assert awaited(send(4 * 2**20))
    assert not awaited(send(17 * 2**20))


def test_the_log_is_objects_that_hold_nothing_secret(
    server: Running, stranger: Client, kernel: str
) -> None:
    stranger.ask(f"?token={TOKEN}x&embtie=hidden-words")
    stranger.ask("nothing?embtie=hidden-words")
    lines = [json.loads(line) for line in server.said]
    events = [line.get("event") for line in lines]
    assert {"started", "kernel-started", "request"} <= set(events)
    said = "\n".join(server.said)
    secrets = [TOKEN, "hidden-words", kernel, str(Path.cwd()), str(Path.home()), "site-packages"]
    for secret in secrets:
        assert secret not in said
    assert not [line for line in lines if line["level"] in ("error", "critical")], said
    assert [line for line in lines if line.get("kernel") == kernel[:8] and line["from"] == "Comm"]


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("[::1]", True),
        ("embtie.localhost", True),
        ("rebound.example", False),
        ("localhost.example", False),
        ("192.168.1.7", False),
    ],
)
def test_a_page_of_this_machine_answers_to_its_names_alone(name: str, own: bool) -> None:
    """A site of elsewhere may have its own name lead to this machine."""
    assert is_own_name(name) is own


@pytest.mark.parametrize(
    ("path", "refused"),
    [
        ("/voila/render/index.ipynb", False),
        ("/voila/render/01_where_the_parameters_are.ipynb", False),
        ("/voila/files/images/01_saving.svg", True),
        ("/voila/files/index.ipynb", True),
        ("/voila/render/../index.ipynb", True),
        ("/voila/render/images/01.ipynb", True),
    ],
)
def test_of_the_lessons_the_pages_are_shown(path: str, refused: bool) -> None:
    assert bool(refusal("GET", path, "/")) is refused
