"""What the papers' numbers say in words: headline, captions, what to beware of, and the text of the
command line."""

import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from embtie_widgets.charts.papers_curves import curves_of, left_out
from embtie_widgets.charts.papers_view import (
    SIGNS,
    counted,
    difference,
    here,
    label,
    numbers_of,
    present,
    printed,
    words,
)
from embtie_widgets.charts.sentences import listed
from embtie_widgets.progress import spoken
from embtie_widgets.results.papers import PaperItem, PaperNumber, PaperTables

_WIDE = 96  # letters of a line of text
_SAYS = {
    "agrees": ("agrees as printed", "agree as printed"),
    "close": ("is close", "are close"),
    "differs": ("differs", "differ"),
    "stand-in": ("has only a stand-in", "have only a stand-in"),
    "missing": ("needs what is not here", "need what is not here"),
    "print only": ("is in print only", "are in print only"),
}
_HUB = re.compile(r"\b(?:matrix|matrices|whole model)\b")
# A model whose matrices are missing, by its name at a hub: what `embtie fetch` brings.  It brings
# one revision, so not those of a training's steps.
_MODEL = re.compile(
    r"matri(?:x|ces)(?: in [^;]*)? of ([\w.-]+/[\w.-]+(?:@[\w./-]*\w)?)"
    r"(?![\w./@-])(?! \([^)]*\) at steps)"
)


@dataclass(frozen=True)
class Lacking:
    """Something that is not here: what, its bytes where known, and how many numbers need it."""

    what: str
    bytes: int | None
    needed_by: tuple[str, ...]
    numbers: int

    @property
    def size(self) -> str:
        """The size in words; "" where it is not known."""
        return "" if self.bytes is None else spoken(self.bytes)

    @property
    def models(self) -> tuple[str, ...]:
        """The models in it, as `embtie fetch` takes them."""
        return tuple(dict.fromkeys(_MODEL.findall(self.what)))


def headline(result: PaperTables) -> str:
    """How the printed numbers stand to those computed here, in one sentence."""
    numbers = numbers_of(result)
    many = f"{len(numbers):,} printed number{'' if len(numbers) == 1 else 's'}"
    return f"Of {many}, {_counts(numbers)}." if numbers else "No printed number was asked for."


def item_headline(item: PaperItem) -> str:
    """The same of one table or figure."""
    return f"Of its {len(item.numbers)} numbers, {_counts(item.numbers)}."


def _counts(numbers: Iterable[PaperNumber]) -> str:
    found = list(numbers)
    counts = {v: sum(number.verdict == v for number in found) for v in present(found)}
    return listed([f"{count:,} {_SAYS[v][count != 1]}" for v, count in counts.items()])


def faults(result: PaperTables) -> list[str]:
    """What could not be computed, and why."""
    return [f"{label(name)} could not be computed. {why}" for name, why in result.failed.items()]


def aside(result: PaperTables) -> str:
    """What to know of stand-ins; "" where there are none."""
    standing = sum(number.verdict == "stand-in" for number in numbers_of(result))
    if not standing:
        return ""
    return (
        f"{standing:,} of the values are of the small bundled models in place of the papers'. They "
        "show how a number is made and where chance lies, and are not held against the print."
    )


def overview_caption(result: PaperTables) -> str:
    """What the bars are, and their signs."""
    verdicts = present(numbers_of(result))
    signs = "; ".join(f"{SIGNS[v].glyph} {v}: {SIGNS[v].meaning}" for v in verdicts)
    return (
        "Each bar is a table or figure, cut by the share of its numbers; how many there are stands "
        f"at its end. {signs}."
    )


def item_caption(item: PaperItem) -> str:
    """What the signs of its chart stand for."""
    if curves_of(item):
        said = ["dotted with open signs: printed", "full with filled signs: computed here"]
        said += ["✕: differs"] if item.count("differs") else []
        said += [f"in the table alone: {row}" for row in left_out(item)]
        standing = "curves called stand-in are of the bundled models"
    else:
        said = [
            "grey: printed, open where nothing is here to compare",
            "in colour: computed here, its sign by the verdict",
        ]
        standing = "stand-ins are of the bundled models, so no line joins them to the print"
        if any(number.floor is not None for number in item.numbers):
            said.append("upright stroke: what chance reaches")
    if any(number.verdict == "stand-in" for number in item.numbers):
        said.append(standing)
    return f"{label(item.name)}, {item.title}. {'; '.join(said).capitalize()}."


