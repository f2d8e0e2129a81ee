"""A page whose server stood still, or that slept itself: what it shows when all goes on."""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
from playwright.sync_api import Browser

from embtie_widgets.requests.link import TOKEN_LIMIT
from tests.browser.cut_line import Line, line_to
from tests.browser.servers import Running, is_kernel, running
from tests.browser.test_connection_page import CUT, KERNEL, messages
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
SLOW = "The server has not answered yet."
LOST = "The connection to the server is lost; trying again."
UNHEARD = "What you did last may not have reached the server."
MISSED = "More happened while the connection was lost than could be kept."
ENDED = re.compile("was away for more than|is not here any more")
# In the server alone: nothing is kept for a page that was cut off.
KEEPS_NOTHING = """
import sys

if "ipykernel_launcher" not in sys.orig_argv:
    from embtie_widgets.app import doors
    doors._UNREAD_BYTES = 0
"""


@contextmanager
def slept(
    chromium: Browser, folder: Path, told: Mapping[str, str] | None = None, **settings: Any
) -> Iterator[tuple[Running, Line, Visit]]:
    """A page over a line, which has shown its scatter, and in the end has shown no error."""
    with running(folder, told=told, **settings) as server, line_to(server.address) as (line, near):
        one = Visit(chromium, near)
        one.wait_for_scatter()
        yield server, line, one
        one.errors = [said for said in one.errors if not CUT.search(said)]
        one.leave_well()


def chosen(one: Visit) -> str:
    """The map that the control shows."""
    return one.page.locator(
        ".embtie-app .mod-active", has_text=re.compile("Identity|Orthogonal|Linear")
    ).inner_text()


def shows(one: Visit, label: str) -> None:
    """Wait until control, caption and status agree on a map."""
    one.page.get_by_text(f"{label.lower()} map, centred").wait_for()
    one.wait_for_answer()
    assert chosen(one) == label


def set_up(one: Visit) -> int:
    """Change what a page brings back; how many tokens are selected then, few enough for a link."""
    one.fill("seed", "7")
    one.press("Identity")
    shows(one, "Identity")
    one.lasso(8)
    number = one.selected()
    assert number <= TOKEN_LIMIT
    return number


def is_set_up(one: Visit, chosen_tokens: int) -> None:
    shows(one, "Identity")
    assert one.page.locator(".embtie-app").get_by_label("seed").input_value() == "7"
    assert one.selected() == chosen_tokens


def begin(one: Visit, label: str) -> None:
    """Ask for a map; its end is not waited for."""
    one.press(label)
    one.page.wait_for_timeout(50)  # the message is on its way


@contextmanager
def still(processes: list[psutil.Process]) -> Iterator[None]:
    """Processes that stand still for a while, as when their machine sleeps."""
    for one in processes:
        one.suspend()
    try:
        yield
    finally:
        for one in processes:
            one.resume()


def browsers() -> list[psutil.Process]:
    """All processes of the browsers that these tests have started."""
    found = psutil.Process().children(recursive=True)
    return [one for one in found if "chrom" in one.name()]


