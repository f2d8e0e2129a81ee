"""The request behind the panel of input scaling."""

from dataclasses import dataclass
from typing import ClassVar

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
        factors = fields.numbers("factors", self.factors, 0.0, 10_000.0, MOST_FACTORS + 1)
        object.__setattr__(self, "factors", tuple(one for one in factors if one != 1.0))
        if len(self.factors) > MOST_FACTORS:
            raise EmbtieError(
                f"{len(self.factors)} factors are given; at most {MOST_FACTORS} are trained in one "
                "request.",
                "Leave some out.",
            )
        fields.choice("schedule", self.schedule, SCHEDULES)
        fields.whole("early", self.early, 1, 100_000)
        fields.choice("map", self.map, MAPS)
        fields.number("holdout", self.holdout, 0.0, 0.9)
