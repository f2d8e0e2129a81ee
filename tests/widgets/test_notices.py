"""The one place of a page where it says what went wrong."""

from collections.abc import Callable

import pytest

from embtie_widgets.widgets import Notices
from embtie_widgets.widgets.notices import MOST
from tests.widgets.widget_harness import HarnessPage

OpenPage = Callable[..., HarnessPage]


def told(**traits: str) -> Notices:
    notices = Notices(**traits)
    notices.tell("There is no model 'a'.", "Check its name.")
    notices.tell("Something went wrong.", "Try again.", "ValueError\npanels/frame.py, line 3")
    return notices


def test_what_comes_again_is_counted_and_comes_last() -> None:
    notices = told()
    notices.tell("There is no model 'a'.", "Check its name.")
    assert [(one["said"], one["count"]) for one in notices.messages] == [
        ("Something went wrong.", 1),
        ("There is no model 'a'.", 2),
    ]
    assert notices.words.splitlines()[0] == "Something went wrong. Try again. ValueError"
    notices.clear()
    assert notices.words == ""


def test_of_very_many_the_last_are_kept_and_any_text_can_be_sent() -> None:
    notices = Notices()
    for number in range(3 * MOST):
        notices.tell(f"{number} \ud800")
    assert len(notices.messages) == MOST
    assert notices.messages[-1]["said"] == f"{3 * MOST - 1} \\ud800"
    assert len({one["id"] for one in notices.messages}) == MOST


@pytest.mark.browser
def test_messages_of_all_parts_stand_in_one_place_until_each_is_dismissed(
    open_page: OpenPage,
) -> None:
    browser = open_page()
    lens, align = Notices(where="Lens"), told(where="Alignment")
    browser.mount(lens, "lens")
    browser.mount(align, "align")
    lens.tell("<b>no</b> model", "$x$ %{y}")
    browser.pump()
    area = browser.page.get_by_role("region", name="Messages")
    alerts = area.get_by_role("alert")
    assert alerts.count() == 3
    assert "Lens\n<b>no</b> model $x$ %{y}" in alerts.first.inner_text()
    assert "panels/frame.py" not in area.inner_text()
    area.get_by_text("Details").click()
    assert "panels/frame.py" in area.inner_text()
    area.get_by_text("3 messages").wait_for()
    area.get_by_role("button", name="Dismiss: <b>no</b> model").click()
    browser.until(lambda: lens.messages == [])
    assert alerts.count() == 2
    area.get_by_role("button", name="Dismiss all").click()
    browser.until(lambda: align.messages == [])
    assert not area.is_visible()


@pytest.mark.browser
def test_one_message_seen_by_two_views_stands_there_once_and_as_long_as_one_of_them(
    open_page: OpenPage,
) -> None:
    browser = open_page()
    notices = told()
    browser.mount(notices, "panel")
    browser.mount(notices, "page")
    alerts = browser.page.get_by_role("alert")
    assert alerts.count() == 2
    browser.page.evaluate("views.panel.remove()")
    assert alerts.count() == 2
    browser.page.evaluate("views.page.remove()")
    assert alerts.count() == 0


@pytest.mark.browser
def test_the_keyboard_dismisses_and_goes_back_to_where_it_was(open_page: OpenPage) -> None:
    browser = open_page()
    browser.page.evaluate("document.body.prepend(document.createElement('button'))")
    notices = Notices()
    browser.mount(notices)
    browser.page.locator("body > button").focus()
    notices.tell("One.")
    notices.tell("Two.")
    browser.pump()
    for left in (1, 0):
        browser.page.get_by_role("button", name="Dismiss:").first.focus()
        browser.page.keyboard.press("Escape")
        browser.until(lambda left=left: len(notices.messages) == left)  # type: ignore[misc]
    assert browser.page.evaluate("document.activeElement === document.body.firstChild")


@pytest.mark.browser
def test_a_page_without_its_kernel_can_still_dismiss(open_page: OpenPage) -> None:
    browser = open_page()
    browser.mount(told())
    browser.page.evaluate("() => { window.toKernel = () => {}; }")
    browser.page.get_by_role("button", name="Dismiss all").click()
    assert browser.page.get_by_role("alert").count() == 0
