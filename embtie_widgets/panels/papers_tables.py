"""The papers' numbers in tables: printed, computed here, apart by, and why; and what is missing."""

from collections.abc import Iterable

from embtie_widgets.charts.papers_view import SIGNS, chance, difference, here, label, printed, words
from embtie_widgets.charts.papers_words import aside, faults, headline, item_headline, lackings
from embtie_widgets.panels.words import escape, paragraphs, table
from embtie_widgets.results.papers import PaperItem, PaperNumber, PaperTables

_ABOVE = '<span class="ep-quiet">as above</span>'
_FETCH = (
    "Fetched once, a model stays on this machine; or let the next run fetch what it misses, on the "
    "left. A file of recorded runs goes into a folder that is named there."
)


def top(result: PaperTables) -> str:
    """The sentence of the panel, and what to beware of."""
    alerts = "".join(
        f'<div class="ep-alert" role="note">{escape(one)}</div>' for one in faults(result)
    )
    return f"{paragraphs(headline(result))}{paragraphs(aside(result), 'ep-aside')}{alerts}"


def about(item: PaperItem | None) -> str:
    """What an item shows, how its numbers stand, and how they were made there and here."""
    if item is None:
        return ""
    notes = "".join(f"<li>{escape(note)}</li>" for note in item.notes)
    listed = f'<ul class="ep-notes">{notes}</ul>' if notes else ""
    title = f"<h4>{escape(label(item.name))}: {escape(item.title)}</h4>"
    return f"{title}<p>{escape(item_headline(item))}</p>{listed}"


def numbers(item: PaperItem | None, only: str = "") -> str:
    """Every number of an item, or those of one verdict."""
    shown = [] if item is None else [n for n in item.numbers if only in ("", n.verdict)]
    floors = any(one.floor is not None for one in shown)
    rows, before = [], ""
    for one in shown:
        why = _why(one)
        rows.append(_row(one, floors, _ABOVE if why and why == before else why))
        before = why
    head = [
        "",
        "",
        "printed",
        "here",
        "difference",
        *["chance"] * floors,
        "verdict",
        _quoted("why"),
    ]
    name = "" if item is None else f"numbers of {label(item.name)}"
    return f'<div class="ep-tall ep-papers">{table(head, rows, name)}</div>' if rows else ""


def _row(one: PaperNumber, floors: bool, why: str) -> list[str]:
    floor = [chance(one) or "–"] if floors else []
    return [
        escape(words(one.row)),
        escape(words(one.column)),
        escape(printed(one)),
        f"<b>{escape(here(one))}</b>" if one.value is not None else "–",
        escape(difference(one)),
        *floor,
        verdict(one.verdict),
        _quoted(why),
    ]


def verdict(name: str) -> str:
    """A verdict as its sign and its word on its colour."""
    sign = SIGNS[name]
    return (
        f'<span class="ep-verdict" style="background:{sign.wash};border-color:{sign.color}" '
        f'title="{escape(sign.meaning)}">{sign.glyph} {escape(name)}</span>'
    )


def _why(one: PaperNumber) -> str:
    parts = [escape(one.reason), *([f"<small>{escape(one.source)}</small>"] if one.source else [])]
    return " ".join(part for part in parts if part)


def _quoted(text: str) -> str:
    return f'<span class="ep-why">{text}</span>'


def missing(items: Iterable[PaperItem]) -> str:
    """What is not here, how large it is, and what it is for."""
    rows = [
        [escape(one.what), one.size or "–", escape(", ".join(map(label, one.needed_by)))]
        for one in lackings(items)
    ]
    if not rows:
        return ""
    shown = table(["", "size", "for"], rows, "what is not on this machine")
    return f'<div class="ep-tall ep-lacking">{shown}</div><p class="ep-quiet">{_FETCH}</p>'
