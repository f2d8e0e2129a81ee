"""One visitor in a real browser, cut off from every other host."""

from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, Route

PATIENCE = 90_000
MARKS = ".embtie-app .scatterlayer .trace path.js-line"


class Visit:
    """The dashboard in a page; `asked_outside` and `errors` must stay empty."""

    def __init__(
        self, browser: Browser, address: str, scheme: str, width: int, scale: float
    ) -> None:
        self.asked_outside: list[str] = []
        self.errors: list[str] = []
        self._context = browser.new_context(
            viewport={"width": width, "height": 1000},
            color_scheme=scheme,  # type: ignore[arg-type]
            device_scale_factor=scale,
        )
        self.page: Page = self._context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.route(_is_outside, self._refuse)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on(
            "console",
            lambda said: self.errors.append(said.text) if said.type == "error" else None,
        )
        self.page.goto(address, wait_until="commit")

    def wait_for_figure(self) -> None:
        """Until the histogram's outlines are in the page and in their place."""
        self.page.wait_for_selector(MARKS, state="attached")
        self.page.wait_for_function(
            "() => { const plot = document.querySelector('.js-plotly-plot');"
            " return Math.abs(plot._fullLayout.width - plot.clientWidth) <= 1; }"
        )

    def wait_for_scatter(self) -> None:
        """Until the scatter has drawn its points."""
        self.page.wait_for_selector(".embtie-scatter[data-drawn]")

    def lasso(self) -> None:
        """Draw a square round the middle of the scatter."""
        plot = self.page.locator(".embtie-scatter .et-plot")
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        assert box is not None
        x, y, mouse = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, self.page.mouse
        mouse.move(x - 70, y - 70)
        mouse.down()
        for right, down in ((70, -70), (70, 70), (-70, 70), (-70, -70)):
            mouse.move(x + right, y + down, steps=3)
        mouse.up()

    def selected(self) -> int:
        """How many tokens the panel says are selected, once it says so."""
        self.page.wait_for_function(
            "/\\d selected/.test(document.querySelector('.ep-chosen').textContent)"
        )
        words = self.page.locator(".ep-chosen").inner_text()
        return int(words.split(" selected")[0].replace(",", ""))

    def outlines(self) -> list[str]:
        """The drawn path of each outline."""
        return [path.get_attribute("d") or "" for path in self.page.query_selector_all(MARKS)]

    def style(self, selector: str, name: str) -> str:
        """A computed style of the first such element."""
        script = "([s, n]) => getComputedStyle(document.querySelector(s)).getPropertyValue(n)"
        return str(self.page.evaluate(script, [selector, name]))

    def evaluate(self, script: str) -> Any:
        """What a script gives in the page."""
        return self.page.evaluate(script)

    def close(self) -> None:
        """Leave."""
        self._context.close()

    def _refuse(self, route: Route) -> None:
        self.asked_outside.append(route.request.url)
        route.abort()


def _is_outside(url: str) -> bool:
    return urlsplit(url).hostname not in {None, "localhost", "127.0.0.1"}
