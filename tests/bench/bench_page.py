"""The served page in a real browser, beside a page of a plain plotly FigureWidget.

    python tests/bench/bench_page.py [repeats]

Rows and what is to be reached are those of PRODUCT.md.  Both pages are served by the same Voila
and template and driven by the same browser, in one run.  "first paint" is the browser's own time
of the first text or picture that it painted, of the page and of the landing page that stands there
while no place is free; "first figure" runs from the start of the navigation until a figure of real
data is drawn; "control" from the click on another map, whose result is in the cache, until caption,
scatter and histogram of it are painted; "lasso" from the release of the pointer until the filtered
table is; medians.  A number beside the load of the machine says how much it shares its processors.

Two ways were measured for the scatter of every token: plotly's Scattergl (the other page here) and
typed arrays on a plain 2D canvas (`TokenScatter`).  Scattergl repaints through WebGL, in software
where there is no graphics card, and a selection travels back as a list of points; the canvas
paints 16-bit codes and sends one bit a point, so it was chosen.  jupyter-scatter was a third:
89 ms and 0.8 MB for a change, 84 to 204 ms for a lasso, but 100 to 200 MB more in each kernel.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import psutil
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import embtie_widgets as ew
from embtie_widgets.app.serve import check_port, notebook

SIZES = {50_304: 150, 151_936: 300}
MAPS = ("identity", "orthogonal")
WIDTH = 16
MIB = 2**20
SETTLE = 8  # seconds in which the next kernel gets ready and the machine calms down
_SERVE = """
from pathlib import Path
from embtie_widgets.app import serve
from embtie_widgets.app.settings import ServeSettings
serve.notebook = lambda name="": Path({notebook!r})
serve.serve(ServeSettings(port={port}, open_browser=False, **{settings!r}))
"""
_PANEL = """
import os
os.environ["EMBTIE_CACHE"] = {cache!r}
import embtie_widgets as ew
app = ew.dashboard()
app.panel.request = ew.AlignRequest(**{request!r})
app
"""
_PEER = """
import time, ipywidgets as w, numpy as np, plotly.graph_objects as go
n = {n}
random = np.random.default_rng(0)
x, *ys = np.tanh(0.6 + 0.2 * random.standard_normal((3, n))).astype("float32")
maps = dict(zip(("Identity", "Orthogonal"), ys))
points = go.Scattergl(x=x, y=ys[0], mode="markers", marker=dict(size=3))
figure = go.FigureWidget(points, layout=dict(height=440, width=900, dragmode="lasso"))
pick, table = w.ToggleButtons(options=list(maps)), w.HTML("<table></table>").add_class("peer-table")

def change(change):
    figure.data[0].y = maps[change["new"]]

def chosen(trace, points, selector):
    rows = "".join(f"<tr><td>token {{i}}</td></tr>" for i in points.point_inds[:200])
    table.value = f"<table>{{rows}}</table><p>{{time.time()}}</p>"  # never the same as before

