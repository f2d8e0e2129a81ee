"""The guides: for each kind of request a text that says what is shown, how to read it, what
misleads, the mathematics and where it comes from.

Each is written once, as `<kind>.md` beside this file: the panel's "?" opens it, a report carries
it, and it reads well as it stands.
"""

from functools import cache
from pathlib import Path

from embtie_widgets.errors import EmbtieError

SECTIONS = ("What it shows", "How to read it", "Pitfalls", "The mathematics", "Source")
"""What every guide holds, in this order."""
_FOLDER = Path(__file__).parent


def known(kind: str) -> bool:
    """Whether there is a guide of this kind of request."""
    return kind.replace("-", "").isalnum() and (_FOLDER / f"{kind}.md").is_file()


def source(kind: str) -> str:
    """The guide of a kind of request, as markdown with formulas between dollars."""
    if not known(kind):
        there = ", ".join(sorted(path.stem for path in _FOLDER.glob("*.md")))
        raise EmbtieError(f"There is no guide called {kind!r}.", f"There are: {there}.")
    return (_FOLDER / f"{kind}.md").read_text(encoding="utf-8")


@cache
def keys() -> str:
    """How a page is used by keys, as a piece of HTML like a guide; the text is a page of the
    handbook."""
    from embtie_widgets.guide.rendering import rendered

    text = (_FOLDER / "handbook" / "keys.md").read_text(encoding="utf-8")
    return f'<div class="ep-guide-keys"><h3>By keys</h3>{rendered(text)}</div>'


@cache
def page(kind: str) -> str:
    """The guide as a piece of HTML that needs no script: formulas are MathML, sections begin at
    h3, and its title is left to the page that it stands in."""
    from embtie_widgets.guide.rendering import rendered

    return f'<div class="ep-guide-text">{rendered(source(kind))}</div>'
