"""The request behind the panel of input scaling."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from embtie_widgets.errors import EmbtieError
from embtie_widgets.requests import fields
from embtie_widgets.requests.align import MAPS
from embtie_widgets.requests.training import TrainingRequest

SCHEDULES = ("all", "early")
MOST_FACTORS = 8


@dataclass(frozen=True)
class ScalingRequest(TrainingRequest):
    """Train an untied model, a tied one, and tied ones whose input gradient is multiplied, and
    align each tied matrix with the untied input and output.

    `factors` are the multipliers beside 1, which is always trained; `schedule` "early" multiplies
    in the first `early` steps only.  `map`, `holdout` and the seed are those of an alignment.
    """

    factors: tuple[float, ...] = (5.0,)
    schedule: str = "all"
    early: int = 100
    map: str = "orthogonal"
    holdout: float = 0.2

    kind: ClassVar[str] = "input-scaling"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "factors", _factors(self.factors))
        fields.choice("schedule", self.schedule, SCHEDULES)
        fields.whole("early", self.early, 1, 100_000)
        fields.choice("map", self.map, MAPS)
        fields.number("holdout", self.holdout, 0.0, 0.9)


def _factors(value: Any) -> tuple[float, ...]:
    """Each once, rising, without 1; texts as links carry them are read as numbers."""
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | dict):
        raise EmbtieError(
            f"factors is {fields.short(value)}; expected several numbers.", "Give them as [2, 5]."
        )
    read = sorted({fields.number("a factor", _read(one), 0.0, 10_000.0) for one in value} - {1.0})
    if len(read) > MOST_FACTORS:
        raise EmbtieError(
            f"{len(read)} factors are given; at most {MOST_FACTORS} are trained in one request.",
            "Leave some out.",
        )
    return tuple(read)


def _read(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value
