"""Turning untrusted values into the fields of a request, with an error that says what is wrong."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from typing import Any

from embtie_widgets.errors import EmbtieError

TEXT_LIMIT = 1024


def choice(name: str, value: Any, options: Collection[str]) -> str:
    """One of `options`."""
    if not isinstance(value, str) or value not in options:
        raise EmbtieError(
            f"{name} is {short(value)}; expected one of {', '.join(map(repr, options))}.",
            "Choose one of these.",
        )
    return value


def number(name: str, value: Any, low: float, high: float, *, below: bool = False) -> float:
    """A finite number in [low, high], or in [low, high) with `below`."""
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not low <= value <= high or (below and value == high):
        raise EmbtieError(
            f"{name} is {short(value)}; expected a number from {low:g} to "
            f"{'below ' if below else ''}{high:g}.",
            f"Set {name} inside these bounds.",
        )
    return float(value)


def whole(name: str, value: Any, low: int, high: int) -> int:
    """A whole number in [low, high]."""
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise EmbtieError(
            f"{name} is {short(value)}; expected a whole number from {low} to {high}.",
            f"Set {name} inside these bounds.",
        )
    return value


def flag(name: str, value: Any) -> bool:
    """True or False, and nothing that merely looks like it."""
    if not isinstance(value, bool):
        raise EmbtieError(f"{name} is {short(value)}; expected true or false.", "Set one of them.")
    return value


def text(name: str, value: Any) -> str:
    """A non-empty string of bounded length without control characters."""
    good = isinstance(value, str) and 0 < len(value) <= TEXT_LIMIT and value.isprintable()
    if not good:
        raise EmbtieError(
            f"{name} is {short(value)}; expected 1 to {TEXT_LIMIT} printable characters.",
            f"Give {name} as plain text.",
        )
    return str(value)


def optional_text(name: str, value: Any) -> str | None:
    """Such a string, or None."""
    return None if value is None else text(name, value)


def listed(name: str, value: Any, most: int = 24) -> tuple[Any, ...]:
    """Several plain values, each once, in the order given; a lone text is refused."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | dict):
        raise EmbtieError(f"{name} is {short(value)}; expected a list.", "Give several.")
    try:
        found = tuple(dict.fromkeys(value))
    except TypeError:  # a list in a list
        raise EmbtieError(
            f"{name} is {short(value)}; expected plain values.", "Give a flat list."
        ) from None
    if len(found) > most:
        raise EmbtieError(
            f"{name} has {len(found)} entries; at most {most} are taken.", "Give fewer."
        )
    return found


def some(name: str, value: Any, most: int = 24) -> tuple[Any, ...]:
    """Such a list with at least one entry."""
    found = listed(name, value, most)
    if not found:
        raise EmbtieError(f"{name} is empty.", f"Name at least one for {name}.")
    return found


def numbers(name: str, value: Any, low: float, high: float, most: int = 24) -> tuple[float, ...]:
    """Numbers in [low, high], each once and rising; as texts too, which is how links carry them."""
    return tuple(sorted({number(name, read(one), low, high) for one in listed(name, value, most)}))


def wholes(name: str, value: Any, low: int, high: int, most: int = 24) -> tuple[int, ...]:
    """Whole numbers in [low, high], each once, in the order given; as texts too."""
    return tuple(dict.fromkeys(whole(name, read(v), low, high) for v in listed(name, value, most)))


def read(value: Any) -> Any:
    """A number from the text that links carry."""
    for kind in (int, float) if isinstance(value, str) else ():
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def mapping(name: str, value: Any, known: Collection[str]) -> Mapping[str, Any]:
    """A mapping all of whose keys are known."""
    if not isinstance(value, Mapping):
        raise EmbtieError(
            f"{name} is {short(value)}; expected an object with named fields.",
            "Copy the request again from the interface.",
        )
    unknown = sorted(str(key) for key in value if key not in known)
    if unknown:
        raise EmbtieError(
            f"{name} has the unknown field {short(unknown[0])}; known are {', '.join(known)}.",
            "Remove it, or write the request with the version of embtie that knows it.",
        )
    return value


def short(value: Any) -> str:
    """A value as it is quoted in a message: at most 60 characters, control signs as escapes."""
    try:
        shown = repr(value)
    except ValueError:  # a whole number with more digits than Python will print
        return "a number without end"
    return shown if len(shown) <= 60 else shown[:57] + "..."


def names_of(kind: type) -> tuple[str, ...]:
    """The field names of a dataclass, without its class variables."""
    return tuple(field.name for field in fields(kind))
