"""A page that is reloaded while it works, and the landing page, in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.axe import violations
from tests.browser.reading import faint_texts
from tests.browser.servers import voila
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
LONG = "?embtie=1&kind=gradient-flow&steps=3000&batch=2&length=16&warmup=6"
KERNEL = "JSON.parse(document.getElementById('jupyter-config-data').textContent).kernelId"
STATUS = "document.querySelector('.ep-status')?.textContent ?? ''"
# How many steps of the training are done, as the page says; -1 while it says nothing of it.
STEPS = f"Number(({STATUS}).match(/([\\d,]+) of [\\d,]+/)?.[1].replaceAll(',', '') ?? -1)"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A page that has room for one."""
    with voila(tmp_path, visitors=1, keep_seconds=600) as found:
        yield found


def test_a_reload_in_the_middle_of_a_job_finds_it_and_who_waits_comes_in_after(
    chromium: Browser, address: str, pictures: Path
) -> None:
    one = Visit(chromium, address + LONG)
    one.page.locator(".embtie-panel h2", has_text="Gradient flow").wait_for()
    one.press("Run")
    one.page.wait_for_function(f"{STEPS} >= 0")
    kernel, done = one.evaluate(KERNEL), one.evaluate(STEPS)
    one.page.reload(wait_until="commit")
    one.page.wait_for_function(f"{STEPS} > {done}")
    assert one.evaluate(KERNEL) == kernel
    looked = [_landed(chromium, address, pictures, *how) for how in HOW]
    one.press("Cancel")
    one.page.wait_for_function(f"/Cancelled|Stopped/i.test({STATUS})")
    one.page.close(run_before_unload=True)
    looked[0].wait_for_scatter()  # before the ten minutes are over: there is somebody who waits
    assert looked[0].evaluate(KERNEL) != kernel
    for visit in (one, *looked):
        visit.leave_well()


HOW = [("light", 1400), ("dark", 390)]


def _landed(chromium: Browser, address: str, pictures: Path, scheme: str, width: int) -> Visit:
    """Somebody before the door, who can read what is said there."""
    visit = Visit(chromium, address, scheme, width)
    visit.page.get_by_role("heading", name="Please wait").wait_for()
    visit.page.screenshot(path=pictures / f"landing-{scheme}-{width}.png")
    assert faint_texts(visit) == {}
    assert violations(visit.page) == []
    assert visit.evaluate("document.documentElement.scrollWidth <= innerWidth")
    return visit
