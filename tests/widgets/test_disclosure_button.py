"""A button that opens a part of the page."""

from collections.abc import Callable

import pytest

from embtie_widgets.widgets import DisclosureButton
from tests.widgets.widget_harness import HarnessPage

pytestmark = pytest.mark.browser


def test_it_says_whether_its_part_is_open_to_everyone(
    open_page: Callable[..., HarnessPage],
) -> None:
    made = DisclosureButton(sign="?", label="Guide", title="What this shows")
    browser = open_page()
    browser.mount(made)
    button = browser.page.get_by_role("button", name="Guide", exact=True)
    assert button.get_attribute("aria-expanded") == "false"
    button.press("Enter")
    browser.until(lambda: made.opened)
    assert button.get_attribute("aria-expanded") == "true"
    made.opened = False
    browser.until(lambda: button.get_attribute("aria-expanded") == "false")
