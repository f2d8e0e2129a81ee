"""How embtie, and the papers whose measures were used, are cited: from the CITATION.cff."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from embtie_widgets import guide
from embtie_widgets.errors import EmbtieError

_PACKAGE = Path(__file__).parents[1]
_ARXIV = re.compile(r"arXiv:\s?(\d{4}\.\d{4,5})")


@dataclass(frozen=True)
class Reference:
    """What is cited: who, when and what, and its arXiv number where it has one."""

    authors: str
    year: str
    title: str
    arxiv: str = ""

    @property
    def text(self) -> str:
        """The reference in one line."""
        number = f" arXiv:{self.arxiv}" if self.arxiv else ""
        return f"{self.authors}{f' ({self.year})' if self.year else ''}. {self.title}.{number}"


def software() -> Reference:
    """embtie itself, in this version."""
    about = _read()
    return Reference(_names(about), "", f"{about['title']}, version {about['version']}")


def papers(kinds: Collection[str]) -> list[Reference]:
    """The papers that the guides of these kinds of request name, as far as they are known."""
    texts = [guide.source(kind) for kind in kinds if guide.known(kind)]
    named = {number for text in texts for number in _ARXIV.findall(text)}
    return [one for one in map(_reference, _read()["references"]) if one.arxiv in named]


@cache
def _read() -> dict[str, Any]:
    """The file: inside the installed package, or beside it in a checkout."""
    for folder in (_PACKAGE, _PACKAGE.parent):
        if (folder / "CITATION.cff").is_file():
            text = (folder / "CITATION.cff").read_text(encoding="utf-8")
            known: dict[str, Any] = yaml.safe_load(text)
            return known
    raise EmbtieError("CITATION.cff is missing from this installation.", "Install embtie again.")


def _reference(about: Mapping[str, Any]) -> Reference:
    listed = (one["value"] for one in about.get("identifiers", ()))
    numbers = [found[1] for value in listed if (found := _ARXIV.search(value))]
    year = str(about.get("year", ""))
    return Reference(_names(about), year, about["title"], numbers[0] if numbers else "")


def _names(about: Mapping[str, Any]) -> str:
    names = [
        one.get("name") or f"{one['given-names']} {one['family-names']}"
        for one in about.get("authors", ())
    ]
    return ", ".join(names)
