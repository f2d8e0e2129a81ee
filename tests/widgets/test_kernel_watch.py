"""What a served page does when its line to the kernel is dead, lost something, or came back."""

from collections.abc import Callable
from typing import Any

import pytest

from embtie_widgets.widgets import KernelWatch
from tests.widgets.widget_harness import HarnessPage

pytestmark = pytest.mark.browser
OpenPage = Callable[..., HarnessPage]
THERE = {"there": True, "reached": True, "missed": False}
# A host with a kernel whose line the test turns, and a server that says what the test says.
HOST = """
  document.body.dataset.voila = 'voila';
  const told = document.createElement('script');
  Object.assign(told, { id: 'jupyter-config-data', type: 'application/json' });
  told.textContent = JSON.stringify({ baseUrl: '/', kernelId: 'a' });
  document.body.append(told);
  window.code = 200;
  window.fetch = async () => ({ ok: code === 200, status: code, json: async () => news });
  const heard = [];
  window.reconnected = 0;
  window.restored = 0;
  const kernel = {
    connectionStatus: 'connected',
    connectionStatusChanged: { connect: (one) => heard.push(one), disconnect: () => {} },
    reconnect: async () => { reconnected += 1; },
  };
  window.turn = (to) => { kernel.connectionStatus = to; for (const one of heard) one(kernel, to); };
  window.control = {
    _pending_msgs: 2, sent: 0,
    _handle_status() { this._pending_msgs -= 1; this.sent += 1; },
  };
  MockModel.prototype.widget_manager = {
    kernel, _models: { a: Promise.resolve(control) }, restoreWidgets: () => { restored += 1; },
  };
"""


def watched(browser: HarnessPage, news: dict[str, Any] | None = None) -> HarnessPage:
    browser.page.evaluate(f"news => {{ window.news = news; {HOST} }}", news or THERE)
    browser.page.clock.install()
    browser.mount(KernelWatch())
    return browser


def counted(browser: HarnessPage, name: str) -> int:
    return int(browser.page.evaluate(name))


def test_a_line_that_only_the_page_believes_in_is_opened_anew(open_page: OpenPage) -> None:
    browser = watched(open_page(), {**THERE, "reached": False})
    browser.page.mouse.click(5, 5)
    browser.page.clock.run_for(21_000)
    browser.page.get_by_text("The connection to the server is lost").wait_for()
    assert counted(browser, "reconnected") == 1
    browser.page.evaluate("turn('connecting')")
    browser.page.clock.run_for(12_000)  # it is tried no more while it opens
    assert counted(browser, "reconnected") == 1
    browser.page.clock.run_for(12_000)
    assert counted(browser, "reconnected") == 2


def test_a_page_that_slept_looks_at_once_whether_its_line_is_there(open_page: OpenPage) -> None:
    browser = watched(open_page(), {**THERE, "reached": False})
    browser.page.clock.run_for(60_000)
    assert counted(browser, "reconnected") == 0  # it was awake
    browser.page.clock.fast_forward(60_000)
    browser.page.get_by_text("The connection to the server is lost").wait_for()
    assert counted(browser, "reconnected") == 1


def test_a_page_that_slept_well_says_nothing(open_page: OpenPage) -> None:
    browser = watched(open_page())
    browser.page.clock.fast_forward(60_000)
    browser.pump()
    assert browser.page.get_by_role("alert").count() == 0
    assert counted(browser, "reconnected") == 0


def test_when_the_line_is_back_a_control_whose_answer_was_lost_works_again(
    open_page: OpenPage,
) -> None:
    browser = watched(open_page())
    browser.page.evaluate("turn('connecting')")
    browser.page.evaluate("turn('connected')")
    assert counted(browser, "control.sent") == 0  # its answer may be on its way
    browser.pump()
    browser.until(lambda: counted(browser, "control._pending_msgs") == 0)
    assert counted(browser, "control.sent") == 2
    assert counted(browser, "restored") == 0


def test_values_that_a_busy_kernel_gave_too_late_are_asked_for_again(open_page: OpenPage) -> None:
    browser = watched(open_page())
    browser.page.evaluate("turn('connecting')")
    browser.page.evaluate("turn('connected')")
    browser.page.clock.run_for(5_000)
    browser.until(lambda: counted(browser, "restored") == 1)


def test_what_was_done_on_a_dead_line_is_said_until_it_is_dismissed(open_page: OpenPage) -> None:
    browser = watched(open_page())
    said = browser.page.get_by_text("What you did last may not have reached the server.")
    browser.page.evaluate("models.w.heldBack = models.w.send; models.w.send = () => {}")
    browser.page.mouse.click(5, 5)
    browser.page.evaluate("models.w.send = models.w.heldBack; turn('connecting')")
    browser.page.evaluate("turn('connected')")
    browser.pump()
    said.wait_for()
    browser.page.mouse.click(5, 5)
    browser.pump()
    assert said.count() == 1
    browser.page.get_by_role("button", name="Dismiss:").click()
    browser.page.mouse.click(5, 5)
    browser.pump()
    assert said.count() == 0


def test_a_page_that_missed_something_says_so_until_it_is_dismissed(open_page: OpenPage) -> None:
    browser = watched(open_page(), {**THERE, "missed": True})
    browser.page.evaluate("turn('connecting')")
    browser.page.evaluate("turn('connected')")
    said = browser.page.get_by_text("More happened while the connection was lost")
    said.wait_for()
    browser.pump()
    browser.page.mouse.click(5, 5)
    browser.pump()
    assert said.count() == 1
    assert browser.page.get_by_role("button", name="Reload").count() == 1


def test_who_is_asked_to_sign_in_again_is_told_and_can_reload(open_page: OpenPage) -> None:
    browser = watched(open_page())
    browser.page.evaluate("window.code = 403; turn('connecting')")
    browser.page.clock.run_for(3_000)
    browser.page.get_by_text("The server asks who you are.").wait_for()
    assert browser.page.get_by_role("button", name="Reload").count() == 1
