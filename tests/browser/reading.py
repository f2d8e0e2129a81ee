"""What a reader needs, asked of the page itself: contrast, room, names, and the Tab key."""

import re
import time
from collections.abc import Callable, Sized
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from tests.browser.visit import Visit

# Every visible text with its contrast (WCAG 2.2) against what really lies behind it; disabled
# controls and pictures are exempt.
_CONTRAST = """() => {
  const app = document.querySelector('.embtie-app') ?? document.body;
  const parts = (color) => {
    const found = color.match(/[\\d.]+/g)?.map(Number) ?? [0, 0, 0, 0];
    return [...found.slice(0, 3), found.length > 3 ? found[3] : color === 'transparent' ? 0 : 1];
  };
  const over = ([r, g, b, a], under) => [r, g, b].map((c, i) => c * a + under[i] * (1 - a));
  const light = (rgb) => rgb.map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => {
    const [bright, dim] = [light(a), light(b)].sort((x, y) => y - x);
    return (bright + 0.05) / (dim + 0.05);
  };
  const behind = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement ?? at.getRootNode().host) {
      const svg = at.closest?.('.js-plotly-plot')?.querySelector('.main-svg');
      const painted = at instanceof SVGElement && svg ? svg : at;
      layers.push(parts(getComputedStyle(painted).backgroundColor));
      if (layers.at(-1)[3] === 1) break;
    }
    return layers.reverse().reduce((under, layer) => over(layer, under), [255, 255, 255]);
  };
  const strength = (element) => {
    let all = 1;
    for (let at = element; at; at = at.parentElement) all *= Number(getComputedStyle(at).opacity);
    return all;
  };
  const found = [];
  const judge = (element, text, color) => {
    const ground = behind(element);
    const [r, g, b, a] = parts(color);
    const seen = over([r, g, b, a * strength(element)], ground);
    found.push([text.trim().slice(0, 40), Math.round(ratio(seen, ground) * 100) / 100]);
  };
  const counts = (element) => element.checkVisibility({ checkVisibilityCSS: true })
    && !element.closest(':disabled, style, script, option, .et-hidden-label')
    && !element.closest('label')?.querySelector(':disabled');
  const walk = document.createTreeWalker(app, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const element = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !counts(element)) continue;
    const style = getComputedStyle(element);
    judge(element, walk.currentNode.data, element instanceof SVGElement ? style.fill : style.color);
  }
  for (const box of app.querySelectorAll('input:not([type=checkbox]), select')) {
    if (!counts(box)) continue;
    if (box.value) judge(box, box.value, getComputedStyle(box).color);
    else if (box.placeholder)
      judge(box, box.placeholder, getComputedStyle(box, '::placeholder').color);
  }
  return found;
}"""
_CUT = """() => [...document.querySelector('.embtie-app')
  .querySelectorAll('button, .widget-label, .ep-heading')]
  .filter((e) => e.checkVisibility() && !e.closest('.et-hidden-label, .et-list'))
  .filter((e) => e.scrollWidth > e.clientWidth + 1 && e.clientWidth)
  .map((e) => e.textContent.trim() || e.title)"""
_STOPS = """() => {
  const kinds = 'button, input, select, textarea, summary, a[href], [tabindex], [contenteditable]';
  const all = [...document.querySelector('.embtie-app').querySelectorAll(kinds)];
  window.stops = all.filter((e) => e.tabIndex >= 0 && !e.disabled
    && e.checkVisibility({ checkVisibilityCSS: true }) && !e.closest('.js-plotly-plot'));
  return window.stops.map((e) => e.textContent.trim().slice(0, 30) || e.ariaLabel || e.className);
}"""
_CONTROLS = {"button", "checkbox", "combobox", "slider", "spinbutton", "textbox", "searchbox"}


# Signs that charts set in the colour of a model, as they draw its points.
MARKS = ("●", "■", "◆", "▲", "▼", "★", "✚")
_SETTLE_SECONDS = 5
Faults = TypeVar("Faults", bound=Sized)


def settled(ask: Callable[[Visit], Faults]) -> Callable[[Visit], Faults]:
    """The same, asked again for some seconds while there are faults: what is still on its way to
    its place, such as a figure that follows the width, is none."""

    @wraps(ask)
    def asked(one: Visit) -> Faults:
        end = time.monotonic() + _SETTLE_SECONDS
        while len(found := ask(one)) and time.monotonic() < end:
            one.page.wait_for_timeout(200)
        return found

    return asked


@settled
def faint_texts(one: Visit) -> dict[str, float]:
    """The visible texts whose contrast is below 4.5:1, or 3:1 for one that is a mere mark."""
    found = one.evaluate(_CONTRAST)
    assert len(found) > (40 if one.page.query_selector(".embtie-app") else 4)
    return {text: ratio for text, ratio in found if ratio < (3.0 if text in MARKS else 4.5)}


@settled
def cut_words(one: Visit) -> list[str]:
    """The buttons, labels and headings whose words do not fit."""
    return list(one.evaluate(_CUT))


@settled
def overhang(one: Visit) -> list[str]:
    """The parts of the dashboard that reach beyond its right edge, scrolled boxes apart."""
    return list(
        one.evaluate(
            """() => { const app = document.querySelector('.embtie-app');
            const edge = app.getBoundingClientRect().right + 1;
            return [...app.querySelectorAll('*')].filter((e) => e.checkVisibility()
              && e.getBoundingClientRect().right > edge && e.getBoundingClientRect().width > 1
              && !e.closest('.ep-scroll, .et-scroll, [data-strip]')
              && !e.closest('.et-hidden-label, .js-plotly-plot'))
              .map((e) => `${e.tagName} ${e.className}`.slice(0, 80)); }"""
        )
    )


def assert_readable(one: Visit, picture: Path, also: Callable[[], object] = lambda: None) -> None:
    """Nothing faint, cut, nameless or wider than the page, on a desk and on a phone; `also` is
    asked at both widths.  The pictures have the width in their names."""
    assert faint_texts(one) == {}
    assert nameless(one) == []
    for width in (1400, 390):
        one.resize(width)
        assert one.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
        assert cut_words(one) == []
        assert overhang(one) == []
        also()
        one.page.screenshot(path=f"{picture}-{width}.png", full_page=True)


def stops(one: Visit) -> list[str]:
    """What the Tab key should reach, in the order of the page."""
    return list(one.evaluate(_STOPS))


def tabbed(one: Visit, times: int) -> list[int]:
    """The places in `stops` that Tab goes through from the first one on; -1 outside of them."""
    one.evaluate("window.stops[0].focus()")
    seen = [0]
    for _ in range(times):
        one.page.keyboard.press("Tab")
        seen.append(one.evaluate("window.stops.indexOf(document.activeElement)"))
    return seen


@settled
def nameless(one: Visit) -> list[str]:
    """The controls that a screen reader would announce without a name."""
    session = one.page.context.new_cdp_session(one.page)
    root = session.send("Runtime.evaluate", {"expression": "document.querySelector('.embtie-app')"})
    session.send("Accessibility.enable")
    asked = {"objectId": root["result"]["objectId"]}
    nodes: list[dict[str, Any]] = session.send("Accessibility.queryAXTree", asked)["nodes"]
    seen = [node for node in nodes if not node.get("ignored")]
    controls = [node for node in seen if _value(node, "role") in _CONTROLS]
    session.detach()
    assert len(controls) > 20
    return [str(_value(node, "role")) for node in controls if not _value(node, "name")]


def _value(node: dict[str, Any], name: str) -> str:
    return re.sub(r"\s+", " ", str(node.get(name, {}).get("value", ""))).strip()
