"""A visitor without a browser: opens the page, and drives its widgets by what goes over the wire.

It does what a page does: asks for the page, takes the kernel's name from it, connects, asks for
the state of all widgets, says where it is, and keeps the line open.  Widgets are known by the state
that the kernel has told of them, and are changed by the messages that a page would send.
"""

import asyncio
import json
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

from tornado.httpclient import AsyncHTTPClient, HTTPRequest, HTTPResponse

from tests.load.wire import Message, Wire

PATIENCE = 300
_KERNEL = re.compile(r'"kernelId": ?"([0-9a-f-]+)"')
_DOOR = re.compile(r'data-door="([^"]+)" data-path="([^"]+)"')
_ASK_AGAIN_SECONDS = 1.0
State = dict[str, Any]


class Visitor:
    """One visitor of the dashboard at `address`; `states` are its widgets as the kernel tells."""

    def __init__(self, address: str, query: str = "") -> None:
        self.address, self.query = address, query
        self.states: dict[str, State] = {}
        self.kernel = self._page = ""
        self.cookies: SimpleCookie = SimpleCookie()
        self.landings: list[str] = []  # what the visitor was shown before the page
        self._changed = asyncio.Event()
        self.wire = Wire(self._heard, self._changed.set)
        self._control = uuid.uuid4().hex

    # Coming and going.

    async def open(self) -> float:
        """Open the page and wait until it is whole; seconds."""
        start = time.monotonic()
        await self.connect(await self.page())
        await self.until(lambda: "ep-headline" in self._shown_classes())
        return time.monotonic() - start

    async def page(self) -> str:
        """The page's text, waiting at the door as long as it takes."""
        address = f"{self.address}?{self.query}" if self.query else self.address
        async with asyncio.timeout(PATIENCE):
            while not _KERNEL.search(text := (await self.fetch(address)).body.decode()):
                self.landings.append(text)
                await self._wait_at_door(text)
        self._take(text)
        return text

    async def connect(self, page: str) -> None:
        """Do what the scripts of a page do: connect, ask for the widgets, say where it is."""
        self._take(page)
        await self.wire.open(self.channels(), self._headers())
        await self.wire.ask("kernel_info_request", {})
        control = {"comm_id": self._control, "target_name": "jupyter.widget.control", "data": {}}
        await self.wire.ask("comm_open", control, version="1.0.0")
        asked = {"comm_id": self._control, "data": {"method": "request_states"}}
        await self.wire.ask("comm_msg", asked)
        await self.until(lambda: bool(self.states))
        await self.say_where()

    def channels(self) -> str:
        """The address of the line to the kernel."""
        path = urljoin(self.address, f"api/kernels/{self.kernel}/channels")
        return path.replace("http", "ws", 1)

    async def say_where(self) -> None:
        """Tell the panel that is shown the page's address, as it does when it is displayed."""
        parts = urlsplit(self.address)
        origin = f"{parts.scheme}://{parts.netloc}"
        told = {"query": self.query, "origin": origin, "path": parts.path, "host": "voila"}
        [place] = self.find(lambda state: "LinkState" in state.get("_anywidget_id", ""))
        await self.change(place, page=told)

    async def leave(self) -> None:
        """Close the page: it says so, and hangs up."""
        told = urlencode({"query": self.query})
        word = urljoin(self.address, f"api/embtie/leave/{self.kernel}")
        answer = await self.fetch(word, method="POST", body=told)
        assert answer.code == HTTPStatus.NO_CONTENT, answer.code
        self.wire.close()

    async def reload(self) -> None:
        """Leave the page, and open it again."""
        await self.leave()
        await self.connect_again(await self.page())

    async def connect_again(self, page: str) -> None:
        """Start anew on a page, as its scripts do when it is loaded."""
        self.states, self._control = {}, uuid.uuid4().hex
        self.wire = Wire(self._heard, self._changed.set)
        await self.connect(page)

    async def come_back(self) -> bool:
        """After the line was lost: what a page does and offers.  Connect again where the kernel is
        there; else load the page anew, and have another kernel.  Whether it was there."""
        told = await self.why()
        if told["there"]:
            await self.connect_again(self._page)
        else:
            await self.connect_again(await self.page())
            await self.until(lambda: "ep-headline" in self._shown_classes())
        return bool(told["there"])

    async def why(self) -> dict[str, Any]:
        """What the server says of the kernel of this page."""
        told = await self.fetch(urljoin(self.address, f"api/embtie/kernel/{self.kernel}"))
        return dict(json.loads(told.body))

    async def fetch(self, address: str, **how: Any) -> HTTPResponse:
        """Ask the server for something, with the cookies that it has set."""
        client = AsyncHTTPClient(max_clients=100)
        asked = HTTPRequest(address, headers=self._headers(), request_timeout=PATIENCE, **how)
        answer = await client.fetch(asked, raise_error=False)
        for line in answer.headers.get_list("Set-Cookie"):
            self.cookies.load(line)
        return answer

    # What is on the page.

    def find(self, fits: Callable[[State], Any], whole: bool = False) -> list[str]:
        """Widgets of the panel that is shown, or of the `whole` page, by their state."""
        names = list(self.states) if whole else self._within(self._place())
        return [name for name in names if fits(self.states[name])]

    def named(self, **traits: Any) -> str:
        """The one widget of the panel that is shown whose state has these values."""
        [name] = self.find(lambda state: traits.items() <= state.items())
        return name

    def text(self, css_class: str) -> str:
        """What the piece of this class says in the panel that is shown."""
        [name] = self.find(lambda state: css_class in state.get("_dom_classes", ()))
        return str(self.states[name].get("value", ""))

    def status(self) -> str:
        """The sentence beside Run."""
        return self.text("ep-status")

    # What a visitor does.

    async def open_tab(self, name: str) -> None:
        """Turn to a panel, and wait until it is whole."""
        [tabs] = self.find(lambda s: "ep-tabs" in s.get("_dom_classes", ()), whole=True)
        before = self._place()
        await self.change(tabs, index=self.states[tabs]["_options_labels"].index(name))
        await self.until(lambda: self._place() != before)
        await self.say_where()

    async def choose_map(self, label: str) -> None:
        """Choose another map, which begins a run of it."""
        maps = self.named(description="map", _model_name="ToggleButtonsModel")
        labels = self.states[maps]["_options_labels"]
        await self.change(maps, index=labels.index(label))

    async def switch_map(self, label: str) -> None:
        """Choose another map, and wait until its numbers are in the page."""
        await self.choose_map(label)
        await self.answered(f"{label.lower()} map")

    async def answered(self, words: str) -> None:
        """Wait for the result whose caption has these words; where it is costly, press Run."""
        run = self.named(description="Run", _model_name="ButtonModel")

        def rests() -> bool:
            settled = not self.states[run]["disabled"] and words in self.text("ep-caption")
            return settled and "Computed" in self.status()

        await self.until(lambda: rests() or re.search("Expected:|Failed|message", self.status()))
        if "Expected:" in self.status():
            await self.press("Run")
            await self.until(lambda: rests() or re.search("Failed|message", self.status()))
        assert rests(), f"{self.status()}: {self.text('ep-caption')}"

    async def lasso(self, bits: bytes) -> str:
        """Draw round the tokens of these bits; what the page then says is selected."""
        [scatter] = self.find(lambda state: "TokenScatter" in state.get("_anywidget_id", ""))
        await self.change(scatter, selection=bits)
        return self.text("ep-chosen")

    async def press(self, description: str) -> None:
        """Press a button of the panel that is shown."""
        name = self.named(description=description, _model_name="ButtonModel")
        content = {"method": "custom", "content": {"event": "click"}}
        await self.wire.ask("comm_msg", {"comm_id": name, "data": content})

    async def change(self, name: str, **traits: Any) -> None:
        """Change a widget as a page does, and wait until the kernel has dealt with it."""
        self.states[name].update(traits)
        plain = {key: value for key, value in traits.items() if not isinstance(value, bytes)}
        paths = [[key] for key in traits if key not in plain]
        data = {"method": "update", "state": plain, "buffer_paths": paths}
        buffers = [traits[path[0]] for path in paths]
        await self.wire.ask("comm_msg", {"comm_id": name, "data": data}, buffers)

    async def until(self, fits: Callable[[], Any]) -> None:
        """Wait until something is so of what the kernel has told."""
        async with asyncio.timeout(PATIENCE):
            while not fits():
                if self.wire.lost is not None:
                    raise self.wire.lost
                self._changed.clear()
                await self._changed.wait()

    # How it works.

    def _take(self, page: str) -> None:
        named = _KERNEL.search(page)
        assert named, "the page names no kernel"
        self.kernel, self._page = named[1], page

    async def _wait_at_door(self, landing: str) -> None:
        """Ask as the landing page does, until the door is open."""
        door = _DOOR.search(landing)
        assert door, f"neither the page nor a landing page: {landing[:300]}"
        asked = urljoin(self.address, f"{door[1]}?path={quote(door[2])}")
        while not json.loads((await self.fetch(asked)).body)["open"]:
            await asyncio.sleep(_ASK_AGAIN_SECONDS)

    def _headers(self) -> dict[str, str]:
        sent = "; ".join(f"{name}={one.value}" for name, one in self.cookies.items())
        return {"Cookie": sent} if sent else {}

    def _heard(self, message: Message) -> None:
        data, kind = message["content"].get("data"), message["header"]["msg_type"]
        if kind not in ("comm_open", "comm_msg") or not isinstance(data, dict):
            return
        buffers = message.get("buffers", ())
        if data.get("method") == "update_states":
            told = _filled(data["states"], data["buffer_paths"], buffers)
            self.states = {name: one["state"] for name, one in told.items()}
        elif "state" in data:
            state = _filled(data["state"], data.get("buffer_paths", ()), buffers)
            self.states.setdefault(message["content"]["comm_id"], {}).update(state)
        self._changed.set()

    def _place(self) -> str:
        [place] = self.find(lambda s: "ep-place" in s.get("_dom_classes", ()), whole=True)
        children: list[str] = self.states[place]["children"]
        return children[0].removeprefix("IPY_MODEL_")

    def _shown_classes(self) -> set[str]:
        found = (self.states[name].get("_dom_classes", ()) for name in self._within(self._place()))
        return {name for names in found for name in names}

    def _within(self, root: str) -> list[str]:
        seen, waiting = dict.fromkeys([root]), [root]
        while waiting:
            for name in _references(self.states.get(waiting.pop(), {})):
                if name not in seen and name in self.states:
                    seen[name] = None
                    waiting.append(name)
        return list(seen)


def _references(value: Any) -> Iterator[str]:
    """The names of all widgets in a state."""
    if isinstance(value, str) and value.startswith("IPY_MODEL_"):
        yield value.removeprefix("IPY_MODEL_")
    elif isinstance(value, Mapping):
        yield from (name for one in value.values() for name in _references(one))
    elif isinstance(value, list):
        yield from (name for one in value for name in _references(one))


def _filled(state: Any, paths: Iterable[Sequence[Any]], buffers: Iterable[bytes]) -> Any:
    """A state with its binary parts put where they belong."""
    for path, data in zip(paths, buffers, strict=False):
        place = state
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = data
    return state
