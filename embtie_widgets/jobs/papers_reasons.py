"""Why a number is not the printed one: what it would be if it were computed in another way."""

from collections.abc import Iterator
from dataclasses import dataclass

from embtie_widgets.results.papers import PaperNumber


@dataclass(frozen=True)
class Other:
    """The same number computed in another way, which `words` say: "without centring"."""

    words: str
    value: float


@dataclass(frozen=True)
class Measured:
    """A number as the paper would compute it, and what is to be said of it.

    source  of which models, on which rows
    floor   what chance reaches, measured with rows permuted
    others  the same in other ways, the likeliest reason first
    sizes   a sentence where the matrices here have other sizes than the paper's
    """

    value: float
    source: str
    floor: float | None = None
    others: tuple[Other, ...] = ()
    sizes: str = ""

    def put(self, number: PaperNumber, origin: str) -> PaperNumber:
        """The printed number with this beside it, and the reason where they part."""
        reason = "" if origin == "stand-in" else explained(number, self)
        return number.found(self.value, origin, self.source, reason, self.floor)


def explained(number: PaperNumber, measured: Measured) -> str:
    """The sentences on a difference; none where nothing is known."""
    return " ".join(_sentences(number, measured))


def _sentences(number: PaperNumber, measured: Measured) -> Iterator[str]:
    if measured.sizes:
        yield measured.sizes
    fitting = [one for one in measured.others if number.found(one.value, "", "").verdict == _SAME]
    if fitting:
        yield f"The print is what comes {fitting[0].words}: {shown(number, fitting[0].value)}."
    elif measured.others:
        listed = "; ".join(f"{shown(number, o.value)} {o.words}" for o in measured.others)
        yield f"It would be {listed}."
    if measured.floor is not None and not measured.sizes and _is_chance(number, measured.floor):
        yield f"The print is no more than chance, which reaches {shown(number, measured.floor)}."


_SAME = "agrees"


def _is_chance(number: PaperNumber, floor: float) -> bool:
    """Whether the print stands at a floor that is not simply zero."""
    low, high = number.ends
    near = low - number.tolerance <= floor <= high + number.tolerance
    return near and floor > 2 * number.tolerance


def shown(number: PaperNumber, value: float) -> str:
    """A value with as many places as the print has."""
    _, _, places = number.printed.split(" to ")[0].partition(".")
    return f"{round(value, len(places)) + 0.0:.{len(places)}f}"
