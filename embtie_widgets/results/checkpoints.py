"""What is known of the checkpoints of a training, and where each stands in it."""

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from embtie_widgets.results.storage import storable

if TYPE_CHECKING:
    import pandas as pd

LISTED, LOADED, SKIPPED = "listed", "loaded", "skipped"
_NAMES = 6
Track = tuple[int, int, str]
# Of an axis: the gap between two tracks, all gaps together at most, a track at least.
_GAP, _GAPS, _LEAST_WIDTH = 0.03, 0.3, 0.08


@storable
@dataclass(frozen=True)
class Distance:
    """How far a checkpoint is from one before it, in steps and tokens; None where not known."""

    before: str
    steps: int | None
    tokens: int | None


@storable
@dataclass(frozen=True)
class Checkpoint:
    """One revision of a model.

    name        as the hub or the folder spells it
    stage, ingredient  of the training, where the name says it
    step        optimiser steps, counted within the stage
    tokens      seen until then
    state       "listed", "loaded", or "skipped", for the `reason`
    since       the distance from the one before in the list, of the same stage and ingredient
    since_loaded  the distance from the one before that was loaded: what a change between the two
                is measured over
    tied        the status of the loaded model
    hashes      of its matrices by role, and of its files by "file " and their name
    """

    name: str
    stage: int | None = None
    ingredient: int | None = None
    step: int | None = None
    tokens: int | None = None
    state: str = LISTED
    since: Distance | None = None
    since_loaded: Distance | None = None
    tied: str | None = None
    hashes: dict[str, str] = field(default_factory=dict)
    reason: str = ""

    @property
    def value(self) -> int | None:
        """Where it stands on the axis of its track."""
        return self.tokens if self.step is None else self.step

    @property
    def track(self) -> Track:
        """Stage, ingredient and unit of the axis: values can be compared within one track."""
        if self.value is None:
            return (0, 0, "")
        return (self.stage or 1, self.ingredient or 0, "tokens" if self.step is None else "steps")


@storable
@dataclass(frozen=True)
class SameBytes:
    """Checkpoints that hold the very same bytes: `what` says of which matrices or files."""

    what: tuple[str, ...]
    names: tuple[str, ...]

    def __str__(self) -> str:
        """A sentence; of very many names only the first."""
        # Each matrix has a clause of its own: "input and output are the same" would read as tied.
        first, *others = self.what
        also = "".join(f"; so is {what}" for what in others)
        shown = self.names[:_NAMES]
        more = f" and {len(self.names) - _NAMES} more" if self.names[_NAMES:] else ""
        at = f"{', '.join(shown)}{more}"
        return f"{first[:1].upper()}{first[1:]} is the same, byte for byte, at {at}{also}."


@dataclass(frozen=True)
class Place:
    """One track on an axis from 0 to 1: where it starts and ends, and where its values stand."""

    label: str
    unit: str
    start: float
    end: float
    first: float
    last: float
    log: bool

    def of(self, value: float) -> float:
        """Where a value stands."""
        extent = self._scaled(self.last) - self._scaled(self.first)
        if not extent:
            return (self.start + self.end) / 2
        part = (self._scaled(value) - self._scaled(self.first)) / extent
        return self.start + (self.end - self.start) * part

    def _scaled(self, value: float) -> float:
        return math.log10(value + 1) if self.log else float(value)