def test_a_server_that_stood_still_and_messages_that_were_missed(
    chromium: Browser, tmp_path: Path, pictures: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(KEEPS_NOTHING)
    with slept(chromium, tmp_path, {"PYTHONPATH": str(tmp_path)}) as (server, line, one):
        kernel = one.evaluate(KERNEL)
        with still([psutil.Process(server.process.pid)]):
            one.press("Identity")
            time.sleep(15)
            assert messages(one).count() == 0
        shows(one, "Identity")
        assert messages(one).count() == 0

        number = set_up(one)
        begin(one, "Linear")
        line.cut()
        messages(one).get_by_text(LOST).wait_for()
        line.mend()
        messages(one).get_by_text(MISSED).wait_for()
        shows(one, "Linear")  # the widgets have asked for all values
        one.page.screenshot(path=pictures / "sleep-missed.png")
        one.press("Identity")
        shows(one, "Identity")
        messages(one).get_by_role("button", name="Reload").click()
        one.wait_for_scatter()
        is_set_up(one, number)
        assert one.evaluate(KERNEL) == kernel
        assert messages(one).count() == 0


@pytest.mark.slow
def test_a_line_that_died_while_the_page_slept_is_found_and_every_control_works(
    chromium: Browser, tmp_path: Path, pictures: Path
) -> None:
    with slept(chromium, tmp_path) as (_, line, one):
        kernel = one.evaluate(KERNEL)
        line.lose()
        one.press("Identity")
        messages(one).get_by_text(UNHEARD).wait_for()
        one.page.screenshot(path=pictures / "sleep-unheard.png")
        assert one.evaluate(KERNEL) == kernel
        one.press("Linear")
        shows(one, "Linear")
        messages(one).get_by_role("button", name="Dismiss:").click()
        one.press("Identity")
        shows(one, "Identity")
        assert messages(one).count() == 0


@pytest.mark.slow
def test_a_server_that_stood_still_for_long_is_said_to_be_slow(
    chromium: Browser, tmp_path: Path, pictures: Path
) -> None:
    with slept(chromium, tmp_path) as (server, _, one):
        with still([psutil.Process(server.process.pid)]):
            one.press("Identity")
            messages(one).get_by_text(SLOW).wait_for()
            one.page.screenshot(path=pictures / "sleep-server-slow.png")
            one.page.wait_for_timeout(90_000)
        shows(one, "Identity")
        assert messages(one).count() == 0


@pytest.mark.slow
def test_a_cut_of_three_minutes_loses_nothing(
    chromium: Browser, tmp_path: Path, pictures: Path
) -> None:
    with slept(chromium, tmp_path) as (_, line, one):
        kernel = one.evaluate(KERNEL)
        one.lasso()
        number = one.selected()
        begin(one, "Identity")
        line.cut()
        one.page.wait_for_timeout(90_000)
        one.fill("seed", "7")
        one.page.wait_for_timeout(90_000)
        one.page.screenshot(path=pictures / "sleep-cut.png")
        line.mend()
        one.page.get_by_text("seed 7").first.wait_for()
        is_set_up(one, number)
        assert one.evaluate(KERNEL) == kernel
        assert messages(one).count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [60, 130])
def test_a_page_whose_machine_slept_shows_what_came_meanwhile(
    seconds: int, chromium: Browser, tmp_path: Path, pictures: Path
) -> None:
    with slept(chromium, tmp_path) as (server, _, one):
        kernel = one.evaluate(KERNEL)
        number = set_up(one)
        begin(one, "Linear")
        with still(browsers()):
            time.sleep(seconds)
        one.page.screenshot(path=pictures / f"sleep-machine-{seconds}.png")
        shows(one, "Linear")
        one.press("Identity")
        is_set_up(one, number)
        assert one.evaluate(KERNEL) == kernel
        assert messages(one).count() == 0
        given_up = any("ping timeout" in said for said in server.said)
        assert given_up == (seconds > 90)


@pytest.mark.slow
def test_a_page_that_its_browser_froze_goes_on(chromium: Browser, tmp_path: Path) -> None:
    with slept(chromium, tmp_path) as (_, _line, one):
        begin(one, "Identity")
        tell = one.page.context.new_cdp_session(one.page).send
        tell("Page.setWebLifecycleState", {"state": "frozen"})
        time.sleep(60)
        tell("Page.setWebLifecycleState", {"state": "active"})
        shows(one, "Identity")
        assert messages(one).count() == 0


@pytest.mark.slow
@pytest.mark.parametrize("why", ["culled", "restarted"])
def test_a_kernel_that_ended_while_the_page_slept_is_told_and_comes_back_with_one_click(
    why: str, chromium: Browser, tmp_path: Path, pictures: Path
) -> None:
    minutes = 0.2 if why == "culled" else 20.0
    with slept(chromium, tmp_path, idle_minutes=minutes) as (server, line, one):
        kernel = one.evaluate(KERNEL)
        number = set_up(one)
        own = next(p for p in server.kernels() if kernel in " ".join(p.cmdline()))
        line.cut()
        if why == "culled":
            gone(own)
            assert_brought_back(one, line, kernel, number, pictures / "sleep-culled.png")
            return
        server.process.terminate()
        server.process.wait(60)
        gone(own)
        port = urlsplit(server.address).port
        with running(tmp_path, port=port):
            assert_brought_back(one, line, kernel, number, pictures / "sleep-restarted.png")
            one.close()


def gone(kernel: psutil.Process) -> None:
    psutil.wait_procs([kernel], 90)
    assert not is_kernel(kernel)


def assert_brought_back(one: Visit, line: Line, kernel: str, number: int, picture: Path) -> None:
    line.mend()
    messages(one).get_by_text(ENDED).wait_for()
    one.page.screenshot(path=picture)
    messages(one).get_by_role("button", name="Reload").click()
    one.wait_for_scatter()
    is_set_up(one, number)
    assert one.evaluate(KERNEL) != kernel
    assert messages(one).count() == 0
