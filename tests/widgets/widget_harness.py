"""Python widgets drawn in a real browser without a notebook: the host is a page with mock models.

The messages are the real ones (ipywidgets' own state, buffers and handlers); only their transport
is ours.  `pump` carries them both ways.
"""

import base64
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ipywidgets import Widget
from playwright.sync_api import Browser, Page, Route

MOCK = (Path(__file__).parent / "mock_model.js").read_text(encoding="utf-8")
BLANK = "<!doctype html><html lang='en'><meta charset='utf-8'><title>t</title><body></body></html>"
BUILT_IN = {"_esm", "_css", "layout", "style"}


class HarnessPage:
    """A page in which widgets are mounted; it records what goes wrong and what goes out."""

    def __init__(
        self,
        browser: Browser,
        *,
        theme: str = "light",
        width: int = 1000,
        height: int = 760,
        address: str = "http://localhost/lab/page?x=1",
        **context: Any,
    ) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, reduced_motion="reduce", **context
        )
        self.page: Page = self.context.new_page()
        self.faults: list[str] = []
        self.outside: list[str] = []
        self.bytes_sent = 0
        self._widgets: dict[str, Widget] = {}
        self._inbox: list[dict[str, Any]] = []
        self._outbox: list[tuple[str, dict[str, Any], list[str]]] = []
        self._address = address
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", self._note_console)
        self.page.route("**/*", self._serve)
        self.page.expose_function("toKernel", lambda text: self._inbox.append(json.loads(text)))
        self.page.goto(address)
        light = "true" if theme == "light" else "false"
        self.page.evaluate(f"document.body.dataset.jpThemeLight = '{light}'")
        background = "#fff" if theme == "light" else "#111"
        self.page.evaluate(f"document.body.style.background = '{background}'")
        self.page.add_script_tag(content=MOCK)

    def _note_console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(message.text)

    def _serve(self, route: Route) -> None:
        if route.request.url.split("?")[0] == self._address.split("?")[0]:
            route.fulfill(status=200, content_type="text/html", body=BLANK)
        else:
            self.outside.append(route.request.url)
            route.abort()

    def mount(self, widget: Widget, name: str = "w") -> None:
        """Draw the widget, and from now on carry its messages."""
        self._widgets[name] = widget

        def send(data: dict[str, Any], metadata: Any = None, buffers: Any = None) -> None:
            raw = [bytes(buffer) for buffer in buffers or []]
            self.bytes_sent += len(json.dumps(data)) + sum(map(len, raw))
            self._outbox.append((name, data, [base64.b64encode(part).decode() for part in raw]))

        widget.comm.send = send
        widget.send_state()
        _, data, buffers = self._outbox.pop()
        data["state"] = {k: v for k, v in data["state"].items() if k not in BUILT_IN}
        self.page.evaluate(
            "([...parts]) => window.mountWidget(...parts)",
            [name, data, buffers, getattr(widget, "_css", ""), widget._esm],
        )
        self.pump()

    def pump(self) -> None:
        """Carry what waits on either side."""
        self.page.evaluate("0")
        while self._inbox or self._outbox:
            while self._inbox:
                self._deliver(self._inbox.pop(0))
            while self._outbox:
                self.page.evaluate(
                    "([name, data, buffers]) => window.models[name].receive(data, buffers)",
                    list(self._outbox.pop(0)),
                )

    def _deliver(self, message: dict[str, Any]) -> None:
        buffers = [memoryview(base64.b64decode(text)) for text in message["buffers"]]
        content = {"content": {"data": message["data"]}, "buffers": buffers}
        self._widgets[message["name"]]._handle_msg(content)

    def until(self, condition: Callable[[], Any], seconds: float = 8) -> None:
        """Pump until the condition holds; an AssertionError when it never does."""
        end = time.monotonic() + seconds
        while True:
            self.pump()
            if condition():
                return
            assert time.monotonic() < end, "it never happened"
            self.page.wait_for_timeout(15)

    def close(self) -> None:
        """Close, and hold the page to its promises: no error, nothing fetched."""
        self.context.close()
        assert self.faults == []
        assert self.outside == []