@storable
@dataclass(frozen=True)
class CheckpointReport:
    """The checkpoints of a training in order, and which of them hold the same bytes.

    rows      all that are known, `main` last where it is among them
    repeats   different checkpoints with equal bytes: one of them is not what its name says
    notes     sentences that belong beside every curve made from these
    """

    name: str
    rows: tuple[Checkpoint, ...]
    repeats: tuple[SameBytes, ...]
    notes: tuple[str, ...]
    settings: dict[str, Any]
    hashes: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        states = Counter(row.state for row in self.rows)
        said = ", ".join(f"{count} {state}" for state, count in states.items())
        same = f", {len(self.repeats)} x the same bytes" if self.repeats else ""
        span = f" from {self.rows[0].name} to {self.rows[-1].name}" if self.rows else ""
        number = f"{len(self.rows)} checkpoints{span}"
        return f"CheckpointReport({self.name!r}, {number}: {said or 'none'}{same})"

    @property
    def repeated(self) -> frozenset[str]:
        """The names of all that share bytes with another."""
        return frozenset(name for repeat in self.repeats for name in repeat.names)

    def positions(self, log: bool = True) -> tuple[list[float], list[Place]]:
        """Where each row stands between 0 and 1, and the tracks; see `positions`."""
        return positions(self.rows, log)

    def others(self, name: str) -> list[str]:
        """Which other checkpoints share bytes with this one."""
        same = (repeat.names for repeat in self.repeats if name in repeat.names)
        return [
            other for other in dict.fromkeys(x for names in same for x in names) if other != name
        ]

    def to_frame(self) -> "pd.DataFrame":
        """One row per checkpoint: its place, its distances, its state, its hashes."""
        import pandas as pd

        return pd.DataFrame([self._line(row) for row in self.rows])

    def _line(self, row: Checkpoint) -> dict[str, Any]:
        since, loaded = row.since, row.since_loaded
        return {
            "revision": row.name,
            "stage": row.stage,
            "ingredient": row.ingredient,
            "step": row.step,
            "tokens": row.tokens,
            "state": row.state,
            "steps since the one before": since.steps if since else None,
            "tokens since the one before": since.tokens if since else None,
            "loaded before it": loaded.before if loaded else "",
            "steps since the loaded one": loaded.steps if loaded else None,
            "tokens since the loaded one": loaded.tokens if loaded else None,
            "tied": row.tied or "",
            "input hash": row.hashes.get("input", ""),
            "output hash": row.hashes.get("output", ""),
            "same bytes as": " ".join(self.others(row.name)),
            "reason": row.reason,
        }

    def facts(self) -> dict[str, Any]:
        """All that every export carries beside the rows."""
        return {
            "model": self.name,
            "repeats": [{"what": r.what, "names": r.names} for r in self.repeats],
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }


def positions(rows: Collection[Checkpoint], log: bool = True) -> tuple[list[float], list[Place]]:
    """Where each row stands between 0 and 1, and the tracks, which stand side by side.

    Within a track distances are true to log10(value + 1), or to the values themselves; between two
    tracks is a gap that says nothing.  What has no value, as `main`, stands at the end.
    """
    places = _places(rows, log)
    known = ((row.value, places.get(row.track)) for row in rows)
    at = [1.0 if value is None or not place else place.of(value) for value, place in known]
    return at, list(places.values())


def _label(track: Track, staged: bool) -> str:
    """A track as readers know it: "stage 2, ingredient 1"."""
    stage, ingredient, unit = track
    part = f", ingredient {ingredient}" if ingredient else ""
    name = f"stage {stage}{part}" if staged else "training"
    return name if unit == "steps" else f"{name}, by tokens"


def _places(rows: Collection[Checkpoint], log: bool) -> dict[Track, Place]:
    """The tracks in order, as wide as their values reach; the rest of the axis is for `main`."""
    found: dict[Track, list[int]] = {}
    alone, staged = False, any(row.stage is not None for row in rows)
    for row in rows:
        if row.value is None:
            alone = True
        else:
            found.setdefault(row.track, []).append(row.value)
    count = len(found) - 1 + alone
    gap = min(_GAP, _GAPS / max(count, 1))
    widths = _widths([_extent(values, log) for values in found.values()], 1.0 - gap * count)
    places: dict[Track, Place] = {}
    start = 0.0
    for (track, values), width in zip(found.items(), widths, strict=True):
        ends = (float(min(values)), float(max(values)))
        places[track] = Place(_label(track, staged), track[2], start, start + width, *ends, log)
        start += width + gap
    return places


def _extent(values: list[int], log: bool) -> float:
    low, high = min(values), max(values)
    return math.log10(high + 1) - math.log10(low + 1) if log else float(high - low)


def _widths(extents: list[float], whole: float) -> list[float]:
    """Shares of the whole by extent, none so narrow that its checkpoints could not be told."""
    least = min(_LEAST_WIDTH, whole / (2 * len(extents))) if extents else 0.0
    free, total = whole - least * len(extents), sum(extents)
    return [least + free * (extent / total if total else 1 / len(extents)) for extent in extents]