pick.observe(change, "value")
figure.data[0].on_selection(chosen)
app = w.VBox([pick, figure, table]).add_class("embtie-app")
app
"""
# When things first stood in the page, in milliseconds since the navigation began.
_WATCH = """window.first = {};
new MutationObserver(() => {
  const note = (name, selector) => {
    if (!(name in window.first) && document.querySelector(selector)) {
      window.first[name] = performance.now();
    }
  };
  note("text", "h1");
  note("scatter", ".embtie-scatter[data-drawn]");
  note("histogram", ".ep-histogram .scatterlayer path.js-line");
  note("peer", ".js-plotly-plot .xtick text");
}).observe(document, {
  childList: true, subtree: true, attributes: true, attributeFilter: ["data-drawn"],
});"""
# Functions, since the page's policy lets nobody evaluate a string.
_ALL_STAND = "(names) => names.every((name) => name in window.first)"
_PAINTED = '() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime'
# From the click until everything that is named has happened, in order, and has been painted.
_TIME_CONTROL = """([name, words]) => new Promise((done) => {
  const button = [...document.querySelectorAll("button")].find((one) => one.innerText === name);
  const plot = document.querySelector(".js-plotly-plot");
  const caption = document.querySelector(".ep-caption");
  const wanted = new Set(caption ? ["scatter", "figure"] : ["figure"]);
  let start = 0;
  const came = (part) => {
    if (!start || (caption && !caption.innerText.includes(words))) return;
    wanted.delete(part);
    if (wanted.size) return;
    plot.removeListener("plotly_afterplot", figure);
    document.removeEventListener("et-drawn", scatter);
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
  };
  const scatter = () => came("scatter");
  const figure = () => came("figure");
  document.addEventListener("et-drawn", scatter);
  plot.on("plotly_afterplot", figure);
  setTimeout(() => { start = performance.now(); button.click(); });
})"""
_WATCH_LASSO = """(selector) => {
  window.addEventListener("pointerup", () => { window.released = performance.now(); }, true);
  window.addEventListener("mouseup", () => { window.released = performance.now(); }, true);
  new MutationObserver(() => requestAnimationFrame(() => {
    window.lasso ??= performance.now() - window.released;
  })).observe(document.querySelector(selector), {
    childList: true, subtree: true, attributes: true,
  });
}"""


@dataclass
class Server:
    """A Voila of its own with one notebook."""

    address: str
    process: psutil.Process

    def kernels(self) -> list[psutil.Process]:
        """Its kernels, the eldest first."""
        found = [one for one in self.process.children(True) if "ipykernel" in str(one.cmdline())]
        return sorted(found, key=lambda one: one.create_time())

    def settle(self) -> None:
        """Wait until the next kernel is ready and nothing of ours computes."""
        time.sleep(SETTLE)


@contextmanager
def served(book: Path, preheat: bool = True, **settings: Any) -> Iterator[Server]:
    port = check_port(0, "127.0.0.1")
    known = {"ready": int(preheat), **settings}
    code = _SERVE.format(notebook=str(book), port=port, settings=known)
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert "embtie is at" in process.stdout.readline()
        server = Server(f"http://127.0.0.1:{port}/", psutil.Process(process.pid))
        server.settle()
        yield server
    finally:
        process.terminate()
        process.wait(30)


@dataclass
class Visitor:
    """A fresh browser context on the page; `received` counts the websocket's bytes."""

    page: Page
    received: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(120_000)
        self.page.add_init_script(_WATCH)
        self.page.on("websocket", lambda line: line.on("framereceived", self._count))

    def _count(self, frame: str | bytes) -> None:
        self.received.append(len(frame))


