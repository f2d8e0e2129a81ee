"""A hub on this machine: the protocol as the hub library speaks it, with its faults on demand.

Two servers stand for the hub and for the store that it redirects to.  Every request is written
down, with its headers and the bytes of body that went out, so that a test can count them.

    with HubServer() as hub:
        hub.add("owner/model", folder)
        use(monkeypatch, hub, tmp_path)          # or hub.environment(home) for another process
        ew.load("owner/model")
        assert hub.sent("model.safetensors") < 1000
"""

import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import huggingface_hub
import huggingface_hub.constants
import pytest

TOKEN = "hf_secretsecretsecret"
_LARGE = (".safetensors", ".bin", ".gguf")
_HASHED_UP_TO = 2**28
_CHUNK = 2**18


@dataclass
class Faults:
    """What the hub does wrong, and to whom.

    api, files     (status, error code) of every answer of that kind, as (403, "GatedRepo")
    redirects      False: the hub gives out large files itself, as some mirrors do
    ranges         False: a request for a part is answered with the whole file
    length         False: no answer of the store says how long it is
    breaks_after   bytes of body after which the store breaks off, one for each answer; then none
    dead_after     bytes after which every answer of the store breaks off
    changing       True: the store gives the file another etag at each request
    pause          seconds between two chunks of the store
    garbled        True: the store sends other bytes than were stored
    endless        True: no file that is given out has a length or an end
    store_status   (status, times): answers of the store that fail before the first byte
    """

    api: tuple[int, str] | None = None
    files: tuple[int, str] | None = None
    redirects: bool = True
    ranges: bool = True
    length: bool = True
    breaks_after: list[int] = field(default_factory=list)
    dead_after: int | None = None
    changing: bool = False
    pause: float = 0.0
    garbled: bool = False
    endless: bool = False
    store_status: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Request:
    """One request as it came in, and how many bytes of body went out."""

    server: str
    method: str
    path: str
    headers: dict[str, str]
    status: int
    sent: int


@dataclass(frozen=True)
class Stored:
    """One file of one commit."""

    path: Path
    size: int
    etag: str
    large: bool


class HubServer:
    """Hub and store, running from `with` on."""

    def __init__(self) -> None:
        self.faults = Faults()
        self._requests: list[Request] = []
        self.token: str | None = None
        self.repositories: dict[str, dict[str, str]] = {}
        self.commits: dict[tuple[str, str], dict[str, Stored]] = {}
        self._quiet = threading.Condition()
        self._answering = 0
        self._servers: list[ThreadingHTTPServer] = []

    def __enter__(self) -> "HubServer":
        self._servers = [_serve(_Hub, self), _serve(_Store, self)]
        return self

    def __exit__(self, *_: Any) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    @property
    def url(self) -> str:
        return _url(self._servers[0])

    @property
    def store(self) -> str:
        # Another name, so that it is another host to every version of the hub library.
        return _url(self._servers[1]).replace("127.0.0.1", "localhost")

    def add(self, ref: str, folder: Path, *revisions: str) -> str:
        """Publish the folder under these revisions, `main` where none is named; its commit."""
        files = {path.name: _stored(path) for path in sorted(folder.iterdir()) if path.is_file()}
        text = json.dumps([ref, {name: file.etag for name, file in files.items()}, revisions])
        commit = hashlib.sha1(text.encode()).hexdigest()
        self.commits[ref, commit] = files
        names = self.repositories.setdefault(ref, {})
        names |= dict.fromkeys(revisions or ("main",), commit)
        return commit

    @property
    def requests(self) -> list[Request]:
        """All requests so far, those included that are being answered now."""
        with self._quiet:
            self._quiet.wait_for(lambda: not self._answering, timeout=10)
            return list(self._requests)

    def begin(self) -> int:
        """A request has come in; how many came before."""
        with self._quiet:
            self._answering += 1
            return len(self._requests)

    def end(self, request: Request) -> None:
        """It was answered, or given up."""
        with self._quiet:
            self._answering -= 1
            self._requests.append(request)
            self._quiet.notify_all()

    def sent(self, ending: str = "") -> int:
        """Bytes of body that went out for files whose name ends so."""
        paths = ((urlsplit(r.path).path, r) for r in self.requests)
        return sum(r.sent for path, r in paths if path.endswith(ending))

    def asked(self, ending: str = "", method: str = "GET") -> int:
        """How many requests there were for files whose name ends so."""
        found = [r for r in self.requests if r.method == method]
        return sum(urlsplit(r.path).path.endswith(ending) for r in found)

    def authorised(self, server: str) -> list[Request]:
        """The requests that brought a token to "hub" or "store"."""
        return [r for r in self.requests if r.server == server and "authorization" in r.headers]

    def forget(self) -> None:
        """Count from here on."""
        if self.requests:
            self._requests.clear()

    def environment(self, home: Path) -> dict[str, str]:
        """What another process needs to take this for the hub."""
        return {
            "HF_ENDPOINT": self.url,
            "HF_HOME": str(home),
            "HF_TOKEN": TOKEN,
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        }


