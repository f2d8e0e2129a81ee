"""One visitor in a real browser, cut off from every other host."""

import time
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Error, Page, Route, TimeoutError

PATIENCE = 90_000
MARKS = ".embtie-app .scatterlayer .trace path.js-line"
_DRAWN = ".embtie-app .js-plotly-plot :is(path.js-line, .point path, .points path)"
_READY = """() => {
  const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
  const kernel = context?.session?.kernel;
  return context?.isReady && kernel?.connectionStatus === 'connected' && kernel.status === 'idle';
}"""
_NO_SIDEBAR = (
    "window.jupyterapp.shell.leftCollapsed"
    " || void window.jupyterapp.commands.execute('application:toggle-left-area')"
)
_IN_LAB = "!!window.jupyterapp?.commands.hasCommand('apputils:change-theme')"
_LAB_THEME = (
    "name => void window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})"
)


class Visit:
    """The dashboard in a page; `asked_outside` and `errors` must stay empty."""

    def __init__(
        self,
        browser: Browser,
        address: str,
        scheme: str = "light",
        width: int = 1400,
        scale: float = 1,
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
        self.page.wait_for_function = partial(_wait, self.page)  # type: ignore[method-assign]
        self.page.route(_is_outside, self._refuse)
        self.page.on("pageerror", self._note)
        self.page.on("dialog", self._refuse_dialog)
        self.page.on("console", self._hear)
        self.page.goto(address, wait_until="commit")

    def run_notebook(self) -> None:
        """In JupyterLab: run every cell once the kernel listens; the list of files is put away."""
        self.page.wait_for_function(_READY)
        self.page.evaluate(_NO_SIDEBAR)
        self.page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")

    def wait_for_figure(self) -> None:
        """Until the marks of a figure are in the page and in their place."""
        self.page.wait_for_selector(_DRAWN, state="attached")
        self.page.wait_for_function(
            "() => { const plot = document.querySelector('.js-plotly-plot');"
            " return Math.abs(plot._fullLayout.width - plot.clientWidth) <= 1; }"
        )

    def wait_for_scatter(self) -> None:
        """Until the scatter has drawn its points."""
        self.page.wait_for_selector(".embtie-scatter[data-drawn]")

    def wait_for_answer(self) -> None:
        """Until what is shown is what the controls say; where that is costly, Run is pressed."""
        said = "document.querySelector('.ep-status').textContent.trim()"
        # The dimmed results come back by and by.
        clear = "getComputedStyle(document.querySelector('.ep-results')).opacity === '1'"
        fresh = f"!document.querySelector('.ep-stale') && {clear}"
        done = f"(/^Computed/.test({said}) && {fresh})"
        self.page.wait_for_function(f"{done} || {said}.includes('Expected:')")
        if "Expected:" in self.page.locator(".ep-status").inner_text():
            self.press("Run")
            self.page.wait_for_function(done)

    def press(self, name: str) -> None:
        """Click the button of this name."""
        self.page.locator(".embtie-app").get_by_role("button", name=name, exact=True).click()

    def fill(self, label: str, text: str) -> None:
        """Type into the control of this label, and Enter."""
        box = self.page.locator(".embtie-app").get_by_label(label)
        box.fill(text)
        box.press("Enter")

    def tabs(self) -> list[str]:
        """The names of the tabs."""
        return self.page.locator(".ep-tabs button").all_inner_texts()

    def open_tab(self, name: str) -> None:
        """Turn to a tab and wait until its figure is drawn."""
        button = self.page.locator(".ep-tabs button", has_text=name)
        button.click()
        self.page.wait_for_timeout(200)
        if "mod-active" not in (button.get_attribute("class") or ""):
            button.click()  # the page moved under the pointer, as it may while it gets its width
        self.page.locator(".embtie-panel h2", has_text=name).wait_for()
        self.wait_for_figure()

    def saved(self, label: str, folder: Path) -> Path:
        """The file that an export button gives."""
        bar = self.page.locator(".ep-exports")
        with self.page.expect_download() as found:
            bar.get_by_role("button", name=label, exact=True).click()
        path = folder / found.value.suggested_filename
        found.value.save_as(path)
        return path

    def wear(self, theme: str) -> None:
        """Change the host's theme, "light" or "dark", in the open page, and wait until every figure
        has followed."""
        if self.page.evaluate(_IN_LAB):
            self.page.evaluate(_LAB_THEME, f"JupyterLab {theme.title()}")
        else:
            self.page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        light = str(theme == "light").lower()
        self.page.wait_for_selector(f"body[data-jp-theme-light='{light}']", state="attached")
        self.page.wait_for_function(
            "() => { const ground = (one) => getComputedStyle(one).backgroundColor;"
            " const card = ground(document.querySelector('.ep-card'));"
            " return [...document.querySelectorAll('.js-plotly-plot')]"
            ".filter((one) => one.checkVisibility())"
            ".every((one) => ground(one.querySelector('.main-svg')) === card); }"
        )

    def resize(self, width: int) -> None:
        """Give the page another width, and wait until the figure has followed; settings that are
        folded there are opened."""
        self.page.set_viewport_size({"width": width, "height": 1000})
        self.wait_for_figure()
        self.open_settings()

    def open_settings(self) -> None:
        """On a page with one column: unfold the controls."""
        fold = self.page.locator(".ep-narrow")
        if fold.is_visible() and fold.get_attribute("aria-expanded") == "false":
            fold.click()
            self.page.locator(".ep-asked.ep-open").wait_for()

    def lasso(self, reach: int = 70) -> None:
        """Draw a square round the middle of the scatter, so many pixels to each side."""
        plot = self.page.locator(".embtie-scatter .et-plot")
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        assert box is not None
        x, y, mouse = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, self.page.mouse
        mouse.move(x - reach, y - reach)
        mouse.down()
        for right, down in ((1, -1), (1, 1), (-1, 1), (-1, -1)):
            mouse.move(x + right * reach, y + down * reach, steps=3)
        mouse.up()

    def selected(self) -> int:
        """How many tokens the panel says are selected, once it says so."""
        self.page.wait_for_function(
            "/\\d selected/.test(document.querySelector('.ep-chosen').textContent)"
        )
        words = self.page.locator(".ep-chosen").inner_text()
        return int(words.split(" selected")[0].replace(",", ""))

    def rows(self) -> int:
        """How many rows the token table shows."""
        return self.page.locator(".embtie-table tbody tr").count()

    def outlines(self) -> list[str]:
        """The drawn path of each outline."""
        return [path.get_attribute("d") or "" for path in self.page.query_selector_all(MARKS)]

    def wait_for_other_outlines(self, before: list[str]) -> None:
        """Until the first outline is not that of `before` any more."""
        self.page.wait_for_function(
            "([marks, old]) => document.querySelector(marks).getAttribute('d') !== old",
            arg=[MARKS, before[0]],
        )

    def style(self, selector: str, name: str) -> str:
        """A computed style of the first such element."""
        script = "([s, n]) => getComputedStyle(document.querySelector(s)).getPropertyValue(n)"
        return str(self.page.evaluate(script, [selector, name]))

    def evaluate(self, script: str, argument: Any = None) -> Any:
        """What a script gives in the page."""
        return self.page.evaluate(script, argument)

    def close(self) -> None:
        """Leave as a reader does, so that our server hears of it and has the place again."""
        if not self.page.is_closed() and not self.page.evaluate(_IN_LAB):
            # What it is in the middle of is cut off, and complains.
            self.page.remove_listener("pageerror", self._note)
            self.page.remove_listener("console", self._hear)
            self.page.goto("about:blank")
        self._context.close()

    def leave_well(self) -> None:
        """Leave, and hold the page to its promises: nothing fetched from outside, no error."""
        self.close()
        assert self.asked_outside == []
        assert self.errors == []

    def _note(self, error: Error) -> None:
        self.errors.append(str(error))

    def _hear(self, said: ConsoleMessage) -> None:
        about_contexts = said.type == "warning" and "context" in said.text.lower()
        if said.type == "error" or about_contexts:
            self.errors.append(said.text)

    def _refuse_dialog(self, dialog: Any) -> None:
        self.errors.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def _refuse(self, route: Route) -> None:
        self.asked_outside.append(route.request.url)
        route.abort()


def _wait(page: Page, expression: str, *, arg: Any = None, timeout: float = PATIENCE) -> None:
    """Until an expression holds in the page, asked from outside: a page that runs no text as a
    script, as ours, would not ask itself."""
    end = time.monotonic() + timeout / 1000
    while time.monotonic() < end:
        try:
            if page.evaluate(expression, arg):
                return
        except Error as error:
            if "context was destroyed" not in str(error):  # as by a reload
                raise
        page.wait_for_timeout(40)
    raise TimeoutError(f"It never held in the page: {expression}")


def _is_outside(url: str) -> bool:
    return urlsplit(url).hostname not in {None, "localhost", "127.0.0.1"}
