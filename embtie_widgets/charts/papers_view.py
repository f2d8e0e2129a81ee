"""The words, signs and colours that every view of the papers' numbers shares."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from embtie_widgets.results.papers import VERDICTS, PaperItem, PaperNumber, PaperTables

MINUS = "−"
PAPERS = {
    "tying": ("Weight tying", "2603.26663"),
    "centering": ("Output centering", "2601.02031"),
    "bottleneck": ("Gradient bottleneck", "2603.10145"),
}
"""What each is about, and its number at arXiv."""


@dataclass(frozen=True)
class Sign:
    """How a verdict is shown: a letter, a colour "r,g,b" with the strength of its wash, the marker
    and the pattern that say the same without it, and what it means."""

    glyph: str
    rgb: str
    strength: float
    symbol: str
    pattern: str
    meaning: str

    @property
    def color(self) -> str:
        """The full colour, for lines and markers."""
        return f"rgb({self.rgb})"

    @property
    def wash(self) -> str:
        """The colour behind words."""
        return f"rgba({self.rgb},{self.strength})"


_GREY = "122,130,143"
SIGNS = {
    "agrees": Sign("✓", "20,150,110", 0.5, "circle", "", "the same, rounded as printed"),
    "close": Sign("≈", "140,150,40", 0.45, "diamond", ".", "within the tolerance of the item"),
    "differs": Sign("≠", "214,69,69", 0.5, "x", "x", "not the same; the reason is given"),
    "stand-in": Sign(
        "◇", "128,96,214", 0.32, "diamond-open", "/", "of the bundled models, so not comparable"
    ),
    "missing": Sign("○", _GREY, 0.0, "circle-open", "", "can be computed with what is not here"),
    "print only": Sign("–", _GREY, 0.28, "circle-open", "", "no public model or data has it"),
}


def present(numbers: Iterable[PaperNumber]) -> list[str]:
    """The verdicts that occur, in the order of `VERDICTS`."""
    found = {number.verdict for number in numbers}
    return [verdict for verdict in VERDICTS if verdict in found]


def numbers_of(result: PaperTables | None) -> list[PaperNumber]:
    """Every number of every item."""
    return [] if result is None else [n for item in result.items.values() for n in item.numbers]


def label(name: str) -> str:
    """An item's name as it is read: "Table 1"."""
    return name.replace("-", " ").capitalize()


def counted(item: PaperItem) -> str:
    """Its numbers by verdict, as signs: "✓ 9, ≠ 3"."""
    found = [(SIGNS[v].glyph, item.count(v)) for v in present(item.numbers)]
    return ", ".join(f"{glyph} {count}" for glyph, count in found)


def printed_value(number: PaperNumber) -> float:
    """What is printed, as a number; of a range its middle."""
    low, high = number.ends
    return (low + high) / 2


def words(text: str) -> str:
    """The name of a row or column as it is read, with real arrows and minus signs."""
    return re.sub(r"(?<![\w)])-(?=\d)", MINUS, text.replace("->", " → "))


def printed(number: PaperNumber) -> str:
    """What is printed, with a real minus sign and its unit."""
    return f"{number.printed.replace('-', MINUS)} {number.unit}".rstrip()


def places(number: PaperNumber) -> int:
    """How many digits stand after the point where the number is printed."""
    return len(number.printed.partition(" to ")[0].partition(".")[2])


def here(number: PaperNumber) -> str:
    """The value computed here with one place more than is printed; a dash where there is none."""
    if number.value is None or not math.isfinite(number.value):
        return "–"
    return _rounded(number.value, number)


def _rounded(value: float, number: PaperNumber) -> str:
    wanted = places(number) + 1
    return f"{round(value, wanted) + 0.0:,.{wanted}f}".replace("-", MINUS)


def chance(number: PaperNumber) -> str:
    """What chance reaches; "" where that has no meaning."""
    return "" if number.floor is None else _rounded(number.floor, number)


def difference(number: PaperNumber) -> str:
    """Here less printed, with its sign; "" where the two are not of the same thing."""
    apart = number.difference
    if apart is None:
        return ""
    text = f"{apart:+,.{places(number) + 1}f}".replace("-", MINUS)
    return text.lstrip(f"+{MINUS}") if not text.strip(f"+{MINUS}0.,") else text