def use(patch: pytest.MonkeyPatch, hub: HubServer, home: Path) -> None:
    """Let the hub library of this process speak to that hub, with an empty cache and a token."""
    constants = huggingface_hub.constants
    patch.setattr(constants, "ENDPOINT", hub.url)
    template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
    patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    patch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
    patch.setattr(constants, "HF_ASSETS_CACHE", str(home / "assets"))
    patch.setenv("HF_TOKEN", TOKEN)
    patch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    # The library keeps its connections; those of an earlier hub are dead.
    huggingface_hub.close_session()


def _serve(kind: type["_Answers"], hub: HubServer) -> ThreadingHTTPServer:
    handler = type(kind.__name__, (kind,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server


def _url(server: ThreadingHTTPServer) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}"


def _stored(path: Path) -> Stored:
    size, large = path.stat().st_size, path.name.endswith(_LARGE)
    if not large:
        data = path.read_bytes()
        return Stored(path, size, hashlib.sha1(b"blob %d\0" % size + data).hexdigest(), large)
    if size > _HASHED_UP_TO:  # of gigabytes of zeros; nobody fetches them whole to check
        return Stored(path, size, hashlib.sha256(f"{path} {size}".encode()).hexdigest(), large)
    return Stored(path, size, hashlib.sha256(path.read_bytes()).hexdigest(), large)


class _Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: HubServer
    server_name = ""

    def log_message(self, *_: Any) -> None:
        pass

    def handle(self) -> None:
        with suppress(ConnectionResetError):  # the other side may hang up between two requests
            super().handle()

    def do_HEAD(self) -> None:
        self._handle(body=False)

    def do_GET(self) -> None:
        self._handle(body=True)

    def _handle(self, body: bool) -> None:
        self.sent, self.status, self.body = 0, 0, body
        self.number = self.hub.begin()
        try:
            self.answer(unquote(urlsplit(self.path).path))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            headers = {key.lower(): value for key, value in self.headers.items()}
            self.hub.end(
                Request(self.server_name, self.command, self.path, headers, self.status, self.sent)
            )

    def answer(self, path: str) -> None:
        raise NotImplementedError

    def head(self, status: int, **headers: Any) -> None:
        self.status = status
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), str(value))
        self.end_headers()

    def told(self, value: Any) -> None:
        data = json.dumps(value).encode()
        self.head(200, Content_Type="application/json", Content_Length=len(data))
        self.put(data)

    def refused(self, status: int, code: str) -> None:
        self.head(status, X_Error_Code=code, X_Error_Message=f"told {TOKEN}", Content_Length=0)

    def give(self, file: Stored, **more: Any) -> None:
        """The file, or the part of it that is asked for, with the faults of the store."""
        faults = self.hub.faults
        if faults.store_status:
            return self.refused(faults.store_status.pop(0), "")
        etag = f'"{self.number}"' if faults.changing else f'"store-{file.etag[:16]}"'
        start, end = self._range(file.size)
        if start >= file.size and file.size:
            return self.head(416, Content_Range=f"bytes */{file.size}", Content_Length=0)
        more = {"ETag": etag} | more
        if (faults.length and not faults.endless) or not self.body:
            more["Content_Length"] = end - start
        else:
            more["Connection"] = "close"
            self.close_connection = True
        if faults.ranges and self.headers.get("Range"):
            more["Content_Range"] = f"bytes {start}-{end - 1}/{file.size}"
            self.head(206, **more)
        else:
            self.head(200, **more)
        if self.body:
            self._send(file.path, start, end)
            self._go_on()
        return None

    def _range(self, size: int) -> tuple[int, int]:
        asked = self.headers.get("Range")
        if not asked or not self.hub.faults.ranges:
            return 0, size
        first, _, last = asked.removeprefix("bytes=").partition("-")
        return int(first), min(int(last) + 1 if last else size, size)

    def _send(self, path: Path, start: int, end: int) -> None:
        faults = self.hub.faults
        limit = faults.breaks_after.pop(0) if faults.breaks_after else faults.dead_after
        with path.open("rb") as file:
            file.seek(start)
            while self.sent < end - start:
                want = min(_CHUNK, end - start - self.sent)
                if limit is not None:
                    want = min(want, limit - self.sent)
                if want <= 0:
                    self.close_connection = True
                    return
                data = file.read(want)
                self.put(bytes(b ^ 1 for b in data) if faults.garbled else data)
                if faults.pause:
                    time.sleep(faults.pause)

    def _go_on(self) -> None:
        """Send zeros for as long as anybody takes them."""
        while self.hub.faults.endless and self.body:
            self.close_connection = True
            self.put(bytes(_CHUNK))

    def put(self, data: bytes) -> None:
        if self.body:
            self.wfile.write(data)
            self.sent += len(data)


