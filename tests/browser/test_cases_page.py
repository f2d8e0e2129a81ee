"""People's reports, tried on a page that strangers open, by hand of a real browser.

One server for all, in a folder of models that its owner offers.  A page is opened by the permalink
of a case; the others of its kind are chosen in its picker.
"""

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from playwright.sync_api import Browser

from tests.app import case_numbers
from tests.app.case_models import RAN, write_cases
from tests.app.case_pairs import HOSTILE_PAIR, write_large
from tests.app.case_table import (
    ALIGNED,
    FAMILY,
    LARGE,
    LINKED,
    REFUSED,
    WORDS,
    aligned,
    answers,
    private,
    query,
)
from tests.browser.reading import assert_readable
from tests.browser.rehearsal import HOSTILE, LARGEST
from tests.browser.servers import Running, running
from tests.browser.visit import Visit

pytestmark = pytest.mark.browser
QUICK = ("C001", "C012d", "C018", "C021", "C024")  # of each lettered section one, and C018
_MIB = 1 << 20
_PATIENCE = 120
_SAID = """() => {
  for (const one of document.querySelectorAll('.embtie-app details')) one.open = true;
  const areas = [...document.querySelectorAll('.embtie-app, #embtie-messages')];
  return areas.map((one) => one.innerText).join(' ').replace(/\\s+/g, ' '); }"""
_CHARTS = """['.js-plotly-plot', '.embtie-scatter', 'canvas', 'canvas.gl-canvas']
  .map((one) => document.querySelectorAll(`.embtie-app ${one}`).length)"""
_CAPTION = "document.querySelector('.ep-caption').textContent"
_TOKEN = "hf_aTokenOfTheOwnerOfThisPage"  # of nobody


def _slow(case: str) -> Any:
    return pytest.param(case, marks=pytest.mark.slow)


@dataclass
class Site:
    """The served page, and the folder of its models."""

    server: Running
    models: Path

    @property
    def address(self) -> str:
        return self.server.address


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A page for strangers, served from a folder that knows nothing of the models."""
    models = tmp_path_factory.mktemp("models")
    write_cases(models)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    known = {"public": True, "models": (str(models),), "pages": 20, "ready": 0}
    with running(elsewhere, told={"HF_TOKEN": _TOKEN}, **known) as server:
        yield Site(server, models)


Open = Callable[..., Visit]


@pytest.fixture
def visit(chromium: Browser, site: Site) -> Iterator[Open]:
    """Open a permalink; what a visitor must never see is looked for when the page is left."""
    opened: list[Visit] = []

    def open_link(asked: dict[str, Any], scheme: str = "light") -> Visit:
        one = Visit(chromium, f"{site.address}?{query(asked)}", scheme)
        opened.append(one)
        one.page.locator(".embtie-panel h2").wait_for()
        return one

    yield open_link
    for one in opened:
        said = re.sub(r"<style.*?</style>|<script.*?</script>", "", one.page.content(), flags=re.S)
        assert not private(said.replace(site.address, ""))
        assert _TOKEN not in one.page.content()
        one.leave_well()
    assert not RAN.exists()


def run(one: Visit) -> None:
    """Press Run as a visitor would, unless it runs already."""
    button = one.page.get_by_role("button", name="Run", exact=True)
    if button.is_enabled():
        button.click()


def told(one: Visit, words: str, models: str = "") -> str:
    """What the page says at rest, once it says this; its faults, if it never does."""
    end = time.monotonic() + _PATIENCE
    while True:
        said = str(one.evaluate(_SAID))
        at_rest = one.page.get_by_role("button", name="Run", exact=True).is_enabled()
        if at_rest and answers(said, words, models):
            return said
        assert time.monotonic() < end, f"{words!r} never came: {said[-1_500:]}"
        one.page.wait_for_timeout(100)


def choose(one: Visit, a: str, b: str) -> None:
    """Another pair, by the pickers."""
    one.fill("Model A", a)
    one.fill("Model B", b or a)
    run(one)


def of(asked: dict[str, Any]) -> str:
    """How a result names the models of a link."""
    return f"A: {asked['a']} B: {asked['b']} " if "a" in asked else asked["model"]


def assert_case(one: Visit, case: str) -> None:
    """The panel of alignment says of the case's models what it should."""
    a, b, words = (ALIGNED | LARGE)[case]
    told(one, words, "" if case in REFUSED else f"A: {a} B: {b or a} ")
    alerts = one.page.get_by_role("region", name="Messages").get_by_role("alert")
    if case in REFUSED:
        alerts.first.wait_for()  # another pair may have been refused while this one was chosen
    else:
        assert alerts.count() == 0
    assert one.page.locator(".embtie-app :is(script, img, b > b)").count() == 0


