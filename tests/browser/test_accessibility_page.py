"""The dashboard for those who use keys, a reader's voice, less motion or the system's own colours:
every panel in one visit, by axe-core and by what axe cannot see."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser import reading
from tests.browser.axe import violations
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
Open = Callable[..., Visit]

# The element that has the focus: its place among the stops, and whether it shows that it has it.
_FOCUSED = """() => {
  const now = document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(now);
  const seen = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
  const said = now.ariaLabel || now.textContent.trim() || now.outerHTML;
  return [window.stops.indexOf(now), seen, said.slice(0, 80), now === document.body];
}"""
# Rows of buttons whose name or state is not told, and figures without words.
_UNSAID = """() => {
  const app = document.querySelector('.embtie-app');
  const seen = (kind) => [...app.querySelectorAll(kind)].filter((one) => one.checkVisibility());
  const rows = seen('.widget-toggle-buttons > div').filter((one) => !one.ariaLabel || !one.role);
  const states = seen('.widget-toggle-button').filter((one) =>
    !(one.ariaPressed || one.ariaSelected || one.ariaExpanded));
  const figures = seen('.js-plotly-plot').filter((one) => {
    const said = one.querySelector('.main-svg[role=img]')?.ariaLabel ?? '';
    return said.length < 20 || said.endsWith(': empty.');
  });
  return [...rows, ...states, ...figures].map((one) => one.outerHTML.slice(0, 160));
}"""
_HEARD = "document.querySelector('.embtie-scatter > [role=status].et-hidden-label').textContent"
# What stands in the way of a control that is off: its description, as the tooltip gives it.
_OFF = """() => [...document.querySelectorAll('.embtie-app :disabled')]
  .filter((one) => one.checkVisibility()).map((one) => one.title || one.outerHTML.slice(0, 160))"""
_STILL = """() => [...document.querySelectorAll('.embtie-app, .embtie-app *')].filter((one) =>
  ['', '::before', '::after'].some((part) => {
    const style = getComputedStyle(one, part);
    return style.animationName !== 'none' || /[1-9]/.test(style.transitionDuration);
  })).map((one) => one.className)"""
_ON_AND_OFF = """() => ['.ep-tabs', '.ep-segments', '.et-tools'].map((kind) => {
  const all = [...document.querySelectorAll(`${kind} button`)];
  const on = all.find((one) => one.matches('.mod-active, [aria-pressed=true]'));
  const off = all.find((one) => !one.matches('.mod-active, [aria-pressed=true]'));
  return getComputedStyle(on).backgroundColor !== getComputedStyle(off).backgroundColor;
})"""


@pytest.fixture(scope="module")
def one(chromium: Browser, address: str) -> Iterator[Visit]:
    """The dashboard, opened once for all that leave it as it was."""
    page = Visit(chromium, address)
    page.wait_for_figure()
    yield page
    page.leave_well()


def opened(one: Visit, tab: str) -> None:
    """Turn to a tab, and wait for its result."""
    one.open_tab(tab)
    one.wait_for_answer()


@reading.settled
def unsaid(one: Visit) -> list[str]:
    """What is seen and not said."""
    return list(one.evaluate(_UNSAID))


def test_no_panel_breaks_a_rule_in_light_or_dark(one: Visit) -> None:
    broken = {}
    one.page.emulate_media(reduced_motion="reduce")  # no colour is on its way to another one
    for tab in one.tabs():
        opened(one, tab)
        found = violations(one.page)
        one.wear("dark")
        found += violations(one.page, only="color-contrast")
        one.wear("light")
        broken |= {tab: found} if found else {}
    one.page.emulate_media(reduced_motion="no-preference")
    assert broken == {}


def test_every_control_is_reached_by_tab_in_order_and_shows_it(one: Visit) -> None:
    for tab in one.tabs():
        opened(one, tab)
        wanted = reading.stops(one)
        one.evaluate("window.stops[0].focus()")
        reached = []
        while len(reached) < len(wanted):
            one.page.keyboard.press("Tab")
            place, ringed, said, left = one.evaluate(_FOCUSED)
            if left:
                break
            assert ringed, (tab, said)
            reached += [place] if place >= 0 else []
        assert reached == list(range(1, len(wanted))), tab


def test_every_row_button_and_chart_says_what_it_is(one: Visit) -> None:
    for tab in one.tabs():
        opened(one, tab)
        assert unsaid(one) == [], tab
        assert reading.nameless(one) == []


def test_arrows_go_through_tabs_and_enter_turns_to_one(one: Visit) -> None:
    opened(one, "Alignment")
    one.page.get_by_role("tab", name="Alignment", selected=True).focus()
    one.page.keyboard.press("ArrowRight")
    one.page.keyboard.press("ArrowRight")
    assert one.page.locator(".embtie-panel h2").inner_text() == "Alignment"
    one.page.keyboard.press("Enter")
    one.page.get_by_role("tabpanel", name="Norm-frequency").wait_for()
    assert one.evaluate("document.activeElement.textContent") == "Norm-frequency"
    one.page.keyboard.press("Home")
    one.page.keyboard.press(" ")
    one.page.get_by_role("tabpanel", name="Alignment").wait_for()
    one.page.get_by_role("button", name="Linear", pressed=True).focus()
    one.page.keyboard.press("ArrowRight")
    assert one.evaluate("document.activeElement.textContent") == "Identity"
    assert one.page.get_by_role("group", name="map").count() == 1


def test_the_first_stop_skips_to_the_results_and_leaves_the_link_as_it_is(one: Visit) -> None:
    before = one.page.url
    one.page.get_by_role("link", name="Skip to the results").focus()
    one.page.keyboard.press("Enter")
    assert one.evaluate("document.activeElement.matches('.ep-main')")
    assert one.page.url == before


def test_a_run_by_keys_keeps_the_focus_and_is_told_without_chatter(visit: Open) -> None:
    own = visit(query="?embtie=1&kind=align&map=orthogonal")
    own.page.get_by_role("button", name="Orthogonal", pressed=True).wait_for()
    own.wait_for_answer()
    own.evaluate(
        """() => { window.said = [];
        const region = document.querySelector('.ep-aloud [role=status]');
        new MutationObserver(() => window.said.push(region.textContent))
          .observe(region, { childList: true }); }"""
    )
    own.page.get_by_role("button", name="Run", exact=True).focus()
    own.page.keyboard.press("Enter")
    own.page.wait_for_function("window.said.some((words) => /^Computed/.test(words))")
    own.page.wait_for_function("document.activeElement?.textContent === 'Run'")
    said = own.evaluate("window.said")
    assert "tied matrix" in said[-1]
    assert not any("gone" in words for words in said)
    assert len(said) <= 4, said  # of a run that passes eight stages in a second or two


def test_tokens_are_gone_to_in_the_scatter_and_chosen_by_keys_alone(one: Visit) -> None:
    opened(one, "Alignment")
    one.wait_for_scatter()
    one.page.locator(".embtie-scatter .et-tools button[tabindex='0']").last.focus()
    one.page.keyboard.press("Tab")
    while not one.evaluate("document.activeElement.matches('.et-plot')"):
        one.page.keyboard.press("Tab")
    one.page.keyboard.press("ArrowRight")
    one.page.keyboard.press("ArrowRight")
    heard = one.page.locator(".embtie-scatter > [role=status].et-hidden-label")
    heard.get_by_text("cosine Out → Tied").wait_for(state="attached")
    one.page.wait_for_function(f"{_HEARD}.includes(', not selected, ')")
    token = heard.inner_text().split(", not selected, ")[0]
    one.page.keyboard.press("Enter")
    one.page.wait_for_function(f"{_HEARD}.includes(', selected, ')")
    assert one.selected() == 1
    one.page.locator(".embtie-card .et-about > .et-token", has_text=token).wait_for()
    one.page.keyboard.press("ArrowUp")
    one.page.keyboard.press(" ")
    one.page.locator(".ep-chosen", has_text="2 selected").wait_for()
    one.page.wait_for_function("document.querySelectorAll('.embtie-table tbody tr').length === 2")
    assert one.evaluate("document.activeElement.matches('.et-plot')")
    one.page.keyboard.press("Escape")
    one.page.keyboard.press("Escape")
    one.page.locator(".ep-chosen", has_text="Draw a lasso").wait_for()


def test_what_is_off_describes_itself_with_the_reason(one: Visit) -> None:
    for tab in one.tabs():
        opened(one, tab)
        described = one.evaluate(_OFF)
        assert described, tab
        assert [said for said in described if "(not in use: " not in said] == [], tab
    opened(one, "Alignment")
    one.press("Identity")
    ridge = one.page.get_by_label("ridge", exact=True)
    reason = "(not in use: only the linear map has one)"
    one.page.wait_for_function(
        "([one, reason]) => one.disabled && one.title.endsWith(reason)",
        arg=[ridge.element_handle(), reason],
    )
    one.press("Linear")
    one.page.wait_for_function(
        "one => !one.disabled && one.title && !one.title.includes('not in use')",
        arg=ridge.element_handle(),
    )
    one.wait_for_answer()


def test_nothing_moves_for_who_wants_less_motion(one: Visit) -> None:
    one.page.emulate_media(reduced_motion="reduce")
    assert one.evaluate(_STILL) == []
    one.page.emulate_media(reduced_motion="no-preference")
    assert one.evaluate(_STILL) != []


def test_what_is_on_is_told_in_the_systems_own_colours(one: Visit) -> None:
    opened(one, "Alignment")
    one.wait_for_scatter()
    one.page.emulate_media(forced_colors="active")
    assert one.evaluate(_ON_AND_OFF) == [True, True, True]
    one.page.emulate_media(forced_colors="none")


@pytest.mark.parametrize("width", [768, 2560])
def test_every_panel_fits_a_tablet_and_a_wall(one: Visit, width: int) -> None:
    for tab in one.tabs():
        opened(one, tab)
        one.resize(width)
        assert one.evaluate("document.documentElement.scrollWidth <= innerWidth + 1"), tab
        assert reading.cut_words(one) == [], tab
        assert reading.overhang(one) == [], tab
    one.resize(1400)


def test_a_guide_breaks_no_rule(one: Visit) -> None:
    opened(one, "Lens")
    one.press("Guide")
    one.page.locator(".ep-guide-text").wait_for()
    assert violations(one.page) == []
    one.press("Close the guide")
