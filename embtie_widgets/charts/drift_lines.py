"""What of a drift is drawn: its lines by role, and where each checkpoint stands on the axis."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from embtie_widgets.charts.shapes import Vector
from embtie_widgets.charts.theme import ROLES, Mark
from embtie_widgets.results.checkpoints import Checkpoint, Place, positions
from embtie_widgets.results.drift import Drift, DriftReport
from embtie_widgets.results.groups import BANDS

ALL, EVERY = "", "every band"


@dataclass(frozen=True)
class View:
    """How a drift is looked at.

    scale   of the axis of steps: "log" or "linear"
    band    of token frequency: a name of `results.groups.BANDS`, EVERY, or ALL tokens together
    change  since the checkpoint before: "cosine", or "turn" in degrees per step
    """

    scale: str = "log"
    band: str = ALL
    change: str = "cosine"


@dataclass(frozen=True)
class Line:
    """One matrix of one training, for all tokens or those of a band.

    run, role  the training by name, and "input", "output" or "tied"
    place      which training of the report it is, from 0
    band       "" for all tokens
    strength   0 to 1, how strong it is drawn
    """

    run: str
    role: str
    place: int
    drift: Drift
    band: str = ALL
    strength: float = 1.0
    leads: bool = True

    @property
    def side(self) -> str:
        """Under which name the result has its numbers."""
        return "input" if self.role == "tied" else self.role

    @property
    def mark(self) -> Mark:
        """Colour, dash and marker of its role; a second training of the same role is dotted."""
        own = ROLES[self.role]
        return own if self.place == 0 or self.role == "tied" else Mark(own.color, "dot", own.symbol)

    def values(self, what: str) -> Vector:
        """(n,) "to_first", "to_previous", or "turn" in degrees per step."""
        if what == "turn":
            return self.drift.turn(self.side)
        name = f"{self.side}_{what}"
        if not self.band:
            return np.asarray(getattr(self.drift, name), float)
        return np.asarray(self.drift.by_band[name][:, self.drift.bands.index(self.band)], float)


def roles(drift: Drift) -> list[str]:
    """The matrices of a training that have numbers."""
    if drift.tied:
        return ["tied"]
    return [role for role in ("input", "output") if drift.knows(role)]


def bands(result: DriftReport | None) -> list[str]:
    """The bands of frequency that hold a token somewhere, the rarest first."""
    known = [] if result is None else list(result.runs.values())
    return [name for name in BANDS if any(_has(drift, name) for drift in known)]


def _has(drift: Drift, band: str) -> bool:
    if band not in drift.bands:
        return False
    place = drift.bands.index(band)
    return any(np.isfinite(values[:, place]).any() for values in drift.by_band.values())


def lines(result: DriftReport | None, band: str = ALL) -> list[Line]:
    """Those that are drawn, in the order of the legend; bands from faint to strong."""
    if result is None:
        return []
    if band == EVERY:
        return list(_by_band(result))
    return [
        Line(name, role, place, drift, band)
        for place, (name, drift) in enumerate(result.runs.items())
        for role in roles(drift)
        if not band or _has(drift, band)
    ]


def _by_band(result: DriftReport) -> Iterator[Line]:
    known = bands(result)
    strengths = np.linspace(0.35, 1.0, len(known)) if len(known) > 1 else np.ones(len(known))
    for place, (name, drift) in enumerate(result.runs.items()):
        for role in roles(drift):
            held = [
                (b, s) for b, s in zip(known, strengths.tolist(), strict=True) if _has(drift, b)
            ]
            for band, strength in held:
                leads = band == held[-1][0]
                yield Line(name, role, place, drift, band, strength, leads)


def lines_of(name: str, drift: Drift) -> list[Line]:
    """The lines of one training, for all tokens."""
    return [Line(name, role, 0, drift) for role in roles(drift)]


def is_shared(line: Line, stop: Checkpoint) -> bool:
    """Whether another checkpoint of the training holds the very same matrix."""
    own = stop.hashes.get(line.side)
    return own is not None and sum(s.hashes.get(line.side) == own for s in line.drift.stops) > 1


def band_choices(result: DriftReport | None) -> list[tuple[str, str]]:
    """Words and name of what a control can choose: all tokens, each band, every band."""
    known = bands(result)
    every = [(EVERY, EVERY)] if len(known) > 1 else []
    return [("all together", ALL), *((name, name) for name in known), *every]


def called(result: DriftReport, line: Line) -> str:
    """A line in the legend: its role, and its training where that is needed to tell it."""
    alike = [one for one in lines(result) if one.role == line.role]
    return f"{line.role} of {line.run}" if len(alike) > 1 else line.role


@dataclass(frozen=True)
class Axis:
    """Where checkpoints stand between 0 and 1, one axis for all trainings of a report.

    tracks  the stages that stand side by side
    main    whether a checkpoint without step, as `main`, stands at the end
    """

    at: Mapping[Any, float]
    tracks: tuple[Place, ...]
    main: bool

    def of(self, row: Checkpoint) -> float:
        """Where a checkpoint stands."""
        return self.at[_key(row)]


def axis_of(result: DriftReport | None, scale: str) -> Axis:
    """The axis that holds every checkpoint of every training."""
    rows = {} if result is None else {_key(row): row for row in _ordered(result)}
    at, tracks = positions(rows.values(), scale == "log")
    main = any(row.value is None for row in rows.values())
    return Axis(dict(zip(rows, at, strict=True)), tuple(tracks), main)


def _ordered(result: DriftReport) -> list[Checkpoint]:
    """All checkpoints, stage by stage, those without a step last."""
    rows = [row for drift in result.runs.values() for row in drift.stops]
    return sorted(rows, key=lambda row: (row.value is None, row.track, row.value or 0))


def _key(row: Checkpoint) -> Any:
    return (row.track, row.value) if row.value is not None else row.name
