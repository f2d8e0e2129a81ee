"""Results of turning up the input's part of a shared matrix's gradient."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from embtie_widgets.results.storage import storable

if TYPE_CHECKING:
    import pandas as pd

Vector = np.ndarray[Any, np.dtype[Any]]
Tokens = tuple[bytes | None, ...]
TO = ("input", "output")


@storable
@dataclass(frozen=True)
class Nearness:
    """How near a tied matrix has come to one of the untied, after the map of the request.

    mean, interval  cosine in-sample, and its 95 % over tokens
    heldout, floor  on tokens not fitted on (None for none), and with shuffled rows
    cosine          (V,) per token; NaN for rows that take no part
    """

    mean: float
    interval: tuple[float, float]
    heldout: float | None
    floor: float
    cosine: Vector


@storable
@dataclass(frozen=True)
class ScaledRun:
    """One tied run, its input gradient multiplied by `factor` in the first `until` steps.

    nearness     "input" and "output": to the untied model's; empty while it is in training
    curves       as in `results.gradient.CURVES`, of this run
    held_loss    nats per token on text held out; None where none is
    """

    factor: float
    until: int
    nearness: dict[str, Nearness]
    curves: dict[str, Vector]
    held_loss: float | None = None
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def shift(self) -> float | None:
        """Cosine to the input minus cosine to the output; above 0 it is nearer the input."""
        if set(self.nearness) < set(TO):
            return None
        return self.nearness["input"].mean - self.nearness["output"].mean


@storable
@dataclass(frozen=True)
class ScalingReport:
    """All runs, the factor 1 first and then rising, beside the untied one.

    untied       "curves" and "held_loss" of the untied model
    Other fields are as in `results.gradient.GradientFlow`.
    """

    runs: tuple[ScaledRun, ...]
    untied: dict[str, Any]
    tokens: Tokens
    token_counts: Vector | None
    kinds: Vector | None
    notes: tuple[str, ...]
    settings: dict[str, Any]
    hashes: dict[str, str]
    progress: str = ""

    @property
    def whole(self) -> tuple[ScaledRun, ...]:
        """The runs that have come to their end."""
        return tuple(run for run in self.runs if run.shift is not None)

    def to_frame(self) -> "pd.DataFrame":
        """One row per factor, as the paper's tables 2 and 6 have them."""
        import pandas as pd

        return pd.DataFrame([_line(run) for run in self.whole])

    def facts(self) -> dict[str, Any]:
        """All that is not a number per factor: what every export carries."""
        return {
            "runs": {f"x{run.factor:g}": run.about for run in self.runs},
            "notes": self.notes,
            "settings": self.settings,
            "hashes": self.hashes,
        }


def _line(run: ScaledRun) -> dict[str, Any]:
    line: dict[str, Any] = {"factor": run.factor, "until": run.until, "held_loss": run.held_loss}
    for name in TO:
        near = run.nearness[name]
        line |= {
            name: near.mean,
            f"{name} low": near.interval[0],
            f"{name} high": near.interval[1],
            f"{name} held out": near.heldout,
            f"{name} chance": near.floor,
        }
    return line
