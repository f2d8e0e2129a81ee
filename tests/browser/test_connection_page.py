"""A page whose connection is cut, whose kernel ends, or that is opened by a hostile link."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest
from playwright.sync_api import Browser, Locator

from embtie_widgets.requests.link import LENGTH_LIMIT
from tests.browser.cut_line import line_to
from tests.browser.reading import faint_texts
from tests.browser.servers import running
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
KERNEL = "JSON.parse(document.getElementById('jupyter-config-data').textContent).kernelId"
# What a browser says in its console of a line that is cut.
CUT = re.compile(
    r"ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION|WebSocket connection to"
)


def messages(visit: Visit) -> Locator:
    """What the page says in its one place for it."""
    return visit.page.get_by_role("region", name="Messages").get_by_role("alert")


def test_a_cut_line_is_told_and_mended_and_a_kernel_that_ended_is_replaced_by_its_link(
    chromium: Browser, tmp_path: Path, pictures: Path
) -> None:
    with running(tmp_path) as server, line_to(server.address) as (line, near):
        one = Visit(chromium, near)
        one.wait_for_scatter()
        kernel = one.evaluate(KERNEL)
        one.fill("seed", "7")
        line.cut()
        messages(one).get_by_text("The connection to the server is lost; trying again.").wait_for()
        assert messages(one).count() == 1
        one.press("Identity")
        one.page.screenshot(path=pictures / "connection-lost.png")
        line.mend()
        messages(one).first.wait_for(state="hidden")
        one.page.get_by_text("identity map, centred").wait_for()
        one.page.get_by_text("seed 7").first.wait_for()
        assert one.evaluate(KERNEL) == kernel

        own = [one for one in server.kernels() if kernel in " ".join(one.cmdline())]
        assert len(own) == 1
        psutil.Process(own[0].pid).kill()
        messages(one).get_by_text("The kernel behind this page ended").wait_for()
        one.page.screenshot(path=pictures / "kernel-ended.png")
        messages(one).get_by_role("button", name="Reload").click()
        one.page.get_by_text("identity map, centred").wait_for()
        assert one.evaluate(KERNEL) != kernel
        assert one.page.locator(".embtie-app").get_by_label("seed").input_value() == "7"
        one.errors = [said for said in one.errors if not CUT.search(said)]
        one.leave_well()


HOSTILE = {
    "embtie=1&kind=align&map="
    + quote("<img src=x onerror=alert(1)>"): "map is '<img src=x onerror",
    "embtie=1&kind=align&a.ref=%00%1b": r"ref is '\x00\x1b'",
    "embtie=1&kind=lens&a=x&text=" + "x" * LENGTH_LIMIT: "longer than 16,384 characters",
    "embtie=1&kind=bottleneck-trials&experiment=spamlang"
    + "".join(
        f"&{name}={'%2C'.join(map(str, range(2, 18)))}"
        for name in ("symbols", "widths", "lengths", "extra", "seeds")
    ): "has 1,048,576 runs; at most 200",
    "embtie=1&kind=align&view.page=-1&view.zoom=nan,1,1,2&template=../../etc&theme=<b>": "a view",
}


def test_a_hostile_link_is_told_in_words_and_the_page_is_as_it_opens(
    visit: Callable[..., Visit], pictures: Path
) -> None:
    for number, (query, told) in enumerate(HOSTILE.items()):
        one = visit(query=f"?{query}", scheme=("light", "dark")[number % 2])
        one.wait_for_scatter()
        said = messages(one).first.inner_text()
        assert told in said
        assert not re.search(r"(^|\s)/|Traceback|\.py", said)
        assert messages(one).locator("img, b, script").count() == 0
        assert faint_texts(one) == {}
        one.page.screenshot(path=pictures / f"hostile-{number}.png")
        messages(one).get_by_role("button", name="Dismiss:").first.click()
        one.press("Identity")
        one.page.get_by_text("identity map, centred").wait_for()
        one.close()


def test_a_message_stays_when_another_tab_is_opened_and_a_link_is_read_once(
    visit: Callable[..., Visit],
) -> None:
    one = visit(query="?embtie=1&kind=align&map=cubic")
    messages(one).wait_for()
    one.open_tab("Parameters")
    assert messages(one).count() == 1
    assert messages(one).inner_text().startswith("Alignment\nThis link cannot be opened")
