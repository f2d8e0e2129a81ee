"""Visitors in real Chromiums, who do what `Visitor` does, with the mouse."""

import shutil
import time
from types import TracebackType
from typing import Any

from playwright.async_api import Browser, Page, async_playwright

from tests.load.visitor import PATIENCE

_SETTLED = """(words) => {
  const caption = document.querySelector('.ep-caption')?.innerText ?? '';
  const status = document.querySelector('.ep-status')?.innerText ?? '';
  const run = [...document.querySelectorAll('.ep-primary')].some((button) => !button.disabled);
  return caption.includes(words) && run && /Computed/.test(status);
}"""
_CHOSEN = (
    "() => /[1-9][0-9,]* selected/.test(document.querySelector('.ep-chosen')?.innerText ?? '')"
)


class Browsers:
    """So many Chromiums, each a process of its own; `opened(place, address)` is one's visitor."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._opened: list[Browser] = []

    async def __aenter__(self) -> "Browsers":
        self._play = await async_playwright().start()
        found = shutil.which("chromium") or self._play.chromium.executable_path
        for _ in range(self._count):
            launch = self._play.chromium.launch(executable_path=found, args=["--no-sandbox"])
            self._opened.append(await launch)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for one in self._opened:
            await one.close()
        await self._play.stop()

    def __call__(self, place: int, address: str) -> "BrowserVisitor":
        return BrowserVisitor(self._opened[place], address)


class BrowserVisitor:
    """One visit of a real browser."""

    page: Page

    def __init__(self, browser: Browser, address: str) -> None:
        self._browser, self._address = browser, address

    async def open(self) -> float:
        """Open the page, and wait until its figures are drawn; seconds."""
        start = time.monotonic()
        size: Any = {"width": 1400, "height": 1000}
        self._context = await self._browser.new_context(viewport=size)
        self.page = await self._context.new_page()
        self.page.set_default_timeout(PATIENCE * 1000)
        await self.page.goto(self._address, wait_until="commit")
        await self.page.wait_for_selector(".embtie-scatter[data-drawn]")
        return time.monotonic() - start

    async def switch_map(self, label: str) -> None:
        """Choose another map, and wait until its numbers are in the page."""
        await self.page.get_by_role("button", name=label, exact=True).click()
        await self.page.wait_for_function(_SETTLED, arg=f"{label.lower()} map")

    async def lasso(self, _bits: bytes) -> None:
        """Draw round some tokens, and wait until they are said to be selected."""
        plot = self.page.locator(".embtie-scatter .et-plot")
        await plot.scroll_into_view_if_needed()
        box = await plot.bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        right, down = 0.2 * box["width"], 0.2 * box["height"]
        await self.page.mouse.move(x - right, y - down)
        await self.page.mouse.down()
        for across, along in ((1, -1), (1, 1), (-1, 1), (-1, -1)):
            await self.page.mouse.move(x + across * right, y + along * down, steps=4)
        await self.page.mouse.up()
        await self.page.wait_for_function(_CHOSEN)

    async def open_tab(self, name: str) -> None:
        """Turn to a panel, and wait until it stands in the page."""
        await self.page.locator(".ep-tabs").get_by_text(name, exact=True).click()
        await self.page.wait_for_function(
            "name => document.querySelector('.ep-place h2')?.innerText === name", arg=name
        )

    async def leave(self) -> None:
        """Close the page."""
        await self.page.close(run_before_unload=False)
        await self._context.close()