def through(visit: Open, cases: list[str], shoot: Callable[[Visit, str], None]) -> Visit:
    """The first by its permalink, the others by hand; the charts stay as many all the while."""
    one = visit(aligned(*ALIGNED[cases[0]][:2]))
    run(one)
    assert_case(one, cases[0])
    one.wait_for_scatter()
    before = one.evaluate(_CHARTS)
    for case in cases[1:]:
        choose(one, *ALIGNED[case][:2])
        assert_case(one, case)
        assert one.evaluate(_CHARTS) == before
        shoot(one, case)
    return one


@pytest.fixture
def shoot(pictures: Path) -> Callable[[Visit, str], None]:
    """Take a picture, to be looked at by hand: every other case on dark ground."""
    taken: list[str] = []

    def take(one: Visit, case: str) -> None:
        one.wear(("light", "dark")[len(taken) % 2])
        taken.append(case)
        one.page.screenshot(path=pictures / f"case-{case}.png".replace(" ", "-"), full_page=True)

    return take


def test_one_of_each_kind_is_answered_on_the_page(
    visit: Open, shoot: Callable[[Visit, str], None]
) -> None:
    one = through(visit, list(QUICK), shoot)
    choose(one, *ALIGNED["C020"][:2])  # and after a refusal the page goes on
    assert_case(one, "C020")


@pytest.mark.slow
def test_all_pairs_are_answered_and_the_charts_stay_as_many(
    visit: Open, shoot: Callable[[Visit, str], None]
) -> None:
    """C045 is in it: the models change more than 20 times, and `leave_well` hears the console."""
    assert len(ALIGNED) > 20
    one = through(visit, list(ALIGNED), shoot)
    choose(one, *ALIGNED["C001"][:2])
    assert_case(one, "C001")
    assert len([path for path in one.outlines() if path]) >= 2


@pytest.mark.slow
def test_every_family_is_answered_on_the_page(visit: Open) -> None:
    """C008."""
    first, *others = FAMILY
    one = visit(aligned(f"c008-{first}", ""))
    run(one)
    for name in (first, *others):
        if name != first:
            choose(one, f"c008-{name}", "")
        told(one, rf"as stored {FAMILY[name]} {FAMILY[name]} .*32 × 8", f"A: c008-{name} ")


@pytest.mark.parametrize("case", [case if case == "C032" else _slow(case) for case in LINKED])
def test_a_link_opens_its_case_and_run_answers(
    visit: Open, case: str, shoot: Callable[[Visit, str], None]
) -> None:
    asked, words = LINKED[case]
    one = visit(asked)
    run(one)
    told(one, words, of(asked))
    shoot(one, case)


@pytest.mark.parametrize("case", ["C032", _slow("C030")])
def test_the_lens_that_is_downloaded_counts_factor_and_bias(
    visit: Open, site: Site, case: str, tmp_path: Path
) -> None:
    asked, words = LINKED[case]
    one = visit(asked)
    run(one)
    told(one, words, of(asked))
    table = one.saved("CSV", tmp_path).read_bytes()
    for name in (asked["a"], asked["b"]):
        found = case_numbers.column(table, "kl_bits", model=name)
        anew = case_numbers.divergences(site.models / name, WORDS)
        assert np.allclose(found, anew, rtol=1e-4, atol=1e-6)
    # C033: two blocks have three points, the first of them the embedding.
    points = one.page.locator(".ep-lens .xtick text").all_text_contents()
    assert [point[0] for point in points] == ["0", "1", "2"]
    assert "embedding" in points[0]


