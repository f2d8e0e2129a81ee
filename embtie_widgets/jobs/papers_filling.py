"""A table of several families of models, filled family by family: by the models where they are
here, else by the bundled pair, and what is missing said beside it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

from embtie_widgets.errors import Cancelled, EmbtieError
from embtie_widgets.jobs.papers_families import family, stand_in
from embtie_widgets.jobs.papers_ground import Ground, Lack
from embtie_widgets.jobs.papers_pairs import Opened
from embtie_widgets.jobs.papers_reasons import Measured
from embtie_widgets.results.papers import PaperItem, PaperNumber

Key = tuple[str, str]
Measure = Callable[[Opened], Mapping[Key, Measured]]
"""What is computed of a family, by comparison and column."""
Chance = Callable[[str, str], float | None]
"""(family, column) -> what chance reaches at the paper's sizes."""


def filled(ground: Ground, printed: PaperItem, measure: Measure, chance: Chance) -> PaperItem:
    """The item with every family measured that is here or has a stand-in."""
    item = replace(printed, numbers=())
    for name, own in groupby(printed.numbers, lambda number: number.row.rpartition(": ")[0]):
        item = _with_family(item, ground, name, tuple(own), measure, chance)
    return item


def _with_family(
    item: PaperItem,
    ground: Ground,
    name: str,
    own: tuple[PaperNumber, ...],
    measure: Measure,
    chance: Chance,
) -> PaperItem:
    """The item with the numbers of one more family."""
    known = family(name)
    lack = ground.lacking(known.a, known.b)
    used = known if lack is None else stand_in(name) if ground.request.stand_in else None
    values: Mapping[Key, Measured] = {}
    if used is not None:
        opened = Opened(used, ground)
        try:
            values = measure(opened)
        except Cancelled:
            raise
        except EmbtieError as error:
            lack = lack or Lack("", None, str(error))
        else:
            item = _told(item, opened, values)
    numbers = tuple(
        _number(one, used.origin if used else "", values, lack, chance(name, one.column))
        for one in own
    )
    return replace(item, numbers=(*item.numbers, *numbers))


def _number(
    number: PaperNumber,
    origin: str,
    values: Mapping[Key, Measured],
    lack: Lack | None,
    floor: float | None,
) -> PaperNumber:
    found = values.get((number.row.rpartition(": ")[2], number.column))
    number = replace(number, floor=floor) if found is None else found.put(number, origin)
    if lack is not None:
        return lack.told(number)
    return number if found is not None else number.lacking("", None, _NOT_FOUND)


_NOT_FOUND = "It could not be computed of these models; the notes say why."


def _told(item: PaperItem, opened: Opened, values: Mapping[Key, Measured]) -> PaperItem:
    """The item with what is to be said of a family: how it was computed, and other ways."""
    known = opened.family
    ways: dict[str, dict[str, float]] = {}
    for (name, column), one in values.items():
        for other in one.others:
            ways.setdefault(other.words, {})[f"{name}, {column}"] = other.value
    facts: dict[str, Any] = opened.facts() | ({"other ways": ways} if ways else {})
    notes = () if known.is_stand_in else tuple(_notes(known.name, ways, values))
    place = f"{known.name}, stand-in" if known.is_stand_in else known.name
    return replace(
        item,
        notes=tuple(dict.fromkeys((*item.notes, *notes, *opened.said))),
        settings=item.settings | {place: facts},
        hashes=item.hashes | opened.hashes(),
    )


def _notes(
    name: str, ways: Mapping[str, Mapping[str, float]], values: Mapping[Key, Measured]
) -> Iterator[str]:
    """How far every other way of computing takes the numbers of a family."""
    plain = {f"{row}, {column}": one.value for (row, column), one in values.items()}
    for words, others in ways.items():
        most = max(abs(value - plain[key]) for key, value in others.items())
        yield f"{name}: {words}, the numbers change by at most {most:.4f}."
