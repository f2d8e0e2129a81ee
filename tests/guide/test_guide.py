"""The guides: whole, true to the package, and safe on any page."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import embtie_widgets as ew
from embtie_widgets import guide
from embtie_widgets.app.dashboard import TABS
from embtie_widgets.errors import EmbtieError
from embtie_widgets.guide.rendering import rendered
from embtie_widgets.requests.kinds import KINDS
from embtie_widgets.results.tokens import display_token

PACKAGE = Path(ew.__file__).parent
LETTERS = re.compile(r"[A-Za-zµμ]")


class Reader(HTMLParser):
    """What a page holds: its tags with their attributes, its words, and those of its formulas."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words, self.formulas = "", ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "math" in self.open:
            self.formulas += data
        else:
            self.words += data

    def count(self, tag: str) -> int:
        return [name for name, _ in self.tags].count(tag)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_guide_with_all_sections(kind: str) -> None:
    text = guide.source(kind)
    assert re.findall(r"^# .+$", text, re.MULTILINE)[0] == text.splitlines()[0]
    assert tuple(re.findall(r"^## (.+)$", text, re.MULTILINE)) == guide.SECTIONS
    assert 300 <= len(text.split()) <= 720
    page = Reader(guide.page(kind))
    assert page.open == []
    assert page.count("h3") == len(guide.SECTIONS)
    assert page.count("h1") == page.count("h2") == page.count("script") == 0


@pytest.mark.parametrize("kind", KINDS)
def test_every_formula_is_drawn(kind: str) -> None:
    text, page = guide.source(kind), Reader(guide.page(kind))
    assert page.count("math") == len(re.findall(r"\$\$.+?\$\$|\$.+?\$", text))
    assert "\\" not in page.formulas
    assert "$" not in page.words


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_guide_names_is_there(kind: str) -> None:
    named = re.findall(r"`([^`]+)`", guide.source(kind))
    for name in named:
        if face := re.match(r"ew\.(\w+)", name):
            assert hasattr(ew, face[1]), name
        elif name.endswith("Request"):
            assert hasattr(ew, name), name
        elif name.endswith(".py"):
            assert (PACKAGE / name).is_file(), name
    assert KINDS[kind].request.__name__ in named


def words_of(widget: Any) -> Iterator[str]:
    """What a panel says: labels, choices and text of all that is in it."""
    for name in ("value", "description", "label", "title", "tooltip"):
        yield str(getattr(widget, name, ""))
    yield str(getattr(widget, "options", ""))
    for inside in getattr(widget, "children", ()):
        yield from words_of(inside)


@pytest.mark.parametrize("tab", TABS, ids=lambda tab: tab.kind)
def test_what_a_guide_quotes_stands_in_its_panel(tab: Any) -> None:
    quoted = re.findall(r'"([^"]+)"', guide.source(tab.kind))
    said = "\n".join(words_of(tab.make())).lower()
    tabs = {other.name for other in TABS}
    outside = {"evaluate"}  # the extra of the package
    assert [one for one in quoted if one.lower() not in said and one not in tabs | outside] == []


@pytest.mark.parametrize("kind", KINDS)
def test_links_lead_to_papers_and_open_beside_the_page(kind: str) -> None:
    links = [attributes for tag, attributes in Reader(guide.page(kind)).tags if tag == "a"]
    assert links
    for link in links:
        assert re.fullmatch(r"https://arxiv\.org/abs/\d{4}\.\d{5}", str(link["href"]))
        assert link["target"] == "_blank"
        assert link["rel"] == "noopener noreferrer"
    told = re.findall(r"\[arXiv:([\d.]+)\]\(https://arxiv\.org/abs/([\d.]+)\)", guide.source(kind))
    assert len(told) == len(links)
    assert all(said == leads for said, leads in told)


def test_there_is_no_guide_of_nothing() -> None:
    assert not guide.known("length")
    for odd in ("length", "", "../errors", "api/..", "align\0"):
        assert not guide.known(odd)
        with pytest.raises(EmbtieError, match="There are: align"):
            guide.source(odd)


def test_nothing_in_a_text_is_markup() -> None:
    odd = display_token(b"<img src=x onerror=alert(1)>")
    page = Reader(rendered(f"# T\n\n{odd} <b>bold</b> `<i>`\n\n<script>alert(1)</script>\n"))
    assert {name for name, _ in page.tags} <= {"p", "code"}
    assert "<script>" in page.words


def test_scripts_are_no_links_and_files_are_not_linked_from_a_page() -> None:
    page = Reader(rendered("[a](javascript:alert(1)) [b](drift.md) [c](https://arxiv.org/abs/1)"))
    assert [attributes["href"] for tag, attributes in page.tags if tag == "a"] == [
        "https://arxiv.org/abs/1"
    ]
    assert LETTERS.findall(page.words)[-2:] == ["b", "c"]
