"""The lessons as a book in Voila, behind a path of their own, seen by a real browser."""

import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Locator

from embtie_widgets.app.lessons import folder
from tests.browser import reading
from tests.browser.axe import violations
from tests.browser.servers import voila
from tests.browser.visit import PATIENCE, Visit

pytestmark = pytest.mark.browser
CHAPTERS = sorted(path.stem for path in folder().glob("0*.ipynb"))


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the lessons."""
    with voila(tmp_path_factory.mktemp("book"), base="/hub/ann/", lessons=True) as found:
        yield found


def opened(
    chromium: Browser, address: str, words: str, scheme: str = "light", width: int = 1400
) -> Visit:
    """A page of the book once it says so much, and all its pieces stand there."""
    one = Visit(chromium, address, scheme, width)
    one.page.get_by_text(words).first.wait_for()
    one.page.wait_for_selector("#loading", state="detached")
    return one


def piece(one: Visit, button: str, place: int) -> Locator:
    """The guess or the exercise at this place among those with such a button."""
    button_there = one.page.get_by_role("button", name=button, exact=True)
    return one.page.locator(".ep-lesson").filter(has=button_there).nth(place)


def test_the_address_opens_the_list_of_chapters_and_each_leads_to_the_next(
    chromium: Browser, book: str
) -> None:
    one = opened(chromium, book, "After the lessons")
    assert violations(one.page) == []
    links = one.page.locator("#rendered_cells table a")
    named = [str(link.get_attribute("href")) for link in links.all()]
    assert named == [f"{chapter}.ipynb" for chapter in CHAPTERS]
    for chapter, link in zip(CHAPTERS, (links, one.page.locator("a", has_text="→")), strict=False):
        one.page.wait_for_load_state("networkidle")  # a page left while it loads complains of it
        link.first.click()
        one.page.wait_for_url(f"**/voila/render/{chapter}.ipynb")
        one.page.get_by_role("button", name="Check").last.wait_for()
    assert violations(one.page) == []
    one.page.wait_for_load_state("networkidle")
    one.page.get_by_role("link", name="All lessons").last.click()
    one.page.wait_for_url("**/voila/render/index.ipynb")
    one.page.locator("#rendered_cells table").wait_for()
    one.page.wait_for_load_state("networkidle")
    assert one.errors == []
    one.leave_well()


def test_a_page_shows_text_and_figures_and_no_code(chromium: Browser, book: str) -> None:
    one = opened(chromium, f"{book}voila/render/{CHAPTERS[0]}.ipynb", "To take home")
    shown = one.page.locator("body").inner_text()
    assert one.page.title().startswith("1. ")
    for hidden in ("import embtie_widgets", "ew.", "Run to start", "Without a kernel"):
        assert hidden not in shown
    one.leave_well()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1400), ("dark", 390)])
def test_a_guess_opens_what_follows_it_and_exercises_check_themselves(
    chromium: Browser, book: str, pictures: Path, scheme: str, width: int
) -> None:
    address = f"{book}voila/render/{CHAPTERS[0]}.ipynb"
    one = opened(chromium, address, "To take home", scheme, width)
    one.page.get_by_role("button", name="Check").last.wait_for()
    assert one.page.locator(".js-plotly-plot").count() == 0
    guess = piece(one, "That is my guess", 0)
    guess.get_by_role("radio").last.focus()
    one.page.keyboard.press("Space")
    guess.get_by_role("button").click()
    one.wait_for_figure()
    one.page.get_by_text("As you thought: near 0").wait_for()
    assert one.page.locator(".js-plotly-plot").count() == 1  # the other guess is still open
    exercise = piece(one, "Check", 0)
    for typed, answer in (("1", "One of two matrices is left out."), ("524,288", "Right.")):
        exercise.get_by_role("textbox").fill(typed)
        exercise.get_by_role("button").click()
        exercise.get_by_text(answer).wait_for()
    assert reading.faint_texts(one) == {}
    assert reading.overhang(one) == []
    assert one.evaluate("document.documentElement.scrollWidth <= innerWidth")
    one.page.screenshot(path=pictures / f"lesson-{scheme}-{width}.png", full_page=True)
    one.leave_well()


@pytest.mark.parametrize(("scheme", "width"), [("dark", 1400), ("light", 390)])
def test_an_experiment_runs_in_the_page_and_what_it_gives_is_held_against_the_guess(
    chromium: Browser, book: str, pictures: Path, scheme: str, width: int
) -> None:
    address = f"{book}voila/render/08_the_staircase.ipynb"
    one = opened(chromium, address, "To take home", scheme, width)
    one.page.get_by_role("button", name="Check").last.wait_for()
    assert one.page.locator(".ep-experiment").count() == 0  # no result before a guess
    guess = piece(one, "That is my guess", 2)
    guess.get_by_role("radio").last.check()
    guess.get_by_role("button").click()
    experiment = one.page.locator(".ep-experiment")
    experiment.get_by_role("button", name="Run").click()
    one.page.get_by_text("As you thought: hardly at all").wait_for(timeout=5 * PATIENCE)
    one.wait_for_figure()
    assert "Computed" in experiment.inner_text()
    assert reading.faint_texts(one) == {}
    assert reading.overhang(one) == []
    assert one.evaluate("document.documentElement.scrollWidth <= innerWidth")
    one.page.screenshot(path=pictures / f"experiment-{scheme}-{width}.png", full_page=True)
    one.leave_well()


def test_code_in_a_text_is_read_line_by_line_and_keeps_to_the_page(
    chromium: Browser, book: str, pictures: Path
) -> None:
    address = f"{book}voila/render/09_design_your_own.ipynb"
    one = opened(chromium, address, "To take home", "dark", 390)
    one.page.get_by_role("button", name="Check").last.wait_for()
    assert one.evaluate("document.documentElement.scrollWidth <= innerWidth")
    code = one.page.locator(".jp-MarkdownOutput pre").first
    assert code.evaluate("it => getComputedStyle(it).whiteSpace") == "pre"
    assert reading.faint_texts(one) == {}
    one.page.screenshot(path=pictures / "lesson-code-dark-390.png", full_page=True)
    one.leave_well()


@pytest.mark.parametrize("path", ["voila/tree", "voila/api/contents", "voila/files/index.ipynb"])
def test_no_list_of_files_and_no_source_is_given_out(book: str, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(book + path, timeout=60)
    assert refused.value.code in {403, 404}


def test_a_page_that_is_not_there_is_told_in_our_words(chromium: Browser, book: str) -> None:
    one = Visit(chromium, f"{book}voila/render/none.ipynb")
    one.page.get_by_text("That page is not here").wait_for()
    assert violations(one.page) == []
    assert one.page.get_by_role("link").get_attribute("href") == "/hub/ann/"
    one.close()
    assert one.asked_outside == []


@pytest.mark.parametrize("name", [*CHAPTERS, "index"])
def test_every_link_of_a_chapter_leads_to_a_file(name: str) -> None:
    pages = nbformat.read(folder() / f"{name}.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in pages.cells if cell.cell_type == "markdown")
    links = [link for link in re.findall(r"\]\(([^)]+)\)", text) if "://" not in link]
    assert links
    assert all((folder() / link).is_file() for link in links)
