"""Big scatter and token table in a real browser: data change to redraw, lasso to filtered table.

    python tests/bench/bench_widgets.py [repeats]

Kernel and page share this process and a local browser; messages are the real ones, their transport
is the test harness's (a little slower than a local websocket).  Times are medians in milliseconds:
`encode` is the kernel's part of a change, `page` runs from the message's arrival until the frame is
painted, `lasso` from the release of the pointer until the filtered table stands in the page.
"""

import shutil
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from embtie_widgets.widgets import TokenScatter, TokenTable
from tests.widgets.widget_harness import HarnessPage

SIZES = {50_304: (150, 250), 151_936: (300, 250)}
COLUMNS = [
    {"name": "token", "label": "Token", "kind": "text"},
    {"name": "x", "label": "Cosine In->Tied", "kind": "number"},
    {"name": "y", "label": "Cosine Out->Tied", "kind": "number"},
]
# From the arrival of the message to the frame after the one in which it was painted.
TIME_CHANGE = """([data, buffers]) => new Promise((done) => {
  const start = performance.now();
  document.addEventListener('et-drawn', () => requestAnimationFrame(() => {
    done(performance.now() - start);
  }), { once: true });
  window.models.scatter.receive(data, buffers);
})"""
WATCH_LASSO = """() => {
  const body = document.querySelector('tbody');
  window.addEventListener('pointerup', () => { window.released = performance.now(); }, true);
  new MutationObserver(() => requestAnimationFrame(() => {
    window.lasso = performance.now() - window.released;
  })).observe(body, { childList: true });
}"""


def values(n: int, seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    random = np.random.default_rng(seed)
    return np.tanh(0.6 + 0.2 * random.standard_normal((2, n)))


def change(browser: HarnessPage, scatter: TokenScatter, n: int, seed: int) -> tuple[float, ...]:
    x, y = values(n, seed)
    browser.bytes_sent = 0
    start = time.perf_counter()
    scatter.show(x, y)
    encode = (time.perf_counter() - start) * 1000
    _, data, buffers = browser._outbox.pop()
    page = browser.page.evaluate(TIME_CHANGE, [data, buffers])
    return encode, page, encode + page, browser.bytes_sent / 1e6


def lasso(browser: HarnessPage, scatter: TokenScatter) -> float:
    box = browser.page.locator(".et-pixels").bounding_box()
    assert box is not None
    corners = [(0.3, 0.2), (0.9, 0.2), (0.8, 0.9), (0.4, 0.8)]
    spots = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in corners]
    browser.page.evaluate("window.lasso = null")
    browser.page.mouse.move(*spots[0])
    browser.page.mouse.down()
    for spot in spots[1:]:
        browser.page.mouse.move(*spot, steps=8)
    browser.page.mouse.up()
    while browser.page.evaluate("window.lasso") is None:
        browser.pump()
    return float(browser.page.evaluate("window.lasso"))


def linked(n: int) -> tuple[TokenScatter, TokenTable]:
    """A scatter whose selection filters a table, as a panel does it."""
    scatter = TokenScatter(title="bench", mode="lasso", role="output", x_label="x", y_label="y")
    table = TokenTable(columns=COLUMNS, sort="y")
    x, y = values(n, 0)
    scatter.show(x, y)

    def refill(_change: Any) -> None:
        ids = scatter.selected_ids
        first = ids[np.argsort(-y[ids], kind="stable")][:200]
        rows = [[int(i), f"token {i}", f"{x[i]:.4f}", f"{y[i]:.4f}"] for i in first]
        status = f"{len(ids):,} of {n:,} tokens"
        table.show(rows, shown=len(ids), total=n, status=status, selected=ids)

    scatter.observe(refill, "selection")
    return scatter, table


def measure(browser: HarnessPage, n: int, repeats: int) -> list[str]:
    scatter, table = linked(n)
    browser.mount(scatter, "scatter")
    browser.mount(table, "table")
    browser.page.wait_for_selector("[data-drawn]")
    browser.page.evaluate(WATCH_LASSO)
    lassos = []
    for _ in range(repeats):
        lassos.append(lasso(browser, scatter))
        scatter.select([])
        browser.pump()
    chosen = lasso(browser, scatter) and len(scatter.selected_ids)
    scatter.select([])
    browser.pump()
    changes = [change(browser, scatter, n, seed) for seed in range(1, repeats + 1)]
    encode, page, both, sent = (statistics.median(column) for column in zip(*changes, strict=True))
    reach = SIZES[n]
    return [
        f"{n:,}",
        f"{encode:.1f}",
        f"{page:.1f}",
        f"{both:.1f} (<= {reach[0]})",
        f"{sent:.2f} MB",
        f"{chosen:,}",
        f"{statistics.median(lassos):.1f} (<= {reach[1]})",
    ]


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    head = ["points", "encode", "page", "change in all", "sent", "in lasso", "lasso to table"]
    print("  ".join(f"{word:>18}" for word in head))
    with sync_playwright() as play:
        found = shutil.which("chromium") or play.chromium.executable_path
        browser = play.chromium.launch(executable_path=found, args=["--no-sandbox"])
        for n in SIZES:
            page = HarnessPage(browser, width=1200, height=1100)
            print("  ".join(f"{word:>18}" for word in measure(page, n, repeats)))
            page.close()
        browser.close()


if __name__ == "__main__":
    main()
