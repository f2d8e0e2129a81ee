"""The papers' printed numbers, beside what is computed here."""

import math
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from typing import TYPE_CHECKING, Any

from embtie_widgets.results.storage import storable

if TYPE_CHECKING:
    import pandas as pd

VERDICTS = ("agrees", "close", "differs", "stand-in", "missing", "print only")
ORIGINS = ("model", "recorded", "packaged", "stand-in", "")


@storable
@dataclass(frozen=True)
class PaperNumber:
    """One printed number and what comes of it here.

    row, column  where it stands in its table; of a figure: the point and the curve
    printed      as the paper prints it, such as "0.719", or "0.95 to 0.99" for a range
    value        computed here, in the unit of `printed`; None where it cannot be
    unit         such as "bits", "M" or "%"; "" for a plain number
    origin       where `value` comes from: a "model" on this machine or the hub, the papers' own
                 "recorded" runs, facts "packaged" with embtie, the bundled pair as a "stand-in",
                 or "" without one
    source       that in words, as "EleutherAI/pythia-1b at main, 50,304 rows"
    verdict      "agrees": rounded as printed it is the same, or in the range; "close": within
                 `tolerance`; "differs"; "stand-in": of other models, so never held against the
                 print; "missing": could be computed with what `missing` names; "print only": no
                 public model or data has it
    reason       the sentence that explains the verdict; never empty but for "agrees"
    missing      what is not here, "" where nothing is, and its size in bytes where that is known
    floor        what chance reaches, in the same unit, where that has a meaning
    """

    row: str
    column: str
    printed: str
    value: float | None = None
    unit: str = ""
    origin: str = ""
    source: str = ""
    verdict: str = "missing"
    reason: str = ""
    missing: str = ""
    missing_bytes: int | None = None
    tolerance: float = 0.0
    floor: float | None = None

    @property
    def difference(self) -> float | None:
        """value - printed where the two are of the same thing, else None; 0 within a range."""
        if self.value is None or self.verdict not in ("agrees", "close", "differs"):
            return None
        low, high = self.ends
        return self.value - min(max(self.value, low), high)

    @property
    def ends(self) -> tuple[float, float]:
        """Those of the printed range; of one number twice that."""
        low, high = map(float, self._printed())
        return low, high

    def found(
        self, value: float, origin: str, source: str, reason: str = "", floor: float | None = None
    ) -> "PaperNumber":
        """The same with what was computed of it, and how that stands to the print.

        `reason` says why it differs, and stays away where it agrees; of a stand-in, what it is.
        """
        if not math.isfinite(value):
            return self.lacking("", None, f"What is here gives no finite number: {source}.")
        verdict = "stand-in" if origin == "stand-in" else self._verdict(value)
        if verdict == "agrees":
            reason = ""
        elif not reason:
            reason = _UNEXPLAINED[verdict].format(tolerance=self.tolerance)
        return replace(
            self, value=value, origin=origin, source=source, verdict=verdict, reason=reason,
            floor=floor,
        )  # fmt: skip

    def lacking(self, missing: str, size: int | None, reason: str) -> "PaperNumber":
        """The same with what is not here of it; a stand-in's value stays beside that, with both
        reasons, and what is in print only lacks nothing."""
        if self.verdict == "print only":
            return self
        if self.value is not None:
            both = f"{self.reason} {reason}".strip()
            return replace(self, missing=missing, missing_bytes=size, reason=both)
        return replace(self, verdict="missing", missing=missing, missing_bytes=size, reason=reason)

    def print_only(self, reason: str) -> "PaperNumber":
        """The same, of what no public model or data has."""
        return replace(self, verdict="print only", reason=reason)

    def _verdict(self, value: float) -> str:
        low, high = self._printed()
        # By way of the text, so that a half is the half that is read; papers round it either way.
        exact = Decimal(repr(float(value)))
        if any(low <= exact.quantize(low, way, _ANY_SIZE) <= high for way in _HALVES):
            return "agrees"
        inside = float(low) - self.tolerance <= value <= float(high) + self.tolerance
        return "close" if inside else "differs"

    def _printed(self) -> tuple[Decimal, Decimal]:
        low, _, high = self.printed.partition(" to ")
        return Decimal(low), Decimal(high or low)


_ANY_SIZE = Context(prec=400)  # a float has no more digits before the point
_HALVES = (ROUND_HALF_UP, ROUND_HALF_EVEN)
_UNEXPLAINED = {
    "close": "Within {tolerance:g} of the print.",
    "differs": "No reason is known.",
    "stand-in": "Of other models, so it is not held against the print.",
}


@storable
@dataclass(frozen=True)
class PaperItem:
    """A table or figure: its numbers in printed order.

    name      as `embtie reproduce` takes it, such as "table-1" or "centering-sensitivity"
    paper     "tying", "centering" or "bottleneck"
    title     what it shows
    notes     sentences on all of it: how it was made there and here
    settings  what was computed, by source: models, revisions, rows used and left out, map, mode
    hashes    of the matrices and files that were read
    """

    name: str
    paper: str
    title: str
    numbers: tuple[PaperNumber, ...]
    notes: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    def count(self, verdict: str) -> int:
        """How many of its numbers have this verdict."""
        return sum(number.verdict == verdict for number in self.numbers)


@storable
@dataclass(frozen=True)
class PaperTables:
    """Every item that was asked for, in the papers' order; `failed` says by name what went wrong
    with one, whose numbers are then "missing"."""

    items: dict[str, PaperItem]
    settings: dict[str, Any]
    failed: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        counted = {v: sum(item.count(v) for item in self.items.values()) for v in VERDICTS}
        said = ", ".join(f"{count} {verdict}" for verdict, count in counted.items() if count)
        return f"PaperTables({len(self.items)} items; numbers: {said})"

    @property
    def hashes(self) -> dict[str, str]:
        """Of all that was read, by what it is."""
        return {what: sha for item in self.items.values() for what, sha in item.hashes.items()}

    def to_frame(self) -> "pd.DataFrame":
        """One row per printed number."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"paper": item.paper, "item": item.name}
                | vars(number)
                | {"difference": number.difference}
                for item in self.items.values()
                for number in item.numbers
            ]
        )

    def facts(self) -> dict[str, Any]:
        """All that every export carries beside the rows."""
        return {
            "items": {
                name: {"title": i.title, "notes": i.notes, "settings": i.settings}
                for name, i in self.items.items()
            },
            "failed": self.failed,
            "settings": self.settings,
            "hashes": self.hashes,
        }