class _Hub(_Answers):
    server_name = "hub"

    def answer(self, path: str) -> None:
        if path.startswith("/api/models/"):
            return self._api(path.removeprefix("/api/models/"))
        ref, found, rest = path.lstrip("/").partition("/resolve/")
        if not found:
            return self.refused(404, "NotFound")
        return self._file(ref, rest)

    def _api(self, path: str) -> None:
        if self.hub.faults.api:
            return self.refused(*self.hub.faults.api)
        is_tree = "/tree/" in path
        ref, _, rest = path.partition("/tree/" if is_tree else "/revision/")
        ref, is_refs = ref.removesuffix("/refs"), ref.endswith("/refs")
        names = self.hub.repositories.get(ref)
        if names is None:
            return self.refused(404, "RepoNotFound")
        if is_refs:
            refs = [{"name": n, "ref": f"refs/heads/{n}", "targetCommit": names[n]} for n in names]
            return self.told({"branches": refs, "converts": [], "tags": []})
        files = self._commit(ref, rest.strip("/") or "main")
        if files is None:
            return self.refused(404, "RevisionNotFound")
        if is_tree:
            return self.told([_leaf(name, file) for name, file in files[1].items()])
        blobs = "blobs" in parse_qs(urlsplit(self.path).query)
        siblings = [_sibling(name, file, blobs) for name, file in files[1].items()]
        return self.told({"id": ref, "sha": files[0], "siblings": siblings, "tags": []})

    def _commit(self, ref: str, revision: str) -> tuple[str, dict[str, Stored]] | None:
        commit = self.hub.repositories.get(ref, {}).get(revision, revision)
        files = self.hub.commits.get((ref, commit))
        return None if files is None else (commit, files)

    def _file(self, ref: str, rest: str) -> None:
        if self.hub.faults.files:
            return self.refused(*self.hub.faults.files)
        revision, _, name = rest.partition("/")
        if ref not in self.hub.repositories:
            return self.refused(404, "RepoNotFound")
        found = self._commit(ref, revision)
        if found is None:
            return self.refused(404, "RevisionNotFound")
        commit, files = found
        if name not in files:
            return self.refused(404, "EntryNotFound")
        file = files[name]
        if not file.large:
            known = {"X_Repo_Commit": commit, "ETag": f'"{file.etag}"'}
            if not (self.hub.faults.endless and self.body):
                known["Content_Length"] = str(file.size)
            self.head(200, **known)
            self.put(file.path.read_bytes())
            return self._go_on()
        if not self.hub.faults.redirects:
            return self.give(file, X_Repo_Commit=commit, ETag=f'"{file.etag}"')
        place = f"{self.hub.store}/{ref}/{commit}/{name}?signature={TOKEN[::-1]}"
        return self.head(
            302,
            Location=place,
            X_Repo_Commit=commit,
            X_Linked_Etag=f'"{file.etag}"',
            X_Linked_Size=file.size,
            Content_Length=0,
        )


def _sibling(name: str, file: Stored, blobs: bool) -> dict[str, Any]:
    if not blobs:
        return {"rfilename": name}
    sized = {"rfilename": name, "size": file.size, "blobId": file.etag[:40]}
    large = {"sha256": file.etag, "size": file.size, "pointerSize": 134}
    return sized | ({"lfs": large} if file.large else {})


def _leaf(name: str, file: Stored) -> dict[str, Any]:
    leaf = {"type": "file", "path": name, "size": file.size, "oid": file.etag[:40]}
    large = {"oid": file.etag, "size": file.size, "pointerSize": 134}
    return leaf | ({"lfs": large} if file.large else {})


class _Store(_Answers):
    server_name = "store"

    def answer(self, path: str) -> None:
        ref, commit, name = path.lstrip("/").rsplit("/", 2)
        self.give(self.hub.commits[ref, commit][name])


@contextmanager
def hub_of(patch: pytest.MonkeyPatch, home: Path) -> Iterator[HubServer]:
    """A running hub that this process's hub library speaks to."""
    with HubServer() as hub:
        use(patch, hub, home)
        yield hub
    huggingface_hub.close_session()