@contextmanager
def visitor(browser: Browser, address: str, bypass: bool = False) -> Iterator[Visitor]:
    """A visitor; with `bypass` one whose browser leaves our content policy aside, under which
    plotly's WebGL draws nothing."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, bypass_csp=bypass)
    one = Visitor(context.new_page())
    one.page.goto(address, wait_until="commit")
    yield one
    context.close()


def book(folder: Path, name: str, code: str) -> Path:
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbformat.write(made, folder / name)
    return folder / name


def model_pair(folder: Path, n: int) -> dict[str, Any]:
    """A request for matrices of n rows, with the results of both maps in the cache."""
    random = np.random.default_rng(0)
    tied = random.standard_normal((n, WIDTH))
    names = {"in": 0.8, "out": 1.5, "tied": 0.0}
    for name, share in names.items():
        made = tied * share + random.standard_normal((n, WIDTH)) if share else tied
        np.save(folder / f"{name}-{n}.npy", made.astype("float32"))
    tokens = folder / f"tokens-{n}.json"
    tokens.write_text(json.dumps([f"word{i}" for i in range(n)]))
    files = {name: str(folder / f"{name}-{n}.npy") for name in names}
    a = {"ref": files["in"], "output_file": files["out"], "tokens_file": str(tokens)}
    b = {"ref": files["tied"], "output_file": files["tied"], "tokens_file": str(tokens)}
    request = {"a": a, "b": b, "map": MAPS[0]}
    for name in MAPS:
        ew.run(ew.AlignRequest(**{**request, "map": name}))
    return request


def first_figures(browser: Browser, server: Server, names: list[str], repeats: int) -> list[float]:
    """Medians in milliseconds from the navigation until each of the names stood in the page, and
    until the browser had painted anything."""
    seen: list[dict[str, float]] = []
    for _ in range(repeats):
        with visitor(browser, server.address, names == ["peer"]) as one:
            one.page.wait_for_function(_ALL_STAND, arg=names)
            seen.append({**one.page.evaluate("window.first"), "paint": first_paint(one)})
        server.settle()
    return [statistics.median(one[name] for one in seen) for name in [*names, "paint"]]


def first_paint(one: Visitor) -> float:
    """Milliseconds from the navigation until the browser had painted a text or a picture."""
    one.page.wait_for_function(_PAINTED)
    return float(one.page.evaluate(_PAINTED))


def landing_paint(browser: Browser, repeats: int) -> float:
    """The same in milliseconds, the median, for the page of who finds no place."""
    with served(notebook(), visitors=1) as server, visitor(browser, server.address) as inside:
        inside.page.wait_for_selector(".embtie-scatter[data-drawn]")
        found = []
        for _ in range(repeats):
            with visitor(browser, server.address) as one:
                one.page.wait_for_selector("[data-door]")
                found.append(first_paint(one))
    return statistics.median(found)


def controls(one: Visitor, repeats: int) -> tuple[float, float]:
    """Median milliseconds and megabytes of a change between two maps."""
    times, sizes = [], []
    for i in range(repeats + 2):
        name = MAPS[(i + 1) % 2]
        one.received.clear()
        took = one.page.evaluate(_TIME_CONTROL, [name.capitalize(), f"{name} map"])
        one.page.wait_for_timeout(1500)
        times.append(took)
        sizes.append(sum(one.received) / 1e6)
    return statistics.median(times[2:]), statistics.median(sizes[2:])


def lasso(one: Visitor, plot: str, half: float) -> float:
    """Milliseconds from the release of a lasso round the middle to the filtered table."""
    box = one.page.locator(plot).first.bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    right, down = half * box["width"], half * box["height"]
    mouse = one.page.mouse
    mouse.move(x - right, y - down)
    mouse.down()
    for across, along in ((1, -1), (1, 1), (-1, 1), (-1, -1)):
        mouse.move(x + across * right, y + along * down, steps=4)
    one.page.evaluate("window.lasso = null")
    mouse.up()
    one.page.wait_for_function("() => window.lasso !== null")
    return float(one.page.evaluate("window.lasso"))


def lassos(
    one: Visitor, plot: str, table: str, clear: Callable[[], Any], count: Callable[[], str]
) -> list[tuple[str, float]]:
    """For three sizes: how many were selected, and the median milliseconds."""
    one.page.evaluate(_WATCH_LASSO, table)
    found = []
    for half in (0.05, 0.15, 0.36):
        times = []
        for _ in range(3):
            times.append(lasso(one, plot, half))
            one.page.wait_for_timeout(1500)
            chosen = count()
            clear()
            one.page.wait_for_timeout(1000)
        found.append((chosen, statistics.median(times)))
    return found


def row(name: str, ours: str, peer: str, reach: str) -> None:
    print(f"{name:44} {ours:>24} {peer:>22}  {reach}  [load {os.getloadavg()[0]:.1f}]", flush=True)


def ratio(peer: float, ours: float) -> str:
    return f"{peer:,.0f} ms ({peer / ours:.1f}x)"


def memory(server: Server) -> str:
    facts = server.kernels()[0].memory_full_info()
    return " / ".join(f"{size / MIB:.0f}" for size in (facts.rss, facts.pss, facts.uss)) + " MiB"


def measure_start(browser: Browser, peer_book: Path, repeats: int) -> None:
    names = ["text", "scatter", "histogram"]
    for kind, preheat, reach in (
        ("preheated", True, "<= 3,000 ms"),
        ("cold", False, "<= 6,000 ms"),
    ):
        with served(notebook(), preheat) as server:
            if preheat:
                ready = memory(server)
            text, scatter, histogram, paint = first_figures(browser, server, names, repeats)
        with served(peer_book, preheat) as server:
            if preheat:
                peer_ready = memory(server)
            peer, peer_paint = first_figures(browser, server, ["peer"], repeats)
        row(f"first paint, {kind}", f"{paint:,.0f} ms", ratio(peer_paint, paint), "<= 1,000 ms")
        row(f"text, {kind}", f"{text:,.0f} ms", "", "< 1,000 ms")
        row(f"first figure (scatter), {kind}", f"{scatter:,.0f} ms", ratio(peer, scatter), reach)
        row(f"every figure (histogram too), {kind}", f"{histogram:,.0f} ms", "", reach)
    row(
        "first paint, no place free",
        f"{landing_paint(browser, repeats):,.0f} ms",
        "",
        "<= 1,000 ms",
    )
    row("kernel before heavy work, RSS / PSS / USS", ready, peer_ready, "<= 250 MB")


def measure_size(browser: Browser, folder: Path, n: int, repeats: int) -> None:
    code = _PANEL.format(cache=os.environ["EMBTIE_CACHE"], request=model_pair(folder, n))
    ours = book(folder, f"panel-{n}.ipynb", code)
    with served(ours) as server, visitor(browser, server.address) as one:
        one.page.get_by_text(f"n = {n:,} tokens").wait_for()
        one.page.wait_for_selector(".embtie-scatter[data-drawn]")
        one.page.wait_for_timeout(2000)
        change, sent = controls(one, repeats)
        plot = ".embtie-scatter .et-plot"
        one.page.locator(plot).scroll_into_view_if_needed()
        clear = one.page.get_by_role("button", name="Clear selection").click
        chosen = one.page.locator(".ep-chosen").inner_text
        hands = lassos(one, plot, ".embtie-table tbody", clear, lambda: chosen().split(" sel")[0])
    theirs = book(folder, f"peer-{n}.ipynb", _PEER.format(n=n))
    with served(theirs) as server, visitor(browser, server.address, True) as one:
        one.page.wait_for_selector(".js-plotly-plot .xtick text")
        one.page.wait_for_timeout(2000)
        peer_change, peer_sent = controls(one, repeats)
        drag = one.page.locator(".nsewdrag").first  # an old outline would be moved, not replaced
        reset = partial(drag.dblclick, position={"x": 4, "y": 4})
        peers = lassos(one, ".nsewdrag", ".peer-table", reset, str)
    row(f"control, {n:,} points", f"{change:.0f} ms", ratio(peer_change, change), f"<= {SIZES[n]}")
    row(f"  received, {n:,} points", f"{sent:.2f} MB", f"{peer_sent:.2f} MB", "<= 0.5 MB at 50,304")
    for (count, took), (_, peer) in zip(hands, peers, strict=True):
        row(f"lasso of {count} of {n:,}", f"{took:.0f} ms", ratio(peer, took), "<= 250")


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with tempfile.TemporaryDirectory() as name, sync_playwright() as play:
        folder = Path(name)
        os.environ["EMBTIE_CACHE"] = str(folder / "cache")
        found = shutil.which("chromium") or play.chromium.executable_path
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox"])
        row("", "embtie", "FigureWidget", "to be reached")
        peer_book = book(folder, "peer.ipynb", _PEER.format(n=4096))
        measure_start(browser, peer_book, repeats)
        for n in SIZES:
            measure_size(browser, folder, n, repeats)
        browser.close()


if __name__ == "__main__":
    main()