def test_half_precision_that_is_downloaded_has_the_numbers_of_its_stored_values(
    visit: Open, site: Site, tmp_path: Path
) -> None:
    """C020."""
    one = visit(aligned("c020-bfloat16", ""))
    run(one)
    assert_case(one, "C020")
    found = case_numbers.column(one.saved("CSV", tmp_path).read_bytes(), "In->Out")
    anew = case_numbers.cosines(site.models / "c020-bfloat16")
    assert np.allclose(found, anew, rtol=0, atol=1e-6)


def test_markup_in_tokens_is_letters_in_table_hover_and_search(visit: Open) -> None:
    """C018."""
    one = visit(aligned(*HOSTILE_PAIR))
    run(one)
    assert_case(one, "C018")
    cells = one.page.locator(".embtie-table td.et-token")
    search = one.page.get_by_placeholder("Search tokens")
    for token, shown in HOSTILE.items():
        if not 2 < len(token) < 60:
            continue
        search.fill(token)
        one.page.locator(".embtie-table").get_by_text(re.compile(r"^\d+ of 320 tokens")).wait_for()
        cells.get_by_text(shown, exact=True).first.wait_for()
        cells.get_by_text(shown, exact=True).first.hover()
    assert one.page.locator(".embtie-app :is(script, img, b > b)").count() == 0


@pytest.mark.slow
def test_the_direction_is_written_on_the_chart(visit: Open) -> None:
    """C025."""
    asked, words = LINKED["C025 turned"]
    one = visit(asked)
    run(one)
    told(one, words, of(asked))
    written = " ".join(one.page.locator(".embtie-app .js-plotly-plot text").all_text_contents())
    assert "In → Tied" in written


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_tab_has_marks_and_fits(visit: Open, pictures: Path, scheme: str) -> None:
    """C041, and the contrast of C049."""
    one = visit(aligned("c001-flag", ""), scheme=scheme)
    for tab in one.tabs():
        one.open_tab(tab)
        assert_readable(one, pictures / f"tab-{tab}-{scheme}")


@pytest.fixture(scope="module")
def large(site: Site) -> Site:
    """The same, with the models of full size laid out too."""
    write_large(site.models)
    return site


@pytest.mark.slow
def test_the_largest_vocabulary_of_equal_cosines_sends_little(
    large: Site, visit: Open, shoot: Callable[[Visit, str], None]
) -> None:
    """C046: what comes over the line is counted, not timed."""
    one = visit(aligned("c001-flag", ""))
    run(one)
    assert_case(one, "C001")
    sizes: list[int] = []
    one.page.on("websocket", lambda _: pytest.fail("another line was opened"))
    session = one.page.context.new_cdp_session(one.page)
    session.send("Network.enable")
    session.on(
        "Network.webSocketFrameReceived",
        lambda frame: sizes.append(len(frame["response"]["payloadData"])),
    )
    choose(one, "c046-equal", "")
    assert_case(one, "C046")
    assert sizes
    assert sum(sizes) < 3 * _MIB * LARGEST / 50_000  # in base64, as counted here: a third more
    assert one.page.locator("option").count() < 100
    one.page.get_by_placeholder("Search tokens").fill("word1519")
    one.page.get_by_text(f"47 of {LARGEST:,} tokens", exact=True).wait_for()
    assert one.rows() <= 100
    shoot(one, "C046")


@pytest.mark.slow
def test_a_tall_matrix_takes_little_more_than_itself(large: Site, visit: Open) -> None:
    """C027."""
    one = visit(aligned("c027-tall", ""))
    kernel = large.server.kernels()[-1]
    before = _peak(kernel)
    run(one)
    assert_case(one, "C027")
    assert _peak(kernel) - before < 1024 * _MIB


@pytest.mark.slow
def test_three_visitors_with_a_pair_of_200_mb_each(large: Site, visit: Open) -> None:
    """C048."""
    pages = [visit(aligned("c048-untied", "c048-tied")) for _ in range(3)]
    for one in pages:
        run(one)
    for one in pages:
        assert_case(one, "C048")
    for kernel in large.server.kernels():
        assert kernel.memory_info().rss < 4096 * _MIB


def _peak(process: psutil.Process) -> int:
    """The most memory that a process has held, in bytes."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    held = next(line for line in lines if line.startswith("VmHWM"))
    return int(held.split()[1]) * 1024
