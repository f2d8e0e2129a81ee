"""The dashboard on a phone: tabs in one row, Run in reach, the figure soon; and papers' tables."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser import reading
from tests.browser.axe import violations
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
# Of an element: where it begins and ends on the screen, and whether its middle is what one touches.
_ON_SCREEN = """(kind) => {
  const one = [...document.querySelectorAll(kind)].find((e) => e.checkVisibility());
  const { top, bottom, left, right } = one.getBoundingClientRect();
  const met = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
  return top >= 0 && bottom <= innerHeight && left >= 0 && right <= innerWidth && one.contains(met);
}"""
RUN = ".ep-primary"


@pytest.fixture(scope="module")
def phone(chromium: Browser, address: str) -> Iterator[Visit]:
    """The dashboard as a phone opens it."""
    page = Visit(chromium, address, width=390)
    page.page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_figure()
    yield page
    page.leave_well()


@pytest.fixture
def one(phone: Visit) -> Visit:
    """The same, at its first tab and its top, settings folded."""
    if phone.page.locator(".embtie-panel h2").inner_text() != "Alignment":
        phone.open_tab("Alignment")
    if phone.page.locator(".ep-asked.ep-open").count():
        phone.page.get_by_role("button", name="Settings", exact=True).click()
        phone.page.locator(".ep-asked").wait_for(state="hidden")
    phone.evaluate("scrollTo(0, 0)")
    return phone


def on_screen(one: Visit, kind: str) -> bool:
    return bool(one.evaluate(_ON_SCREEN, kind))


def strip(one: Visit) -> str:
    """On which sides the tabs say that there is more, once they have said it."""
    one.page.wait_for_timeout(100)
    return str(one.evaluate("document.querySelector('.ep-tabs > div').dataset.strip"))


def test_run_and_the_beginning_of_the_figure_are_on_the_first_screen(one: Visit) -> None:
    assert on_screen(one, RUN)
    assert one.evaluate(
        "document.querySelector('.js-plotly-plot').getBoundingClientRect().top < 800"
    )


def test_run_stays_in_reach_wherever_one_reads(one: Visit) -> None:
    for share in (0.3, 0.6, 0.9):
        one.evaluate("share => scrollTo(0, share * document.body.scrollHeight)", share)
        assert on_screen(one, RUN), share
    one.evaluate("scrollTo(0, 0)")
    one.page.get_by_role("button", name="Settings", exact=True).click()
    one.page.locator(".ep-asked.ep-open").wait_for()
    assert on_screen(one, RUN)
    asked = one.page.locator(".ep-asked").bounding_box()
    assert asked is not None
    assert asked["y"] + asked["height"] > 844


def test_what_the_tab_key_reaches_is_not_under_the_bar(one: Visit) -> None:
    one.open_settings()
    hidden, many = [], len(reading.stops(one))
    one.evaluate("window.stops[0].focus()")
    for _ in range(many):
        one.page.keyboard.press("Tab")
        said = one.evaluate(
            """() => { const now = document.activeElement, bar = document.querySelector('.ep-foot');
            if (bar.contains(now) || now === document.body || !now.closest('.ep-body')) return '';
            const [a, b] = [now, bar].map((e) => e.getBoundingClientRect());
            const over = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
            return over > a.height / 2 ? now.outerHTML.slice(0, 120) : ''; }"""
        )
        hidden += [said] if said else []
    assert hidden == []


def test_tabs_stand_in_one_row_that_says_where_there_is_more(one: Visit) -> None:
    tops = "[...document.querySelectorAll('.ep-tabs button')].map((b) => b.offsetTop)"
    assert len(set(one.evaluate(tops))) == 1
    assert strip(one) == "end"
    one.open_tab("Output centering")
    assert strip(one) == "start end"
    assert on_screen(one, ".ep-tabs .mod-active")
    one.open_tab("Checkpoints")
    assert strip(one) == "start"
    assert on_screen(one, ".ep-tabs .mod-active")


def test_a_link_to_a_late_tab_opens_with_it_in_view(visit: Callable[..., Visit]) -> None:
    other = visit(width=390, query="?embtie=1&kind=evaluate")
    other.page.locator(".embtie-panel h2", has_text="Evaluate").wait_for()
    other.page.wait_for_function(f"({_ON_SCREEN})('.ep-tabs .mod-active')")


def test_arrow_keys_bring_each_tab_into_view(one: Visit) -> None:
    one.page.get_by_role("tab", name="Alignment", selected=True).focus()
    for _ in range(len(one.tabs()) - 1):
        one.page.keyboard.press("ArrowRight")
        inside = one.evaluate(
            """() => { const [a, b] = [document.activeElement, document.activeElement.parentElement]
              .map((e) => e.getBoundingClientRect());
            return a.left >= b.left - 1 && a.right <= b.right + 1; }"""
        )
        assert inside, one.evaluate("document.activeElement.textContent")


def test_no_rule_is_broken_with_settings_folded_or_open(one: Visit) -> None:
    assert violations(one.page) == []
    one.open_settings()
    assert violations(one.page) == []
    assert reading.cut_words(one) == []
    assert reading.nameless(one) == []


@pytest.mark.parametrize("name", ["table-1", "table-3"])
def test_a_reason_of_the_papers_stands_below_its_numbers(
    visit: Callable[..., Visit], name: str
) -> None:
    other = visit(width=390, query=f"?embtie=1&kind=paper-tables&view.item={name}")
    rows = other.page.locator(".ep-papers tbody tr")
    rows.first.wait_for()
    sideways, placed = other.evaluate(
        """() => { const box = document.querySelector('.ep-papers .ep-scroll');
        const rows = [...box.querySelectorAll('tbody tr')].map(({ cells }) => {
          const boxes = [...cells].map((cell) => cell.getBoundingClientRect());
          const why = boxes.pop();
          const low = Math.max(...boxes.map((one) => one.bottom));
          return [why.top >= low - 1, why.width > 0.9 * box.clientWidth]; });
        return [box.scrollWidth - box.clientWidth, rows]; }"""
    )
    assert sideways <= 1
    assert placed
    assert all(below and wide for below, wide in placed)
    table = other.page.get_by_role("table", name="numbers of")
    assert table.get_by_role("columnheader").all_inner_texts()[:3] == [
        "printed",
        "here",
        "difference",
    ]
    assert table.get_by_role("rowheader").count() == rows.count()