def lackings(items: Iterable[PaperItem]) -> list[Lacking]:
    """Each thing that is not here once, what most numbers need first."""
    found: dict[str, list[tuple[str, int | None]]] = {}
    for item in items:
        for number in item.numbers:
            if number.missing:
                found.setdefault(number.missing, []).append((item.name, number.missing_bytes))
    for what, needs in list(found.items()):
        parts = what.split("; ")
        if len(parts) > 1 and all(part in found for part in parts):
            del found[what]
            for part in parts:
                found[part] += [(name, None) for name, _ in needs]
    return sorted((_lacking(*one) for one in found.items()), key=lambda one: -one.numbers)


def _lacking(what: str, needs: list[tuple[str, int | None]]) -> Lacking:
    sizes = [size for _, size in needs if size is not None]
    return Lacking(what, max(sizes, default=None), tuple(dict(needs)), len(needs))


def fetch_line(lacking: Iterable[Lacking]) -> str:
    """The command that brings every model that is missing; "" where none is."""
    models = dict.fromkeys(model for one in lacking for model in one.models)
    return f"embtie fetch {' '.join(models)}" if models else ""


def _rest_line(lacking: Iterable[Lacking]) -> str:
    """The command for what no `embtie fetch` brings, as whole models and the matrices of a
    training's steps; "" where there is none of it."""
    of_hub = [one for one in lacking if not one.models and _HUB.search(one.what)]
    items = dict.fromkeys(name for one in of_hub for name in one.needed_by)
    return f"embtie reproduce --fetch {' '.join(items)}" if items else ""


# For the command line.


def text(_request: Any, result: PaperTables) -> str:
    """What the command line prints: a table for each item with its reasons, what is missing, and
    the sentence on all of it."""
    parts = [
        *(_item_text(item) for item in result.items.values()),
        _missing_text(result),
        *(_wrapped(f"beware: {said}") for said in faults(result)),
        _wrapped(aside(result)),
        _wrapped(headline(result)),
    ]
    return "\n\n".join(part for part in parts if part)


def _item_text(item: PaperItem) -> str:
    reasons = {reason: i + 1 for i, reason in enumerate(_reasons(item))}
    rows = [("", "", "printed", "here", "difference", "", "")]
    for number in item.numbers:
        sign = f"{SIGNS[number.verdict].glyph} {number.verdict}"
        why = f"[{reasons[number.reason]}]" if number.reason else ""
        values = printed(number), here(number), difference(number)
        rows.append((words(number.row), words(number.column), *values, sign, why))
    notes = [f"note: {note}" for note in item.notes]
    told = [f"[{i}] {reason}" for reason, i in reasons.items()]
    title = f"{label(item.name)}: {item.title} ({counted(item)})"
    return "\n".join([title, *_aligned(rows), *map(_wrapped, [*told, *notes])])


def _reasons(item: PaperItem) -> list[str]:
    return list(dict.fromkeys(number.reason for number in item.numbers if number.reason))


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    wide = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    to_the_right = (2, 3, 4)
    return [
        "  ".join(
            cell.rjust(size) if place in to_the_right else cell.ljust(size)
            for place, (cell, size) in enumerate(zip(row, wide, strict=True))
        ).rstrip()
        for row in rows
    ]


def _wrapped(line: str) -> str:
    return textwrap.fill(line, _WIDE, subsequent_indent="    ")


def _missing_text(result: PaperTables) -> str:
    found = lackings(result.items.values())
    if not found:
        return ""
    lines = [
        f"- {one.what}"
        + (f", {one.size}" if one.size else "")
        + f" (for {listed([label(name) for name in one.needed_by])})"
        for one in found
    ]
    commands = filter(None, (fetch_line(found), _rest_line(found)))
    return "\n".join(["What is not here:", *map(_wrapped, lines), *commands])
