"""The request behind the alignment panel."""

from dataclasses import dataclass
from typing import ClassVar

from embtie_widgets.requests import fields
from embtie_widgets.requests.pair import PairRequest

MAPS = ("identity", "orthogonal", "linear")


@dataclass(frozen=True)
class AlignRequest(PairRequest):
    """Align the input and output matrix of model `a` with each other and with the matrix of `b`."""

    map: str = "linear"
    center: bool = True
    ridge: float = 0.0
    holdout: float = 0.2
    seed: int = 0

    kind: ClassVar[str] = "align"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.choice("map", self.map, MAPS)
        fields.flag("center", self.center)
        object.__setattr__(self, "ridge", fields.number("ridge", self.ridge, 0.0, 1e12))
        held = fields.number("holdout", self.holdout, 0.0, 0.9)
        object.__setattr__(self, "holdout", held)
        fields.whole("seed", self.seed, 0, 2**31 - 1)
